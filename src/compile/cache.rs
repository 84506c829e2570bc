//! What was compiled before, on disk.
//!
//! A file holds all that it was made of, and is taken only for the same: so the name of a file, a hash, need not be unique. It is written
//! under another name first, and then renamed, so that processes that compile the same at the same time do not disturb each other.

use super::find::variable;
use super::trim;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Another folder, or `off`.
pub(super) const VARIABLE: &str = "CUSHIM_CACHE";

/// What a file begins with; changed when files are written otherwise.
const MARK: &str = "cushim compiled 1";

/// What was compiled: the code, the log, and names by the expressions that name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) code: Vec<u8>,
    pub(super) log: String,
    pub(super) names: Vec<(String, String)>,
}

/// The folder, if there is one.
fn folder() -> Option<PathBuf> {
    match variable(VARIABLE) {
        Some(off) if off == "off" => None,
        Some(named) => Some(named.into()),
        None => {
            let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
            caches.filter(|folder| folder.is_absolute()).map(|folder| folder.join("cushim"))
        }
    }
}

/// The file for what was made of this.
fn file(key: &[String]) -> Option<PathBuf> {
    let hash = |salt: u32| {
        let mut hasher = DefaultHasher::new();
        (salt, key).hash(&mut hasher);
        hasher.finish()
    };
    Some(folder()?.join(format!("{:016x}{:016x}", hash(1), hash(2))))
}

/// What was made of this before, and is used again.
pub(super) fn get(key: &[String]) -> Option<Entry> {
    let mut file = File::open(file(key)?).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let entry = entry(&bytes, key)?;
    trim::used(&file);
    Some(entry)
}

/// What is in a file, if it was made of this.
fn entry(bytes: &[u8], key: &[String]) -> Option<Entry> {
    let mut rest = bytes;
    let is_same = take_text(&mut rest)? == MARK && take_list(&mut rest)? == key;
    if !is_same {
        return None;
    }
    let (expressions, names) = (take_list(&mut rest)?, take_list(&mut rest)?);
    let log = take_text(&mut rest)?;
    let code = take(&mut rest)?.to_vec();
    (rest.is_empty() && expressions.len() == names.len()).then(|| Entry {
        code,
        log,
        names: expressions.into_iter().zip(names).collect(),
    })
}

/// Keeps what was made of this, if it is within the bound, and of other files as many as are within it, too. Where that is not possible it
/// is compiled again another time.
pub(super) fn put(key: &[String], entry: &Entry) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(file) = file(key) else { return };
    let (mut bytes, most) = (Vec::new(), trim::most());
    add(&mut bytes, MARK.as_bytes());
    let mark = bytes.clone();
    add_list(&mut bytes, key.iter());
    add_list(&mut bytes, entry.names.iter().map(|(expression, _)| expression));
    add_list(&mut bytes, entry.names.iter().map(|(_, name)| name));
    add(&mut bytes, entry.log.as_bytes());
    add(&mut bytes, &entry.code);
    if bytes.len() as u64 > most {
        return;
    }
    let other = file.with_extension(format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)));
    let kept = file.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        std::fs::write(&other, bytes)?;
        std::fs::rename(&other, &file)
    });
    match kept {
        Ok(()) => trim::trim(file.parent().unwrap_or(&file), &mark, most),
        Err(error) => {
            _ = std::fs::remove_file(&other);
            log::debug!(target: "cushim", "what was compiled is not kept in {}: {error}", file.display());
        }
    }
}

fn add(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
}

fn add_list<'a>(bytes: &mut Vec<u8>, list: impl ExactSizeIterator<Item = &'a String>) {
    bytes.extend((list.len() as u64).to_le_bytes());
    list.for_each(|text| add(bytes, text.as_bytes()));
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u64::from_le_bytes(*number)).ok()
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(rest)?;
    let (part, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(part)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_vec()).ok()
}

fn take_list(rest: &mut &[u8]) -> Option<Vec<String>> {
    let count = take_number(rest)?;
    // Each has a length at least, so a count that is wrong ends soon.
    (0..count).map(|_| take_text(rest)).collect()
}
