//! What the driver's log says of calls that fail, since 12.9: sentences that tell more than the result.

use super::Section;
use super::logs::{listen, sentences};
use crate::driver::{Answer, BOGUS, Cu, HUGE, LEGACY, NON_BLOCKING, Outcome};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUcontext, CUdeviceptr, CUevent, CUlimit, CUmemPool_attribute,
    CUmemoryPool, CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "sentences", parts: 2, devices: 1, run };

struct Scene {
    cu: Cu,
    context: CUcontext,
    stream: CUstream,
    event: CUevent,
    untimed: CUevent,
    memory: CUdeviceptr,
    host: *mut c_void,
    pool: CUmemoryPool,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))?;
    let scene = Scene {
        cu: *cu,
        context,
        stream: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        untimed: cu.event(2)?,
        memory: cu.memory(4096)?,
        host,
        pool: cu.default_pool()?,
    };
    if part == 1 {
        need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    }
    let mut count = 0;
    need!(cu, cuDeviceGetCount_2000(&raw mut count))?;
    listen(cu);
    for (situation, ask) in if part == 1 { WITHOUT_CONTEXT } else { WRONG } {
        // The sentence tells the result as well, which other sections ask for.
        t.line(situation, || {
            let answer = ask(&scene);
            if let Answer::Absent(_) = answer { answer } else { without_number(sentences(cu), count) }
        });
    }
    Ok(())
}

/// The sentence that tells how many devices there are, for any number of them.
fn without_number(sentence: Answer, count: i32) -> Answer {
    let range = |end: &str| format!("ordinal must be between 0 and {end} |");
    match sentence {
        Answer::Value(text) => text.replace(&range(&count.to_string()), &range("their number")).into(),
        other => other,
    }
}

