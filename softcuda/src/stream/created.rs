//! Streams that a program creates and destroys.

use super::{Kind, LEGACY, PER_THREAD, STREAMS, Stream, attributes, capture, next_id};
use crate::context::config::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::context::current::current;
use crate::error::Answer;
use crate::memory::managed::attach;
use crate::pointer::Out;
use crate::sys::{CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUstream};
use std::sync::atomic::AtomicI32;

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
    let stream = STREAMS.add(|handle| {
        let priority = AtomicI32::new(priority);
        Stream { handle, id: next_id(), kind, priority, context }
    });
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
    attributes::forget(&stream);
    capture::forget(&stream);
    attach::forget(&stream);
    Ok(())
}
