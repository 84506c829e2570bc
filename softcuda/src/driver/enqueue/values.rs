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

/// What is to be done with a word, wherever that is; `None` is a barrier, as everything here is in order anyway.
pub(crate) struct Asked(Option<OfWord>);

struct OfWord {
    address: CUdeviceptr_v2,
    value: u64,
    wide: bool,
    /// What a wait waits for.
    until: Option<Condition>,
}

impl Asked {
    /// What a caller means; refused if no word could be meant.
    pub(crate) fn read(params: CUstreamBatchMemOpParams) -> Result<Self, CUresult> {
        // SAFETY: every member starts with the operation, which says which one the caller has written; all are of plain
        // numbers. A wait and a write have the same fields.
        let (operation, value, barrier) =
            unsafe { (params.operation, params.writeValue, params.memoryBarrier.flags) };
        // SAFETY: as above.
        let (narrow, number) = unsafe { (u64::from(value.u16.value), value.u16.value64) };
        let (value, wide, waits) = match operation {
            CU_STREAM_MEM_OP_WRITE_VALUE_32 => (narrow, false, false),
            CU_STREAM_MEM_OP_WRITE_VALUE_64 => (number, true, false),
            CU_STREAM_MEM_OP_WAIT_VALUE_32 => (narrow, false, true),
            CU_STREAM_MEM_OP_WAIT_VALUE_64 => (number, true, true),
            CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Err(CUDA_ERROR_NOT_SUPPORTED),
            // Of all memory, or of the device's own.
            CU_STREAM_MEM_OP_BARRIER if barrier <= 1 => return Ok(Self(None)),
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: as above.
        let (address, flags) = unsafe { (params.writeValue.address, params.writeValue.flags) };
        let until = match (waits, flags) {
            (true, flags) => Some(Condition::of(flags)?),
            (false, 0) => None,
            // The only flag there is, to write without a barrier, is refused (measured).
            (false, _) => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        Word::check_aligned(address, wide)?;
        Ok(Self(Some(OfWord { address, value, wide, until })))
    }

    /// The same for a word that is there.
    pub(crate) fn checked(self, context: &Activation) -> Result<Option<Operation>, CUresult> {
        let Some(OfWord { address, value, wide, until }) = self.0 else { return Ok(None) };
        let word = Word::at(address, wide, context)?;
        Ok(Some(match until {
            Some(condition) => WaitValue { word, value, condition }.into(),
            None => WriteValue { word, value }.into(),
        }))
    }
}

/// All of them, or none if one is wrong. A capture makes one node of them.
fn enqueue(stream: &Stream, params: Box<[CUstreamBatchMemOpParams]>) -> Answer {
    let checked = |one: &CUstreamBatchMemOpParams| Asked::read(*one)?.checked(&stream.context);
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
