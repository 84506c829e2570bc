//! What the file of a program says of how it is loaded: its loader, and folders that come before `LD_LIBRARY_PATH`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Of a 64-bit file in the byte order of this machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// The loader; `None` of a static program, or of a library.
    pub(super) loader: Option<String>,
    /// The libraries that it needs.
    pub(super) needed: Vec<String>,
    /// Folders that the loader searches before `LD_LIBRARY_PATH` (DT_RPATH, where there is no DT_RUNPATH).
    pub(super) first_folders: Vec<String>,
}

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// A part of the file, and where it is in memory.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// More of anything has no program.
const MOST: u64 = 1 << 20;

/// Reads a file; `None` if it is no such file.
pub(super) fn read(path: &Path) -> Option<Elf> {
    let file = File::open(path).ok()?;
    let head = bytes(&file, 0, 64)?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number(&head, 32, 8), number(&head, 54, 2), number(&head, 56, 2));
    let segments = (0..count).map(|index| segment(&file, table.checked_add(index * size)?));
    let segments: Vec<Segment> = segments.collect::<Option<_>>()?;
    let of_kind = |kind| segments.iter().find(|segment| segment.kind == kind);
    let loader = of_kind(PT_INTERP).and_then(|interp| text(&file, interp.offset));
    let mut elf = Elf { loader, ..Elf::default() };
    let Some(dynamic) = of_kind(PT_DYNAMIC) else { return Some(elf) };
    let entries = bytes(&file, dynamic.offset, dynamic.size.min(MOST))?;
    let entries: Vec<(u64, u64)> =
        entries.chunks_exact(16).map(|entry| (number(entry, 0, 8), number(entry, 8, 8))).collect();
    let strings = entries.iter().find(|entry| entry.0 == DT_STRTAB)?.1;
    let mut load = segments.iter().filter(|segment| segment.kind == PT_LOAD);
    let strings = load.find_map(|load| {
        let inside = strings.checked_sub(load.address).filter(|at| *at < load.size)?;
        load.offset.checked_add(inside)
    })?;
    let texts = |kind| {
        let of_kind = entries.iter().filter(move |entry| entry.0 == kind);
        of_kind.filter_map(|entry| text(&file, strings.checked_add(entry.1)?)).collect::<Vec<_>>()
    };
    elf.needed = texts(DT_NEEDED);
    if texts(DT_RUNPATH).is_empty() {
        let origin = path.parent().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        let folders = texts(DT_RPATH).join(":").replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        elf.first_folders =
            folders.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned).collect();
    }
    Some(elf)
}

fn segment(file: &File, at: u64) -> Option<Segment> {
    let head = bytes(file, at, 56)?;
    let (kind, offset) = (number(&head, 0, 4), number(&head, 8, 8));
    Some(Segment { kind, offset, address: number(&head, 16, 8), size: number(&head, 32, 8) })
}

fn bytes(file: &File, at: u64, count: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).ok()?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// A number of so many bytes.
fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A text up to its zero.
fn text(file: &File, at: u64) -> Option<String> {
    let mut bytes = vec![0; 4096];
    let count = file.read_at(&mut bytes, at).ok()?;
    let end = bytes[..count].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Elf, read};
    use std::path::Path;

    #[test]
    fn this_program_and_what_is_none() {
        let own = read(Path::new("/proc/self/exe")).expect("it is one");
        assert!(own.loader.is_none_or(|loader| loader.contains("/ld-")));
        assert!(own.needed.iter().any(|library| library.starts_with("libc.")), "{:?}", own.needed);
        assert_eq!(read(Path::new("/proc/self/cmdline")), None);
        assert_eq!(read(Path::new("/no/such/file")), None);
        let folder = tempfile::tempdir().expect("a folder can be made");
        // One that ends too early, and one that says it has more than it has.
        for rest in [vec![], vec![0xff; 100]] {
            let file = folder.path().join("file");
            std::fs::write(&file, [b"\x7fELF\x02\x01".to_vec(), rest].concat()).expect("it can be written");
            assert_eq!(read(&file), None::<Elf>);
        }
    }
}
