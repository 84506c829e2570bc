//! Copies of one range of bytes.

use super::span::{Access, Span};
use super::transfer::{self, Manner, Transfer};
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::stream::Stream;
use crate::sys::{CUcontext, CUdeviceptr_v2, CUresult, CUstream};
use std::ffi::c_void;
use std::sync::Arc;

/// A copy whose ends have been checked.
pub(super) struct Copy {
    to: Span,
    from: Span,
    size: usize,
}

impl Work for Copy {
    fn name(&self) -> &'static str {
        "a copy"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        vec![Access::read(&self.from), Access::write(&self.to)]
    }

    fn run(&self) {
        // SAFETY: both ends hold `size` bytes: checked against the allocation, or promised by the caller for ordinary
        // host memory.
        unsafe { std::ptr::copy(self.from.bytes(), self.to.bytes(), self.size) };
    }
}

impl Transfer for Copy {
    fn to(&self) -> &Span {
        &self.to
    }

    fn from(&self) -> Option<&Span> {
        Some(&self.from)
    }

    fn stage(&mut self) {
        // SAFETY: the caller promises `size` bytes for the duration of the call.
        let bytes = unsafe { std::slice::from_raw_parts(self.from.bytes(), self.size) };
        self.from = Span::staged(bytes.into());
    }
}

impl Copy {
    /// A copy of some bytes between any two places, for a batch: that looks at what the stream's context has access to
    /// (measured).
    pub(super) fn unified(
        to: CUdeviceptr_v2,
        from: CUdeviceptr_v2,
        size: usize,
        stream: &Stream,
    ) -> Result<Self, CUresult> {
        let span = |address| {
            let span = Span::anywhere(address as usize, size)?;
            span.check_pool_access_of(&stream.context)?;
            Ok(span)
        };
        Ok(Self { to: span(to)?, from: span(from)?, size })
    }
}

/// How a pointer finds its bytes.
type Place = fn(usize, usize, &Stream) -> Result<Span, CUresult>;

/// Copies in a stream. The stream is needed even for nothing, the pointers are not.
fn copy(
    stream: Arc<Stream>,
    to: (usize, Place),
    from: (usize, Place),
    size: usize,
    manner: Manner,
) -> Answer {
    if size == 0 {
        return Ok(());
    }
    let (to, from) = (to.1(to.0, size, &stream)?, from.1(from.0, size, &stream)?);
    transfer::submit(&stream, Copy { to, from, size }, manner)
}

fn now(to: (usize, Place), from: (usize, Place), size: usize) -> Answer {
    copy(Stream::unnamed()?, to, from, size, Manner::Synchronous)
}

fn later(to: (usize, Place), from: (usize, Place), size: usize, stream: CUstream) -> Answer {
    copy(Stream::of(stream)?, to, from, size, Manner::Asynchronous)
}

fn device(pointer: CUdeviceptr_v2) -> (usize, Place) {
    (pointer as usize, |address, size, stream| checked(Span::on_device(address, size)?, stream))
}

/// Memory of any context, known as the current one's or not.
fn of_context(pointer: CUdeviceptr_v2) -> (usize, Place) {
    (pointer as usize, |address, size, _| Span::on_device(address, size))
}

fn checked(span: Span, stream: &Stream) -> Result<Span, CUresult> {
    span.check_pool_access(stream)?;
    Ok(span)
}

/// A host pointer; one of the device's is accepted too, as measured.
fn host(pointer: *const c_void) -> (usize, Place) {
    unified(pointer as CUdeviceptr_v2)
}

fn unified(pointer: CUdeviceptr_v2) -> (usize, Place) {
    (pointer as usize, |address, size, stream| checked(Span::anywhere(address, size)?, stream))
}

pub(crate) fn cuMemcpy(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize) -> Answer {
    now(unified(dst), unified(src), ByteCount)
}

pub(crate) fn cuMemcpyAsync(
    dst: CUdeviceptr_v2,
    src: CUdeviceptr_v2,
    ByteCount: usize,
    hStream: CUstream,
) -> Answer {
    later(unified(dst), unified(src), ByteCount, hStream)
}

pub(crate) fn cuMemcpyHtoD_v2(dstDevice: CUdeviceptr_v2, srcHost: *const c_void, ByteCount: usize) -> Answer {
    now(device(dstDevice), host(srcHost), ByteCount)
}

pub(crate) fn cuMemcpyHtoDAsync_v2(
    dstDevice: CUdeviceptr_v2,
    srcHost: *const c_void,
    ByteCount: usize,
    hStream: CUstream,
) -> Answer {
    later(device(dstDevice), host(srcHost), ByteCount, hStream)
}

pub(crate) fn cuMemcpyDtoH_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> Answer {
    now(host(dstHost), device(srcDevice), ByteCount)
}

pub(crate) fn cuMemcpyDtoHAsync_v2(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr_v2,
    ByteCount: usize,
    hStream: CUstream,
) -> Answer {
    later(host(dstHost), device(srcDevice), ByteCount, hStream)
}

pub(crate) fn cuMemcpyDtoD_v2(
    dstDevice: CUdeviceptr_v2,
    srcDevice: CUdeviceptr_v2,
    ByteCount: usize,
) -> Answer {
    now(device(dstDevice), device(srcDevice), ByteCount)
}

pub(crate) fn cuMemcpyDtoDAsync_v2(
    dstDevice: CUdeviceptr_v2,
    srcDevice: CUdeviceptr_v2,
    ByteCount: usize,
    hStream: CUstream,
) -> Answer {
    later(device(dstDevice), device(srcDevice), ByteCount, hStream)
}

/// The contexts are not looked at, as measured: an address says whose it is.
pub(crate) fn cuMemcpyPeer(
    dstDevice: CUdeviceptr_v2,
    _dstContext: CUcontext,
    srcDevice: CUdeviceptr_v2,
    _srcContext: CUcontext,
    ByteCount: usize,
) -> Answer {
    now(of_context(dstDevice), of_context(srcDevice), ByteCount)
}

pub(crate) fn cuMemcpyPeerAsync(
    dstDevice: CUdeviceptr_v2,
    _dstContext: CUcontext,
    srcDevice: CUdeviceptr_v2,
    _srcContext: CUcontext,
    ByteCount: usize,
    hStream: CUstream,
) -> Answer {
    later(of_context(dstDevice), of_context(srcDevice), ByteCount, hStream)
}
