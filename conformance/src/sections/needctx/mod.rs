//! Which functions need a current context though their handle names one.

mod contexts;
mod copies;
mod kernels;
mod managed;
mod memory;
mod streams;

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUmemoryPool, CUresult, CUstream};
use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "needctx", parts: OTHERS + kernels::PARTS, devices: 1, run };

/// The parts that have nothing to do with kernels.
const OTHERS: usize = 1
    + streams::GROUPS.len()
    + contexts::GROUPS.len()
    + memory::GROUPS.len()
    + copies::GROUPS.len()
    + managed::GROUPS.len();

/// What is asked, and the call.
type Question = (&'static str, fn(&Scene) -> Answer);

const PAGE: usize = 4096;

/// Objects of a context that is no longer current, nor is any other.
struct Scene {
    cu: Cu,
    context: CUcontext,
    stream: CUstream,
    event: CUevent,
    start: CUevent,
    memory: CUdeviceptr,
    /// A page, or 0 where the device has no such memory.
    managed: CUdeviceptr,
    host: *mut c_void,
    /// A page that is the program's own, and another that was registered.
    pageable: *mut c_void,
    registered: *mut c_void,
    pool: CUmemoryPool,
}

fn scene(cu: &Cu) -> Outcome<Scene> {
    let context = cu.start()?;
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, PAGE, 0))?;
    let mut managed = 0;
    // The questions about it are refused where this fails.
    let _ = call!(cu, cuMemAllocManaged_6000(&raw mut managed, PAGE, 1));
    let scene = Scene {
        cu: *cu,
        context,
        stream: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        start: cu.event(0)?,
        memory: cu.memory(4096)?,
        managed,
        host,
        pageable: page(),
        registered: page(),
        pool: cu.default_pool()?,
    };
    need!(cu, cuMemHostRegister_6050(scene.registered, PAGE, 0))?;
    need!(cu, cuEventRecord_2000(scene.start, scene.stream))?;
    need!(cu, cuStreamSynchronize_2000(scene.stream))?;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    Ok(scene)
}

/// A page of memory, for ever.
fn page() -> *mut c_void {
    let layout = Layout::from_size_align(PAGE, PAGE).expect("a page is a power of two");
    // SAFETY: the size is not zero.
    unsafe { alloc_zeroed(layout) }.cast()
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    if let Some(group) = part.checked_sub(OTHERS) {
        return kernels::run(t, cu, group);
    }
    let scene = scene(cu)?;
    match part.checked_sub(1) {
        None => list(t, &scene),
        Some(number) => {
            let mut groups =
                [streams::GROUPS, contexts::GROUPS, memory::GROUPS, copies::GROUPS, managed::GROUPS]
                    .into_iter()
                    .flatten();
            let group = groups.nth(number).expect("there are as many parts");
            group.iter().for_each(|(situation, ask)| t.line(situation, || ask(&scene)));
        }
    }
    Ok(())
}

extern "C" fn nothing(_: *mut c_void) {}
extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

/// Functions that were seen to work.
fn list(t: &mut Lines, s: &Scene) {
    let (cu, stream, event, memory) = (&s.cu, s.stream, s.event, s.memory);
    let (mut milliseconds, mut address, mut status) = (0.0, 0, Default::default());
    let mut host = [0u8; 64];
    t.line("no current context: cuEventRecord", || call!(cu, cuEventRecord_2000(event, stream)));
    t.line("cuEventSynchronize", || call!(cu, cuEventSynchronize_2000(event)));
    t.line("cuEventQuery", || call!(cu, cuEventQuery_2000(event)));
    t.line("cuEventElapsedTime", || {
        call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, s.start, event))
    });
    t.line("cuStreamQuery", || cu.settled(|| call!(cu, cuStreamQuery_2000(stream))));
    t.line("cuStreamSynchronize", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("cuStreamWaitEvent", || call!(cu, cuStreamWaitEvent_3020(stream, event, 0)));
    t.line("cuStreamIsCapturing", || call!(cu, cuStreamIsCapturing_10000(stream, &raw mut status)));
    t.line("cuLaunchHostFunc", || call!(cu, cuLaunchHostFunc_10000(stream, Some(nothing), null_mut())));
    t.line("cuMemsetD8Async", || call!(cu, cuMemsetD8Async_3020(memory, 0, 64, stream)));
    t.line("cuMemcpyDtoDAsync", || call!(cu, cuMemcpyDtoDAsync_3020(memory, memory + 2048, 64, stream)));
    t.line("cuMemcpyHtoDAsync", || {
        call!(cu, cuMemcpyHtoDAsync_3020(memory, host.as_ptr().cast(), 64, stream))
    });
    t.line("cuMemcpyDtoHAsync", || {
        call!(cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), memory, 64, stream))
    });
    t.line("cuMemcpyAsync", || call!(cu, cuMemcpyAsync_4000(memory, memory + 2048, 64, stream)));
    t.line("cuMemAllocAsync", || call!(cu, cuMemAllocAsync_11020(&raw mut address, 64, stream)));
    t.line("cuMemFreeAsync", || call!(cu, cuMemFreeAsync_11020(address, stream)));
    t.line("cuMemAllocFromPoolAsync", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 64, s.pool, stream))
    });
    t.line("cuMemFree of async memory", || call!(cu, cuMemFree_3020(address)));
    t.line("cuMemFree", || call!(cu, cuMemFree_3020(memory)));
    t.line("cuEventDestroy", || call!(cu, cuEventDestroy_4000(event)));
}
