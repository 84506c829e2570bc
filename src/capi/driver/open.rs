//! Opening a driver, and giving its handle back.

use super::handle::cushim_driver;
use crate::capi::driver_object::DriverObject;
use crate::capi::error::{call, cushim_status};
use crate::capi::{options, out};
use crate::driver::{Choice, CustomGetter, OpenOptions};
use crate::error::{Error, Status};
use crate::handle::{self, Token};
use crate::logging;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};

/// A getter of the caller's own: `cuGetProcAddress_v2` with a pointer of the caller's before its parameters.
///
/// Writes the address of the function `symbol` in the ABI that driver `version` has into `*address`, NULL where there is
/// none, and a `CUdriverProcAddressQueryResult` into `*found`. Returns a `CUresult`. Neither out-pointer is ever NULL. It
/// is called on the thread that opens the driver, only while it is being opened. What it hands out must stay valid until
/// the process ends.
pub type cushim_driver_getter = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        symbol: *const c_char,
        address: *mut *mut c_void,
        version: c_int,
        flags: u64,
        found: *mut c_int,
    ) -> c_int,
>;

/// What `cushim_driver_options.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_driver_flags {
    /// Read no environment variable, as in a set-uid process.
    CUSHIM_DRIVER_IGNORE_ENVIRONMENT = 1,
    /// `getter` behaves as `cuGetProcAddress` did before 12.0: an absent function is an error rather than a NULL address,
    /// and what it leaves in `*found` means nothing.
    CUSHIM_DRIVER_GETTER_V1 = 2,
}

/// Options of `cushim_driver_open`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_driver_options {
    /// Bytes of this struct, `sizeof(cushim_driver_options)`.
    pub struct_size: usize,
    /// Which driver: "auto", "software", "none", or the path of a library (write "./auto" for a file of that name).
    /// NULL: the environment variable `CUSHIM_DRIVER` decides, and without it "auto".
    pub driver: *const c_char,
    /// Where functions come from instead of a library; NULL: from a library. With it `driver` must be NULL.
    /// Each opening with a getter makes a driver of its own, which stays until the process ends, as what it hands out must:
    /// about 20 KiB, and 35 more once its symbols are enumerated. So open it once.
    pub getter: cushim_driver_getter,
    /// The first argument of the getter.
    pub getter_user: *mut c_void,
    /// A combination of `cushim_driver_flags`.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Opens the CUDA driver.
///
/// Finds the library, loads it and resolves every ABI of the catalogue; it does not call `cuInit`. A named driver that
/// cannot be opened is an error, no other is tried. Opening the same library again gives another handle of the same
/// driver. The library stays loaded until the process ends.
///
/// @param options NULL for the defaults. Read during the call only.
/// @param driver Receives the handle; NULL on failure. Must not be NULL. Give it back with `cushim_driver_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_DRIVER_NOT_FOUND`, `CUSHIM_ERROR_DRIVER_UNUSABLE`,
/// `CUSHIM_ERROR_FORKED`. The message lists the libraries that were tried and why each was refused. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with strings that end in NUL and a getter that
/// keeps its contract; `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_open(
    options: *const cushim_driver_options,
    driver: *mut cushim_driver,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `driver`.
        let driver = unsafe { out::cleared(driver, std::ptr::null_mut(), "driver") }?;
        let _guard = handle::enter()?;
        // SAFETY: the caller vouches for `options`.
        let opened = unsafe { open_options(options) }?.open()?;
        *driver = handle::claim(DriverObject::new(opened))?.to_pointer();
        Ok(())
    })
}

const IGNORE_ENVIRONMENT: u32 = cushim_driver_flags::CUSHIM_DRIVER_IGNORE_ENVIRONMENT as u32;

const GETTER_V1: u32 = cushim_driver_flags::CUSHIM_DRIVER_GETTER_V1 as u32;

fn has(options: &cushim_driver_options, flag: u32) -> bool {
    options.flags & flag != 0
}

/// # Safety
/// As for `cushim_driver_open`.
unsafe fn open_options(options: *const cushim_driver_options) -> Result<OpenOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let options = unsafe { options::read(options, "options") }?;
    let mut open = OpenOptions::new();
    if !options.driver.is_null() {
        // SAFETY: the caller vouches for the string.
        open = open.choice(Choice::from(os_string(unsafe { CStr::from_ptr(options.driver) })?));
    }
    let (ignore_environment, getter_v1) = (has(&options, IGNORE_ENVIRONMENT), has(&options, GETTER_V1));
    if let Some(getter) = options.getter {
        // SAFETY: the caller vouches for the getter.
        let getter = unsafe { CustomGetter::new(getter, options.getter_user) };
        open = open.getter(if getter_v1 { getter.v1() } else { getter });
    }
    let known = IGNORE_ENVIRONMENT | GETTER_V1;
    if options.flags & !known != 0 || options.reserved != 0 {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "options: flags is {:#x}, of which {known:#x} is known, and reserved must be 0",
                options.flags
            ),
        ));
    }
    if !ignore_environment {
        // Before the search, which the log tells of.
        logging::start();
    }
    Ok(open.environment(!ignore_environment))
}

#[cfg(unix)]
fn os_string(text: &CStr) -> Result<&OsStr, Error> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(text.to_bytes()))
}

#[cfg(not(unix))]
fn os_string(text: &CStr) -> Result<&OsStr, Error> {
    let text =
        text.to_str().map_err(|_| Error::new(Status::INVALID_ARGUMENT, "options: driver must be UTF-8"))?;
    Ok(OsStr::new(text))
}

/// Gives a handle back. The driver's library stays loaded, and tables that were handed out stay valid.
///
/// @param driver A handle of `cushim_driver_open`, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_ALREADY_DESTROYED`, `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_driver_destroy(driver: cushim_driver) -> cushim_status {
    call(|| {
        if driver.is_null() {
            return Ok(());
        }
        // The driver itself stays: nothing can go wrong when the last hold goes, here or later.
        drop(handle::enter()?.destroy::<DriverObject>(Token::from_pointer(driver))?);
        Ok(())
    })
}
