//! Host functions, values in memory, and what has no node.

use super::super::graph::{self, Exec};
use super::super::modes::graphs::simple;
use super::super::scene::{SIZE, Scene};
use super::captured;
use super::parameters::Places;
use crate::driver::{Answer, Outcome, call};
use crate::sections::managed::DEVICE;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, CU_STREAM_MEM_OP_WAIT_VALUE_32,
    CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
    CUdeviceptr, CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_memoryBarrier,
    CUstreamBatchMemOpParams_v1_writeValue, CUstreamBatchMemOpParams_v1_writeValue_u16,
    CUstreamBatchMemOpType,
};
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" fn nothing(_: *mut c_void) {}
extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    let mut places = Places::of(s);
    places.add_host("nothing", nothing as *mut c_void, 1);
    host_functions(t, s, &places);
    values(t, s, &places);
    batches(t, s, &places);
    managed(t, s, &mut places);
    graphs(t, s, &places);
    Ok(())
}

fn host_functions(t: &mut Lines, s: &Scene, places: &Places) {
    let (cu, stream) = (&s.cu, s.stream);
    captured(t, s, places, "cuLaunchHostFunc", || {
        call!(cu, cuLaunchHostFunc_10000(stream, Some(nothing), s.pinned))
    });
    captured(t, s, places, "cuLaunchHostFunc, data NULL", || {
        call!(cu, cuLaunchHostFunc_10000(stream, Some(nothing), null_mut()))
    });
    captured(t, s, places, "cuLaunchHostFunc of NULL", || {
        call!(cu, cuLaunchHostFunc_10000(stream, None, null_mut()))
    });
    captured(t, s, places, "cuLaunchHostFunc, the newer ABI", || {
        call!(cu, cuLaunchHostFunc_13010(stream, Some(nothing), s.pinned, 0))
    });
    captured(t, s, places, "cuStreamAddCallback", || {
        call!(cu, cuStreamAddCallback_5000(stream, Some(called), null_mut(), 0))
    });
}

/// Values that a stream writes and waits for.
fn values(t: &mut Lines, s: &Scene, places: &Places) {
    const EQ: u32 = 1;
    let (cu, stream, memory) = (&s.cu, s.stream, s.memory);
    captured(t, s, places, "cuStreamWriteValue32", || {
        call!(cu, cuStreamWriteValue32_11070(stream, memory, 0xa5, 0))
    });
    captured(t, s, places, "cuStreamWriteValue32 without a barrier", || {
        call!(cu, cuStreamWriteValue32_11070(stream, memory, 0xa5, 1))
    });
    captured(t, s, places, "cuStreamWriteValue64", || {
        call!(cu, cuStreamWriteValue64_11070(stream, memory + 8, 0x1_0000_0002, 0))
    });
    captured(t, s, places, "cuStreamWaitValue32", || {
        call!(cu, cuStreamWaitValue32_11070(stream, memory, 5, EQ))
    });
    captured(t, s, places, "cuStreamWaitValue64", || {
        call!(cu, cuStreamWaitValue64_11070(stream, memory + 8, 0x1_0000_0002, EQ))
    });
    captured(t, s, places, "older write 32", || {
        call!(cu, cuStreamWriteValue32_8000(stream, memory, 0xa5, 0))
    });
    captured(t, s, places, "older wait 32", || call!(cu, cuStreamWaitValue32_8000(stream, memory, 5, EQ)));
    captured(t, s, places, "cuStreamWriteValue32 misaligned", || {
        call!(cu, cuStreamWriteValue32_11070(stream, memory + 2, 0xa5, 0))
    });
    captured(t, s, places, "cuStreamWriteValue32 to NULL", || {
        call!(cu, cuStreamWriteValue32_11070(stream, 0, 0xa5, 0))
    });
}

