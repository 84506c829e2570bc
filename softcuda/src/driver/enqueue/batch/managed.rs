//! Batches of prefetches and discards of managed memory.
#![allow(clippy::too_many_arguments)] // the driver's functions take as many as they take

use super::{spread, stream, submit};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2, CUmemLocation, CUresult, CUstream};
use crate::driver::memory::location::Location;
use crate::driver::memory::managed::{Part, check_concurrent};
use crate::driver::operation::managed::{Discard, Prefetch};
use crate::driver::stream::Stream;
use std::sync::Arc;

/// The ranges that a caller names.
struct Ranges {
    addresses: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
}

/// Places, and from which range on each of them is meant.
struct Places {
    locations: Out<CUmemLocation>,
    starts: Out<usize>,
    number: usize,
}

impl Ranges {
    fn check(&self, flags: u64) -> Result<Vec<Part>, CUresult> {
        if self.count == 0 || flags != 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let part = |i| Part::of(self.addresses.item(i)?, self.sizes.item(i)?);
        (0..self.count).map(part).collect()
    }
}

impl Places {
    fn check(&self, count: usize) -> Result<Vec<Location>, CUresult> {
        let places = spread(self.locations, self.starts, self.number, count, false)?;
        places.into_iter().map(|place| Location::of(place).map_err(|_| CUDA_ERROR_INVALID_VALUE)).collect()
    }
}

fn discard(stream: &Arc<Stream>, ranges: &Ranges, flags: u64) -> Answer {
    let parts = ranges.check(flags)?;
    check_concurrent()?;
    submit(stream, parts.into_iter().map(|part| Discard { part }).collect())
}

fn prefetch(stream: &Arc<Stream>, ranges: &Ranges, places: &Places, flags: u64) -> Answer {
    let parts = ranges.check(flags)?;
    let places = places.check(ranges.count)?;
    check_concurrent()?;
    stream.refuse_capture()?;
    let prefetches: Vec<_> = parts.into_iter().zip(places).map(|(part, to)| Prefetch { part, to }).collect();
    prefetches.iter().try_for_each(Prefetch::note)?;
    submit(stream, prefetches)
}

pub(crate) fn cuMemPrefetchBatchAsync(
    dptrs: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
    prefetchLocs: Out<CUmemLocation>,
    prefetchLocIdxs: Out<usize>,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    let stream = stream(hStream)?;
    let ranges = Ranges { addresses: dptrs, sizes, count };
    let places = Places { locations: prefetchLocs, starts: prefetchLocIdxs, number: numPrefetchLocs };
    prefetch(&stream, &ranges, &places, flags)
}

pub(crate) fn cuMemDiscardBatchAsync(
    dptrs: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    discard(&stream(hStream)?, &Ranges { addresses: dptrs, sizes, count }, flags)
}

/// All is checked before anything is discarded.
pub(crate) fn cuMemDiscardAndPrefetchBatchAsync(
    dptrs: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
    prefetchLocs: Out<CUmemLocation>,
    prefetchLocIdxs: Out<usize>,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    let stream = stream(hStream)?;
    let ranges = Ranges { addresses: dptrs, sizes, count };
    let places = Places { locations: prefetchLocs, starts: prefetchLocIdxs, number: numPrefetchLocs };
    ranges.check(flags)?;
    places.check(count)?;
    discard(&stream, &ranges, flags)?;
    prefetch(&stream, &ranges, &places, flags)
}
