//! What a stream tells of itself.

use super::created::NON_BLOCKING;
use super::{Kind, Stream};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUcontext, CUdevice, CUgreenCtx, CUstream};

pub(crate) fn cuStreamGetFlags(hStream: CUstream, flags: Out<u32>) -> Answer {
    let stream = Stream::for_uncaptured(hStream)?;
    flags.set(if stream.kind == Kind::NonBlocking { NON_BLOCKING } else { 0 })
}

pub(crate) fn cuStreamGetPriority(hStream: CUstream, priority: Out<i32>) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.check_untangled()?;
    priority.set(stream.priority())
}

pub(crate) fn cuStreamGetId(hStream: CUstream, streamId: Out<u64>) -> Answer {
    streamId.set(Stream::for_uncaptured(hStream)?.id())
}

pub(crate) fn cuStreamGetCtx(hStream: CUstream, pctx: Out<CUcontext>) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.check_untangled()?;
    pctx.set(stream.context.context())
}

/// No stream is a green context's.
pub(crate) fn cuStreamGetCtx_v2(
    hStream: CUstream,
    pCtx: Out<CUcontext>,
    pGreenCtx: Out<CUgreenCtx>,
) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.check_untangled()?;
    pCtx.check()?;
    pGreenCtx.set(std::ptr::null_mut())?;
    pCtx.set(stream.context.context())
}

pub(crate) fn cuStreamGetDevice(hStream: CUstream, device: Out<CUdevice>) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.check_untangled()?;
    device.set(stream.context.device().handle())
}
