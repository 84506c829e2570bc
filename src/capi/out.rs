//! Out-parameters.

use super::pointer;
pub(super) use super::pointer::null;
use crate::object::error::Error;

/// The caller's out-parameter, set to what it holds if the call fails.
///
/// # Safety
/// `out` is NULL, misaligned or valid for writes for as long as the result is used.
#[inline]
pub(super) unsafe fn cleared<'a, T>(out: *mut T, empty: T, what: &str) -> Result<&'a mut T, Error> {
    pointer::check(out, what)?;
    // SAFETY: `out` is aligned, and the caller vouches for the rest; it may be uninitialised, so it is written before it is borrowed.
    unsafe {
        out.write(empty);
        Ok(&mut *out)
    }
}

/// The same for a parameter that may be NULL.
///
/// # Safety
/// As for [`cleared`].
#[inline]
pub(super) unsafe fn cleared_if_given<'a, T>(
    out: *mut T,
    empty: T,
    what: &str,
) -> Result<Option<&'a mut T>, Error> {
    if out.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller vouches.
    unsafe { cleared(out, empty, what) }.map(Some)
}

/// The caller's array of `capacity` values, set to what it holds if the call fails; it may be NULL if it has none.
///
/// # Safety
/// `first` is NULL, misaligned or valid for writes of `capacity` values, for as long as the result is used, if so many
/// can be.
pub(super) unsafe fn array<'a, T: Copy>(
    first: *mut T,
    capacity: usize,
    empty: T,
    what: &str,
) -> Result<&'a mut [T], Error> {
    pointer::check_array(first, capacity, pointer::most::<T>(), what)?;
    if capacity == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the array is aligned and of no more bytes than memory can have, and the caller vouches for the rest; it may be
    // uninitialised, so it is written before it is borrowed.
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
