//! Out-parameters.

use crate::object::error::{Error, Status};

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

/// The caller's array of `capacity` values, set to what it holds if the call fails; it may be NULL if it has none.
///
/// # Safety
/// `first` is NULL or valid for writes of `capacity` values, for as long as the result is used.
pub(super) unsafe fn array<'a, T: Copy>(
    first: *mut T,
    capacity: usize,
    empty: T,
    what: &str,
) -> Result<&'a mut [T], Error> {
    if capacity == 0 {
        return Ok(&mut []);
    }
    if first.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller vouches for the array; it may be uninitialised, so it is written before it is borrowed.
    unsafe {
        (0..capacity).for_each(|index| first.add(index).write(empty));
        Ok(std::slice::from_raw_parts_mut(first, capacity))
    }
}

/// Several out-parameters: each was cleared before one of them is refused.
pub(super) fn both<A, B>(first: Result<A, Error>, second: Result<B, Error>) -> Result<(A, B), Error> {
    Ok((first?, second?))
}

/// Writes a value where it is wanted.
pub(super) fn put<T>(out: Option<&mut T>, value: T) {
    if let Some(out) = out {
        *out = value;
    }
}
