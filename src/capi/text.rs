//! Texts that come in, and texts that go into a caller's buffer.

use super::{out, pointer};
use crate::object::error::{Error, Status};
use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// The most bytes of a label.
pub(super) const MOST_OF_LABEL: usize = 4096;

/// The most bytes of a name or a path.
const MOST: usize = 1 << 16;

/// A text of the caller's, if there is one.
///
/// # Safety
/// `text` is NULL, or valid for reads up to its NUL, or of [`MOST`] bytes, and stays as it is while the result lives.
pub(super) unsafe fn given<'a>(text: *const c_char, what: &str) -> Result<Option<Cow<'a, str>>, Error> {
    // SAFETY: as the caller vouches.
    unsafe { of_at_most(MOST, text, what) }
}

/// The same of at most so many bytes, its NUL not counted.
///
/// # Safety
/// `text` is NULL, or valid for reads up to its NUL, or of `most` bytes and one more, and stays as it is while the
/// result lives.
pub(super) unsafe fn of_at_most<'a>(
    most: usize,
    text: *const c_char,
    what: &str,
) -> Result<Option<Cow<'a, str>>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller vouches.
    unsafe { c_text(most, text, what) }.map(|text| Some(text.to_string_lossy()))
}

/// As [`given`], for a parameter that must be there.
///
/// # Safety
/// As [`given`].
pub(super) unsafe fn required<'a>(text: *const c_char, what: &str) -> Result<Cow<'a, str>, Error> {
    // SAFETY: as the caller vouches.
    unsafe { bytes(text, what) }.map(CStr::to_string_lossy)
}

/// As [`required`], byte for byte.
///
/// # Safety
/// As [`given`].
pub(super) unsafe fn bytes<'a>(text: *const c_char, what: &str) -> Result<&'a CStr, Error> {
    // SAFETY: as the caller vouches.
    unsafe { bytes_of_at_most(MOST, text, what) }
}

/// The same of at most so many bytes, its NUL not counted.
///
/// # Safety
/// As [`of_at_most`].
pub(super) unsafe fn bytes_of_at_most<'a>(
    most: usize,
    text: *const c_char,
    what: &str,
) -> Result<&'a CStr, Error> {
    pointer::check(text, what)?;
    // SAFETY: as the caller vouches.
    unsafe { c_text(most, text, what) }
}

/// # Safety
/// As [`of_at_most`], and `text` is not NULL.
unsafe fn c_text<'a>(most: usize, text: *const c_char, what: &str) -> Result<&'a CStr, Error> {
    // SAFETY: the caller vouches for each byte up to the NUL, behind which nothing is read.
    let length = unsafe { libc::strnlen(text, most + 1) };
    if length > most {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("{what} is longer than {most} bytes; pass a shorter text, which ends with NUL"),
        ));
    }
    // SAFETY: so many bytes were read, and the last one is the first NUL.
    Ok(unsafe { CStr::from_bytes_with_nul_unchecked(std::slice::from_raw_parts(text.cast(), length + 1)) })
}

/// Where a text goes: a caller's buffer, and where its whole length is wanted.
pub(super) struct Room<'a> {
    buffer: &'a mut [MaybeUninit<u8>],
    needed: Option<&'a mut usize>,
}

impl<'a> Room<'a> {
    /// The caller's buffer, with an empty text in it, and 0 as the length.
    ///
    /// # Safety
    /// `buffer` is NULL or valid for writes of `size` bytes, `needed` is NULL or valid for writes, both while the
    /// result lives.
    pub(super) unsafe fn new(buffer: *mut c_char, size: usize, needed: *mut usize) -> Result<Self, Error> {
        // SAFETY: the caller vouches for `needed`.
        let needed = unsafe { out::cleared_if_given(needed, 0, "needed") };
        if buffer.is_null() && size > 0 {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!("buffer is NULL and its size {size}; without a buffer the size is 0"),
            ));
        }
        if size == 0 {
            return Ok(Self { buffer: &mut [], needed: needed? });
        }
        // No buffer is larger than that, whatever is said of it.
        let size = size.min(isize::MAX as usize);
        // SAFETY: the caller vouches for the buffer.
        let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), size) };
        buffer[0].write(0);
        Ok(Self { buffer, needed: needed? })
    }

    /// Writes the text, cut and marked with "..." where it does not fit.
    pub(super) fn write(&mut self, text: &str) {
        if let Some(needed) = &mut self.needed {
            **needed = text.len() + 1;
        }
        let bytes = cut(text, self.buffer.len());
        self.buffer.iter_mut().zip(bytes).for_each(|(to, from)| _ = to.write(from));
    }
}

/// The bytes of a text and its NUL for a place of `size` bytes: cut at a character's start and marked with "..."
/// where it does not fit.
pub(super) fn cut(text: &str, size: usize) -> impl Iterator<Item = u8> {
    let room = size.saturating_sub(1);
    let (kept, mark) = if text.len() <= room {
        (text, "")
    } else {
        let mut ends = (0..=room.saturating_sub(3)).rev();
        let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        (&text[..end], &"..."[..room.min(3)])
    };
    kept.bytes().chain(mark.bytes()).chain(std::iter::once(0)).take(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_cut(text: &str, size: usize, expected: &[u8]) {
        assert_eq!(cut(text, size).collect::<Vec<u8>>(), expected);
    }

    #[test]
    fn texts_are_cut_at_characters() {
        assert_cut("1234567", 8, b"1234567\0");
        assert_cut("12345678", 8, b"1234...\0");
        assert_cut("123é5678", 8, b"123...\0");
        assert_cut("123", 3, b"..\0");
        assert_cut("123", 1, b"\0");
        assert_cut("123", 0, b"");
    }
}
