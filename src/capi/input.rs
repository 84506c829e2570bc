//! Structs and arrays that the caller lends for the time of a call.

use super::out;
use crate::object::error::{Error, Status};

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

/// An array of the caller's that must be there: what each element means, or an error that says which one means
/// nothing.
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
        meanings.push(meaning(&value).map_err(|failure| failure.of_item("item", index))?);
    }
    Ok(meanings)
}

/// Gives each element of a caller's array, which may be NULL if it has none, to a function that may refuse it.
///
/// # Safety
/// As for [`array`].
#[inline]
pub(super) unsafe fn for_each<T: Copy>(
    values: *const T,
    count: usize,
    what: &str,
    mut take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    if values.is_null() && count > 0 {
        return Err(out::null(what));
    }
    (0..count).try_for_each(|index| {
        // SAFETY: the caller vouches for so many.
        let value = unsafe { values.add(index).read_unaligned() };
        take(value).map_err(|failure| failure.of_item("item", index))
    })
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

/// A caller's array, which may be NULL if it has no elements. No memory is larger than `isize::MAX` bytes: of a count beyond that
/// nothing is read.
///
/// # Safety
/// `first` is NULL or aligned and valid for reads of `count` values for as long as the result is used.
#[inline]
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() || count > isize::MAX as usize / size_of::<T>() {
        return Err(no_array(first.is_null(), count, what));
    }
    // SAFETY: the caller vouches for so many, which are no more than there can be.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

#[cold]
fn no_array(is_null: bool, count: usize, what: &str) -> Error {
    let refusal = match is_null {
        true => format!("{what} is NULL, and its count is {count}"),
        false => format!("{what} has a count of {count}, for which no memory is large enough"),
    };
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

/// What each of some values means, or an error that says which one means nothing.
pub(super) fn each<'a, T, U>(
    values: &'a [T],
    mut meaning: impl FnMut(&'a T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let with_index = |(index, value)| meaning(value).map_err(|failure| failure.of_item("item", index));
    values.iter().enumerate().map(with_index).collect()
}
