//! Copies: of one range, of boxes, and between contexts. In a stream, or at once in the current context.

use super::super::stream::RawStream;
use super::{finish, there};
use crate::driver::call;
use crate::driver::sys::{
    CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext, CUdeviceptr, CUmemorytype,
};
use crate::driver::{CallError, Table};
use std::ffi::c_void;

/// What the two ends of a copy of one range are said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// Whatever the addresses are.
    Any,
}

fn host(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Copies one range in the stream's order.
#[inline]
pub(crate) fn range(
    table: &Table,
    direction: Direction,
    (to, from): (u64, u64),
    bytes: usize,
    stream: &RawStream,
) -> Result<(), CallError> {
    if bytes == 0 {
        return there!(table, cuMemcpyAsync_4000);
    }
    let stream = stream.handle();
    // SAFETY: the caller vouches for both ranges; the stream is alive.
    unsafe {
        match direction {
            Direction::HostToDevice => {
                call!(table, cuMemcpyHtoDAsync_3020(to, host(from), bytes, stream))
            }
            Direction::DeviceToHost => call!(table, cuMemcpyDtoHAsync_3020(host(to), from, bytes, stream)),
            Direction::DeviceToDevice => call!(table, cuMemcpyDtoDAsync_3020(to, from, bytes, stream)),
            Direction::Any => call!(table, cuMemcpyAsync_4000(to, from, bytes, stream)),
        }
    }
}

/// Copies one range in the current context; it is done when this returns.
pub(crate) fn range_now(
    table: &Table,
    direction: Direction,
    (to, from): (u64, u64),
    bytes: usize,
) -> Result<(), CallError> {
    if bytes == 0 {
        return there!(table, cuMemcpy_4000);
    }
    // SAFETY: the caller vouches for both ranges; a context is current.
    unsafe {
        match direction {
            Direction::HostToDevice => call!(table, cuMemcpyHtoD_3020(to, host(from), bytes)),
            // The driver itself waits until the host has the bytes.
            Direction::DeviceToHost => return call!(table, cuMemcpyDtoH_3020(host(to), from, bytes)),
            Direction::DeviceToDevice => call!(table, cuMemcpyDtoD_3020(to, from, bytes)),
            Direction::Any => call!(table, cuMemcpy_4000(to, from, bytes)),
        }
    }?;
    finish(table)
}

/// Copies a box in the stream's order.
pub(crate) fn boxed(table: &Table, copy: &CUDA_MEMCPY3D, stream: &RawStream) -> Result<(), CallError> {
    if is_empty(copy) {
        return there!(table, cuMemcpy3DAsync_3020);
    }
    // SAFETY: the caller vouches for both boxes; the stream is alive.
    unsafe { call!(table, cuMemcpy3DAsync_3020(copy, stream.handle())) }
}

/// Copies a box in the current context; it is done when this returns.
pub(crate) fn boxed_now(table: &Table, copy: &CUDA_MEMCPY3D) -> Result<(), CallError> {
    if is_empty(copy) {
        return there!(table, cuMemcpy3D_3020);
    }
    // SAFETY: the caller vouches for both boxes; a context is current.
    unsafe { call!(table, cuMemcpy3D_3020(copy)) }?;
    finish_unless_to_host(table, copy.dstMemoryType)
}

/// One range of device memory and the context that it belongs to.
pub(crate) type PeerRange = (CUdeviceptr, CUcontext);

/// Copies a range from one context's memory to another's in the stream's order.
pub(crate) fn peer(
    table: &Table,
    to: PeerRange,
    from: PeerRange,
    bytes: usize,
    stream: &RawStream,
) -> Result<(), CallError> {
    if bytes == 0 {
        return there!(table, cuMemcpyPeerAsync_4000);
    }
    // SAFETY: the caller vouches for both ranges; contexts and stream are alive.
    unsafe { call!(table, cuMemcpyPeerAsync_4000(to.0, to.1, from.0, from.1, bytes, stream.handle())) }
}

/// Copies a range from one context's memory to another's, in the current context; it is done when this returns.
pub(crate) fn peer_now(table: &Table, to: PeerRange, from: PeerRange, bytes: usize) -> Result<(), CallError> {
    if bytes == 0 {
        return there!(table, cuMemcpyPeer_4000);
    }
    // SAFETY: the caller vouches for both ranges; the contexts are alive, and one is current.
    unsafe { call!(table, cuMemcpyPeer_4000(to.0, to.1, from.0, from.1, bytes)) }?;
    finish(table)
}

/// Copies a box from one context's memory to another's in the stream's order.
pub(crate) fn boxed_peer(
    table: &Table,
    copy: CUDA_MEMCPY3D,
    (to, from): (CUcontext, CUcontext),
    stream: &RawStream,
) -> Result<(), CallError> {
    if is_empty(&copy) {
        return there!(table, cuMemcpy3DPeerAsync_4000);
    }
    let copy = with_contexts(copy, to, from);
    // SAFETY: the caller vouches for both boxes; contexts and stream are alive.
    unsafe { call!(table, cuMemcpy3DPeerAsync_4000(&raw const copy, stream.handle())) }
}

/// Copies a box from one context's memory to another's, in the current context; it is done when this returns.
pub(crate) fn boxed_peer_now(
    table: &Table,
    copy: CUDA_MEMCPY3D,
    (to, from): (CUcontext, CUcontext),
) -> Result<(), CallError> {
    if is_empty(&copy) {
        return there!(table, cuMemcpy3DPeer_4000);
    }
    let copy = with_contexts(copy, to, from);
    // SAFETY: the caller vouches for both boxes; the contexts are alive, and one is current.
    unsafe { call!(table, cuMemcpy3DPeer_4000(&raw const copy)) }?;
    finish_unless_to_host(table, copy.dstMemoryType)
}

fn is_empty(copy: &CUDA_MEMCPY3D) -> bool {
    copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0
}

/// The same copy with the contexts of its ends.
fn with_contexts(copy: CUDA_MEMCPY3D, to: CUcontext, from: CUcontext) -> CUDA_MEMCPY3D_PEER {
    // SAFETY: the two structs have the same fields at the same places, except that the contexts of one are reserved
    // pointers of the other.
    let mut peer = unsafe { std::mem::transmute::<CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER>(copy) };
    (peer.dstContext, peer.srcContext) = (to, from);
    peer
}

fn finish_unless_to_host(table: &Table, to: CUmemorytype) -> Result<(), CallError> {
    if to == CU_MEMORYTYPE_HOST { Ok(()) } else { finish(table) }
}
