//! dlopen and its relatives.

use super::Lookup;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

pub(super) type Handle = *mut c_void;

pub(super) fn open(name: &Path, lookup: Lookup) -> Result<Handle, String> {
    let flags = match lookup {
        Lookup::Loaded => RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD,
        Lookup::Load | Lookup::System => RTLD_NOW | RTLD_LOCAL,
    };
    // SAFETY: the library's initialisers run; that a CUDA driver's are sound is what every CUDA program relies on, and
    // any other library is one that the caller named.
    let opened = unsafe { Library::open(Some(name), flags) };
    opened.map(Library::into_raw).map_err(|error| match error.source() {
        // Here the loader tells of files that it never tried to load.
        _ if lookup == Lookup::Loaded => "no such library is loaded in this process".to_owned(),
        Some(words) => words.to_string(),
        None => error.to_string(),
    })
}

pub(super) fn symbol(handle: Handle, name: &CStr) -> *const c_void {
    // SAFETY: the handle is that of an open library and the name ends with NUL.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

pub(super) fn path_of(address: *const c_void) -> Option<PathBuf> {
    // SAFETY: all-zero is a valid value of this struct of pointers, and dladdr accepts any address.
    let (found, info) = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &raw mut info) != 0, info)
    };
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a name that dladdr gives is a string that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

pub(super) unsafe fn close(handle: Handle) {
    // SAFETY: the caller owns one reference of this handle and gives it up. A failure would leave the library loaded,
    // which harms nobody.
    unsafe { libc::dlclose(handle) };
}
