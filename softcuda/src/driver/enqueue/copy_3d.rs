//! 2D and 3D copies.

use super::transfer::{self, Manner};
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_PEER_v1, CUDA_MEMCPY3D_v2,
    CUarray, CUdeviceptr_v2, CUmemorytype, CUstream,
};
use crate::driver::operation::copy::{Copy, End, Extent, Reach};
use crate::driver::stream::Stream;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// The address that the kind of memory says is meant.
fn address(kind: CUmemorytype, host: *const c_void, device: CUdeviceptr_v2, array: CUarray) -> usize {
    match kind {
        CU_MEMORYTYPE_HOST => host as usize,
        CU_MEMORYTYPE_ARRAY => array as usize,
        _ => device as usize,
    }
}

/// Copies in a stream. The stream is needed even for nothing.
fn copy(stream: &Arc<Stream>, (to, from, extent): Parts, manner: Manner) -> Answer {
    if extent.is_empty() {
        return Ok(());
    }
    transfer::submit(stream, Copy::new(to, from, extent, &stream.context)?, manner)
}

/// A copy as the caller describes it: to, from, how much.
pub(crate) type Parts = (End, End, Extent);

/// Reads the caller's structure when the stream is known.
fn now<T: std::marker::Copy>(description: In<T>, parts: fn(T) -> Parts) -> Answer {
    let stream = Stream::unnamed()?;
    copy(&stream, parts(description.get()?), Manner::Synchronous)
}

fn later<T: std::marker::Copy>(description: In<T>, parts: fn(T) -> Parts, stream: CUstream) -> Answer {
    let stream = Stream::for_work(stream)?;
    copy(&stream, parts(description.get()?), Manner::Asynchronous)
}

fn rectangle(c: CUDA_MEMCPY2D_v2) -> Parts {
    let extent = Extent { width: c.WidthInBytes, height: c.Height, depth: 1 };
    let to = End {
        kind: c.dstMemoryType,
        address: address(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray),
        x: c.dstXInBytes,
        y: c.dstY,
        z: 0,
        pitch: c.dstPitch,
        height: 0,
        reach: Reach::Current,
    };
    let from = End {
        kind: c.srcMemoryType,
        address: address(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray),
        x: c.srcXInBytes,
        y: c.srcY,
        z: 0,
        pitch: c.srcPitch,
        height: 0,
        reach: Reach::Current,
    };
    (to, from, extent)
}

pub(crate) fn cuMemcpy2D_v2(pCopy: In<CUDA_MEMCPY2D_v2>) -> Answer {
    now(pCopy, rectangle)
}

pub(crate) fn cuMemcpy2DAsync_v2(pCopy: In<CUDA_MEMCPY2D_v2>, hStream: CUstream) -> Answer {
    later(pCopy, rectangle, hStream)
}

pub(crate) fn cuMemcpy2DUnaligned_v2(pCopy: In<CUDA_MEMCPY2D_v2>) -> Answer {
    cuMemcpy2D_v2(pCopy)
}

/// A 3D copy by a caller's structure.
pub(crate) fn block(c: CUDA_MEMCPY3D_v2, reach: Reach) -> Parts {
    let to = End {
        kind: c.dstMemoryType,
        address: address(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray),
        x: c.dstXInBytes,
        y: c.dstY,
        z: c.dstZ,
        pitch: c.dstPitch,
        height: c.dstHeight,
        reach,
    };
    let from = End {
        kind: c.srcMemoryType,
        address: address(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray),
        x: c.srcXInBytes,
        y: c.srcY,
        z: c.srcZ,
        pitch: c.srcPitch,
        height: c.srcHeight,
        reach,
    };
    (to, from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}

/// The structure for a copy between these ends.
pub(crate) fn describe(to: &End, from: &End, extent: Extent) -> CUDA_MEMCPY3D_v2 {
    let on_host = |end: &End| (if end.kind == CU_MEMORYTYPE_HOST { end.address } else { 0 }) as *mut c_void;
    let on_device =
        |end: &End| (if end.kind == CU_MEMORYTYPE_HOST { 0 } else { end.address }) as CUdeviceptr_v2;
    CUDA_MEMCPY3D_v2 {
        srcXInBytes: from.x,
        srcY: from.y,
        srcZ: from.z,
        srcLOD: 0,
        srcMemoryType: from.kind,
        srcHost: on_host(from),
        srcDevice: on_device(from),
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: to.x,
        dstY: to.y,
        dstZ: to.z,
        dstLOD: 0,
        dstMemoryType: to.kind,
        dstHost: on_host(to),
        dstDevice: on_device(to),
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: extent.width,
        Height: extent.height,
        Depth: extent.depth,
    }
}

pub(crate) fn cuMemcpy3D_v2(pCopy: In<CUDA_MEMCPY3D_v2>) -> Answer {
    now(pCopy, |copy| block(copy, Reach::Current))
}

pub(crate) fn cuMemcpy3DAsync_v2(pCopy: In<CUDA_MEMCPY3D_v2>, hStream: CUstream) -> Answer {
    later(pCopy, |copy| block(copy, Reach::Current), hStream)
}

/// The contexts are not looked at, as in `cuMemcpyPeer`.
fn peer_block(c: CUDA_MEMCPY3D_PEER_v1) -> Parts {
    let to = End {
        kind: c.dstMemoryType,
        address: address(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray),
        x: c.dstXInBytes,
        y: c.dstY,
        z: c.dstZ,
        pitch: c.dstPitch,
        height: c.dstHeight,
        reach: Reach::Any,
    };
    let from = End {
        kind: c.srcMemoryType,
        address: address(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray),
        x: c.srcXInBytes,
        y: c.srcY,
        z: c.srcZ,
        pitch: c.srcPitch,
        height: c.srcHeight,
        reach: Reach::Any,
    };
    (to, from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}

pub(crate) fn cuMemcpy3DPeer(pCopy: In<CUDA_MEMCPY3D_PEER_v1>) -> Answer {
    now(pCopy, peer_block)
}

pub(crate) fn cuMemcpy3DPeerAsync(pCopy: In<CUDA_MEMCPY3D_PEER_v1>, hStream: CUstream) -> Answer {
    Stream::refuse_captured(hStream)?;
    later(pCopy, peer_block, hStream)
}
