//! Batches of 3D copies, and one with attributes.

use super::copies::{NONE, check, check_current, read_as_asked, tell};
use super::{stream, submit};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEMCPY_OPERAND_TYPE_ARRAY, CU_MEMCPY_OPERAND_TYPE_POINTER, CU_MEMORYTYPE_UNIFIED,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY3D_BATCH_OP_v1, CUmemcpy3DOperand_v1,
    CUresult, CUstream,
};
use crate::driver::operation::copy::{Copy, End, Extent, Reach};
use crate::driver::stream::Stream;

/// An end; there are no arrays. Access is asked for as for batches of ranges.
fn end(operand: &CUmemcpy3DOperand_v1) -> Result<End, CUresult> {
    match operand.type_ {
        CU_MEMCPY_OPERAND_TYPE_POINTER => {
            // SAFETY: both members of the union are made of plain numbers and pointers.
            let end = unsafe { operand.op.ptr };
            let plain = End::plain(CU_MEMORYTYPE_UNIFIED, end.ptr as usize, Reach::Stream);
            Ok(End { pitch: end.rowLength, height: end.layerHeight, ..plain })
        }
        CU_MEMCPY_OPERAND_TYPE_ARRAY => Err(CUDA_ERROR_INVALID_HANDLE),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

fn copy(op: &CUDA_MEMCPY3D_BATCH_OP_v1, stream: &Stream) -> Result<Copy, CUresult> {
    check(op.srcAccessOrder, op.flags)?;
    let extent = Extent { width: op.extent.width, height: op.extent.height, depth: op.extent.depth };
    let (to, from) = (end(&op.dst)?, end(&op.src)?);
    if extent.is_empty() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Copy::new(to, from, extent, &stream.context)
}

/// Answers which copy is to blame for a failure.
fn copies(
    count: usize,
    ops: Out<CUDA_MEMCPY3D_BATCH_OP_v1>,
    flags: u64,
    handle: CUstream,
) -> Result<(), (CUresult, usize)> {
    let nobody = |code| (code, NONE);
    let stream = stream(handle).map_err(nobody)?;
    if count == 0 || flags != 0 {
        return Err(nobody(CUDA_ERROR_INVALID_VALUE));
    }
    let (mut copies, mut orders) = (Vec::new(), Vec::new());
    for i in 0..count {
        let op = ops.item(i).map_err(nobody)?;
        copies.push(copy(&op, &stream).map_err(|code| (code, i))?);
        orders.push(op.srcAccessOrder);
    }
    check_current().and_then(|()| stream.spare_capture()).map_err(nobody)?;
    for (item, (copy, order)) in copies.iter_mut().zip(orders).enumerate() {
        read_as_asked(copy, order).map_err(|code| (code, item))?;
    }
    submit(&stream, copies).map_err(nobody)
}

/// `failIdx` may be NULL.
pub(crate) fn cuMemcpy3DBatchAsync(
    numParams: usize,
    opList: Out<CUDA_MEMCPY3D_BATCH_OP_v1>,
    failIdx: Out<usize>,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    let done = copies(numParams, opList, flags, hStream);
    tell(failIdx, done.err().map_or(NONE, |(_, failed)| failed));
    done.map_err(|(code, _)| code)
}

pub(crate) fn cuMemcpy3DBatchAsync_v2(
    numParams: usize,
    opList: Out<CUDA_MEMCPY3D_BATCH_OP_v1>,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    copies(numParams, opList, flags, hStream).map_err(|(code, _)| code)
}

/// On any stream.
pub(crate) fn cuMemcpy3DWithAttributesAsync(
    op: Out<CUDA_MEMCPY3D_BATCH_OP_v1>,
    flags: u64,
    hStream: CUstream,
) -> Answer {
    let stream = Stream::for_work(hStream)?;
    let op = op.item(0)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut copy = copy(&op, &stream)?;
    read_as_asked(&mut copy, op.srcAccessOrder)?;
    stream.give(copy).map(drop)
}
