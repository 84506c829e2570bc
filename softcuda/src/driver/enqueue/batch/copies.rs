//! Batches of copies of ranges, and one copy with attributes.
#![allow(clippy::too_many_arguments)] // the driver's functions take as many as they take

use super::{spread, stream, submit};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE, CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
    CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMORYTYPE_UNIFIED,
    CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2, CUmemcpyAttributes_v1, CUmemcpySrcAccessOrder, CUresult,
    CUstream,
};
use crate::driver::context::current::current;
use crate::driver::operation::copy::{Copy, End, Reach};
use crate::driver::stream::Stream;

/// No copy in particular is to blame.
pub(super) const NONE: usize = usize::MAX;

const FLAGS: u32 = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0 as u32;

/// Refuses orders and flags that there are not. Where memory is and whether copies overlap with other work are hints.
pub(super) fn check(order: CUmemcpySrcAccessOrder, flags: u32) -> Answer {
    match order {
        CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
        | CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
        | CU_MEMCPY_SRC_ACCESS_ORDER_ANY
            if flags & !FLAGS == 0 =>
        {
            Ok(())
        }
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Reads the source now, if the caller wants it so; else that happens in the stream's order.
pub(super) fn read_as_asked(copy: &mut Copy, order: CUmemcpySrcAccessOrder) -> Answer {
    if order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL { copy.stage() } else { Ok(()) }
}

/// Tells which copy is to blame; driver 580 does where one is (measured), through the ABI that has a place for it.
pub(super) fn tell(place: Out<usize>, failed: usize) {
    place.set_if_wanted(failed);
}

/// The ends and the size of one copy.
type Ends = (CUdeviceptr_v2, CUdeviceptr_v2, usize);

fn check_copy((to, from, size): Ends, stream: &Stream) -> Result<Copy, CUresult> {
    if size == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // Batches look at what the stream's context has access to (measured).
    let end = |address: CUdeviceptr_v2| End::plain(CU_MEMORYTYPE_UNIFIED, address as usize, Reach::Stream);
    Copy::linear(end(to), end(from), size, &stream.context)
}

/// Batches of copies, unlike single ones, want a current context (measured).
pub(super) fn check_current() -> Answer {
    current().map(drop).map_err(|_| CUDA_ERROR_INVALID_VALUE)
}

/// Copies with an attribute each; answers which copy is to blame for a failure.
fn copies(
    parts: impl Fn(usize) -> Result<Ends, CUresult>,
    count: usize,
    attributes: impl FnOnce() -> Result<Vec<CUmemcpyAttributes_v1>, CUresult>,
    handle: CUstream,
) -> Result<(), (CUresult, usize)> {
    let nobody = |code| (code, NONE);
    let stream = stream(handle).map_err(nobody)?;
    check_current().map_err(nobody)?;
    let attributes = attributes().map_err(nobody)?;
    let check_all = || attributes.iter().try_for_each(|one| check(one.srcAccessOrder, one.flags));
    check_all().map_err(nobody)?;
    let mut copies = Vec::new();
    for i in 0..count {
        copies.push(
            parts(i).map_err(nobody).and_then(|ends| check_copy(ends, &stream).map_err(|code| (code, i)))?,
        );
    }
    stream.spare_capture().map_err(nobody)?;
    let orders = attributes.iter().map(|one| one.srcAccessOrder);
    for (item, (copy, order)) in copies.iter_mut().zip(orders).enumerate() {
        read_as_asked(copy, order).map_err(|code| (code, item))?;
    }
    submit(&stream, copies).map_err(nobody)
}

/// `failIdx` may be NULL.
pub(crate) fn cuMemcpyBatchAsync(
    dsts: Out<CUdeviceptr_v2>,
    srcs: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
    attrs: Out<CUmemcpyAttributes_v1>,
    attrIdxs: Out<usize>,
    numAttrs: usize,
    failIdx: Out<usize>,
    hStream: CUstream,
) -> Answer {
    let parts = |i| Ok((dsts.item(i)?, srcs.item(i)?, sizes.item(i)?));
    let attributes = || {
        sizes.check_items(count)?;
        spread(attrs, attrIdxs, numAttrs, count, true)
    };
    let done = copies(parts, count, attributes, hStream);
    tell(failIdx, done.err().map_or(NONE, |(_, failed)| failed));
    done.map_err(|(code, _)| code)
}

pub(crate) fn cuMemcpyBatchAsync_v2(
    dsts: Out<CUdeviceptr_v2>,
    srcs: Out<CUdeviceptr_v2>,
    sizes: Out<usize>,
    count: usize,
    attrs: Out<CUmemcpyAttributes_v1>,
    attrIdxs: Out<usize>,
    numAttrs: usize,
    hStream: CUstream,
) -> Answer {
    let nowhere = Out::untyped(std::ptr::null_mut());
    cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrIdxs, numAttrs, nowhere, hStream)
}

/// On any stream.
pub(crate) fn cuMemcpyWithAttributesAsync(
    dst: CUdeviceptr_v2,
    src: CUdeviceptr_v2,
    size: usize,
    attr: Out<CUmemcpyAttributes_v1>,
    hStream: CUstream,
) -> Answer {
    let stream = Stream::for_work(hStream)?;
    let attributes = attr.item(0)?;
    check(attributes.srcAccessOrder, attributes.flags)?;
    let mut copy = check_copy((dst, src, size), &stream)?;
    read_as_asked(&mut copy, attributes.srcAccessOrder)?;
    stream.give(copy).map(drop)
}