fn value(operation: CUstreamBatchMemOpType, address: CUdeviceptr, value64: u64) -> CUstreamBatchMemOpParams {
    let u16 = CUstreamBatchMemOpParams_v1_writeValue_u16 { value64 };
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.writeValue =
        CUstreamBatchMemOpParams_v1_writeValue { operation, address, u16, flags: 0, alias: 0 };
    params
}

fn plain(operation: CUstreamBatchMemOpType) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.memoryBarrier = CUstreamBatchMemOpParams_v1_memoryBarrier { operation, flags: 0 };
    params
}

fn batches(t: &mut Lines, s: &Scene, places: &Places) {
    let memory = s.memory;
    let batch = |params: &mut [CUstreamBatchMemOpParams], flags| -> Answer {
        call!(s.cu, cuStreamBatchMemOp_11070(s.stream, params.len() as u32, params.as_mut_ptr(), flags))
    };
    let write = value(CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, 3);
    captured(t, s, places, "batch of 4 values", || {
        let wide = value(CU_STREAM_MEM_OP_WRITE_VALUE_64, memory + 8, 0x1_0000_0002);
        let wait = value(CU_STREAM_MEM_OP_WAIT_VALUE_32, memory, 3);
        let long = value(CU_STREAM_MEM_OP_WAIT_VALUE_64, memory + 8, 2);
        batch(&mut [write, wide, wait, long], 0)
    });
    captured(t, s, places, "batch of 0", || batch(&mut [], 0));
    captured(t, s, places, "batch with a barrier", || batch(&mut [plain(CU_STREAM_MEM_OP_BARRIER)], 0));
    captured(t, s, places, "batch with a flush", || {
        batch(&mut [plain(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)], 0)
    });
    captured(t, s, places, "batch with flags 1", || batch(&mut [write], 1));
    captured(t, s, places, "batch with operation 99", || batch(&mut [plain(CUstreamBatchMemOpType(99))], 0));
    captured(t, s, places, "batch of 256", || batch(&mut [write; 256], 0));
    captured(t, s, places, "older batch of 1", || {
        let mut write = write;
        call!(s.cu, cuStreamBatchMemOp_8000(s.stream, 1, &raw mut write, 0))
    });
}

/// Managed memory.
fn managed(t: &mut Lines, s: &Scene, places: &mut Places) {
    const SINGLE: u32 = 4;
    let (cu, stream, mut memory) = (&s.cu, s.stream, 0);
    let _ = call!(cu, cuMemAllocManaged_6000(&raw mut memory, SIZE, 1));
    places.add("managed", memory, SIZE as u64);
    captured(t, s, places, "cuMemPrefetchAsync", || {
        call!(cu, cuMemPrefetchAsync_12020(memory, SIZE, DEVICE, 0, stream))
    });
    captured(t, s, places, "cuMemPrefetchAsync, the older ABI", || {
        call!(cu, cuMemPrefetchAsync_8000(memory, SIZE, 0, stream))
    });
    captured(t, s, places, "cuMemDiscardBatchAsync", || {
        let (mut one, mut size) = (memory, SIZE);
        call!(cu, cuMemDiscardBatchAsync_13000(&raw mut one, &raw mut size, 1, 0, stream))
    });
    captured(t, s, places, "cuStreamAttachMemAsync", || {
        call!(cu, cuStreamAttachMemAsync_6000(stream, memory, 0, SINGLE))
    });
    captured(t, s, places, "cuMemsetD8Async of managed memory", || {
        call!(cu, cuMemsetD8Async_3020(memory, 1, 64, stream))
    });
}

/// Other graphs.
fn graphs(t: &mut Lines, s: &Scene, places: &Places) {
    let (cu, graph) = (&s.cu, simple(s));
    let exec = Exec::of(cu, graph, 0);
    captured(t, s, places, "cuGraphUpload", || call!(cu, cuGraphUpload_11010(exec.handle, s.stream)));
    captured(t, s, places, "cuGraphLaunch", || exec.launch(s.stream));
    t.line("  it still runs", || exec.run(s.third));
    graph::destroy(cu, graph);
}
