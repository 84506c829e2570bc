//! Managed memory in a stream's order: it is moved to where it will be used, and attached.

use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUdevice, CUdeviceptr_v2, CUmemLocation, CUresult, CUstream,
};
use crate::driver::capture;
use crate::driver::memory::attachment::Visibility;
use crate::driver::memory::location::Location;
use crate::driver::memory::managed::{Part, check_concurrent};
use crate::driver::operation::managed::{Attach, Prefetch};
use crate::driver::stream::Stream;

fn prefetch(
    address: CUdeviceptr_v2,
    size: usize,
    to: Result<Location, CUresult>,
    flags: u32,
    stream: CUstream,
) -> Answer {
    let stream = Stream::for_uncaptured(stream)?;
    let part = Part::of(address, size)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let to = to?;
    check_concurrent()?;
    let prefetch = Prefetch { part, to };
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

/// Only whole allocations; a length of 0 means that too.
pub(crate) fn cuStreamAttachMemAsync(
    hStream: CUstream,
    dptr: CUdeviceptr_v2,
    length: usize,
    flags: u32,
) -> Answer {
    let stream = Stream::for_uncaptured(hStream)?;
    capture::check_unsafe()?;
    let visibility = Visibility::with_stream(flags, stream.id())?;
    let part = Part::of(dptr, length.max(1))?;
    let allocation = &part.allocation;
    if dptr as usize != allocation.address || !(length == 0 || length == allocation.size) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if part.is_pooled() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    stream.submit(Attach { part, visibility }).map(drop)
}
