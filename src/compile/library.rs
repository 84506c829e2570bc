//! Libraries of NVIDIA's, loaded when the program runs.

use libloading::Library;
use std::error::Error as _;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

/// The functions of a library, which has a type of its own, made by [`functions!`].
pub(super) trait Functions: Sized {
    /// Loads the library, or says why not.
    fn load(path: &Path) -> Result<Self, String>;
}

/// Functions of a library, by name: those that every version has, and those that older ones lack.
macro_rules! functions {
    (
        $(#[$attribute:meta])*
        pub(super) struct $type:ident {
            $($name:ident($($argument:ty),*) -> $result:ty;)*
            $([may be absent] $newer:ident($($newer_argument:ty),*) -> $newer_result:ty;)*
        }
    ) => {
        $(#[$attribute])*
        #[allow(non_snake_case)]
        pub(super) struct $type {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
            $($newer: Option<unsafe extern "C" fn($($newer_argument),*) -> $newer_result>,)*
            /// Never unloaded: it may start threads.
            _library: std::mem::ManuallyDrop<libloading::Library>,
        }

        impl $crate::compile::library::Functions for $type {
            fn load(path: &std::path::Path) -> Result<Self, String> {
                let library = $crate::compile::library::open(path)?;
                // SAFETY: functions of these names have these types in every version.
                unsafe {
                    Ok(Self {
                        $($name: $crate::compile::library::function(&library, stringify!($name))
                            .ok_or(concat!("it has no function ", stringify!($name)))?,)*
                        $($newer: $crate::compile::library::function(&library, stringify!($newer)),)*
                        _library: std::mem::ManuallyDrop::new(library),
                    })
                }
            }
        }
    };
}
pub(super) use functions;

/// Loads a library, or says why not, in the loader's words.
pub(super) fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: whoever has installed or named it vouches that loading it does nothing but that.
    let loaded = unsafe { Library::new(path) };
    loaded.map_err(|error| error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// A function by its name. nvJitLink of CUDA 12.0 has its functions under names with that version only, which later ones of 12 have, too.
///
/// # Safety
/// A function of this name has this type.
pub(super) unsafe fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
    let by = |name: String| {
        // SAFETY: the caller vouches for the type.
        unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|found| *found)
    };
    by(format!("{name}\0")).or_else(|| by(format!("__{name}_12_0\0")))
}

/// The file that a function was loaded from, where the system tells.
#[cfg(unix)]
pub(super) fn file_of(function: *const c_void) -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt as _;
    // SAFETY: it is all zeroes that are valid, and is written.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it looks at the address, and answers a text that stays.
    let is_found = unsafe { libc::dladdr(function, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
}

#[cfg(not(unix))]
pub(super) fn file_of(_function: *const c_void) -> Option<PathBuf> {
    None
}
