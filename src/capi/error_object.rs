//! Errors as objects, which outlive the thread's next failure and which any thread reads.

use super::error::{call, cushim_error_detail, cushim_status, take};
use super::handles::{self, Incomplete, claim, enter_anywhere, get};
use super::{options, out, text};
use crate::error::Error;
use crate::handle::{Header, object};
use std::ffi::c_char;
use std::sync::Arc;

/// A failure that was taken from its thread. Never changes.
pub type cushim_error = *mut cushim_error_s;

/// Never given a body.
pub struct cushim_error_s {
    _private: [u8; 0],
}

/// What stands behind a `cushim_error`.
pub(crate) struct ErrorObject {
    header: Header,
    error: Error,
}

object!(ErrorObject: Error, header);

impl Incomplete for cushim_error_s {
    type Object = ErrorObject;
}

/// Takes the calling thread's last error as an object. The thread has none afterwards.
///
/// @param error Receives a claim; NULL if no call of this thread failed since the last one was taken, or on failure. Must
///   not be NULL. Give it back with `cushim_error_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any. Needs no driver.
///
/// # Safety
/// `error` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_take(error: *mut cushim_error) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `error`.
        let out = unsafe { out::cleared(error, std::ptr::null_mut(), "error") }?;
        let _guard = enter_anywhere()?;
        let Some(error) = take() else { return Ok(()) };
        *out = claim(Arc::new(ErrorObject { header: Header::new::<ErrorObject>(), error }))?;
        Ok(())
    })
}

/// Gives the error one more handle.
///
/// @param error The error.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_error_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_ref(
    error: cushim_error,
    reference: *mut cushim_error,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(error, reference) }
}

/// Ends a claim on the error.
///
/// @param error The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_ALREADY_DESTROYED`, `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_error_destroy(error: cushim_error) -> cushim_status {
    handles::destroy_anywhere(error)
}

/// Copies the detail of the error.
///
/// @param error The error.
/// @param detail Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `detail` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_get_detail(
    error: cushim_error,
    detail: *mut cushim_error_detail,
) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        let full = cushim_error_detail::of(Some(&get(&guard, error)?.error));
        // SAFETY: the caller vouches for `detail`.
        unsafe { options::write_out(detail, &full, "detail") }
    })
}

/// Copies the whole message of the error, however long it is.
///
/// @param error The error.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_get_message(
    error: cushim_error,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    call(|| unsafe { write_text(error, buffer, size, needed, |error| &error.message) })
}

/// Copies all that the driver logged about the failed call, a line per entry.
///
/// @param error The error.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_get_driver_log(
    error: cushim_error,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    call(|| unsafe { write_text(error, buffer, size, needed, |error| &error.driver_log) })
}

/// # Safety
/// As for [`text::Room::new`].
unsafe fn write_text(
    error: cushim_error,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
    which: fn(&Error) -> &str,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for the buffer.
    let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
    let guard = enter_anywhere()?;
    room.write(which(&get(&guard, error)?.error));
    Ok(())
}
