//! Programs, libraries and object files in ELF: what they are linked with, which symbols they import, and which names they have among
//! their constants. Of a file only the tables that are asked for are read at once; the rest passes by in pieces, as some libraries have
//! gigabytes of code for GPUs in them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// What is in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Elf {
    /// The libraries that the loader has to find before it starts the program (`DT_NEEDED`).
    pub(crate) needed: Vec<String>,
    /// The symbols that other libraries have to define.
    pub(crate) imports: BTreeSet<String>,
    /// The names among the constants.
    pub(crate) names: BTreeSet<String>,
    /// Whether the text that was looked for is among them.
    pub(crate) has_text: bool,
}

/// What is looked for among the constants.
pub(crate) struct Wanted<'a, F: Fn(&[u8]) -> bool> {
    /// Which names matter.
    pub(crate) is_name: F,
    /// How a text ends that tells something.
    pub(crate) text: &'a [u8],
}

/// The largest table that is read at once.
const LARGEST_TABLE: u64 = 1 << 30;

/// How much of a file is searched at once, and how much of it again with the next piece: more than the longest name.
const PIECE: u64 = 4 << 20;
const OVERLAP: u64 = 256;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_DYNSYM: u32 = 11;
const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;

/// Bytes of the entries of tables.
const PROGRAM_HEADER: usize = 56;
const SECTION_HEADER: usize = 64;
const DYNAMIC: usize = 16;
const SYMBOL: usize = 24;

impl Elf {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with the file, as the end of a sentence that begins with its name.
    pub(crate) fn read(path: &Path, wanted: &Wanted<'_, impl Fn(&[u8]) -> bool>) -> Result<Self, String> {
        let open = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            Ok((file, about))
        };
        let (file, about) = open().map_err(|error: io::Error| format!("cannot be read: {error}"))?;
        if !about.is_file() {
            return Err("is no file".to_owned());
        }
        Reader { file, len: about.len() }.read(wanted)
    }
}

struct Reader {
    file: File,
    len: u64,
}

/// A part of the file that the loader maps.
struct Segment {
    file: Range<u64>,
    address: u64,
}

/// Symbols, and where their names are.
type Table = (Range<u64>, Range<u64>);

/// What the loader is told of a program.
#[derive(Default)]
struct Linked {
    needed: Vec<String>,
    /// Where the names of its symbols are, and the symbols.
    strings: Range<u64>,
    symbols: Range<u64>,
}

struct Section {
    kind: u32,
    file: Range<u64>,
    link: usize,
}

impl Reader {
    fn read(&self, wanted: &Wanted<'_, impl Fn(&[u8]) -> bool>) -> Result<Elf, String> {
        let header = self.table(0..64.min(self.len))?;
        check_header(&header)?;
        let (segments, dynamic) = self.segments(&header)?;
        let mut elf = Elf::default();
        let linked = dynamic.map(|dynamic| self.linked(dynamic, &segments)).transpose()?.unwrap_or_default();
        elf.imports = match self.symbols(&header)? {
            Some((symbols, texts)) => self.undefined(symbols, texts)?,
            // What has no sections any more is loaded all the same.
            None => self.undefined(linked.symbols, linked.strings.clone())?,
        };
        elf.needed = linked.needed;
        let strings = linked.strings;
        // An object file has no segments: all of it is searched.
        let whole = Segment { file: 0..self.len, address: 0 };
        let searched = if segments.is_empty() { std::slice::from_ref(&whole) } else { &segments };
        for Segment { file: range, .. } in searched {
            // The names of symbols are no constants of the program's.
            for part in without(range, &strings) {
                self.search(part, wanted, &mut elf)?;
            }
        }
        Ok(elf)
    }

    fn table(&self, range: Range<u64>) -> Result<Vec<u8>, String> {
        if range.start > range.end || range.end > self.len || range.end - range.start > LARGEST_TABLE {
            return Err("is damaged: a table lies outside of the file".to_owned());
        }
        let mut bytes = vec![0; (range.end - range.start) as usize];
        match self.file.read_exact_at(&mut bytes, range.start) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err("ends sooner than it did".to_owned())
            }
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    /// A table of entries of a size, from a place in the file on.
    fn entries(&self, start: u64, count: u64, size: usize) -> Result<Vec<u8>, String> {
        let bytes = count.checked_mul(size as u64);
        let end = bytes.and_then(|bytes| start.checked_add(bytes)).unwrap_or(u64::MAX);
        self.table(start..end)
    }

