//! Which functions need a current context though their handle names one.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUcontext, CUdeviceptr, CUevent,
    CUipcEventHandle, CUlimit, CUmemoryPool, CUresult, CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "needctx", parts: 1 + SINGLE.len(), run };

/// Objects of a context that is no longer current, nor is any other.
struct Scene {
    cu: Cu,
    context: CUcontext,
    stream: CUstream,
    event: CUevent,
    start: CUevent,
    memory: CUdeviceptr,
    host: *mut c_void,
    pool: CUmemoryPool,
}

fn scene(cu: &Cu) -> Outcome<Scene> {
    let context = cu.start()?;
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, 4096, 0))?;
    let scene = Scene {
        cu: *cu,
        context,
        stream: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        start: cu.event(0)?,
        memory: cu.memory(4096)?,
        host,
        pool: cu.default_pool()?,
    };
    need!(cu, cuEventRecord_2000(scene.start, scene.stream))?;
    need!(cu, cuStreamSynchronize_2000(scene.stream))?;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    Ok(scene)
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = scene(cu)?;
    match part.checked_sub(1) {
        None => list(t, &scene),
        Some(single) => t.line(SINGLE[single].0, || (SINGLE[single].1)(&scene)),
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

type Single = (&'static str, fn(&Scene) -> Answer);

/// Functions that may be refused, or crash: each in a process of its own.
const SINGLE: &[Single] = &[
    ("cuStreamCreate", |s| {
        let mut stream = null_mut();
        call!(s.cu, cuStreamCreate_2000(&raw mut stream, 1))
    }),
    ("cuStreamDestroy", |s| call!(s.cu, cuStreamDestroy_4000(s.stream))),
    ("cuStreamGetFlags", |s| {
        let mut flags = 0;
        call!(s.cu, cuStreamGetFlags_5050(s.stream, &raw mut flags))
    }),
    ("cuStreamGetPriority", |s| {
        let mut priority = 0;
        call!(s.cu, cuStreamGetPriority_5050(s.stream, &raw mut priority))
    }),
    ("cuStreamGetId", |s| {
        let mut id = 0;
        call!(s.cu, cuStreamGetId_12000(s.stream, &raw mut id))
    }),
    ("cuStreamGetCtx", |s| {
        let mut context = null_mut();
        call!(s.cu, cuStreamGetCtx_9020(s.stream, &raw mut context))
    }),
    ("cuStreamAddCallback", |s| call!(s.cu, cuStreamAddCallback_5000(s.stream, Some(called), null_mut(), 0))),
    ("cuStreamQuery of NULL", |s| call!(s.cu, cuStreamQuery_2000(null_mut()))),
    ("cuStreamQuery of legacy", |s| call!(s.cu, cuStreamQuery_2000(LEGACY))),
    ("cuStreamQuery of per-thread", |s| call!(s.cu, cuStreamQuery_2000(PER_THREAD))),
    ("cuStreamSynchronize of legacy", |s| call!(s.cu, cuStreamSynchronize_2000(LEGACY))),
    ("cuStreamWaitEvent of legacy", |s| call!(s.cu, cuStreamWaitEvent_3020(LEGACY, s.event, 0))),
    ("cuStreamGetFlags of legacy", |s| {
        let mut flags = 0;
        call!(s.cu, cuStreamGetFlags_5050(LEGACY, &raw mut flags))
    }),
    ("cuLaunchHostFunc on legacy", |s| {
        call!(s.cu, cuLaunchHostFunc_10000(LEGACY, Some(nothing), null_mut()))
    }),
    ("cuEventCreate", |s| {
        let mut event = null_mut();
        call!(s.cu, cuEventCreate_2000(&raw mut event, 0))
    }),
    ("cuEventRecord on NULL", |s| call!(s.cu, cuEventRecord_2000(s.event, null_mut()))),
    ("cuEventRecord on legacy", |s| call!(s.cu, cuEventRecord_2000(s.event, LEGACY))),
    ("cuEventRecord on per-thread", |s| call!(s.cu, cuEventRecord_2000(s.event, PER_THREAD))),
    ("cuEventRecordWithFlags", |s| call!(s.cu, cuEventRecordWithFlags_11010(s.event, s.stream, 0))),
    ("cuIpcGetEventHandle", |s| {
        let mut handle = CUipcEventHandle { reserved: [0; 64] };
        call!(s.cu, cuIpcGetEventHandle_4010(&raw mut handle, s.event))
    }),
    ("cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
    }),
    ("cuMemAllocAsync on legacy", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, LEGACY))
    }),
    ("cuMemFreeAsync on legacy", |s| call!(s.cu, cuMemFreeAsync_11020(s.memory, LEGACY))),
    ("cuMemHostAlloc", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))
    }),
    ("cuMemFreeHost", |s| call!(s.cu, cuMemFreeHost_2000(s.host))),
    ("cuMemHostGetDevicePointer", |s| {
        let mut address = 0;
        call!(s.cu, cuMemHostGetDevicePointer_3020(&raw mut address, s.host, 0))
    }),
    ("cuMemGetInfo", |s| {
        let (mut free, mut total) = (0, 0);
        call!(s.cu, cuMemGetInfo_3020(&raw mut free, &raw mut total))
    }),
    ("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 64))),
    ("cuMemcpyDtoD", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.memory + 2048, 64))),
    ("cuMemcpyHtoD", |s| {
        let host = [0u8; 64];
        call!(s.cu, cuMemcpyHtoD_3020(s.memory, host.as_ptr().cast(), 64))
    }),
    ("cuMemcpy", |s| call!(s.cu, cuMemcpy_4000(s.memory, s.memory + 2048, 64))),
    ("cuMemGetAddressRange", |s| {
        let (mut base, mut size) = (0, 0);
        call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, s.memory))
    }),
    ("cuPointerGetAttribute", |s| {
        let mut kind = 0u32;
        call!(
            s.cu,
            cuPointerGetAttribute_4000((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.memory)
        )
    }),
    ("cuDeviceGetDefaultMemPool", |s| {
        let mut pool = null_mut();
        call!(s.cu, cuDeviceGetDefaultMemPool_11020(&raw mut pool, 0))
    }),
    ("cuMemPoolGetAttribute", |s| {
        let mut value = 0u64;
        call!(
            s.cu,
            cuMemPoolGetAttribute_11020(s.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut value).cast())
        )
    }),
    ("cuMemPoolTrimTo", |s| call!(s.cu, cuMemPoolTrimTo_11020(s.pool, 0))),
    ("cuCtxGetFlags", |s| {
        let mut flags = 0;
        call!(s.cu, cuCtxGetFlags_7000(&raw mut flags))
    }),
    ("cuCtxGetLimit", |s| {
        let mut value = 0;
        call!(s.cu, cuCtxGetLimit_3010(&raw mut value, CUlimit(0)))
    }),
    ("cuCtxGetStreamPriorityRange", |s| {
        let (mut least, mut greatest) = (0, 0);
        call!(s.cu, cuCtxGetStreamPriorityRange_5050(&raw mut least, &raw mut greatest))
    }),
    ("cuCtxGetApiVersion", |s| {
        let mut version = 0;
        call!(s.cu, cuCtxGetApiVersion_3020(s.context, &raw mut version))
    }),
    ("cuCtxGetId", |s| {
        let mut id = 0;
        call!(s.cu, cuCtxGetId_12000(s.context, &raw mut id))
    }),
];
