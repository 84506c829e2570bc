//! LoadLibraryExW and its relatives.

use super::lookup::Lookup;
use libloading::os::windows::{
    LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, LOAD_LIBRARY_SEARCH_SYSTEM32, Library,
};
use std::error::Error as _;
use std::ffi::{CStr, OsString, c_void};
use std::mem::ManuallyDrop;
use std::os::windows::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

pub(super) type Handle = isize;

pub(super) fn open(name: &Path, lookup: Lookup) -> Result<Handle, String> {
    let opened = match lookup {
        Lookup::Loaded => Library::open_already_loaded(name),
        // SAFETY: the library's initialisers run; that a CUDA driver's are sound is what every CUDA program relies on,
        // and any other library is one that the caller named.
        Lookup::System => unsafe { Library::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) },
        // SAFETY: as above.
        Lookup::Load => unsafe { Library::load_with_flags(name, search_flags(name)) },
    };
    opened
        .map(Library::into_raw)
        .map_err(|error| error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// A library with a full path finds what it needs beside itself; only a full path allows that flag.
fn search_flags(name: &Path) -> u32 {
    if name.is_absolute() {
        LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
    } else {
        LOAD_LIBRARY_SEARCH_DEFAULT_DIRS
    }
}

/// Whether no library of that name lies where the loader looks. Its error is the same for one that lies there and needs
/// another that does not.
pub(super) fn is_absent(name: &Path, _: &str) -> bool {
    let program = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    program.into_iter().chain(system_folder()).all(|folder| !folder.join(name).exists())
}

fn system_folder() -> Option<PathBuf> {
    let mut name = [0_u16; 4096];
    // SAFETY: the buffer holds as many units as is said.
    let length = unsafe { GetSystemDirectoryW(name.as_mut_ptr(), name.len() as u32) } as usize;
    (length > 0 && length < name.len()).then(|| PathBuf::from(OsString::from_wide(&name[..length])))
}

pub(super) fn symbol(handle: Handle, name: &CStr) -> *const c_void {
    // SAFETY: the handle is that of an open library, and `ManuallyDrop` keeps it open.
    let library = ManuallyDrop::new(unsafe { Library::from_raw(handle) });
    // SAFETY: the symbol is only taken as an address.
    let symbol = unsafe { library.get::<*const c_void>(name) };
    symbol.map_or(std::ptr::null(), |symbol| symbol.as_raw_ptr().cast_const())
}

const FROM_ADDRESS: u32 = 4;
const UNCHANGED_COUNT: u32 = 2;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut Handle) -> i32;
    fn GetSystemDirectoryW(name: *mut u16, size: u32) -> u32;
    fn GetModuleFileNameW(module: Handle, name: *mut u16, size: u32) -> u32;
}

pub(super) fn path_of(address: *const c_void) -> Option<PathBuf> {
    let mut module = 0;
    let mut name = [0_u16; 4096];
    // SAFETY: with this flag any address may be asked about, and the out-pointer is valid.
    if unsafe { GetModuleHandleExW(FROM_ADDRESS | UNCHANGED_COUNT, address, &raw mut module) } == 0 {
        return None;
    }
    // SAFETY: the buffer holds as many units as is said.
    let length = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32) } as usize;
    (length > 0 && length < name.len()).then(|| PathBuf::from(OsString::from_wide(&name[..length])))
}

pub(super) unsafe fn close(handle: Handle) {
    // SAFETY: the caller owns one reference of this handle and gives it up.
    drop(unsafe { Library::from_raw(handle) });
}
