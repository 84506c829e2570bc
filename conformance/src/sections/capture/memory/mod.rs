//! Memory that is allocated in a capture: its address, its use, its end, and launch after launch.

mod addresses;
mod frees;
mod launches;

use super::scene::{Scene, Story, tell};
use crate::driver::{Answer, Cu, Outcome, call};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{CUdeviceptr, CUgraph, CUstream};

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_memory", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[addresses::addresses, launches::used, launches::usage],
    &[launches::launched_again, launches::read_outside],
    &[launches::from_pools],
    &[frees::freed_outside],
    &[frees::freed_elsewhere],
    &[frees::frees, frees::streams],
    &[frees::invalidated],
    &[frees::graph_destroyed],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}

/// Calls with an address, if there is one.
fn with(address: CUdeviceptr, call: impl FnOnce(CUdeviceptr) -> Answer) -> Answer {
    if address == 0 { "no address".into() } else { call(address) }
}

fn alloc(s: &Scene, stream: CUstream, address: &mut CUdeviceptr) -> Answer {
    call!(s.cu, cuMemAllocAsync_11020(address, 64, stream))
}

fn free(s: &Scene, stream: CUstream, address: CUdeviceptr) -> Answer {
    with(address, |address| call!(s.cu, cuMemFreeAsync_11020(address, stream)))
}

fn fill(s: &Scene, stream: CUstream, address: CUdeviceptr, value: u32) -> Answer {
    with(address, |address| call!(s.cu, cuMemsetD32Async_3020(address, value, 1, stream)))
}

/// Copies its first number to the beginning of the scene's memory.
fn copy_out(s: &Scene, stream: CUstream, address: CUdeviceptr) -> Answer {
    with(address, |address| call!(s.cu, cuMemcpyDtoDAsync_3020(s.memory, address, 4, stream)))
}

/// A graph that allocates, fills, copies out, and does not free.
fn keeping(s: &Scene) -> (CUgraph, CUdeviceptr) {
    let mut address = 0;
    let _ = s
        .begin()
        .and(|| alloc(s, s.stream, &mut address))
        .and(|| fill(s, s.stream, address, 7))
        .and(|| copy_out(s, s.stream, address));
    (s.end(s.stream).1, address)
}
