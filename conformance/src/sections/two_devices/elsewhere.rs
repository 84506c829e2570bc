//! Work in a device's stream with that device's memory, while another device's context is current, or none.

use super::{SIZE, Scene};
use crate::driver::{Answer, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY2D_v2,
    CUDA_MEMCPY3D_v2, CUdeviceptr, CUmemcpyAttributes,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The memory, and pinned memory of the host.
struct Ends {
    memory: CUdeviceptr,
    pinned: *mut c_void,
}

const HALF: usize = SIZE / 2;

fn zeroed<T: Copy>() -> T {
    // SAFETY: called for the parameters of copies only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

type Question = (&'static str, fn(&Scene, &Ends) -> Answer);

const QUESTIONS: &[Question] = &[
    ("cuMemcpyHtoDAsync of pinned", |s, e| {
        call!(s.cu, cuMemcpyHtoDAsync_3020(e.memory, e.pinned, HALF, s.here.stream))
    }),
    ("cuMemcpyHtoDAsync of pageable", |s, e| {
        let host = [0u8; HALF];
        call!(s.cu, cuMemcpyHtoDAsync_3020(e.memory, host.as_ptr().cast(), HALF, s.here.stream))
    }),
    ("cuMemcpyDtoHAsync to pinned", |s, e| {
        call!(s.cu, cuMemcpyDtoHAsync_3020(e.pinned, e.memory, HALF, s.here.stream))
    }),
    ("cuMemcpyDtoHAsync to pageable", |s, e| {
        let mut host = [0u8; HALF];
        call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), e.memory, HALF, s.here.stream))
    }),
    ("cuMemcpyDtoDAsync", |s, e| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(e.memory, e.memory + HALF as u64, HALF, s.here.stream))
    }),
    ("cuMemcpyAsync", |s, e| {
        call!(s.cu, cuMemcpyAsync_4000(e.memory, e.memory + HALF as u64, HALF, s.here.stream))
    }),
    ("cuMemcpyPeerAsync", |s, e| {
        let context = s.here.context;
        let from = e.memory + HALF as u64;
        call!(s.cu, cuMemcpyPeerAsync_4000(e.memory, context, from, context, HALF, s.here.stream))
    }),
    ("cuMemcpy2DAsync", |s, e| {
        let copy = CUDA_MEMCPY2D_v2 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: e.memory,
            srcPitch: 64,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: e.memory + HALF as u64,
            dstPitch: 64,
            WidthInBytes: 32,
            Height: 2,
            ..zeroed()
        };
        call!(s.cu, cuMemcpy2DAsync_3020(&raw const copy, s.here.stream))
    }),
    ("cuMemcpy3DAsync with unified ends", |s, e| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_UNIFIED,
            srcDevice: e.memory,
            srcPitch: 64,
            dstMemoryType: CU_MEMORYTYPE_UNIFIED,
            dstDevice: e.memory + HALF as u64,
            dstPitch: 64,
            WidthInBytes: 32,
            Height: 2,
            Depth: 1,
            ..zeroed()
        };
        call!(s.cu, cuMemcpy3DAsync_3020(&raw const copy, s.here.stream))
    }),
    ("cuMemcpyBatchAsync", |s, e| {
        let (mut to, mut from, mut sizes) = ([e.memory], [e.memory + HALF as u64], [HALF]);
        let (mut attributes, mut which) = (
            [CUmemcpyAttributes { srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, ..zeroed() }],
            [0usize],
        );
        call!(
            s.cu,
            cuMemcpyBatchAsync_13000(
                to.as_mut_ptr(),
                from.as_mut_ptr(),
                sizes.as_mut_ptr(),
                1,
                attributes.as_mut_ptr(),
                which.as_mut_ptr(),
                1,
                s.here.stream
            )
        )
    }),
    ("cuMemsetD8Async", |s, e| call!(s.cu, cuMemsetD8Async_3020(e.memory, 1, HALF, s.here.stream))),
    ("cuMemsetD2D8Async", |s, e| call!(s.cu, cuMemsetD2D8Async_3020(e.memory, 64, 1, 32, 2, s.here.stream))),
    ("cuStreamWriteValue32", |s, e| call!(s.cu, cuStreamWriteValue32_11070(s.here.stream, e.memory, 1, 0))),
    ("cuStreamSynchronize", |s, _| call!(s.cu, cuStreamSynchronize_2000(s.here.stream))),
];

pub(super) fn plain(t: &mut Lines, s: &Scene) -> Outcome {
    ask(t, s, "memory", s.here.memory)
}

/// Memory of the first one's pool, to which the second has no access.
pub(super) fn pooled(t: &mut Lines, s: &Scene) -> Outcome {
    let mut memory = 0;
    need!(s.cu, cuMemAllocAsync_11020(&raw mut memory, SIZE, s.here.stream))?;
    need!(s.cu, cuStreamSynchronize_2000(s.here.stream))?;
    ask(t, s, "pool", memory)
}

fn ask(t: &mut Lines, s: &Scene, name: &str, memory: CUdeviceptr) -> Outcome {
    let mut pinned = null_mut();
    need!(s.cu, cuMemHostAlloc_2020(&raw mut pinned, SIZE, 0))?;
    let ends = Ends { memory, pinned };
    for (current, context) in [("first", s.here.context), ("second", s.there.context), ("none", null_mut())] {
        need!(s.cu, cuCtxSetCurrent_4000(context))?;
        for (situation, question) in QUESTIONS {
            t.line(&format!("{name}, current: {current}: {situation}"), || question(s, &ends));
        }
    }
    Ok(())
}
