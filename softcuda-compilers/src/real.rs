//! The library for which this copy stands, which the loader has loaded with it.

use crate::copy;
use crate::elf::{NEEDED, STRINGS};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// As `link.h` declares it, up to what is used.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const [u64; 2],
}

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *mut c_void,
        flags: c_int,
    ) -> c_int;
}

const RTLD_DL_LINKMAP: c_int = 2;

/// The file of this library.
pub(crate) fn own_path() -> Option<PathBuf> {
    // SAFETY: the name of a library is terminated, and lasts as long as it is loaded.
    let name = unsafe { CStr::from_ptr(own()?.name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// What the loader knows of this library.
fn own() -> Option<&'static LinkMap> {
    let mut map: *mut c_void = std::ptr::null_mut();
    // SAFETY: `info` and `map` are written before they are read; the map lasts as long as this library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = dladdr1(own as *const c_void, &raw mut info, &raw mut map, RTLD_DL_LINKMAP);
        map.cast::<LinkMap>().as_ref().filter(|map| found != 0 && !map.name.is_null())
    }
}

/// The name by which this copy needs the real library; `None` of what is no copy.
fn name_of_real() -> Option<&'static CStr> {
    let mut entry = own()?.dynamic;
    let (mut strings, mut needed) = (0, Vec::new());
    // SAFETY: the section ends with an entry of kind 0. The loader has made an address of where the texts are, and they are terminated.
    unsafe {
        while (*entry)[0] != 0 {
            match *entry {
                [STRINGS, address] => strings = address as usize,
                [NEEDED, offset] => needed.push(offset as usize),
                _ => {}
            }
            entry = entry.add(1);
        }
        let names =
            needed.into_iter().map(|at| CStr::from_ptr(std::ptr::with_exposed_provenance(strings + at)));
        names.into_iter().find(|name| copy::asks_for_real(Path::new(OsStr::from_bytes(name.to_bytes()))))
    }
}

/// A function of the real library's.
pub(crate) fn function(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    let open = || {
        let name = name_of_real()?;
        // SAFETY: the library is loaded already, with this one.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!library.is_null()).then_some(library as usize)
    };
    let library = (*LIBRARY.get_or_init(open))?;
    // SAFETY: a library that was opened, and a terminated name.
    let found = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Calls a function of the real library's; `$otherwise` if it has none.
macro_rules! real {
    ($name:ident($($type:ty),*) or $otherwise:expr; $($argument:expr),*) => {{
        static FUNCTION: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
        const NAME: &str = concat!(stringify!($name), "\0");
        let find = || {
            let name = std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()).ok()?;
            crate::real::function(name).map(|function| function as usize)
        };
        match *FUNCTION.get_or_init(find) {
            Some(function) => {
                type Function = unsafe extern "C" fn($($type),*) -> std::ffi::c_int;
                // SAFETY: the function of this name, as its header declares it.
                let function = unsafe { std::mem::transmute::<usize, Function>(function) };
                // SAFETY: the arguments are the caller's, or made as the header asks for them.
                unsafe { function($($argument),*) }
            }
            None => $otherwise,
        }
    }};
}
pub(crate) use real;
