//! Why a file is not a library for this process, in plain words: the loader's own say little or name the wrong thing.

use crate::driver::file;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// What must not even be handed to the loader: it would wait for ever for somebody to write to it, or have the process ended
/// by a signal, because it maps more than there is.
pub(super) fn refuse(path: &Path) -> Option<String> {
    file::refuse(path).or_else(|| refuse_cut_off(path))
}

/// Whether the loader goes past a file of the name that it looks for: one that is not there or that it may not open, or one for another
/// kind of machine. Whatever else is wrong with a file ends its search.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn is_passed_over(path: &Path) -> bool {
    if file::refuse(path).is_some() {
        return false;
    }
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(64).read_to_end(&mut head).is_ok() && is_for_others(&head),
        Err(error) => matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
        ),
    }
}

/// Whether a header is that of a library for another kind of machine, and the loader says nothing of it: it looks at the number of bits
/// first, and at the machine when all else is as it should be.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_for_others(head: &[u8]) -> bool {
    const CLASS: usize = 4;
    const AFTER_CLASS: [u8; 2] = [if cfg!(target_endian = "little") { 1 } else { 2 }, 1];
    const UNIX_OR_GNU: [u8; 2] = [0, 3];
    if head.len() < 64 || !head.starts_with(b"\x7fELF") {
        return false;
    }
    let is_in_order = head[5..7] == AFTER_CLASS && UNIX_OR_GNU.contains(&head[7]);
    head[CLASS] != 2 || is_in_order && other_machine(head).is_some()
}

/// A library that ends before its segments do.
#[cfg(not(windows))]
fn refuse_cut_off(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let needed = segments_end(&mut file)?;
    (needed > size)
        .then(|| format!("it is cut off: it needs {needed} bytes and has {size}; install it again"))
}

#[cfg(windows)]
fn refuse_cut_off(_: &Path) -> Option<String> {
    None
}

/// How far the segments of a library reach that the loader maps; `None` if it is none, or not of this machine's kind.
#[cfg(not(windows))]
fn segments_end(file: &mut File) -> Option<u64> {
    use std::io::{Seek as _, SeekFrom};
    const LITTLE_ENDIAN_64: &[u8] = b"\x7fELF\x02\x01";
    const LOAD: u64 = 1;
    let number = |bytes: &[u8], at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    // The table of segments is behind the header, as a rule within what one read gets.
    let mut head = [0u8; 1024];
    let known = file.read(&mut head).ok()?;
    if known < 64 || !head.starts_with(LITTLE_ENDIAN_64) {
        return None;
    }
    // Where the table of segments is, and how many there are of which size.
    let (table, size, count) = (number(&head, 32, 8), number(&head, 54, 2), number(&head, 56, 2));
    let mut end = table.checked_add(size * count)?;
    let mut entry = [0u8; 56];
    for index in 0..if size == 56 { count } else { 0 } {
        let at = table + index * 56;
        match usize::try_from(at).ok().and_then(|at| head[..known].get(at..at.checked_add(56)?)) {
            Some(bytes) => entry.copy_from_slice(bytes),
            None if file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut entry)).is_ok() => {}
            None => break,
        }
        if number(&entry, 0, 4) == LOAD {
            end = end.max(number(&entry, 8, 8).saturating_add(number(&entry, 32, 8)));
        }
    }
    Some(end)
}

/// Whether nothing lies there at all; a link that leads nowhere is something.
pub(super) fn is_absent(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).map_err(|error| error.kind());
    matches!(kind, Err(ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// What is wrong with a file that the loader refused; `None` where nothing is to be seen from outside.
pub(super) fn explain(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Err(error) => return explain_error(error.kind(), path),
        Ok(metadata) if metadata.is_dir() => {
            return Some("it is a directory; name the library in it".to_owned());
        }
        Ok(_) => {}
    }
    let mut head = Vec::new();
    match File::open(path).and_then(|file| file.take(64).read_to_end(&mut head)) {
        Err(error) => explain_error(error.kind(), path),
        Ok(_) => explain_head(&head),
    }
}

fn explain_error(kind: ErrorKind, path: &Path) -> Option<String> {
    match kind {
        // A file that is simply not there the loader describes well enough.
        ErrorKind::NotFound if fs::symlink_metadata(path).is_ok() => {
            Some("it is a symbolic link to a file that does not exist".to_owned())
        }
        ErrorKind::PermissionDenied => Some("this user may not read it".to_owned()),
        _ => None,
    }
}

/// The first bytes of a file, judged by the format of this system's libraries.
#[cfg(not(windows))]
fn explain_head(head: &[u8]) -> Option<String> {
    if head.is_empty() {
        return Some("it is empty".to_owned());
    }
    if !head.starts_with(b"\x7fELF") {
        let text = head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let what = if text { "a text file" } else { "in another format" };
        return Some(format!("it is {what}, not a shared library"));
    }
    let Some(Header { kind, .. }) = header(head) else {
        return Some("it is cut off within its header".to_owned());
    };
    if let Some((bits, theirs)) = other_machine(head) {
        let ours = std::env::consts::ARCH;
        return Some(format!("it is a {bits}-bit library for {theirs}, and this process is 64-bit {ours}"));
    }
    match kind {
        3 => None,
        1 => Some("it is an object file, not a shared library".to_owned()),
        _ => Some("it is not a shared library".to_owned()),
    }
}

/// What the first bytes of an ELF file say.
#[cfg(not(windows))]
struct Header {
    class: u8,
    kind: u16,
    machine: u16,
}

/// After the magic come the class, which tells 32 from 64 bits, and the byte order; later the type and the machine.
#[cfg(not(windows))]
fn header(head: &[u8]) -> Option<Header> {
    let &[b'\x7f', b'E', b'L', b'F', class, order, _, _, _, _, _, _, _, _, _, _, a, b, c, d, ..] = head
    else {
        return None;
    };
    let number = if order == 2 { u16::from_be_bytes } else { u16::from_le_bytes };
    Some(Header { class, kind: number([a, b]), machine: number([c, d]) })
}

/// The bits and the name of the machine that a library is for, if it is not this process's.
#[cfg(not(windows))]
fn other_machine(head: &[u8]) -> Option<(u8, &'static str)> {
    let Header { class, machine, .. } = header(head)?;
    let name = machine_name(machine);
    (class != 2 || name != std::env::consts::ARCH).then_some((if class == 1 { 32 } else { 64 }, name))
}

#[cfg(windows)]
fn explain_head(head: &[u8]) -> Option<String> {
    (!head.starts_with(b"MZ")).then(|| "it is not a library".to_owned())
}

/// The machine that an ELF header names, as Rust calls it.
#[cfg(not(windows))]
fn machine_name(machine: u16) -> &'static str {
    match machine {
        3 => "x86",
        21 => "powerpc64",
        40 => "arm",
        62 => "x86_64",
        183 => "aarch64",
        243 => "riscv64",
        _ => "another machine",
    }
}
