//! Managed memory: one address for host and devices, and pages that move to where they are used.
//!
//! The bytes are ordinary memory of the process, so the host reads and writes them as it does on a real system. What
//! the program advises, where it has prefetched to and where the driver has put it is kept page by page (`pages`). The
//! driver moves pages for its own work; what the host touches it does not see.

pub(crate) mod advice;
pub(crate) mod attributes;
pub(crate) mod created;

use super::pages::{self, Pages, Residence};
use super::table::{self, Allocation, Kind};
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUresult};
use crate::instruments::settings::concurrent_managed;
use std::ops::Range;
use std::sync::Arc;

/// A part of a managed allocation.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) allocation: Arc<Allocation>,
    address: usize,
    size: usize,
}

impl Part {
    /// The bytes that a caller names; refuses none of them, and what is not managed memory.
    pub(crate) fn of(address: u64, size: usize) -> Result<Self, CUresult> {
        let address = address as usize;
        let allocation = table::find(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if size == 0 || allocation.pages.is_none() || !allocation.is_there() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        allocation.locate(address, size)?;
        Ok(Self { allocation, address, size })
    }

    /// What is known about its pages.
    pub(crate) fn pages(&self) -> Result<&Pages, CUresult> {
        self.allocation.pages.as_ref().ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// The pages that it has a byte in.
    pub(crate) fn touched(&self) -> Range<usize> {
        pages::touched(self.address - self.allocation.address, self.size)
    }

    /// The pages of which it has all bytes.
    pub(crate) fn whole(&self) -> Range<usize> {
        let offset = self.address - self.allocation.address;
        let end = match offset + self.size {
            end if end == self.allocation.size => end.div_ceil(pages::SIZE),
            end => end / pages::SIZE,
        };
        offset.div_ceil(pages::SIZE)..end
    }

    /// Whether it comes from a pool, whose memory takes no advice.
    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.allocation.kind, Kind::Pooled(_))
    }
}

/// The ordinal of the device where the page of an address is, -1 for the host, -2 for nowhere; `None` if it is not managed.
pub(crate) fn residence(address: usize) -> Option<i32> {
    let part = Part::of(address as u64, 1).ok()?;
    Some(match part.pages().ok()?.residence(part.touched().start) {
        Residence::Nowhere => -2,
        Residence::Host => -1,
        Residence::Device(device) => device.handle(),
    })
}

/// Refuses what only devices with concurrent access can do.
pub(crate) fn check_concurrent() -> Answer {
    if concurrent_managed() { Ok(()) } else { Err(CUDA_ERROR_INVALID_DEVICE) }
}
