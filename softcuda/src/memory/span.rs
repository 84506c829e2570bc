//! The ends of copies and fills: ranges of bytes, checked, and held while they are used.

use super::table::{Allocation, find};
use super::window;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use std::sync::Arc;

/// A range of bytes.
pub(crate) struct Span {
    bytes: *mut u8,
    /// Held so that the bytes stay; `None` for ordinary host memory, which is the caller's to keep.
    _allocation: Option<Arc<Allocation>>,
}

// SAFETY: an address; see `Allocation`.
unsafe impl Send for Span {}

impl Span {
    /// `size` bytes at a device pointer: device memory, or host memory that the device reaches.
    pub(crate) fn on_device(address: usize, size: usize) -> Result<Self, CUresult> {
        let allocation = find(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        Self::inside(allocation, address, size)
    }

    /// `size` bytes at any pointer. Where it is not one of the driver's it is taken for ordinary host memory, except for
    /// NULL and stale device pointers.
    pub(crate) fn anywhere(address: usize, size: usize) -> Result<Self, CUresult> {
        match find(address) {
            Some(allocation) => Self::inside(allocation, address, size),
            None if address == 0 || window::contains(address) => Err(CUDA_ERROR_INVALID_VALUE),
            None => Ok(Self { bytes: address as *mut u8, _allocation: None }),
        }
    }

    fn inside(allocation: Arc<Allocation>, address: usize, size: usize) -> Result<Self, CUresult> {
        let bytes = allocation.locate(address, size)?;
        Ok(Self { bytes, _allocation: Some(allocation) })
    }

    /// Where the bytes are.
    pub(crate) fn bytes(&self) -> *mut u8 {
        self.bytes
    }
}
