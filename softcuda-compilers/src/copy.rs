//! A copy of this library that stands for another one, in the folder of `softcuda-run`, which removes it in the end.
//!
//! What differs from this library's own file: its name is the other one's; the entry that names a folder names the other library as one
//! that is needed, by folders that mean nothing, by which the loader's question is known as the copy's; and functions that the other library
//! does not have are not found.

use crate::elf::{Dynamic, NEEDED, RUNPATH, SONAME};
use crate::places::{NAME, REAL, filled};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// How the name of a library begins that means the real one.
const MARK: &[u8] = b"/./.";

/// Whether a copy asks for the library for which it stands.
pub(crate) fn asks_for_real(file: &Path) -> bool {
    file.as_os_str().as_bytes().starts_with(MARK)
}

/// Makes the copy that stands for a library, unless it is there.
pub(crate) fn make(real: &Path) -> Result<PathBuf> {
    let own = crate::real::own_path().ok_or(ErrorKind::NotFound)?;
    let folder = own.parent().ok_or(ErrorKind::NotFound)?.join("compilers").join(number_of(real));
    let copy = folder.join(real.file_name().ok_or(ErrorKind::NotFound)?);
    if copy.is_file() {
        return Ok(copy);
    }
    let named = std::fs::read(real)?;
    let file = standing_for(std::fs::read(&own)?, &named, real).ok_or(ErrorKind::InvalidData)?;
    std::fs::create_dir_all(&folder)?;
    // Other processes may make the same: it is there at once, or not.
    let half = folder.join(format!("{}.half", std::process::id()));
    std::fs::write(&half, file)?;
    std::fs::rename(&half, &copy).map_err(|error| {
        let _ = std::fs::remove_file(&half);
        Error::from(error.kind())
    })?;
    Ok(copy)
}

/// Files of the same name in several folders have copies of their own.
fn number_of(real: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    real.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// This library's file, so that it stands for the library at `real`, whose file is `named`.
fn standing_for(mut own: Vec<u8>, named: &[u8], real: &Path) -> Option<Vec<u8>> {
    let name = {
        let dynamic = Dynamic::of(named)?;
        let name = dynamic.entry(SONAME).and_then(|entry| dynamic.text(entry)).map(|(_, name)| name);
        name.unwrap_or(real.file_name()?.as_bytes()).to_vec()
    };
    let dynamic = Dynamic::of(&own)?;
    let (soname, runpath) = (dynamic.entry(SONAME)?, dynamic.entry(RUNPATH)?);
    let ((name_at, name_place), (real_at, real_place)) = (dynamic.text(soname)?, dynamic.text(runpath)?);
    if name_place != filled(NAME).as_bytes() || real_place != filled(REAL).as_bytes() {
        return None;
    }
    let marked = [MARK, real.as_os_str().as_bytes()].concat();
    if name.len() > name_place.len() || marked.len() > real_place.len() {
        return None;
    }
    let (needed, hidden) = (runpath.at, hidden(&dynamic, &name));
    put(&mut own, name_at, &name);
    put(&mut own, real_at, &marked);
    hidden.into_iter().for_each(|at| own[at] = b'-');
    own[needed..needed + 8].copy_from_slice(&NEEDED.to_le_bytes());
    Some(own)
}

/// The names of functions that the library does not have: programs may look for them in all that is loaded.
fn hidden(own: &Dynamic<'_>, name: &[u8]) -> Vec<usize> {
    let others: &[&str] =
        if name.starts_with(b"libnvrtc") { &["nvJitLink", "__nvJitLink"] } else { &["nvrtc"] };
    others.iter().chain(&["la_"]).flat_map(|begin| own.begins(begin.as_bytes())).collect()
}

/// Replaces a text by one that is no longer.
fn put(file: &mut [u8], at: usize, text: &[u8]) {
    file[at..at + text.len()].copy_from_slice(text);
    file[at + text.len()] = 0;
}
