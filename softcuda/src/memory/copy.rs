//! Copies of one range of bytes.

use super::span::Span;
use crate::context::current::current;
use crate::error::Answer;
use crate::sys::{CUcontext, CUdeviceptr_v2, CUresult};
use std::ffi::c_void;

/// A copy whose ends have been checked.
struct Copy {
    to: Span,
    from: Span,
    size: usize,
}

impl Copy {
    fn run(&self) {
        // SAFETY: both ends hold `size` bytes: checked against the allocation, or promised by the caller for ordinary
        // host memory.
        unsafe { std::ptr::copy(self.from.bytes(), self.to.bytes(), self.size) };
    }
}

/// How a pointer finds its bytes.
type Place = fn(usize, usize) -> Result<Span, CUresult>;

/// Copies at once. A context is needed even for nothing, the pointers are not.
fn copy(to: (usize, Place), from: (usize, Place), size: usize) -> Answer {
    current()?;
    if size == 0 {
        return Ok(());
    }
    Copy { to: to.1(to.0, size)?, from: from.1(from.0, size)?, size }.run();
    Ok(())
}

fn device(pointer: CUdeviceptr_v2) -> (usize, Place) {
    (pointer as usize, Span::on_device)
}

/// A host pointer; one of the device's is accepted too, as measured.
fn host(pointer: *const c_void) -> (usize, Place) {
    (pointer as usize, Span::anywhere)
}

fn unified(pointer: CUdeviceptr_v2) -> (usize, Place) {
    (pointer as usize, Span::anywhere)
}

pub(crate) fn cuMemcpy(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize) -> Answer {
    copy(unified(dst), unified(src), ByteCount)
}

pub(crate) fn cuMemcpyHtoD_v2(dstDevice: CUdeviceptr_v2, srcHost: *const c_void, ByteCount: usize) -> Answer {
    copy(device(dstDevice), host(srcHost), ByteCount)
}

pub(crate) fn cuMemcpyDtoH_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> Answer {
    copy(host(dstHost), device(srcDevice), ByteCount)
}

pub(crate) fn cuMemcpyDtoD_v2(
    dstDevice: CUdeviceptr_v2,
    srcDevice: CUdeviceptr_v2,
    ByteCount: usize,
) -> Answer {
    copy(device(dstDevice), device(srcDevice), ByteCount)
}

/// The contexts are not looked at, as measured: an address says whose it is.
pub(crate) fn cuMemcpyPeer(
    dstDevice: CUdeviceptr_v2,
    _dstContext: CUcontext,
    srcDevice: CUdeviceptr_v2,
    _srcContext: CUcontext,
    ByteCount: usize,
) -> Answer {
    copy(device(dstDevice), device(srcDevice), ByteCount)
}