    fn segments(&self, header: &[u8]) -> Result<(Vec<Segment>, Option<Range<u64>>), String> {
        let (start, count) = (u64_at(header, 32), u64::from(u16_at(header, 56)));
        if start == 0 || count == 0 {
            return Ok((Vec::new(), None));
        }
        let (mut segments, mut dynamic) = (Vec::new(), None);
        for entry in self.entries(start, count, PROGRAM_HEADER)?.chunks_exact(PROGRAM_HEADER) {
            let file = self.range(u64_at(entry, 8), u64_at(entry, 32))?;
            match u32_at(entry, 0) {
                PT_LOAD => segments.push(Segment { file, address: u64_at(entry, 16) }),
                PT_DYNAMIC => dynamic = Some(file),
                _ => {}
            }
        }
        Ok((segments, dynamic))
    }

    fn range(&self, start: u64, bytes: u64) -> Result<Range<u64>, String> {
        let end = start.checked_add(bytes).filter(|end| *end <= self.len);
        end.map(|end| start..end)
            .ok_or_else(|| "is damaged: a part of it lies outside of the file".to_owned())
    }

    /// What the loader is told.
    fn linked(&self, dynamic: Range<u64>, segments: &[Segment]) -> Result<Linked, String> {
        let (mut needed, mut strings, mut bytes, mut symbols, mut hash) = (Vec::new(), None, 0, None, None);
        for entry in self.table(dynamic)?.chunks_exact(DYNAMIC) {
            let value = u64_at(entry, 8);
            match u64_at(entry, 0) {
                0 => break,
                DT_NEEDED => needed.push(value),
                DT_HASH => hash = Some(value),
                DT_STRTAB => strings = Some(value),
                DT_SYMTAB => symbols = Some(value),
                DT_STRSZ => bytes = value,
                _ => {}
            }
        }
        // Addresses of the program's, which segments have from the file.
        let in_file = |address: u64| {
            segments.iter().find_map(|segment| {
                let offset = address.checked_sub(segment.address)?;
                (offset < segment.file.end - segment.file.start).then_some(segment.file.start + offset)
            })
        };
        let Some(start) = strings.and_then(in_file) else { return Ok(Linked::default()) };
        let strings = self.range(start, bytes)?;
        let texts = self.table(strings.clone())?;
        let needed = needed.into_iter().filter_map(|at| text_at(&texts, at)).collect();
        let symbols = match symbols.and_then(in_file) {
            None => 0..0,
            Some(first) => match hash.and_then(in_file) {
                // The older hash table says how many there are; otherwise their names stand behind them.
                Some(hash) => {
                    let count = u32_at(&self.entries(hash, 2, 4)?, 4);
                    self.range(first, u64::from(count) * SYMBOL as u64)?
                }
                None => first..start.max(first),
            },
        };
        Ok(Linked { needed, strings, symbols })
    }

    /// Where the symbols are, and their names: of the dynamic table, or of the only one that an object file has.
    fn symbols(&self, header: &[u8]) -> Result<Option<Table>, String> {
        let sections = self.sections(header)?;
        let of_kind = |kind| sections.iter().find(|section| section.kind == kind);
        let Some(table) = of_kind(SHT_DYNSYM).or_else(|| of_kind(SHT_SYMTAB)) else { return Ok(None) };
        match sections.get(table.link) {
            Some(texts) => Ok(Some((table.file.clone(), texts.file.clone()))),
            None => Err("is damaged: its symbols have no names".to_owned()),
        }
    }

    /// The names of the symbols that are not defined here.
    fn undefined(&self, symbols: Range<u64>, texts: Range<u64>) -> Result<BTreeSet<String>, String> {
        let (symbols, texts) = (self.table(symbols)?, self.table(texts)?);
        let is_undefined = |symbol: &&[u8]| u16_at(symbol, 6) == 0;
        let undefined = symbols.chunks_exact(SYMBOL).filter(is_undefined);
        let named = undefined.filter_map(|symbol| text_at(&texts, u64::from(u32_at(symbol, 0))));
        Ok(named.filter(|name| !name.is_empty()).collect())
    }

