//! Out-parameters.

use crate::error::{Error, Status};

/// The caller's out-parameter, set to what it holds if the call fails.
///
/// # Safety
/// `out` is NULL or valid for writes for as long as the result is used.
#[inline]
pub(super) unsafe fn cleared<'a, T>(out: *mut T, empty: T, what: &str) -> Result<&'a mut T, Error> {
    if out.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller vouches for `out`; it may be uninitialised, so it is written before it is borrowed.
    unsafe {
        out.write(empty);
        Ok(&mut *out)
    }
}

/// The refusal of a pointer that must not be NULL.
#[cold]
pub(super) fn null(what: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{what} must not be NULL"))
}

/// The same for a parameter that may be NULL.
///
/// # Safety
/// As for [`cleared`].
pub(super) unsafe fn cleared_if_given<'a, T>(out: *mut T, empty: T) -> Option<&'a mut T> {
    // SAFETY: the caller vouches for `out`.
    (!out.is_null()).then(|| unsafe {
        out.write(empty);
        &mut *out
    })
}

/// Writes a value where it is wanted.
pub(super) fn put<T>(out: Option<&mut T>, value: T) {
    if let Some(out) = out {
        *out = value;
    }
}
