//! Errors as objects, which outlive the thread's next failure and which any thread reads.
//!
//! @header cushim.h
//! @task find out why a call failed

use super::error::{call, cushim_error_detail, cushim_status, take, tell};
use super::handles::{self, Incomplete, enter_anywhere, get, reserve};
use super::options::OutStruct;
use super::{out, text};
use crate::object::error::Error;
use crate::object::handle::{Header, object};
use std::ffi::c_char;
use std::sync::Arc;

/// An error that was taken from its thread. It never changes, and any thread can read it.
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

/// Turns the calling thread's last error into an object. The thread then has no last error.
///
/// @param[out, owned] error The error; NULL if no call of this thread has failed since the last one was taken.
///
/// # Safety
/// `error` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_take(error: *mut cushim_error) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `error`.
        let out = unsafe { out::cleared(error, std::ptr::null_mut(), "error") }?;
        let _guard = enter_anywhere()?;
        let reserved = reserve()?;
        let Some(error) = take() else { return Ok(()) };
        *out = reserved.of(Arc::new(ErrorObject { header: Header::new::<ErrorObject>(), error }));
        Ok(())
    })
}

/// Returns one more owning handle of an error.
///
/// @param[in] error The error.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owning handle of an error.
///
/// @param[in, ended, nullable] error The handle; NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_error_destroy(error: cushim_error) -> cushim_status {
    handles::destroy_anywhere(error)
}

/// Copies the details of an error.
///
/// @param[in] error The error.
/// @param[inout] detail Receives the details.
///
/// # Safety
/// `detail` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_error_get_detail(
    error: cushim_error,
    detail: *mut cushim_error_detail,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `detail`.
        let detail = unsafe { OutStruct::cleared(detail, "detail") }?;
        let guard = enter_anywhere()?;
        tell(Some(&get(&guard, error)?.error), detail);
        Ok(())
    })
}

/// Copies the message of an error, however long it is.
///
/// @param[in] error The error.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the message.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole message takes.
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

/// Copies what the driver logged during the failed call, one entry per line.
///
/// @param[in] error The error.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the lines; "" if there are none.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that all lines take.
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
