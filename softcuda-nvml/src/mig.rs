//! MIG, which is off.

use crate::code::{INVALID_ARGUMENT, NOT_FOUND};
use crate::device::{Handle, number};
use crate::place::put;
use crate::session::call;
use std::ffi::{c_int, c_uint};

const DISABLED: c_uint = 0;

/// # Safety
/// `current` and `pending` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    of: Handle,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> c_int {
    call(|core| {
        number(core, of)?;
        if current.is_null() || pending.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe {
            put(current, DISABLED)?;
            put(pending, DISABLED)
        }
    })
}

/// # Safety
/// `count` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(of: Handle, count: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { number(core, of).and_then(|_| put(count, 0)) })
}

/// # Safety
/// `is_one` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceIsMigDeviceHandle(of: Handle, is_one: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { number(core, of).and_then(|_| put(is_one, 0)) })
}

/// Defines functions that only handles of MIG devices are good for.
macro_rules! only_of_mig {
    ($($name:ident)*) => {$(
        /// No handle is one of a MIG device.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_of: Handle, _found: *mut c_uint) -> c_int {
            call(|_| Err(INVALID_ARGUMENT))
        }
    )*};
}

only_of_mig! { nvmlDeviceGetGpuInstanceId nvmlDeviceGetComputeInstanceId }

/// There is none of any index.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    of: Handle,
    _index: c_uint,
    found: *mut Handle,
) -> c_int {
    call(|core| {
        number(core, of)?;
        Err(if found.is_null() { INVALID_ARGUMENT } else { NOT_FOUND })
    })
}

/// No handle is one of a MIG device.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(_of: Handle, _found: *mut Handle) -> c_int {
    call(|_| Err(INVALID_ARGUMENT))
}
