//! Structs and arrays that the caller lends for the time of a call.

use super::pointer;
use crate::object::error::Error;

/// A struct of the caller's that must be there.
///
/// # Safety
/// `value` is NULL, misaligned or valid for reads.
#[inline]
pub(super) unsafe fn given<T: Copy>(value: *const T, what: &str) -> Result<T, Error> {
    pointer::check(value, what)?;
    // SAFETY: it is aligned, and the caller vouches for the rest.
    Ok(unsafe { value.read() })
}

/// An array of the caller's that must be there: what each element means, or an error that says which one means
/// nothing.
///
/// # Safety
/// As for [`slice`].
pub(super) unsafe fn array<T: Copy, U>(
    values: *const T,
    count: usize,
    what: &str,
    meaning: impl FnMut(&T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    pointer::check(values, what)?;
    // SAFETY: as the caller vouches.
    unsafe { array_if_any(values, count, what, meaning) }
}

/// The same for an array that may be NULL if it has no elements.
///
/// # Safety
/// As for [`slice`].
pub(super) unsafe fn array_if_any<T: Copy, U>(
    values: *const T,
    count: usize,
    what: &str,
    meaning: impl FnMut(&T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    // SAFETY: as the caller vouches.
    each(unsafe { slice(values, count, what) }?, meaning)
}

/// Gives each element of a caller's array, which may be NULL if it has none, to a function that may refuse it.
///
/// # Safety
/// As for [`slice`].
#[inline]
pub(super) unsafe fn for_each<T: Copy>(
    values: *const T,
    count: usize,
    what: &str,
    mut take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    pointer::check_array(values, count, pointer::most::<T>(), what)?;
    (0..count).try_for_each(|index| {
        // SAFETY: it is aligned, and the caller vouches for so many.
        let value = unsafe { values.add(index).read() };
        take(value).map_err(|failure| failure.of_item("item", index))
    })
}

/// A caller's array, which may be NULL if it has no elements.
///
/// # Safety
/// `first` is NULL, misaligned or valid for reads of `count` values for as long as the result is used, if so many can
/// be.
#[inline]
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Error> {
    // SAFETY: as the caller vouches.
    unsafe { slice_of_at_most(pointer::most::<T>(), first, count, what) }
}

/// The same where there can be no more than `most` elements.
///
/// # Safety
/// As for [`slice`]; `most` elements are no more than [`pointer::most`].
#[inline]
pub(super) unsafe fn slice_of_at_most<'a, T>(
    most: usize,
    first: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Error> {
    pointer::check_array(first, count, most, what)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: it is aligned, of no more bytes than memory can have, and the caller vouches for the rest.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// What each of some values means, or an error that says which one means nothing.
pub(super) fn each<'a, T, U>(
    values: &'a [T],
    mut meaning: impl FnMut(&'a T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let with_index = |(index, value)| meaning(value).map_err(|failure| failure.of_item("item", index));
    values.iter().enumerate().map(with_index).collect()
}
