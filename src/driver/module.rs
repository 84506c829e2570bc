//! The module that this code was linked into: a shared library of ours, somebody's plug-in, or the program itself.

use super::library::Library;
use std::path::PathBuf;
use std::sync::Once;

/// An address within the module.
fn anchor() -> *const std::ffi::c_void {
    pin as *const () as *const std::ffi::c_void
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

#[cfg(target_os = "linux")]
fn is_program() -> bool {
    // The loader calls the program by the first argument, which says nothing about where it lies. The headers of the
    // program are mapped with it, so a module that holds them is the program.
    // SAFETY: reads one word of the auxiliary vector.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize as *const std::ffi::c_void;
    system::base_of(headers).is_some_and(|base| system::base_of(anchor()) == Some(base))
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

    #[cfg(target_os = "linux")]
    pub(super) fn base_of(address: *const c_void) -> Option<usize> {
        info(address).map(|info| info.dli_fbase as usize)
    }

    pub(super) fn pin() {
        let Some(info) = info(super::anchor()) else { return };
        // SAFETY: the name is a string of the loader's. Without loading anything this only marks a module that is
        // mapped already; for the program itself, which is never unloaded, it fails and changes nothing.
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