type Question = (&'static str, fn(&Scene) -> Answer);

/// Calls with something wrong in them.
const WRONG: &[Question] = &[
    ("cuEventRecord of NULL", |s| call!(s.cu, cuEventRecord_2000(null_mut(), s.stream))),
    ("cuEventSynchronize of NULL", |s| call!(s.cu, cuEventSynchronize_2000(null_mut()))),
    ("cuEventDestroy of NULL", |s| call!(s.cu, cuEventDestroy_4000(null_mut()))),
    ("cuStreamWaitEvent for NULL", |s| call!(s.cu, cuStreamWaitEvent_3020(s.stream, null_mut(), 0))),
    ("cuStreamWaitEvent with flags 2", |s| call!(s.cu, cuStreamWaitEvent_3020(s.stream, s.event, 2))),
    ("cuStreamWaitEvent, external", |s| call!(s.cu, cuStreamWaitEvent_3020(s.stream, s.event, 1))),
    ("cuEventRecordWithFlags with flags 2", |s| {
        call!(s.cu, cuEventRecordWithFlags_11010(s.event, s.stream, 2))
    }),
    ("cuEventElapsedTime without timing", |s| {
        let mut milliseconds = 0.0;
        call!(s.cu, cuEventElapsedTime_2000(&raw mut milliseconds, s.untimed, s.untimed))
    }),
    ("cuEventElapsedTime of NULL", |s| {
        let mut milliseconds = 0.0;
        call!(s.cu, cuEventElapsedTime_2000(&raw mut milliseconds, null_mut(), s.event))
    }),
    ("cuEventElapsedTime to NULL", |s| call!(s.cu, cuEventElapsedTime_2000(null_mut(), s.event, s.event))),
    ("cuEventCreate with flags 16", |s| {
        let mut event = null_mut();
        call!(s.cu, cuEventCreate_2000(&raw mut event, 16))
    }),
    ("cuEventCreate interprocess with timing", |s| {
        let mut event = null_mut();
        call!(s.cu, cuEventCreate_2000(&raw mut event, 4))
    }),
    ("cuEventCreate to NULL", |s| call!(s.cu, cuEventCreate_2000(null_mut(), 0))),
    ("cuStreamCreate to NULL", |s| call!(s.cu, cuStreamCreate_2000(null_mut(), 0))),
    ("cuStreamDestroy of NULL", |s| call!(s.cu, cuStreamDestroy_4000(null_mut()))),
    ("cuStreamDestroy of legacy", |s| call!(s.cu, cuStreamDestroy_4000(LEGACY))),
    ("cuStreamGetFlags to NULL", |s| call!(s.cu, cuStreamGetFlags_5050(s.stream, null_mut()))),
    ("cuLaunchHostFunc of NULL", |s| call!(s.cu, cuLaunchHostFunc_10000(s.stream, None, null_mut()))),
    ("cuMemAlloc of 0", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 0))
    }),
    ("cuMemAlloc to NULL", |s| call!(s.cu, cuMemAlloc_3020(null_mut(), 64))),
    ("cuMemAllocAsync too large", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, HUGE, s.stream))
    }),
    ("cuMemFree of a bad address", |s| call!(s.cu, cuMemFree_3020(BOGUS))),
    ("cuMemFree interior", |s| call!(s.cu, cuMemFree_3020(s.memory + 64))),
    ("cuMemFreeAsync of a bad address", |s| call!(s.cu, cuMemFreeAsync_11020(BOGUS, s.stream))),
    ("cuMemFreeHost of pageable", |s| {
        let mut local = 0u64;
        call!(s.cu, cuMemFreeHost_2000((&raw mut local).cast()))
    }),
    ("cuMemHostAlloc with flags 8", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemHostAlloc_2020(&raw mut host, 64, 8))
    }),
    ("cuMemHostUnregister of pageable", |s| {
        let mut local = 0u64;
        call!(s.cu, cuMemHostUnregister_4000((&raw mut local).cast()))
    }),
    ("cuMemHostRegister of 0 bytes", |s| {
        let mut local = 0u64;
        call!(s.cu, cuMemHostRegister_6050((&raw mut local).cast(), 0, 0))
    }),
    ("cuMemHostGetDevicePointer of pageable", |s| {
        let (mut address, mut local) = (0, 0u64);
        call!(s.cu, cuMemHostGetDevicePointer_3020(&raw mut address, (&raw mut local).cast(), 0))
    }),
    ("cuMemsetD8 past the end", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 8192))),
    ("cuMemsetD8 of a bad address", |s| call!(s.cu, cuMemsetD8_3020(BOGUS, 0, 64))),
    ("cuMemsetD32 misaligned", |s| call!(s.cu, cuMemsetD32_3020(s.memory + 2, 0, 1))),
    ("cuMemsetD2D8 with a pitch below the width", |s| call!(s.cu, cuMemsetD2D8_3020(s.memory, 8, 0, 10, 2))),
    ("cuMemcpyDtoD past the end", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.memory + 64, 4096))),
    ("cuMemcpyHtoD to a bad address", |s| call!(s.cu, cuMemcpyHtoD_3020(BOGUS, s.host, 64))),
    ("cuMemcpyDtoH from a bad address", |s| call!(s.cu, cuMemcpyDtoH_3020(s.host, BOGUS, 64))),
    ("cuMemcpyHtoDAsync to a bad address", |s| {
        call!(s.cu, cuMemcpyHtoDAsync_3020(BOGUS, s.host, 64, s.stream))
    }),
    ("cuMemcpy2D of NULL", |s| call!(s.cu, cuMemcpy2D_3020(std::ptr::null()))),
    ("cuMemGetAddressRange of a bad address", |s| {
        let (mut base, mut size) = (0, 0);
        call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, BOGUS))
    }),
    ("cuPointerGetAttribute of a bad address", |s| {
        let mut kind = 0u32;
        call!(
            s.cu,
            cuPointerGetAttribute_4000((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, BOGUS)
        )
    }),
    ("cuMemPoolGetAttribute 9999", |s| {
        let mut value = 0u64;
        call!(s.cu, cuMemPoolGetAttribute_11020(s.pool, CUmemPool_attribute(9999), (&raw mut value).cast()))
    }),
    ("cuMemPoolDestroy of the default one", |s| call!(s.cu, cuMemPoolDestroy_11020(s.pool))),
    ("cuCtxPushCurrent of NULL", |s| call!(s.cu, cuCtxPushCurrent_4000(null_mut()))),
    ("cuCtxDestroy of NULL", |s| call!(s.cu, cuCtxDestroy_4000(null_mut()))),
    ("cuCtxDestroy of the primary one", |s| call!(s.cu, cuCtxDestroy_4000(s.context))),
    ("cuCtxSetLimit 99", |s| call!(s.cu, cuCtxSetLimit_3010(CUlimit(99), 1))),
    ("cuCtxEnablePeerAccess of the own one", |s| call!(s.cu, cuCtxEnablePeerAccess_4000(s.context, 0))),
    ("cuDeviceGet 99", |s| {
        let mut device = 0;
        call!(s.cu, cuDeviceGet_2000(&raw mut device, 99))
    }),
    ("cuStreamWriteValue32 misaligned", |s| {
        call!(s.cu, cuStreamWriteValue32_11070(s.stream, s.memory + 2, 0, 0))
    }),
];

/// Calls that need a current context, where there is none.
const WITHOUT_CONTEXT: &[Question] = &[
    ("no current context: cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
    }),
    ("cuStreamCreate", |s| {
        let mut stream = null_mut();
        call!(s.cu, cuStreamCreate_2000(&raw mut stream, 0))
    }),
    ("cuStreamQuery of legacy", |s| call!(s.cu, cuStreamQuery_2000(LEGACY))),
    ("cuCtxSynchronize", |s| call!(s.cu, cuCtxSynchronize_2000())),
    ("cuCtxPopCurrent", |s| call!(s.cu, cuCtxPopCurrent_4000(null_mut()))),
    ("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 64))),
];
