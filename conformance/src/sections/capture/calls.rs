//! Calls while a stream captures, in each mode.

use super::{MODES, during};
use crate::driver::{Answer, Cu, Outcome, call, need};
use crate::sections::managed::{DEVICE, SIZE, managed};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LIMIT_STACK_SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUmemcpyAttributes, CUresult,
    CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" fn callback(_: CUstream, _: CUresult, _: *mut c_void) {}

/// What asks about the capturing stream, or cannot be captured.
pub(super) fn of_the_stream(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, memory) = (cu.stream(0)?, cu.memory(4096)?);
    for mode in MODES {
        let at = (stream, mode);
        during(t, cu, at, "stream query while capturing", || call!(cu, cuStreamQuery_2000(stream)))?;
        during(t, cu, at, "stream sync while capturing", || call!(cu, cuStreamSynchronize_2000(stream)))?;
        during(t, cu, at, "ctx synchronize while capturing", || call!(cu, cuCtxSynchronize_2000()))?;
        during(t, cu, at, "cuStreamAddCallback", || {
            call!(cu, cuStreamAddCallback_5000(stream, Some(callback), null_mut(), 0))
        })?;
        during(t, cu, at, "cuMemFreeAsync of memory that is no graph's", || {
            call!(cu, cuMemFreeAsync_11020(memory, stream))
        })?;
    }
    need!(cu, cuMemFree_3020(memory))
}

/// What the driver calls potentially unsafe.
pub(super) fn unsafe_ones(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, other, event) = (cu.stream(0)?, cu.stream(0)?, cu.event(0)?);
    let pool = cu.default_pool()?;
    need!(cu, cuEventRecord_2000(event, other))?;
    need!(cu, cuStreamSynchronize_2000(other))?;
    let mut host = vec![0u8; 1 << 16];
    let host: *mut c_void = host.as_mut_ptr().cast();
    for mode in MODES {
        let at = (stream, mode);
        let (mut address, mut pointer, memory) = (0, null_mut(), cu.memory(4096)?);
        during(t, cu, at, "cuMemAlloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)))?;
        during(t, cu, at, "cuMemAlloc 0", || call!(cu, cuMemAlloc_3020(&raw mut address, 0)))?;
        during(t, cu, at, "cuMemFree", || call!(cu, cuMemFree_3020(memory)))?;
        during(t, cu, at, "cuMemFree NULL", || call!(cu, cuMemFree_3020(0)))?;
        during(t, cu, at, "cuMemHostAlloc", || call!(cu, cuMemHostAlloc_2020(&raw mut pointer, 64, 0)))?;
        during(t, cu, at, "cuMemHostRegister", || call!(cu, cuMemHostRegister_6050(host, 4096, 0)))?;
        during(t, cu, at, "cuMemAllocManaged", || {
            call!(cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1))
        })?;
        during(t, cu, at, "cuCtxSetLimit", || call!(cu, cuCtxSetLimit_3010(CU_LIMIT_STACK_SIZE, 1024)))?;
        during(t, cu, at, "cuMemPoolTrimTo", || call!(cu, cuMemPoolTrimTo_11020(pool, 0)))?;
        during(t, cu, at, "cuEventQuery of another event", || call!(cu, cuEventQuery_2000(event)))?;
        during(t, cu, at, "cuEventSynchronize of another event", || {
            call!(cu, cuEventSynchronize_2000(event))
        })?;
        during(t, cu, at, "cuStreamQuery of another stream", || call!(cu, cuStreamQuery_2000(other)))?;
        during(t, cu, at, "cuStreamSynchronize of another stream", || {
            call!(cu, cuStreamSynchronize_2000(other))
        })?;
    }
    Ok(())
}

