//! Prefetches and discards of many ranges.

use super::{DEVICE, HOST, INVALID, NO_DEVICE, SIZE, attribute, managed, stream};
use crate::driver::{Answer, Cu, LEGACY, Outcome, PER_THREAD, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, CUdeviceptr, CUmemLocation, CUstream,
};
use std::ptr::null_mut;

/// Ranges, and where they are to go.
#[derive(Clone)]
struct Batch {
    addresses: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    places: Vec<CUmemLocation>,
    starts: Vec<usize>,
    flags: u64,
}

impl Batch {
    fn prefetch(&mut self, cu: &Cu, stream: CUstream) -> Answer {
        let (count, number, flags) = (self.addresses.len(), self.places.len(), self.flags);
        let (addresses, sizes) = (self.addresses.as_mut_ptr(), self.sizes.as_mut_ptr());
        let (places, starts) = (self.places.as_mut_ptr(), self.starts.as_mut_ptr());
        call!(
            cu,
            cuMemPrefetchBatchAsync_13000(addresses, sizes, count, places, starts, number, flags, stream)
        )
    }

    fn discard(&mut self, cu: &Cu, stream: CUstream) -> Answer {
        let (addresses, sizes) = (self.addresses.as_mut_ptr(), self.sizes.as_mut_ptr());
        call!(cu, cuMemDiscardBatchAsync_13000(addresses, sizes, self.addresses.len(), self.flags, stream))
    }

    fn discard_and_prefetch(&mut self, cu: &Cu, stream: CUstream) -> Answer {
        let (count, number, flags) = (self.addresses.len(), self.places.len(), self.flags);
        let (addresses, sizes) = (self.addresses.as_mut_ptr(), self.sizes.as_mut_ptr());
        let (places, starts) = (self.places.as_mut_ptr(), self.starts.as_mut_ptr());
        call!(
            cu,
            cuMemDiscardAndPrefetchBatchAsync_13000(
                addresses, sizes, count, places, starts, number, flags, stream
            )
        )
    }
}

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (a, b, stream) = (managed(cu)?, managed(cu)?, stream(cu)?);
    let plain = cu.memory(SIZE)?;
    let good = Batch {
        addresses: vec![a, b],
        sizes: vec![SIZE; 2],
        places: vec![DEVICE],
        starts: vec![0],
        flags: 0,
    };
    t.line("batch prefetch", || good.clone().prefetch(cu, stream));
    t.line("batch on legacy", || good.clone().prefetch(cu, LEGACY));
    t.line("batch on NULL stream", || good.clone().prefetch(cu, null_mut()));
    t.line("batch on per-thread", || good.clone().prefetch(cu, PER_THREAD));
    for (name, batch) in [
        ("batch count 0", Batch { addresses: Vec::new(), ..good.clone() }),
        ("batch idx not from 0", Batch { starts: vec![1], ..good.clone() }),
        ("batch of device memory", Batch { addresses: vec![a, plain], ..good.clone() }),
        ("batch without locations", Batch { places: Vec::new(), ..good.clone() }),
        ("batch idx not rising", Batch { places: vec![DEVICE, HOST], starts: vec![0, 0], ..good.clone() }),
        ("batch idx past the end", Batch { places: vec![DEVICE, HOST], starts: vec![0, 2], ..good.clone() }),
        ("batch to an invalid place", Batch { places: vec![INVALID], ..good.clone() }),
        ("batch to device 99", Batch { places: vec![NO_DEVICE], ..good.clone() }),
        ("batch size 0", Batch { sizes: vec![SIZE, 0], ..good.clone() }),
        ("batch past the end", Batch { sizes: vec![SIZE, 2 * SIZE], ..good.clone() }),
        ("batch flags 1", Batch { flags: 1, ..good.clone() }),
    ] {
        t.line(name, || batch.clone().prefetch(cu, stream));
    }
    discards(t, cu, &good, plain, stream);
    need!(cu, cuStreamSynchronize_2000(PER_THREAD))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    need!(cu, cuMemFree_3020(plain))
}

fn discards(t: &mut Lines, cu: &Cu, good: &Batch, plain: CUdeviceptr, stream: CUstream) {
    let a = good.addresses[0];
    let last = || attribute(cu, a, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
    t.line("discard", || good.clone().discard(cu, stream));
    t.line("  last prefetch after", last);
    for (name, batch) in [
        ("discard of device memory", Batch { addresses: vec![a, plain], ..good.clone() }),
        ("discard small range", Batch { addresses: vec![a + 10], sizes: vec![100], ..good.clone() }),
        ("discard count 0", Batch { addresses: Vec::new(), ..good.clone() }),
        ("discard size 0", Batch { sizes: vec![SIZE, 0], ..good.clone() }),
        ("discard past the end", Batch { sizes: vec![SIZE, 2 * SIZE], ..good.clone() }),
        ("discard flags 1", Batch { flags: 1, ..good.clone() }),
    ] {
        t.line(name, || batch.clone().discard(cu, stream));
    }
    t.line("discard on legacy", || good.clone().discard(cu, LEGACY));
    t.line("discard+prefetch", || good.clone().discard_and_prefetch(cu, stream));
    t.line("  last prefetch after", last);
    t.line("discard+prefetch on legacy", || good.clone().discard_and_prefetch(cu, LEGACY));
    let nowhere = Batch { places: vec![NO_DEVICE], ..good.clone() };
    t.line("discard+prefetch to device 99", || nowhere.clone().discard_and_prefetch(cu, stream));
}
