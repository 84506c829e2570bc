//! Streams that a program creates and destroys.

use super::{Kind, LEGACY, PER_THREAD, STREAMS, Stream, attributes, capturing};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUstream,
};
use crate::driver::context::config::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::driver::context::current::current;
use crate::driver::memory::table;

pub(super) const NON_BLOCKING: u32 = CU_STREAM_NON_BLOCKING.0 as u32;

pub(crate) fn cuStreamCreate(phStream: Out<CUstream>, Flags: u32) -> Answer {
    cuStreamCreateWithPriority(phStream, Flags, LEAST_PRIORITY)
}

/// Priorities out of range are clamped.
pub(crate) fn cuStreamCreateWithPriority(phStream: Out<CUstream>, flags: u32, priority: i32) -> Answer {
    let context = current()?;
    phStream.check()?;
    let kind = match flags {
        0 => Kind::Blocking,
        NON_BLOCKING => Kind::NonBlocking,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    let stream = STREAMS.add(|handle| Stream::new(handle, kind, priority, context));
    phStream.set(stream.handle as CUstream)
}

pub(crate) fn cuStreamDestroy(hStream: CUstream) -> Answer {
    cuStreamDestroy_v2(hStream)
}

/// Returns at once; what the stream has been given is done all the same.
pub(crate) fn cuStreamDestroy_v2(hStream: CUstream) -> Answer {
    let handle = hStream as usize;
    if matches!(handle, LEGACY | PER_THREAD) {
        current()?;
    }
    if matches!(handle, 0 | LEGACY | PER_THREAD) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    Stream::of(hStream)?;
    let stream = STREAMS.remove(handle).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    stream.queue().close();
    attributes::forget(&stream);
    capturing::forget(&stream);
    table::forget_stream(stream.id());
    Ok(())
}
