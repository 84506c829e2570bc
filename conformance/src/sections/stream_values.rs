//! Values in memory that a stream writes and waits for.

use super::Section;
use crate::driver::{Answer, BOGUS, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1,
    CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, CU_STREAM_MEM_OP_WAIT_VALUE_32,
    CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
    CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_memoryBarrier,
    CUstreamBatchMemOpParams_v1_writeValue, CUstreamBatchMemOpParams_v1_writeValue_u16,
    CUstreamBatchMemOpType,
};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const SECTION: Section = Section { name: "stream_values", parts: 6, devices: 1, run };

const GEQ: u32 = 0;
const EQ: u32 = 1;
const AND: u32 = 2;
const NOR: u32 = 3;
const FLUSH: u32 = 1 << 30;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let memory = cu.memory(4096)?;
    need!(cu, cuMemsetD8_3020(memory, 0, 4096))?;
    need!(cu, cuCtxSynchronize_2000())?;
    match part {
        0 => {
            abilities(t, cu);
            writes(t, cu, stream, memory)
        }
        1 => waits(t, cu, stream, memory),
        2 => order(t, cu, stream, memory),
        3 => batches(t, cu, stream, memory),
        4 => older(t, cu, stream, memory),
        _ => {
            t.line("batch of 1 from NULL", || call!(cu, cuStreamBatchMemOp_11070(stream, 1, null_mut(), 0)));
            Ok(())
        }
    }
}

fn abilities(t: &mut Lines, cu: &Cu) {
    for (situation, attribute) in [
        ("flush of remote writes", CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES),
        ("64-bit values", CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS),
        ("waiting with NOR", CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR),
        ("values, the older way", CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1),
        ("64-bit values, the older way", CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1),
        ("waiting with NOR, the older way", CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1),
    ] {
        let mut value = -1;
        t.line(situation, || {
            call!(cu, cuDeviceGetAttribute_2000(&raw mut value, attribute, 0)).then(|| value)
        });
    }
}

/// The 8 bytes at this address, when the stream has done its work.
fn read(cu: &Cu, stream: CUstream, address: CUdeviceptr) -> Answer {
    let mut value = 0u64;
    match call!(cu, cuStreamSynchronize_2000(stream)) {
        answer if answer.succeeded() => {
            call!(cu, cuMemcpyDtoH_3020((&raw mut value).cast(), address, 8)).then(|| format!("{value:#x}"))
        }
        answer => answer,
    }
}

fn writes(t: &mut Lines, cu: &Cu, stream: CUstream, memory: CUdeviceptr) -> Outcome {
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))?;
    let write = |address, flags| call!(cu, cuStreamWriteValue32_11070(stream, address, 0xa5a5, flags));
    t.line("write 32", || write(memory, 0));
    t.line("  read", || read(cu, stream, memory));
    t.line("write 64", || {
        call!(cu, cuStreamWriteValue64_11070(stream, memory + 8, 0x0102_0304_0506_0708, 0))
    });
    t.line("  read", || read(cu, stream, memory + 8));
    t.line("write without a barrier", || write(memory + 16, 1));
    t.line("write with flags 8", || write(memory, 8));
    t.line("write 32 at 2", || write(memory + 2, 0));
    t.line("write 64 at 4", || call!(cu, cuStreamWriteValue64_11070(stream, memory + 4, 1, 0)));
    t.line("write to NULL", || write(0, 0));
    t.line("write to a bad address", || write(BOGUS, 0));
    t.line("write to pinned host", || write(host.addr() as u64, 0));
    t.line("  read", || read(cu, stream, host.addr() as u64));
    let pageable = Box::leak(Box::new(0u64));
    t.line("write to pageable host", || write(std::ptr::from_mut(pageable).addr() as u64, 0));
    for (name, token) in [("NULL", null_mut()), ("legacy", LEGACY), ("per-thread", PER_THREAD)] {
        t.line(&format!("write on {name}"), || {
            call!(cu, cuStreamWriteValue32_11070(token, memory + 24, 7, 0))
        });
    }
    t.line("write past the end", || write(memory + 4096, 0));
    let (mut pooled, mut managed) = (0, 0);
    need!(cu, cuMemAllocAsync_11020(&raw mut pooled, 4096, stream))?;
    t.line("write to memory of a pool", || write(pooled, 0));
    t.line("wait for a value in memory of a pool", || {
        call!(cu, cuStreamWaitValue32_11070(stream, pooled, 0, GEQ))
    });
    need!(cu, cuMemAllocManaged_6000(&raw mut managed, 4096, 1))?;
    t.line("write to managed memory", || write(managed, 0));
    t.line("wait for a value in managed memory", || {
        call!(cu, cuStreamWaitValue32_11070(stream, managed, 0, GEQ))
    });
    t.line("context is well", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

/// Eight bytes of pinned memory that streams look at and the host changes.
struct Word(*mut AtomicU32);

impl Word {
    fn new(cu: &Cu) -> Outcome<Self> {
        let mut host = null_mut();
        need!(cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))?;
        Ok(Self(host.cast()))
    }

    fn address(&self) -> CUdeviceptr {
        self.0.expose_provenance() as u64
    }

    fn half(&self, number: usize) -> &AtomicU32 {
        // SAFETY: the memory is aligned, has two of them, and is never freed.
        unsafe { &*self.0.add(number) }
    }

    fn set(&self, value: u32) {
        self.half(0).store(value, Ordering::Release);
    }

    fn get(&self) -> u32 {
        self.half(0).load(Ordering::Acquire)
    }
}

