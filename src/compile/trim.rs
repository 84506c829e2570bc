//! How much of what was compiled is kept: what was not used for the longest time goes first.
//!
//! Several processes may use the folder, and trim it. A file that is removed while another process reads it stays until that has read it;
//! two that trim at the same time find the same files to be the oldest, and a file that is gone counts as removed.

use super::find::variable;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most bytes: with K, M or G behind the number it counts those.
pub(super) const VARIABLE: &str = "CUSHIM_CACHE_SIZE";

const DEFAULT: u64 = 256 << 20;

/// A file that was not finished is nobody's any more after that: its process was ended.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The most bytes that are kept.
pub(super) fn most() -> u64 {
    let Some(text) = variable(VARIABLE) else { return DEFAULT };
    let text = text.to_string_lossy();
    size(&text).unwrap_or_else(|| {
        log::error!(
            target: "cushim",
            "{VARIABLE} is \"{text}\", which is no number of bytes; write 512M or 2G. The bound is {}M",
            DEFAULT >> 20
        );
        DEFAULT
    })
}

fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.trim().to_ascii_uppercase() {
        text if text.ends_with('K') => (text, 10),
        text if text.ends_with('M') => (text, 20),
        text if text.ends_with('G') => (text, 30),
        text => (text, 0),
    };
    let number = number.trim_end_matches(['K', 'M', 'G']).trim_end().parse::<u64>().ok()?;
    number.checked_mul(1 << unit)
}

/// A file of the folder.
struct Kept {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Notes that a file is used now.
pub(super) fn used(file: &File) {
    // Where that is not allowed, it is as old as it is.
    _ = file.set_modified(SystemTime::now());
}

/// Removes files of the folder that begin so, those first that were not used for the longest time, until the others have at most so many
/// bytes; and what processes have left that were ended.
pub(super) fn trim(folder: &Path, mark: &[u8], most: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let (mut kept, mut total) = (Vec::new(), 0);
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let Ok(used) = metadata.modified() else { continue };
        let file = Kept { path: entry.path(), bytes: metadata.len(), used };
        match name_of(&entry.file_name()) {
            Some(Name::Whole) => {
                total += file.bytes;
                kept.push(file);
            }
            Some(Name::Part) if used.elapsed().is_ok_and(|age| age > ABANDONED) => remove(&file, mark),
            _ => {}
        }
    }
    if total <= most {
        return;
    }
    kept.sort_by_key(|file| file.used);
    for file in kept {
        remove(&file, mark);
        total -= file.bytes;
        if total <= most {
            return;
        }
    }
}

enum Name {
    /// Of a file.
    Whole,
    /// Of a file that is being written.
    Part,
}

/// What a file is by its name: 32 hexadecimal digits, and behind them the process and a number while it is written.
fn name_of(name: &OsStr) -> Option<Name> {
    let name = name.to_str()?;
    let (hash, rest) = name.split_at_checked(32)?;
    let is_hash = hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    match rest.strip_prefix('.') {
        _ if !is_hash => None,
        None => rest.is_empty().then_some(Name::Whole),
        Some(rest) => rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-').then_some(Name::Part),
    }
}

/// Removes a file if it is one of these: the folder may be somebody's who has other files there, too.
fn remove(file: &Kept, mark: &[u8]) {
    let mut start = vec![0; mark.len()];
    let is_ours = file.bytes == 0
        || File::open(&file.path).and_then(|mut open| open.read_exact(&mut start)).is_ok() && start == mark;
    if is_ours && let Err(error) = std::fs::remove_file(&file.path) {
        log::debug!(target: "cushim", "{} is not removed: {error}", file.path.display());
    }
}

#[cfg(test)]
#[cfg(not(loom))] // the models have no temporary files
mod tests {
    use super::*;

    const MARK: &[u8] = b"ours";

    fn name(digit: char) -> String {
        digit.to_string().repeat(32)
    }

    fn put(folder: &Path, name: &str, text: &str, age: u64) {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("ours");
        let when = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(path).expect("ours").set_modified(when).expect("ours");
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("it is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_not_used_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        for (digit, age) in [('a', 10), ('b', 40), ('c', 30), ('d', 20)] {
            put(folder, &name(digit), "ours, ten.", age);
        }
        trim(folder, MARK, 40);
        assert_eq!(names(folder).len(), 4);
        used(&File::open(folder.join(name('b'))).expect("ours"));
        trim(folder, MARK, 39);
        assert_eq!(names(folder), [name('a'), name('b'), name('d')]);
        trim(folder, MARK, 15);
        assert_eq!(names(folder), [name('b')]);
        trim(folder, MARK, 9);
        assert!(names(folder).is_empty());
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let others = ["notes", "0123456789abcdef", &"g".repeat(32), &format!("{}.txt", name('e'))];
        others.iter().for_each(|other| put(folder, other, "ours, by its text", 9));
        put(folder, &name('a'), "theirs", 9);
        put(folder, &name('b'), "ours", 8);
        trim(folder, MARK, 0);
        assert_eq!(names(folder).len(), 5, "{:?}", names(folder));
        assert!(!folder.join(name('b')).exists());
    }

    /// Of processes that were ended while they wrote; of those that write now nothing is touched.
    #[test]
    fn what_was_not_finished_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        put(folder, &format!("{}.123-4", name('a')), "ours", 3700);
        put(folder, &format!("{}.123-5", name('a')), "", 3700);
        put(folder, &format!("{}.123-6", name('a')), "ours", 3);
        trim(folder, MARK, 100);
        assert_eq!(names(folder), [format!("{}.123-6", name('a'))]);
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("512", Some(512)),
            ("3k", Some(3 << 10)),
            (" 2 M", Some(2 << 20)),
            ("1G", Some(1 << 30)),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in ["", "M", "-1", "1T", "1.5G", "99999999999G"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
