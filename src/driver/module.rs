//! The module that this code was linked into: a shared library of ours, somebody's plug-in, or the program itself.

use super::library::Library;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Once;

/// An address within the module.
fn anchor() -> *const c_void {
    pin as *const () as *const c_void
}

/// The real path of the module's file.
pub(super) fn path() -> Option<PathBuf> {
    if is_program() { std::env::current_exe().ok() } else { Library::path_of(anchor()) }
}

/// Keeps the module in memory until the process ends: the driver holds addresses of callbacks in it.
pub(super) fn pin() {
    static PINNED: Once = Once::new();
    PINNED.call_once(system::pin);
}

/// The loader calls the program by the first argument, which says nothing about where it lies. It lists the program first,
/// which also takes less time than to ask what an address belongs to.
#[cfg(target_os = "linux")]
fn is_program() -> bool {
    unsafe extern "C" fn holds(info: *mut libc::dl_phdr_info, _: usize, address: *mut c_void) -> i32 {
        // SAFETY: the loader passes what it knows of a module, valid during the call.
        let info = unsafe { &*info };
        // SAFETY: as above: the module's headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let held = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            (address.addr() as u64).wrapping_sub(start) < header.p_memsz
        });
        // Anything but 0 ends the list at its first module, which is the program.
        if held { 1 } else { 2 }
    }
    // SAFETY: the callback keeps to the contract, and treats the last argument as a number.
    unsafe { libc::dl_iterate_phdr(Some(holds), anchor().cast_mut()) == 1 }
}

#[cfg(not(target_os = "linux"))]
fn is_program() -> bool {
    false
}

#[cfg(unix)]
mod system {
    use std::ffi::c_void;

    fn info(address: *const c_void) -> Option<libc::Dl_info> {
        // SAFETY: all-zero is a valid value of this struct of pointers, and dladdr accepts any address.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            (libc::dladdr(address, &raw mut info) != 0).then_some(info)
        }
    }

    pub(super) fn pin() {
        if super::is_program() {
            return; // it is never unloaded
        }
        let Some(info) = info(super::anchor()) else { return };
        // SAFETY: the name is a string of the loader's. Without loading anything this only marks a module that is
        // mapped already.
        unsafe { libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

#[cfg(windows)]
mod system {
    use std::ffi::c_void;

    const PIN: u32 = 1;
    const FROM_ADDRESS: u32 = 4;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut isize) -> i32;
    }

    pub(super) fn pin() {
        let mut module = 0;
        // SAFETY: with this flag any address may be asked about, and the out-pointer is valid.
        unsafe { GetModuleHandleExW(PIN | FROM_ADDRESS, super::anchor(), &raw mut module) };
    }
}
