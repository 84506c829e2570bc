//! Managed memory is moved to where it will be used.

use super::{Part, check_concurrent};
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::memory::location::Location;
use crate::stream::Stream;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUdevice, CUdeviceptr_v2, CUmemLocation, CUresult, CUstream};

/// A prefetch that has been checked.
pub(crate) struct Prefetch {
    part: Part,
    to: Location,
}

impl Prefetch {
    pub(crate) fn new(part: Part, to: Location) -> Self {
        Self { part, to }
    }

    /// What attributes tell from the call on, whether the pages have moved or not.
    pub(crate) fn note(&self) -> Answer {
        let to = Some(self.to);
        self.part.pages()?.change(self.part.touched(), |page| page.prefetched = to);
        Ok(())
    }
}

impl Work for Prefetch {
    fn name(&self) -> &'static str {
        "a prefetch"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn run(&self) {
        if let Ok(pages) = self.part.pages() {
            pages.bring(self.part.touched(), self.to);
        }
    }
}

fn prefetch(
    address: CUdeviceptr_v2,
    size: usize,
    to: Result<Location, CUresult>,
    flags: u32,
    stream: CUstream,
) -> Answer {
    let stream = Stream::of(stream)?;
    let part = Part::of(address, size)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let to = to?;
    check_concurrent()?;
    let prefetch = Prefetch::new(part, to);
    stream.refuse_capture()?;
    prefetch.note()?;
    stream.submit(prefetch).map(drop)
}

pub(crate) fn cuMemPrefetchAsync(
    devPtr: CUdeviceptr_v2,
    count: usize,
    dstDevice: CUdevice,
    hStream: CUstream,
) -> Answer {
    prefetch(devPtr, count, Location::with_ordinal(dstDevice), 0, hStream)
}

pub(crate) fn cuMemPrefetchAsync_v2(
    devPtr: CUdeviceptr_v2,
    count: usize,
    location: CUmemLocation,
    flags: u32,
    hStream: CUstream,
) -> Answer {
    prefetch(devPtr, count, Location::of(location), flags, hStream)
}
