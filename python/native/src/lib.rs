//! `cushim._native`: the calls of the Python package that are made most often, without Python and cffi on their way. Everything that
//! is not usual (options, numbers that do not fit, arguments by name, failures) goes on to the method in Python that each of them stands
//! for, so the package does the same without this module.
//!
//! It uses the limited interface of Python 3.9 and later, so one file is for all of them; and the functions of libcushim that the
//! package has loaded, by their addresses.
#![cfg(target_os = "linux")]

mod bound;
mod calls;
mod capsule;
mod launch;
mod module;
mod object;
mod python;

/// What Python calls when the module is imported.
///
/// # Safety
/// Python calls it, with its lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__native() -> *mut std::ffi::c_void {
    // SAFETY: as the caller says.
    unsafe { module::create().cast() }
}
