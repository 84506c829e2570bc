//! Copies: of one range, and of boxes. In a stream, or at once in the current context; between the memories of two contexts
//! where these are named.

use super::super::stream::RawStream;
use super::{finish, there};
use crate::driver::call;
use crate::driver::sys::{CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext};
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

/// A copy of one range.
#[derive(Debug)]
pub(crate) struct RawRange {
    pub(crate) direction: Direction,
    pub(crate) to: u64,
    pub(crate) from: u64,
    pub(crate) bytes: usize,
    /// The contexts of the destination and the source, for a copy between these.
    pub(crate) peers: Option<(CUcontext, CUcontext)>,
}

/// A copy of a box.
pub(crate) struct RawRegion {
    /// Without contexts the same as a `CUDA_MEMCPY3D`.
    copy: CUDA_MEMCPY3D_PEER,
    is_between_peers: bool,
}

impl RawRegion {
    pub(crate) fn new(copy: CUDA_MEMCPY3D) -> Self {
        // SAFETY: the two structs have the same fields at the same places, except that the contexts of one are reserved
        // pointers of the other.
        let copy = unsafe { std::mem::transmute::<CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER>(copy) };
        Self { copy, is_between_peers: false }
    }

    /// The same copy from one context's memory to another's.
    pub(crate) fn between(mut self, (to, from): (CUcontext, CUcontext)) -> Self {
        (self.copy.dstContext, self.copy.srcContext) = (to, from);
        self.is_between_peers = true;
        self
    }

    /// The same copy without the contexts.
    pub(crate) fn plainly(mut self) -> Self {
        (self.copy.dstContext, self.copy.srcContext) = (std::ptr::null_mut(), std::ptr::null_mut());
        self.is_between_peers = false;
        self
    }

    fn plain(&self) -> *const CUDA_MEMCPY3D {
        (&raw const self.copy).cast()
    }

    fn is_empty(&self) -> bool {
        self.copy.WidthInBytes == 0 || self.copy.Height == 0 || self.copy.Depth == 0
    }
}

fn host(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Copies one range in the stream's order.
///
/// # Safety
/// Both ranges are as the copy says and good until it is done; the contexts are alive.
#[inline(always)]
pub(crate) unsafe fn range(table: &Table, copy: &RawRange, stream: &RawStream) -> Result<(), CallError> {
    let RawRange { direction, to, from, bytes, peers } = *copy;
    if bytes == 0 {
        return there!(table, cuMemcpyAsync_4000);
    }
    let stream = stream.handle();
    // SAFETY: as the caller vouches; the stream is alive.
    unsafe {
        match (peers, direction) {
            (Some((there, here)), _) => {
                call!(table, cuMemcpyPeerAsync_4000(to, there, from, here, bytes, stream))
            }
            (None, Direction::HostToDevice) => {
                call!(table, cuMemcpyHtoDAsync_3020(to, host(from), bytes, stream))
            }
            (None, Direction::DeviceToHost) => {
                call!(table, cuMemcpyDtoHAsync_3020(host(to), from, bytes, stream))
            }
            (None, Direction::DeviceToDevice) => {
                call!(table, cuMemcpyDtoDAsync_3020(to, from, bytes, stream))
            }
            (None, Direction::Any) => call!(table, cuMemcpyAsync_4000(to, from, bytes, stream)),
        }
    }
}

/// Copies one range in the current context; it is done when this returns.
///
/// # Safety
/// As for [`range`]; a context is current.
pub(crate) unsafe fn range_now(table: &Table, copy: &RawRange) -> Result<(), CallError> {
    let RawRange { direction, to, from, bytes, peers } = *copy;
    if bytes == 0 {
        return there!(table, cuMemcpy_4000);
    }
    // SAFETY: as the caller vouches.
    unsafe {
        match (peers, direction) {
            (Some((there, here)), _) => {
                call!(table, cuMemcpyPeer_4000(to, there, from, here, bytes))
            }
            (None, Direction::HostToDevice) => call!(table, cuMemcpyHtoD_3020(to, host(from), bytes)),
            // The driver itself waits until the host has the bytes.
            (None, Direction::DeviceToHost) => return call!(table, cuMemcpyDtoH_3020(host(to), from, bytes)),
            (None, Direction::DeviceToDevice) => call!(table, cuMemcpyDtoD_3020(to, from, bytes)),
            (None, Direction::Any) => call!(table, cuMemcpy_4000(to, from, bytes)),
        }
    }?;
    finish(table)
}

/// Copies a box in the stream's order.
///
/// # Safety
/// Both boxes are as the copy says and good until it is done; the contexts are alive.
pub(crate) unsafe fn region(table: &Table, copy: &RawRegion, stream: &RawStream) -> Result<(), CallError> {
    if copy.is_empty() {
        return there!(table, cuMemcpy3DAsync_3020);
    }
    let stream = stream.handle();
    // SAFETY: as the caller vouches; the stream is alive.
    unsafe {
        match copy.is_between_peers {
            false => call!(table, cuMemcpy3DAsync_3020(copy.plain(), stream)),
            true => call!(table, cuMemcpy3DPeerAsync_4000(&raw const copy.copy, stream)),
        }
    }
}

/// Copies a box in the current context; it is done when this returns.
///
/// # Safety
/// As for [`region`]; a context is current.
pub(crate) unsafe fn region_now(table: &Table, copy: &RawRegion) -> Result<(), CallError> {
    if copy.is_empty() {
        return there!(table, cuMemcpy3D_3020);
    }
    // SAFETY: as the caller vouches.
    unsafe {
        match copy.is_between_peers {
            false => call!(table, cuMemcpy3D_3020(copy.plain())),
            true => call!(table, cuMemcpy3DPeer_4000(&raw const copy.copy)),
        }
    }?;
    // To the host, the driver itself waits until the bytes are there.
    if copy.copy.dstMemoryType == CU_MEMORYTYPE_HOST { Ok(()) } else { finish(table) }
}
