//! Structs and arrays that the caller lends for the time of a call.

use super::out;
use crate::error::Error;

/// A struct of the caller's that must be there.
///
/// # Safety
/// `value` is NULL or valid for reads.
#[inline]
pub(super) unsafe fn given<T: Copy>(value: *const T, what: &str) -> Result<T, Error> {
    if value.is_null() {
        return Err(out::null(what));
    }
    // SAFETY: the caller vouches for it.
    Ok(unsafe { value.read_unaligned() })
}

/// An array of the caller's that must be there: what each element means, or an error that says which one means nothing.
///
/// # Safety
/// `values` is NULL or valid for reads of `count` values.
pub(super) unsafe fn array<T: Copy, U>(
    values: *const T,
    count: usize,
    what: &str,
    mut meaning: impl FnMut(&T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    if values.is_null() {
        return Err(out::null(what));
    }
    // No more is reserved at first than most arrays have.
    let mut meanings = Vec::with_capacity(count.min(4096));
    for index in 0..count {
        // SAFETY: the caller vouches for so many.
        let value = unsafe { values.add(index).read_unaligned() };
        meanings.push(meaning(&value).map_err(|failure| at(failure, index))?);
    }
    Ok(meanings)
}

/// The same for an array that may be NULL if it has no elements.
///
/// # Safety
/// As for [`array`].
pub(super) unsafe fn array_if_any<T: Copy, U>(
    values: *const T,
    count: usize,
    what: &str,
    meaning: impl FnMut(&T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    // SAFETY: as the caller vouches.
    if count == 0 { Ok(Vec::new()) } else { unsafe { array(values, count, what, meaning) } }
}

#[cold]
fn at(mut failure: Error, index: usize) -> Error {
    failure.message = format!("item {index}: {}", failure.message);
    failure.item = Some(index);
    failure
}