/// What is not.
pub(super) fn safe_ones(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, memory) = (cu.stream(0)?, cu.memory(4096)?);
    for mode in MODES {
        let at = (stream, mode);
        let (mut other, mut event, mut size, mut number) = (null_mut(), null_mut(), 0usize, 0);
        during(t, cu, at, "cuStreamCreate", || call!(cu, cuStreamCreate_2000(&raw mut other, 0)))?;
        during(t, cu, at, "cuStreamDestroy of it", || call!(cu, cuStreamDestroy_4000(other)))?;
        during(t, cu, at, "cuEventCreate", || call!(cu, cuEventCreate_2000(&raw mut event, 0)))?;
        during(t, cu, at, "cuEventDestroy of it", || call!(cu, cuEventDestroy_4000(event)))?;
        let mut total = 0;
        during(t, cu, at, "cuMemGetInfo", || call!(cu, cuMemGetInfo_3020(&raw mut size, &raw mut total)))?;
        during(t, cu, at, "cuPointerGetAttribute", || {
            let place = (&raw mut number).cast();
            call!(cu, cuPointerGetAttribute_4000(place, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory))
        })?;
        during(t, cu, at, "cuCtxGetLimit", || {
            call!(cu, cuCtxGetLimit_3010(&raw mut size, CU_LIMIT_STACK_SIZE))
        })?;
        during(t, cu, at, "cuStreamGetPriority", || {
            call!(cu, cuStreamGetPriority_5050(stream, &raw mut number))
        })?;
    }
    need!(cu, cuMemFree_3020(memory))
}

/// Managed memory, and batches.
pub(super) fn of_managed_memory(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, memory) = (cu.stream(0)?, managed(cu)?);
    for mode in MODES {
        let at = (stream, mode);
        during(t, cu, at, "cuMemAdvise", || {
            call!(cu, cuMemAdvise_12020(memory, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, DEVICE))
        })?;
        during(t, cu, at, "cuMemRangeGetAttribute", || {
            let (mut value, which) = (0i32, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
            call!(cu, cuMemRangeGetAttribute_8000((&raw mut value).cast(), 4, which, memory, SIZE))
        })?;
        during(t, cu, at, "cuMemPrefetchAsync", || {
            call!(cu, cuMemPrefetchAsync_12020(memory, SIZE, DEVICE, 0, stream))
        })?;
        during(t, cu, at, "batch prefetch while capturing", || batch_prefetch(cu, memory, stream))?;
        during(t, cu, at, "discard while capturing", || {
            let (mut address, mut size) = (memory, SIZE);
            call!(cu, cuMemDiscardBatchAsync_13000(&raw mut address, &raw mut size, 1, 0, stream))
        })?;
        during(t, cu, at, "memcpy batch", || batch_copy(cu, memory, stream, 1))?;
        during(t, cu, at, "memcpy batch count 0", || batch_copy(cu, memory, stream, 0))?;
        during(t, cu, at, "batch prefetch, then memcpy batch while capturing", || {
            let _ = batch_prefetch(cu, memory, stream);
            batch_copy(cu, memory, stream, 1)
        })?;
    }
    Ok(())
}

fn batch_prefetch(cu: &Cu, memory: u64, stream: CUstream) -> Answer {
    let (mut address, mut size, mut to, mut start) = (memory, SIZE, DEVICE, 0usize);
    let (address, size, to, start) = (&raw mut address, &raw mut size, &raw mut to, &raw mut start);
    call!(cu, cuMemPrefetchBatchAsync_13000(address, size, 1, to, start, 1, 0, stream))
}

fn batch_copy(cu: &Cu, memory: u64, stream: CUstream, count: usize) -> Answer {
    let (mut to, mut from, mut size, mut start) = (memory, memory + 4096, 64usize, 0usize);
    let mut attributes = CUmemcpyAttributes {
        srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        srcLocHint: DEVICE,
        dstLocHint: DEVICE,
        flags: 0,
    };
    let (to, from, size) = (&raw mut to, &raw mut from, &raw mut size);
    let (attributes, start) = (&raw mut attributes, &raw mut start);
    call!(cu, cuMemcpyBatchAsync_13000(to, from, size, count, attributes, start, 1, stream))
}
