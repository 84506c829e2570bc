//! What the loader asks of an auditing library (`rtld-audit(7)`). Each process has one instance of it, in a namespace of its own.

use crate::copy;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The name as the program gave it: `LA_SER_ORIG`.
const AS_GIVEN: c_uint = 1;

/// Which version of the interface is wanted: that of the loader, of which on aarch64 no other is taken. What is used here is the same in all.
///
/// # Safety
/// Called by the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_version(version: c_uint) -> c_uint {
    version
}

/// Names the file that is opened in place of another one.
///
/// # Safety
/// Called by the loader: the name is terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(name: *const c_char, _asks: *mut usize, how: c_uint) -> *mut c_char {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    // A name without a folder is a place yet to be searched: each folder's file is asked for, too.
    let is_file = how != AS_GIVEN || text.contains(&b'/');
    let file = Path::new(OsStr::from_bytes(text));
    if !is_file || !stands_in_for(file) {
        return name.cast_mut();
    }
    answer(file).unwrap_or(name.cast_mut())
}

/// Whether it is one of the libraries that make machine code, and not asked for by a copy, which means the real one.
fn stands_in_for(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_bytes();
    let of = |begin: &[u8]| {
        // As `libnvrtc.so.12`, or `libnvrtc-0123abcd.so.12` in a package that has renamed it.
        name.strip_prefix(begin).is_some_and(|rest| {
            let is_part = rest.starts_with(b"-builtins") || rest.starts_with(b".alt.");
            !is_part && (rest.starts_with(b".so") || rest.starts_with(b"-"))
        })
    };
    (of(b"libnvrtc") || of(b"libnvJitLink")) && !copy::asks_for_real(file)
}

/// The copy that stands for a file; it lasts as long as the process.
fn answer(file: &Path) -> Option<*mut c_char> {
    static ANSWERS: Mutex<Option<HashMap<PathBuf, CString>>> = Mutex::new(None);
    let file = std::path::absolute(file).ok().filter(|file| file.is_file())?;
    let mut answers = ANSWERS.lock().ok()?;
    let answers = answers.get_or_insert_default();
    if let Some(known) = answers.get(&file) {
        return Some(known.as_ptr().cast_mut());
    }
    let made = copy::make(&file).ok()?;
    let made = CString::new(made.into_os_string().into_encoded_bytes()).ok()?;
    Some(answers.entry(file).or_insert(made).as_ptr().cast_mut())
}

#[cfg(test)]
mod tests {
    use super::stands_in_for;
    use std::path::Path;

    #[test]
    fn names() {
        for name in
            ["/a/libnvrtc.so.12", "/a/libnvrtc.so", "libnvJitLink.so.13", "/a/libnvrtc-08c4863f.so.12"]
        {
            assert!(stands_in_for(Path::new(name)), "{name}");
        }
        for name in [
            "/a/libnvrtc-builtins.so.12.9",
            "/a/libnvrtc-builtins.alt.so.12.9",
            "/a/libnvrtc.alt.so.12",
            "/a/libnvrtc_static.a",
            "/a/libcuda.so.1",
            "/././a/libnvrtc.so.12",
            "",
        ] {
            assert!(!stands_in_for(Path::new(name)), "{name}");
        }
    }
}
