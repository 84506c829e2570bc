//! The pointers that callers pass, wrapped, so that the driver's functions check them and need no unsafe code.
//!
//! The driver API demands of its callers that a pointer that is not NULL points to what the parameter's type says, for
//! the duration of the call. A real driver ends the process otherwise; here NULL, and memory that cannot be read or written, is
//! refused. Pointers need not be aligned. The values come from `exports` only.

use super::Answer;
use super::reach::{PAGE, is_at_hand};
use super::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
#[cfg(test)]
use std::ffi::CStr;
use std::ffi::{c_char, c_void};

/// A place that the function writes (and reads, if it is an in-out parameter).
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// A value that the function reads.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> Out<T> {
    /// A place that is not wanted.
    pub(crate) const fn null() -> Self {
        Self(std::ptr::null_mut())
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The same as something that is only read.
    pub(crate) fn read(self) -> In<T> {
        In(self.0)
    }

    /// A place whose type another parameter tells.
    pub(crate) fn untyped(place: *mut c_void) -> Self {
        Self(place.cast())
    }

    /// Refuses what cannot be written; for a check before the first effect.
    pub(crate) fn check(self) -> Answer {
        allow(!self.0.is_null() && is_at_hand(self.address(), size_of::<T>(), true))
    }

    /// Writes the value.
    pub(crate) fn set(self, value: T) -> Answer {
        self.check()?;
        // SAFETY: it can be written, and by the driver API's contract is for that (see the head of this file).
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the value unless the caller passed NULL, where NULL means "not wanted".
    pub(crate) fn set_if_wanted(self, value: T) {
        let _not_wanted = self.set(value);
    }

    /// Writes item `index` of an array, whose items are written one after the other.
    pub(crate) fn set_item(self, index: usize, value: T) -> Answer {
        let item = item(self.0, index, true)?.cast_mut();
        // SAFETY: as in `set`.
        unsafe { item.write_unaligned(value) };
        Ok(())
    }

    /// Reads item `index` of an array, whose items are read one after the other.
    pub(crate) fn item(self, index: usize) -> Result<T, CUresult>
    where
        T: Copy,
    {
        self.read().item(index)
    }

    /// Refuses an array of which not all items can be read; for a check before anything else is done for each of them.
    pub(crate) fn check_items(self, count: usize) -> Answer {
        let size = count.checked_mul(size_of::<T>()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        allow(!self.0.is_null() && is_at_hand(self.address(), size, false))
    }
}

impl Out<c_char> {
    /// Writes as much of `text` as fits into `size` bytes, with a terminating zero; refuses NULL and a size of 0, for
    /// which the measured driver crashes. It takes negative sizes for large ones.
    pub(crate) fn set_text(self, text: &str, size: i32) -> Answer {
        let size = size as u32 as usize;
        allow(!self.0.is_null() && size > 0)?;
        let length = text.len().min(size - 1);
        allow(is_at_hand(self.address(), length + 1, true))?;
        // SAFETY: it can be written, so valid for `size` bytes, of which this writes at most that many.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.0, length);
            self.0.add(length).write(0);
        }
        Ok(())
    }
}

impl<T> In<T> {
    /// What a pointer in a caller's structure points to.
    pub(crate) const fn at(value: *const T) -> Self {
        Self(value)
    }

    /// A value that is not given.
    pub(crate) const fn null() -> Self {
        Self(std::ptr::null())
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }
}

impl<T: Copy> In<T> {
    /// Reads the value.
    pub(crate) fn get(self) -> Result<T, CUresult> {
        self.item(0)
    }

    /// Reads item `index` of an array, whose items are read one after the other.
    pub(crate) fn item(&self, index: usize) -> Result<T, CUresult> {
        let item = item(self.0, index, false)?;
        // SAFETY: it can be read, and is a `T` by the driver API's contract.
        Ok(unsafe { item.read_unaligned() })
    }
}

impl In<u8> {
    /// Memory whose type another parameter tells.
    pub(crate) fn untyped(value: *const c_void) -> Self {
        Self(value.cast())
    }

    /// So many bytes of a caller's, who leaves them as they are during the call.
    pub(crate) fn bytes<'a>(self, count: usize) -> Result<&'a [u8], CUresult> {
        allow(!self.0.is_null() && is_at_hand(self.address(), count, false))?;
        // SAFETY: they can be read, so there are not too many.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

impl In<c_char> {
    #[cfg(test)]
    pub(crate) fn of(text: &'static CStr) -> Self {
        Self(text.as_ptr())
    }

    /// The zero-terminated text; refuses what is not UTF-8 (no name of the driver's is).
    pub(crate) fn text<'a>(self) -> Result<&'a str, CUresult> {
        std::str::from_utf8(self.until_zero()?).map_err(|_| CUDA_ERROR_INVALID_VALUE)
    }

    /// The bytes before the terminating zero, which is looked for page by page.
    pub(crate) fn until_zero<'a>(self) -> Result<&'a [u8], CUresult> {
        let start = In(self.0.cast::<u8>());
        let mut known = 0;
        loop {
            let place = start.0.wrapping_add(known);
            // As far as its page reaches, or it may be one of the stack that lies beyond its end.
            let part = In(place).bytes(PAGE - place.addr() % PAGE)?;
            if let Some(length) = part.iter().position(|byte| *byte == 0) {
                return start.bytes(known + length);
            }
            known += part.len();
        }
    }
}

/// Where item `index` of an array is. Items are asked for one after the other: the page of the one before is known, so that a count
/// which is too large ends where the memory does.
fn item<T>(array: *const T, index: usize, writes: bool) -> Result<*const T, CUresult> {
    allow(!array.is_null())?;
    let size = size_of::<T>();
    let at = index.checked_mul(size).and_then(|offset| array.addr().checked_add(offset));
    let at = at.filter(|at| at.checked_add(size).is_some()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let is_known = index > 0 && (at - 1) / PAGE == (at + size - 1) / PAGE;
    allow(is_known || is_at_hand(at, size, writes))?;
    Ok(array.wrapping_add(index))
}

fn allow(condition: bool) -> Answer {
    if condition { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
