//! Copies of one range of bytes.

use super::transfer::{self, Manner};
use crate::abi::Answer;
use crate::abi::sys::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUcontext, CUdeviceptr_v2, CUstream,
};
use crate::driver::operation::copy::{Copy, End, Reach};
use crate::driver::stream::Stream;
use std::ffi::c_void;
use std::sync::Arc;

/// Copies in a stream. The stream is needed even for nothing, the pointers are not.
fn copy(stream: &Arc<Stream>, to: End, from: End, size: usize, manner: Manner) -> Answer {
    if size == 0 {
        return Ok(());
    }
    transfer::submit(stream, Copy::linear(to, from, size, &stream.context)?, manner)
}

fn now(to: End, from: End, size: usize) -> Answer {
    copy(&Stream::unnamed()?, to, from, size, Manner::Synchronous)
}

fn later(to: End, from: End, size: usize, stream: CUstream) -> Answer {
    copy(&Stream::for_work(stream)?, to, from, size, Manner::Asynchronous)
}

fn device(pointer: CUdeviceptr_v2) -> End {
    End::plain(CU_MEMORYTYPE_DEVICE, pointer as usize, Reach::Current)
}

/// Memory of any context, known as the current one's or not.
fn of_context(pointer: CUdeviceptr_v2) -> End {
    End::plain(CU_MEMORYTYPE_DEVICE, pointer as usize, Reach::Any)
}

/// A host pointer; one of the device's is accepted too, as measured.
fn host(pointer: *const c_void) -> End {
    End::plain(CU_MEMORYTYPE_HOST, pointer as usize, Reach::Current)
}

fn unified(pointer: CUdeviceptr_v2) -> End {
    End::plain(CU_MEMORYTYPE_UNIFIED, pointer as usize, Reach::Current)
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
    Stream::refuse_captured(hStream)?;
    later(of_context(dstDevice), of_context(srcDevice), ByteCount, hStream)
}
