//! Where the loader looks for a library that is called by its bare name, and what it need not look for.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// A folder, as the loader tells it.
#[repr(C)]
struct Folder {
    name: *const c_char,
    flags: c_uint,
}

/// The loader's list: as many folders follow as it says, and their names.
#[repr(C)]
struct List {
    bytes: usize,
    count: c_uint,
    folders: [Folder; 1],
}

/// The folders in which the loader looks for what this module opens, in its order: those of `LD_LIBRARY_PATH` as the process was started
/// with it, unless it is privileged, and the system's. Of its cache it tells nothing; none if it tells nothing at all.
pub(in crate::driver::library) fn folders() -> Vec<PathBuf> {
    ask().unwrap_or_default()
}

fn ask() -> Option<Vec<PathBuf>> {
    let module = module()?;
    let mut size = List { bytes: 0, count: 0, folders: [Folder { name: std::ptr::null(), flags: 0 }] };
    // SAFETY: the module is loaded, and the list is of the form that this request fills.
    let answer = unsafe { libc::dlinfo(module, libc::RTLD_DI_SERINFOSIZE, (&raw mut size).cast()) };
    if answer != 0 {
        return None;
    }
    let mut memory = vec![0u64; size.bytes.max(size_of::<List>()).div_ceil(size_of::<u64>())];
    let list = memory.as_mut_ptr().cast::<List>();
    // SAFETY: the memory has as many bytes as the loader asked for, and says so where it looks for that. The names that it wrote there
    // end with NUL.
    unsafe {
        (*list).bytes = size.bytes;
        (*list).count = size.count;
        if libc::dlinfo(module, libc::RTLD_DI_SERINFO, list.cast()) != 0 {
            return None;
        }
        let first = (&raw const (*list).folders).cast::<Folder>();
        let names = (0..(*list).count as usize).map(|at| CStr::from_ptr((*first.add(at)).name));
        Some(names.map(|name| PathBuf::from(OsStr::from_bytes(name.to_bytes()))).collect())
    }
}

/// The loader's handle of the module that this code is in.
fn module() -> Option<*mut c_void> {
    const LINK_MAP: c_int = 2; // RTLD_DL_LINKMAP: glibc's handles are what it calls maps
    let mut module = null_mut();
    // SAFETY: all-zero is a valid value of this struct of pointers, and the address is one of this module's.
    let found = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr1(ask as *const () as *const c_void, &raw mut info, &raw mut module, LINK_MAP)
    };
    (found != 0 && !module.is_null()).then_some(module)
}

/// Whether a library in the process was loaded by this name, or says that it is its name (its SONAME): then the loader takes that one.
pub(in crate::driver::library) fn is_loaded(name: &Path) -> bool {
    unsafe extern "C" fn is_called(info: *mut libc::dl_phdr_info, _: usize, name: *mut c_void) -> c_int {
        // SAFETY: the loader passes what it knows of a module, valid during the call; the last argument is the caller's.
        let (info, name) = unsafe { (&*info, &*name.cast::<&Path>()) };
        let is_it = |own: &CStr| own.to_bytes() == name.as_os_str().as_bytes();
        // SAFETY: as above; what a module was loaded by ends with NUL.
        let is_called = unsafe { is_it(CStr::from_ptr(info.dlpi_name)) || own_name(info).is_some_and(is_it) };
        c_int::from(is_called)
    }
    let mut name = name;
    // SAFETY: the callback keeps to the contract, and gets the name that it expects.
    unsafe { libc::dl_iterate_phdr(Some(is_called), (&raw mut name).cast()) != 0 }
}

/// What a module calls itself.
///
/// # Safety
/// The module is one of the loader's, and stays as long as the name is used.
unsafe fn own_name(info: &libc::dl_phdr_info) -> Option<&CStr> {
    const END: i64 = 0;
    const STRINGS: i64 = 5;
    const OWN_NAME: i64 = 14;
    // SAFETY: the module's headers, as many as it says.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let mut entry = info.dlpi_addr.wrapping_add(dynamic.p_vaddr) as *const [u64; 2];
    let (mut strings, mut at) = (None, None);
    loop {
        // SAFETY: the table ends with the entry that says so.
        let [tag, value] = unsafe { *entry };
        match tag as i64 {
            END => break,
            // The loader writes the address there, but not in all modules.
            STRINGS if value < info.dlpi_addr => strings = Some(value + info.dlpi_addr),
            STRINGS => strings = Some(value),
            OWN_NAME => at = Some(value),
            _ => {}
        }
        // SAFETY: as above.
        entry = unsafe { entry.add(1) };
    }
    // SAFETY: the name is one of the module's strings, which end with NUL.
    Some(unsafe { CStr::from_ptr((strings? + at?) as *const c_char) })
}
