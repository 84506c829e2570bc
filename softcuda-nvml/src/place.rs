//! Where answers are written: memory of the caller's.

use crate::code::{Code, INSUFFICIENT_SIZE, INVALID_ARGUMENT, VERSION_MISMATCH};
use std::ffi::{CStr, c_char, c_uint};

/// Writes a value.
///
/// # Safety
/// The place is NULL or can be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes a text with its end, or nothing.
///
/// # Safety
/// The place is NULL or has as many bytes.
pub(crate) unsafe fn put_text(place: *mut c_char, length: c_uint, text: &str) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller's promise, and it was checked that the text fits.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(())
}

/// Checks the version that the caller has put at the begin of a struct: its size, and a number.
///
/// # Safety
/// The place is NULL, or begins with the version.
pub(crate) unsafe fn check_version<T>(place: *const T, number: u32) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let version = unsafe { place.cast::<u32>().read() };
    if version == size_of::<T>() as u32 | number << 24 { Ok(()) } else { Err(VERSION_MISMATCH) }
}

/// The text that a caller gives.
///
/// # Safety
/// It is NULL or terminated.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Code> {
    if text.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| INVALID_ARGUMENT)
}
