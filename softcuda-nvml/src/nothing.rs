//! What a machine without hardware has none of, where NVML counts or searches, and does not refuse.

use crate::code::{INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED};
use crate::device::{Handle, number};
use crate::place::{put, text};
use crate::session::call;
use std::ffi::{c_char, c_int, c_uint};

/// Defines functions that say that there are none.
macro_rules! none_of {
    ($($name:ident)*) => {$(
        /// There are none.
        ///
        /// # Safety
        /// `count` is NULL or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(count: *mut c_uint) -> c_int {
            // SAFETY: the caller's promise.
            call(|_| unsafe { put(count, 0) })
        }
    )*};
}

none_of! { nvmlUnitGetCount nvmlGetExcludedDeviceCount nvmlGetBlacklistDeviceCount }

/// There are no cards that connect S-class systems.
///
/// # Safety
/// `count` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetHicVersion(count: *mut c_uint, _list: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|_| unsafe { put(count, 0) })
}

/// No device has a serial number.
///
/// # Safety
/// `serial` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: *const c_char, found: *mut Handle) -> c_int {
    call(|_| {
        // SAFETY: the caller's promise.
        unsafe { text(serial) }?;
        Err(if found.is_null() { INVALID_ARGUMENT } else { NOT_FOUND })
    })
}

/// A value that is asked for by its number.
#[repr(C)]
pub(crate) struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    result: c_int,
    value: u64,
}

/// The call succeeds, and each field says that the device has no such value.
///
/// # Safety
/// `values` is NULL or has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    of: Handle,
    count: c_int,
    values: *mut FieldValue,
) -> c_int {
    call(|core| {
        number(core, of)?;
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(INVALID_ARGUMENT)?;
        if values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        for at in 0..count {
            // SAFETY: the caller's promise.
            unsafe { (&raw mut (*values.add(at)).result).write(NOT_SUPPORTED.0) };
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::FieldValue;
    use std::mem::offset_of;

    #[test]
    fn layouts() {
        assert_eq!((size_of::<FieldValue>(), offset_of!(FieldValue, result)), (40, 28));
    }
}
