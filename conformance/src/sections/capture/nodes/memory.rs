//! Memory that is allocated and freed in a stream.

use super::super::modes::pools;
use super::super::scene::Scene;
use super::parameters::Places;
use super::told;
use crate::driver::{Answer, HUGE, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::CUdeviceptr;

/// Captures calls that leave an address, and tells the nodes with it.
fn allocated(t: &mut Lines, s: &Scene, name: &str, ask: impl FnOnce(&mut CUdeviceptr) -> Answer) {
    let mut address = 4711;
    t.line(name, || s.begin().and(|| ask(&mut address)));
    t.line("  address", || match address {
        0 => "NULL",
        4711 => "untouched",
        _ => "there",
    });
    let mut places = Places::of(s);
    if address != 4711 {
        places.add("it", address, 1);
    }
    told(t, s, &places);
}

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, pool) = (&s.cu, s.stream, pools::pool(&s.cu));
    let default = cu.default_pool()?;
    let alloc = |address: &mut u64, bytes| call!(cu, cuMemAllocAsync_11020(address, bytes, stream));
    let from = |address: &mut u64, pool| call!(cu, cuMemAllocFromPoolAsync_11020(address, 64, pool, stream));
    let free = |address| call!(cu, cuMemFreeAsync_11020(address, stream));
    allocated(t, s, "cuMemAllocAsync", |address| alloc(address, 5000));
    allocated(t, s, "cuMemAllocAsync of 3 MiB", |address| alloc(address, 3 << 20));
    allocated(t, s, "cuMemAllocAsync of 0 bytes", |address| alloc(address, 0));
    allocated(t, s, "cuMemAllocAsync of too much", |address| alloc(address, HUGE));
    allocated(t, s, "cuMemAllocFromPoolAsync, the default one", |address| from(address, default));
    allocated(t, s, "cuMemAllocFromPoolAsync, another one", |address| from(address, pool));
    allocated(t, s, "cuMemAllocFromPoolAsync, NULL", |address| from(address, std::ptr::null_mut()));
    allocated(t, s, "allocated, freed", |address| alloc(address, 64).and(|| free(*address)));
    allocated(t, s, "from another pool, freed", |address| from(address, pool).and(|| free(*address)));
    allocated(t, s, "allocated, freed twice", |address| {
        alloc(address, 64).and(|| free(*address)).and(|| free(*address))
    });
    allocated(t, s, "allocated, freed inside", |address| alloc(address, 64).and(|| free(*address + 8)));
    allocated(t, s, "cuMemFreeAsync of NULL", |_| free(0));
    allocated(t, s, "cuMemFreeAsync of plain memory", |_| free(s.memory));
    allocated(t, s, "cuMemFreeAsync of a bad address", |_| free(crate::driver::BOGUS));
    let mut pooled = 0;
    let _ = call!(cu, cuMemAllocAsync_11020(&raw mut pooled, 64, s.third));
    allocated(t, s, "cuMemFreeAsync of a pool's memory", |_| free(pooled));
    let _ = call!(cu, cuMemFreeAsync_11020(pooled, s.third));
    Ok(())
}
