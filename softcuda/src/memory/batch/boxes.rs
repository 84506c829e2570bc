//! Batches of copies of boxes, and one such copy.

use super::copies::{NONE, check, check_current, read_as_asked, tell};
use super::{stream, submit};
use crate::error::Answer;
use crate::memory::copy_box::{BoxCopy, Layout};
use crate::pointer::Out;
use crate::stream::Stream;
use crate::sys::{
    CU_MEMCPY_OPERAND_TYPE_ARRAY, CU_MEMCPY_OPERAND_TYPE_POINTER, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY3D_BATCH_OP_v1, CUmemcpy3DOperand_v1, CUresult, CUstream,
};

/// An end; there are no arrays.
fn layout(operand: &CUmemcpy3DOperand_v1) -> Result<Layout, CUresult> {
    match operand.type_ {
        CU_MEMCPY_OPERAND_TYPE_POINTER => {
            // SAFETY: both members of the union are made of plain numbers and pointers.
            let end = unsafe { operand.op.ptr };
            Ok(Layout { address: end.ptr, row: end.rowLength, rows: end.layerHeight })
        }
        CU_MEMCPY_OPERAND_TYPE_ARRAY => Err(CUDA_ERROR_INVALID_HANDLE),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

fn copy(op: &CUDA_MEMCPY3D_BATCH_OP_v1, stream: &Stream) -> Result<BoxCopy, CUresult> {
    check(op.srcAccessOrder, op.flags)?;
    let extent = [op.extent.width, op.extent.height, op.extent.depth];
    BoxCopy::unified(&layout(&op.dst)?, &layout(&op.src)?, extent, stream)
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
    copies.iter_mut().zip(orders).for_each(|(copy, order)| read_as_asked(copy, order));
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
    let stream = Stream::of(hStream)?;
    let op = op.item(0)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut copy = copy(&op, &stream)?;
    read_as_asked(&mut copy, op.srcAccessOrder);
    stream.submit(copy).map(drop)
}