/// Each is looked at for a while only: a wait that is not fulfilled does not end.
fn waits(t: &mut Lines, cu: &Cu, stream: CUstream, memory: CUdeviceptr) -> Outcome {
    let word = Word::new(cu)?;
    let settled = || cu.settled(|| call!(cu, cuStreamQuery_2000(stream)));
    for (situation, value, flags) in [
        ("wait until 5 >= 5", 5, GEQ),
        ("wait until 5 >= 6", 6, GEQ),
        ("wait until 5 >= 0xffffffff, going round", 0xffff_ffff, GEQ),
        ("wait until 5 == 5", 5, EQ),
        ("wait until 5 == 4", 4, EQ),
        ("wait until 5 & 4", 4, AND),
        ("wait until 5 & 2", 2, AND),
        ("wait until ~(5 | 2)", 2, NOR),
        ("wait until ~(5 | 0xfffffffa)", 0xffff_fffa, NOR),
    ] {
        word.set(5);
        t.line(situation, || call!(cu, cuStreamWaitValue32_11070(stream, word.address(), value, flags)));
        t.line("  stream", settled);
        // One of these fulfils each of the conditions.
        for value in [6, 4, 2, 0, 0xffff_ffff] {
            word.set(value);
            if settled().succeeded() {
                break;
            }
        }
    }
    word.set(5);
    word.half(1).store(5, Ordering::Release);
    let wait = |address, flags| call!(cu, cuStreamWaitValue32_11070(stream, address, 5, flags));
    t.line("wait 64 until 0x500000005 >= 5", || {
        call!(cu, cuStreamWaitValue64_11070(stream, word.address(), 5, GEQ))
    });
    t.line("  stream", settled);
    t.line("wait and flush", || wait(word.address(), EQ | FLUSH));
    t.line("wait with flags 8", || wait(word.address(), 8));
    t.line("wait 32 at 2", || wait(memory + 2, EQ));
    t.line("wait 64 at 4", || call!(cu, cuStreamWaitValue64_11070(stream, memory + 4, 5, GEQ)));
    t.line("wait at NULL", || wait(0, EQ));
    t.line("wait at a bad address", || wait(BOGUS, EQ));
    t.line("wait on legacy", || call!(cu, cuStreamWaitValue32_11070(LEGACY, word.address(), 5, EQ)));
    t.line("context is well", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

/// A stream that waits is let go by another stream, and by the host.
fn order(t: &mut Lines, cu: &Cu, stream: CUstream, memory: CUdeviceptr) -> Outcome {
    let (waiting, word) = (cu.stream(NON_BLOCKING)?, Word::new(cu)?);
    let query = |stream| call!(cu, cuStreamQuery_2000(stream));
    t.line("wait for another stream's write", || {
        call!(cu, cuStreamWaitValue32_11070(waiting, memory, 1, EQ))
    });
    t.line("  query", || query(waiting));
    t.line("  work behind it", || match call!(cu, cuMemsetD32Async_3020(memory + 64, 9, 1, waiting)) {
        answer if answer.succeeded() => query(waiting),
        answer => answer,
    });
    t.line("  the other stream is free", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  the other stream writes", || call!(cu, cuStreamWriteValue32_11070(stream, memory, 1, 0)));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("  it ends", || call!(cu, cuStreamSynchronize_2000(waiting)));
    t.line("  its work is done", || read(cu, waiting, memory + 64));
    word.set(0);
    t.line("wait for the host", || call!(cu, cuStreamWaitValue32_11070(waiting, word.address(), 1, EQ)));
    t.line("  query", || query(waiting));
    word.set(1);
    t.line("  it ends", || call!(cu, cuStreamSynchronize_2000(waiting)));
    let gate = Gate::close(cu, stream)?;
    t.line("write behind work", || call!(cu, cuStreamWriteValue32_11070(stream, word.address(), 2, 0)));
    t.line("  not yet", || yes(word.get() == 1));
    gate.open();
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("  then", || yes(word.get() == 2));
    Ok(())
}

fn value(operation: CUstreamBatchMemOpType, address: CUdeviceptr, value64: u64) -> CUstreamBatchMemOpParams {
    // A wait has the same fields.
    let u16 = CUstreamBatchMemOpParams_v1_writeValue_u16 { value64 };
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.writeValue =
        CUstreamBatchMemOpParams_v1_writeValue { operation, address, u16, flags: 0, alias: 0 };
    params
}

fn plain(operation: CUstreamBatchMemOpType, flags: u32) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.memoryBarrier = CUstreamBatchMemOpParams_v1_memoryBarrier { operation, flags };
    params
}

fn batches(t: &mut Lines, cu: &Cu, stream: CUstream, memory: CUdeviceptr) -> Outcome {
    let batch = |params: &mut [CUstreamBatchMemOpParams], flags| {
        call!(cu, cuStreamBatchMemOp_11070(stream, params.len() as u32, params.as_mut_ptr(), flags))
    };
    let write = |address, number| value(CU_STREAM_MEM_OP_WRITE_VALUE_32, address, number);
    t.line("batch of 0", || call!(cu, cuStreamBatchMemOp_11070(stream, 0, null_mut(), 0)));
    t.line("batch of 0, with flags 1", || call!(cu, cuStreamBatchMemOp_11070(stream, 0, null_mut(), 1)));
    t.line("batch of 2", || {
        let wide = value(CU_STREAM_MEM_OP_WRITE_VALUE_64, memory + 8, 0x1_0000_0002);
        batch(&mut [write(memory, 3), wide], 0)
    });
    t.line("  read", || read(cu, stream, memory));
    t.line("  read", || read(cu, stream, memory + 8));
    t.line("batch of 255", || batch(&mut [write(memory, 4); 255], 0));
    t.line("batch of 256", || batch(&mut [write(memory, 5); 256], 0));
    t.line("  read", || read(cu, stream, memory));
    t.line("batch with flags 1", || batch(&mut [write(memory, 6)], 1));
    t.line("batch with operation 99", || batch(&mut [plain(CUstreamBatchMemOpType(99), 0)], 0));
    t.line("batch with operation 0", || batch(&mut [plain(CUstreamBatchMemOpType(0), 0)], 0));
    t.line("batch of a good and a bad one", || batch(&mut [write(memory, 6), write(BOGUS, 6)], 0));
    t.line("  read", || read(cu, stream, memory));
    t.line("batch with a write at 2", || batch(&mut [write(memory + 2, 6)], 0));
    t.line("batch with a flush", || batch(&mut [plain(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0)], 0));
    t.line("batch with a barrier", || batch(&mut [plain(CU_STREAM_MEM_OP_BARRIER, 0)], 0));
    t.line("batch with a barrier, flags 1", || batch(&mut [plain(CU_STREAM_MEM_OP_BARRIER, 1)], 0));
    t.line("batch with a barrier, flags 2", || batch(&mut [plain(CU_STREAM_MEM_OP_BARRIER, 2)], 0));
    t.line("batch that waits for its own write", || {
        let wait = value(CU_STREAM_MEM_OP_WAIT_VALUE_32, memory, 7);
        let wide = value(CU_STREAM_MEM_OP_WAIT_VALUE_64, memory, 7);
        batch(&mut [write(memory, 7), wait, wide], 0)
    });
    t.line("  stream", || cu.settled(|| call!(cu, cuStreamQuery_2000(stream))));
    t.line("batch on legacy", || {
        call!(cu, cuStreamBatchMemOp_11070(LEGACY, 1, &raw mut *Box::new(write(memory, 8)), 0))
    });
    t.line("context is well", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

/// The ABIs of before 11.7.
fn older(t: &mut Lines, cu: &Cu, stream: CUstream, memory: CUdeviceptr) -> Outcome {
    t.line("older write 32", || call!(cu, cuStreamWriteValue32_8000(stream, memory, 1, 0)));
    t.line("older write 64", || call!(cu, cuStreamWriteValue64_9000(stream, memory + 8, 1, 0)));
    t.line("older wait 32", || call!(cu, cuStreamWaitValue32_8000(stream, memory, 0, GEQ)));
    t.line("older wait 64", || call!(cu, cuStreamWaitValue64_9000(stream, memory + 8, 0, GEQ)));
    t.line("older batch of 0", || call!(cu, cuStreamBatchMemOp_8000(stream, 0, null_mut(), 0)));
    let mut write = value(CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, 2);
    t.line("older batch of 1", || call!(cu, cuStreamBatchMemOp_8000(stream, 1, &raw mut write, 0)));
    t.line("  stream", || cu.settled(|| call!(cu, cuStreamQuery_2000(stream))));
    Ok(())
}
