//! The pointers that callers pass, wrapped, so that the driver's functions check them for NULL and need no unsafe code.
//!
//! The driver API demands of its callers that a pointer that is not NULL points to what the parameter's type says, for
//! the duration of the call. The values come from `exports` only.

use super::Answer;
use super::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use std::ffi::{CStr, c_char, c_void};

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

    /// Refuses NULL; for a check before the first effect.
    pub(crate) fn check(self) -> Answer {
        if self.0.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
    }

    /// Writes the value; refuses NULL.
    pub(crate) fn set(self, value: T) -> Answer {
        self.check()?;
        // SAFETY: not NULL, so valid for a write by the driver API's contract (see the head of this file).
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the value unless the caller passed NULL, where NULL means "not wanted".
    pub(crate) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as in `set`.
            unsafe { self.0.write(value) };
        }
    }

    /// Writes item `index` of an array; refuses a NULL array.
    pub(crate) fn set_item(self, index: usize, value: T) -> Answer {
        self.check()?;
        // SAFETY: not NULL, and the caller gave an array longer than `index`.
        unsafe { self.0.add(index).write(value) };
        Ok(())
    }

    /// Reads item `index` of an array; refuses a NULL array.
    pub(crate) fn item(self, index: usize) -> Result<T, CUresult>
    where
        T: Copy,
    {
        self.check()?;
        // SAFETY: not NULL, and the caller gave an array longer than `index`.
        Ok(unsafe { self.0.add(index).read() })
    }
}

impl Out<c_char> {
    /// Writes as much of `text` as fits into `size` bytes, with a terminating zero; refuses NULL and a size of 0, for
    /// which the measured driver crashes. It takes negative sizes for large ones.
    pub(crate) fn set_text(self, text: &str, size: i32) -> Answer {
        self.check()?;
        let size = size as u32 as usize;
        if size == 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let length = text.len().min(size - 1);
        // SAFETY: not NULL, so valid for `size` bytes, of which this writes at most that many.
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
    /// Reads the value; refuses NULL.
    pub(crate) fn get(self) -> Result<T, CUresult> {
        if self.0.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: not NULL, so valid for a read by the driver API's contract.
        Ok(unsafe { self.0.read() })
    }
}

impl<T: Copy> In<T> {
    /// Reads item `index` of an array; refuses a NULL array.
    pub(crate) fn item(&self, index: usize) -> Result<T, CUresult> {
        if self.0.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: not NULL, and the caller gave an array longer than `index`.
        Ok(unsafe { self.0.add(index).read() })
    }
}

impl In<c_char> {
    #[cfg(test)]
    pub(crate) fn of(text: &'static CStr) -> Self {
        Self(text.as_ptr())
    }

    /// The zero-terminated text; refuses NULL and what is not UTF-8 (no name of the driver's is).
    pub(crate) fn text<'a>(self) -> Result<&'a str, CUresult> {
        if self.0.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: not NULL, so a terminated string by the driver API's contract; it outlives the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| CUDA_ERROR_INVALID_VALUE)
    }
}
