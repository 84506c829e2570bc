//! Values in memory that a stream writes, and that it waits for: streams, and the host, can let each other go with them.
//!
//! The ABIs of before 11.7 are refused, as by a device that does not have them switched on (`cuDeviceGetAttribute` says so);
//! all the same a stream that captures becomes invalid (measured).

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, CU_STREAM_MEM_OP_WAIT_VALUE_32,
    CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdeviceptr_v2, CUresult, CUstream,
    CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_writeValue,
    CUstreamBatchMemOpParams_v1_writeValue_u16, CUstreamBatchMemOpType,
};
use crate::driver::context::Activation;
use crate::driver::operation::Operation;
use crate::driver::operation::value::{Condition, WaitValue, Word, WriteValue};
use crate::driver::stream::Stream;
use crate::driver::stream::capturing::Recorded;

/// As many operations can be in one batch.
pub(crate) const MOST: u32 = 255;

/// A checked write.
fn checked_write(
    context: &Activation,
    address: CUdeviceptr_v2,
    value: u64,
    flags: u32,
    wide: bool,
) -> Result<Operation, CUresult> {
    // The only flag there is, to write without a barrier, is refused (measured).
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Ok(WriteValue { word: Word::at(address, wide, context)?, value }.into())
}

/// A checked wait.
fn checked_wait(
    context: &Activation,
    address: CUdeviceptr_v2,
    value: u64,
    flags: u32,
    wide: bool,
) -> Result<Operation, CUresult> {
    let condition = Condition::of(flags)?;
    Ok(WaitValue { word: Word::at(address, wide, context)?, value, condition }.into())
}

/// One of a batch; `None` for a barrier, as everything here is in order anyway.
pub(crate) fn checked(
    context: &Activation,
    params: CUstreamBatchMemOpParams,
) -> Result<Option<Operation>, CUresult> {
    // SAFETY: every member starts with the operation, which says which one the caller has written; all are of plain
    // numbers. A wait and a write have the same fields.
    let (operation, value, barrier) =
        unsafe { (params.operation, params.writeValue, params.memoryBarrier.flags) };
    // SAFETY: as above.
    let (narrow, number) = unsafe { (u64::from(value.u16.value), value.u16.value64) };
    let (address, flags) = (value.address, value.flags);
    Ok(Some(match operation {
        CU_STREAM_MEM_OP_WRITE_VALUE_32 => checked_write(context, address, narrow, flags, false)?,
        CU_STREAM_MEM_OP_WRITE_VALUE_64 => checked_write(context, address, number, flags, true)?,
        CU_STREAM_MEM_OP_WAIT_VALUE_32 => checked_wait(context, address, narrow, flags, false)?,
        CU_STREAM_MEM_OP_WAIT_VALUE_64 => checked_wait(context, address, number, flags, true)?,
        CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Err(CUDA_ERROR_NOT_SUPPORTED),
        // Of all memory, or of the device's own.
        CU_STREAM_MEM_OP_BARRIER if barrier <= 1 => return Ok(None),
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    }))
}

/// All of them, or none if one is wrong. A capture makes one node of them.
fn enqueue(stream: &Stream, params: Box<[CUstreamBatchMemOpParams]>) -> Answer {
    let checked = |one: &CUstreamBatchMemOpParams| checked(&stream.context, *one);
    let all = params.iter().map(checked).collect::<Result<Vec<_>, CUresult>>()?;
    match stream.capture() {
        Some(capture) => stream.record(&capture, Recorded::Values(params)).map(drop),
        None => all.into_iter().flatten().try_for_each(|operation| stream.submit(operation).map(drop)),
    }
}

/// A write, or a wait, which has the same fields.
fn single(
    stream: CUstream,
    operation: CUstreamBatchMemOpType,
    address: CUdeviceptr_v2,
    value64: u64,
    flags: u32,
) -> Answer {
    let (u16, alias) = (CUstreamBatchMemOpParams_v1_writeValue_u16 { value64 }, 0);
    let writeValue = CUstreamBatchMemOpParams_v1_writeValue { operation, address, u16, flags, alias };
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.writeValue = writeValue;
    enqueue(&*Stream::for_work(stream)?, [params].into())
}

pub(crate) fn cuStreamWriteValue32_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u32,
    flags: u32,
) -> Answer {
    single(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value.into(), flags)
}

pub(crate) fn cuStreamWriteValue64_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u64,
    flags: u32,
) -> Answer {
    single(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags)
}

pub(crate) fn cuStreamWaitValue32_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u32,
    flags: u32,
) -> Answer {
    single(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value.into(), flags)
}

pub(crate) fn cuStreamWaitValue64_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u64,
    flags: u32,
) -> Answer {
    single(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags)
}

fn refuse_older(stream: CUstream) -> Answer {
    Stream::refuse_captured(stream)?;
    Err(CUDA_ERROR_NOT_SUPPORTED)
}

pub(crate) fn cuStreamWriteValue32(
    stream: CUstream,
    _addr: CUdeviceptr_v2,
    _value: u32,
    _flags: u32,
) -> Answer {
    refuse_older(stream)
}

pub(crate) fn cuStreamWriteValue64(
    stream: CUstream,
    _addr: CUdeviceptr_v2,
    _value: u64,
    _flags: u32,
) -> Answer {
    refuse_older(stream)
}

pub(crate) fn cuStreamWaitValue32(
    stream: CUstream,
    _addr: CUdeviceptr_v2,
    _value: u32,
    _flags: u32,
) -> Answer {
    refuse_older(stream)
}

pub(crate) fn cuStreamWaitValue64(
    stream: CUstream,
    _addr: CUdeviceptr_v2,
    _value: u64,
    _flags: u32,
) -> Answer {
    refuse_older(stream)
}

pub(crate) fn cuStreamBatchMemOp(
    stream: CUstream,
    _count: u32,
    _paramArray: Out<CUstreamBatchMemOpParams>,
    _flags: u32,
) -> Answer {
    refuse_older(stream)
}

pub(crate) fn cuStreamBatchMemOp_v2(
    stream: CUstream,
    count: u32,
    paramArray: Out<CUstreamBatchMemOpParams>,
    flags: u32,
) -> Answer {
    let stream = Stream::for_work(stream)?;
    if flags != 0 || count > MOST {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let params = (0..count as usize).map(|index| paramArray.item(index)).collect::<Result<_, _>>()?;
    enqueue(&stream, params)
}
