//! The dynamic section of a library's file: which library it is, and which it needs.

/// What an entry of the section says.
pub(crate) const NEEDED: u64 = 1;
pub(crate) const SONAME: u64 = 14;
pub(crate) const RUNPATH: u64 = 29;

pub(crate) const STRINGS: u64 = 5;
const STRINGS_SIZE: u64 = 10;
const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;

/// An entry: what it says, and where it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: u64,
    value: u64,
    pub(crate) at: usize,
}

/// The section of a 64-bit file in the byte order of this machine.
pub(crate) struct Dynamic<'f> {
    file: &'f [u8],
    entries: Vec<Entry>,
    /// Where the texts are in the file.
    strings: usize,
}

impl Dynamic<'_> {
    /// Where each text begins in the file that begins so, as names of functions do.
    pub(crate) fn begins(&self, begin: &[u8]) -> Vec<usize> {
        let size = self.entry(STRINGS_SIZE).map_or(0, |entry| entry.value as usize);
        let end = self.strings.saturating_add(size).min(self.file.len());
        let texts = self.file.get(self.strings..end).unwrap_or_default();
        let is_begin = |at: &usize| texts[..*at].last() == Some(&0) && texts[*at..].starts_with(begin);
        (1..texts.len()).filter(is_begin).map(|at| self.strings + at).collect()
    }
}

/// A part of the file, and where it is in memory.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

impl<'f> Dynamic<'f> {
    /// `None` if the file is no library of this machine's.
    pub(crate) fn of(file: &'f [u8]) -> Option<Self> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (table, size, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
        let segment = |index: u64| {
            let at = usize::try_from(table.checked_add(index * size)?).ok()?;
            let part = |place: usize, size| number(file, at.checked_add(place)?, size);
            Some(Segment {
                kind: part(0, 4)?,
                offset: part(8, 8)?,
                address: part(16, 8)?,
                size: part(32, 8)?,
            })
        };
        let segments: Vec<Segment> = (0..count).map(segment).collect::<Option<_>>()?;
        let dynamic = segments.iter().find(|segment| segment.kind == DYNAMIC)?;
        let first = usize::try_from(dynamic.offset).ok()?;
        let entry = |index: u64| {
            let at = first.checked_add(usize::try_from(index * 16).ok()?)?;
            Some(Entry { kind: number(file, at, 8)?, value: number(file, at.checked_add(8)?, 8)?, at })
        };
        let entries = (0..dynamic.size / 16).map_while(entry).take_while(|entry| entry.kind != 0);
        let entries: Vec<Entry> = entries.collect();
        let address = entries.iter().find(|entry| entry.kind == STRINGS)?.value;
        let strings = segments.iter().filter(|segment| segment.kind == LOADED).find_map(|segment| {
            let inside = address.checked_sub(segment.address).filter(|at| *at < segment.size)?;
            segment.offset.checked_add(inside)
        })?;
        Some(Self { file, entries, strings: usize::try_from(strings).ok()? })
    }

    /// The first entry of a kind.
    pub(crate) fn entry(&self, kind: u64) -> Option<Entry> {
        self.entries.iter().copied().find(|entry| entry.kind == kind)
    }

    /// Where the text of an entry is in the file, and the text.
    pub(crate) fn text(&self, entry: Entry) -> Option<(usize, &'f [u8])> {
        let at = self.strings.checked_add(usize::try_from(entry.value).ok()?)?;
        let text = self.file.get(at..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some((at, &text[..end]))
    }
}

/// A number of so many bytes.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(count)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::{Dynamic, NEEDED};

    #[test]
    fn this_program_and_what_is_none() {
        let own = std::fs::read("/proc/self/exe").expect("it can be read");
        let dynamic = Dynamic::of(&own).expect("it is one");
        let (_, needed) = dynamic.entry(NEEDED).and_then(|entry| dynamic.text(entry)).expect("it needs some");
        assert!(needed.starts_with(b"lib"), "{needed:?}");
        for end in [0, 3, 6, 40, 63, 64, 100, 200, 1000] {
            assert!(Dynamic::of(&own[..end]).is_none_or(|short| short.entries.is_empty()), "{end}");
        }
        let more_than_there_is = [b"\x7fELF\x02\x01".to_vec(), vec![0xff; 100]].concat();
        assert!(Dynamic::of(&more_than_there_is).is_none());
    }
}
