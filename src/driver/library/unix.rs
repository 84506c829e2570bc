//! dlopen and its relatives.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) mod search;

use super::lookup::{Lookup, NOT_LOADED};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

pub(super) type Handle = *mut c_void;

pub(super) fn open(name: &Path, lookup: Lookup) -> Result<Handle, String> {
    #[cfg(target_os = "linux")]
    if lookup != Lookup::Loaded && !has_loader() {
        return Err(STATIC.to_owned());
    }
    let flags = match lookup {
        Lookup::Loaded => RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD,
        Lookup::Load | Lookup::System => RTLD_NOW | RTLD_LOCAL,
    };
    // SAFETY: the library's initialisers run; that a CUDA driver's are sound is what every CUDA program relies on, and
    // any other library is one that the caller named.
    let opened = unsafe { Library::open(Some(name), flags) };
    opened.map(Library::into_raw).map_err(|error| match error.source() {
        _ if lookup == Lookup::Loaded => NOT_LOADED.to_owned(),
        Some(words) => words.to_string(),
        None => error.to_string(),
    })
}

/// Of a program without a loader glibc loads libraries with a second C library, which crashes in them.
#[cfg(target_os = "linux")]
const STATIC: &str = "the program is linked with -static, and such a program cannot load a driver; without it, libcushim.a can be linked as well";

/// Whether the program names a loader: it does unless it is fully static.
#[cfg(target_os = "linux")]
fn has_loader() -> bool {
    unsafe extern "C" fn of_program(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        found: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the loader vouches for what it shows, and the caller for the place.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            *found.cast::<bool>() = headers.iter().any(|header| header.p_type == libc::PT_INTERP);
        }
        1 // the program is the first; there is no need to see others
    }
    let mut found = true;
    // SAFETY: the function has the signature that is called, and writes one bool.
    unsafe { libc::dl_iterate_phdr(Some(of_program), (&raw mut found).cast()) };
    found
}

/// Whether the loader found no library of that name, by its words, which are all that it gives. It ends them with the
/// system's text for a missing file, in the user's language, and with nothing after it; but a library that the wanted one
/// needs may be what is missing, and then it names that one.
pub(super) fn is_absent(name: &Path, words: &str) -> bool {
    let (name, no_such_file) = (name.to_string_lossy(), no_such_file());
    let glibc = words.starts_with(&format!("{name}: ")) && words.ends_with(&no_such_file);
    glibc || words.ends_with(&format!(" {name}: {no_such_file}")) // the latter is musl's
}

fn no_such_file() -> String {
    let mut text = [0; 256];
    // SAFETY: the buffer has as many bytes as is said, and the last stays NUL whatever comes of the call.
    let text = unsafe {
        libc::strerror_r(libc::ENOENT, text.as_mut_ptr(), text.len() - 1);
        CStr::from_ptr(text.as_ptr())
    };
    text.to_string_lossy().into_owned()
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

#[cfg(test)]
mod tests {
    use super::is_absent;
    use std::path::Path;

    #[test]
    fn absent_is_what_the_loader_did_not_find_itself() {
        for (words, absent) in [
            ("libcuda.so.1: cannot open shared object file: No such file or directory", true),
            ("Error loading shared library libcuda.so.1: No such file or directory", true),
            ("libnvidia.so: cannot open shared object file: No such file or directory", false),
            (
                "Error loading shared library libnvidia.so: No such file or directory (needed by /lib/libcuda.so.1)",
                false,
            ),
            ("/lib/libcuda.so.1: invalid ELF header", false),
            ("libcuda.so.1: cannot open shared object file: Permission denied", false),
        ] {
            assert_eq!(is_absent(Path::new("libcuda.so.1"), words), absent, "{words}");
        }
    }
}