    fn sections(&self, header: &[u8]) -> Result<Vec<Section>, String> {
        let (start, count) = (u64_at(header, 40), u64::from(u16_at(header, 60)));
        if start == 0 {
            return Ok(Vec::new());
        }
        // More sections than the header can count are counted in the first one.
        let count = match count {
            0 => u64_at(&self.entries(start, 1, SECTION_HEADER)?, 32),
            count => count,
        };
        let of = |entry: &[u8]| {
            let kind = u32_at(entry, 4);
            // A section without contents, such as the one for zeros, says what it will need in memory.
            let bytes =
                if matches!(kind, SHT_SYMTAB | SHT_DYNSYM | SHT_STRTAB) { u64_at(entry, 32) } else { 0 };
            let file = self.range(u64_at(entry, 24).min(self.len), bytes)?;
            Ok(Section { kind, file, link: u32_at(entry, 40) as usize })
        };
        self.entries(start, count, SECTION_HEADER)?.chunks_exact(SECTION_HEADER).map(of).collect()
    }

    /// Searches a part of the file.
    fn search(
        &self,
        range: Range<u64>,
        wanted: &Wanted<'_, impl Fn(&[u8]) -> bool>,
        elf: &mut Elf,
    ) -> Result<(), String> {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + PIECE);
            find(&self.table(at..end)?, wanted, elf);
            // What is cut here is whole in the next piece.
            at = if end == range.end { end } else { end - OVERLAP };
        }
        Ok(())
    }
}

fn check_header(header: &[u8]) -> Result<(), String> {
    if !header.starts_with(b"\x7fELF") {
        let what = match header {
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => {
                "is an archive; name a program, a library, or an object file of it"
            }
            [b'#', b'!', ..] => "is a script; name the program that runs it, or a library that it loads",
            _ => "is no program or library in ELF",
        };
        return Err(what.to_owned());
    }
    if header.len() < 64 || header[4] != 2 || header[5] != 1 {
        return Err("is not for a 64-bit little-endian machine, for which alone there are drivers".to_owned());
    }
    Ok(())
}

/// The parts of a range that are not in another one.
fn without(range: &Range<u64>, hole: &Range<u64>) -> [Range<u64>; 2] {
    let (start, end) = (hole.start.clamp(range.start, range.end), hole.end.clamp(range.start, range.end));
    [range.start..start, end..range.end]
}

/// Finds names in front of a NUL, which stand alone: not at the end of a sentence.
fn find(bytes: &[u8], wanted: &Wanted<'_, impl Fn(&[u8]) -> bool>, elf: &mut Elf) {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if is_of_word(*byte) {
            continue;
        }
        if *byte == 0 && at > start {
            let word = &bytes[start..at];
            if (start == 0 || bytes[start - 1] != b' ') && (wanted.is_name)(word) {
                elf.names.insert(String::from_utf8_lossy(word).into_owned());
            }
            elf.has_text |= bytes[..at].ends_with(wanted.text);
        }
        start = at + 1;
    }
}

/// The text from a place in a table up to its NUL.
fn text_at(texts: &[u8], at: u64) -> Option<String> {
    let rest = texts.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// Numbers of an entry that is as long as it has to be.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_alone() {
        let wanted = Wanted { is_name: |word: &[u8]| word.starts_with(b"cu"), text: b"a text" };
        let mut elf = Elf::default();
        find(
            b"\0cuInit\0xcuNot\0\x01cuMemAlloc_v2\0cuText in words\0not cuMemFree\0cuEnd",
            &wanted,
            &mut elf,
        );
        assert_eq!(elf.names.iter().collect::<Vec<_>>(), ["cuInit", "cuMemAlloc_v2"]);
        assert!(!elf.has_text);
        find(b"this is a text\0", &wanted, &mut elf);
        assert!(elf.has_text);
    }

    #[test]
    fn holes() {
        assert_eq!(without(&(10..20), &(12..15)), [10..12, 15..20]);
        assert_eq!(without(&(10..20), &(0..0)), [10..10, 10..20]);
        assert_eq!(without(&(10..20), &(0..30)), [10..10, 20..20]);
    }

    /// Whatever is done to a file, it is read or refused; this program is one.
    #[test]
    fn damaged_files_are_refused() {
        let this = std::fs::read(std::env::current_exe().expect("this program")).expect("it is read");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged");
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        for round in 0..200 {
            let mut bytes = this[..this.len().min(1 << 16)].to_vec();
            for _ in 0..round % 20 {
                let at = next() % 1024.min(bytes.len());
                bytes[at] = next() as u8;
            }
            bytes.truncate(next() % (bytes.len() + 1));
            std::fs::write(&path, &bytes).expect("written");
            let _ = Elf::read(&path, &Wanted { is_name: |_: &[u8]| true, text: b"-" });
        }
    }
}
