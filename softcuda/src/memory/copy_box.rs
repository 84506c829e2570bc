//! Copies of rectangles and boxes.

use super::span::{Access, Span};
use super::transfer::{self, Manner, Transfer};
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::pointer::In;
use crate::stream::Stream;
use crate::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_PEER_v1,
    CUDA_MEMCPY3D_v2, CUarray, CUdeviceptr_v2, CUmemorytype, CUresult, CUstream,
};
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes in a row, rows in a slice, slices.
#[derive(Clone, Copy)]
struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// One end of a copy as the caller describes it.
struct End {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr_v2,
    array: CUarray,
    x: usize,
    y: usize,
    z: usize,
    /// Bytes from row to row; 0 for as many as are copied.
    pitch: usize,
    /// Rows from slice to slice; 0 for as many as are copied.
    height: usize,
    /// Whether it may be memory to which the current context has no access.
    of_any_context: bool,
}

/// One end in linear memory: bytes in a row and rows in a slice, 0 for as many as are copied.
pub(super) struct Layout {
    pub(super) address: CUdeviceptr_v2,
    pub(super) row: usize,
    pub(super) rows: usize,
}

/// One end, checked: its first byte and its strides.
struct Located {
    span: Span,
    row: usize,
    slice: usize,
}

/// A copy whose ends have been checked.
pub(super) struct BoxCopy {
    to: Located,
    from: Located,
    extent: Extent,
}

impl Extent {
    fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

impl End {
    fn locate(&self, extent: Extent, stream: &Stream) -> Result<Located, CUresult> {
        let address = match self.kind {
            CU_MEMORYTYPE_HOST => self.host as usize,
            CU_MEMORYTYPE_DEVICE | CU_MEMORYTYPE_UNIFIED => self.device as usize,
            CU_MEMORYTYPE_ARRAY if !self.array.is_null() => return Err(CUDA_ERROR_INVALID_HANDLE),
            _ => 0,
        };
        let (row, slice, first, size) = self.strides(extent).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let start = address.checked_add(first).filter(|_| address != 0).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let span = match self.kind {
            CU_MEMORYTYPE_DEVICE => Span::on_device(start, size)?,
            _ => Span::anywhere(start, size)?,
        };
        if !self.of_any_context {
            span.check_pool_access(stream)?;
        }
        Ok(Located { span, row, slice })
    }

    /// Bytes from row to row and from slice to slice, to the first byte, and from there to the end. `None` if rows or
    /// slices overlap, or the numbers overflow.
    fn strides(&self, extent: Extent) -> Option<(usize, usize, usize, usize)> {
        let (width, height) = (self.x.checked_add(extent.width)?, self.y.checked_add(extent.height)?);
        let row = if self.pitch == 0 { width } else { self.pitch };
        let rows = if self.height == 0 { height } else { self.height };
        if width > row || height > rows {
            return None;
        }
        let slice = row.checked_mul(rows)?;
        let first = self.z.checked_mul(slice)?.checked_add(self.y.checked_mul(row)?)?.checked_add(self.x)?;
        let slices = (extent.depth - 1).checked_mul(slice)?;
        let size = slices.checked_add((extent.height - 1).checked_mul(row)?)?.checked_add(extent.width)?;
        Some((row, slice, first, size))
    }
}

impl Located {
    fn row(&self, slice: usize, row: usize) -> *mut u8 {
        self.span.bytes().wrapping_add(slice * self.slice + row * self.row)
    }
}

impl Work for BoxCopy {
    fn name(&self) -> &'static str {
        "a copy"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        vec![Access::read(&self.from.span), Access::write(&self.to.span)]
    }

    fn run(&self) {
        for slice in 0..self.extent.depth {
            for row in 0..self.extent.height {
                // SAFETY: both ends were checked up to the last byte of the last row, or promised by the caller for
                // ordinary host memory.
                unsafe {
                    std::ptr::copy(self.from.row(slice, row), self.to.row(slice, row), self.extent.width)
                };
            }
        }
    }
}

impl Transfer for BoxCopy {
    fn to(&self) -> &Span {
        &self.to.span
    }

    fn from(&self) -> Option<&Span> {
        Some(&self.from.span)
    }

    fn stage(&mut self) {
        let Extent { width, height, depth } = self.extent;
        let mut bytes = Vec::with_capacity(width * height * depth);
        for slice in 0..depth {
            for row in 0..height {
                // SAFETY: the caller promises every row for the duration of the call.
                bytes.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(self.from.row(slice, row), width)
                });
            }
        }
        self.from = Located { span: Span::staged(bytes.into()), row: width, slice: width * height };
    }
}

impl Layout {
    fn end(&self) -> End {
        End {
            kind: CU_MEMORYTYPE_UNIFIED,
            host: std::ptr::null(),
            device: self.address,
            array: std::ptr::null_mut(),
            x: 0,
            y: 0,
            z: 0,
            pitch: self.row,
            height: self.rows,
            of_any_context: true,
        }
    }
}

impl BoxCopy {
    /// A copy between any two places for a batch: bytes in a row, rows, slices; none of them 0. Access is asked for as for
    /// batches of ranges.
    pub(super) fn unified(
        to: &Layout,
        from: &Layout,
        extent: [usize; 3],
        stream: &Stream,
    ) -> Result<Self, CUresult> {
        let [width, height, depth] = extent;
        let extent = Extent { width, height, depth };
        if extent.is_empty() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let (to, from) = (to.end().locate(extent, stream)?, from.end().locate(extent, stream)?);
        to.span.check_pool_access_of(&stream.context)?;
        from.span.check_pool_access_of(&stream.context)?;
        Ok(Self { to, from, extent })
    }
}

/// Copies in a stream. The stream is needed even for nothing.
fn copy(stream: &Arc<Stream>, (to, from, extent): Parts, manner: Manner) -> Answer {
    if extent.is_empty() {
        return Ok(());
    }
    let copy = BoxCopy { to: to.locate(extent, stream)?, from: from.locate(extent, stream)?, extent };
    transfer::submit(stream, copy, manner)
}

/// A copy as the caller describes it: to, from, how much.
type Parts = (End, End, Extent);

/// Reads the caller's structure when the stream is known.
fn now<T: Copy>(description: In<T>, parts: fn(T) -> Parts) -> Answer {
    let stream = Stream::unnamed()?;
    copy(&stream, parts(description.get()?), Manner::Synchronous)
}

fn later<T: Copy>(description: In<T>, parts: fn(T) -> Parts, stream: CUstream) -> Answer {
    let stream = Stream::of(stream)?;
    copy(&stream, parts(description.get()?), Manner::Asynchronous)
}

fn rectangle(c: CUDA_MEMCPY2D_v2) -> Parts {
    let extent = Extent { width: c.WidthInBytes, height: c.Height, depth: 1 };
    let to = End {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        x: c.dstXInBytes,
        y: c.dstY,
        z: 0,
        pitch: c.dstPitch,
        height: 0,
        of_any_context: false,
    };
    let from = End {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        x: c.srcXInBytes,
        y: c.srcY,
        z: 0,
        pitch: c.srcPitch,
        height: 0,
        of_any_context: false,
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

fn block(c: CUDA_MEMCPY3D_v2) -> Parts {
    let to = End {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        x: c.dstXInBytes,
        y: c.dstY,
        z: c.dstZ,
        pitch: c.dstPitch,
        height: c.dstHeight,
        of_any_context: false,
    };
    let from = End {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        x: c.srcXInBytes,
        y: c.srcY,
        z: c.srcZ,
        pitch: c.srcPitch,
        height: c.srcHeight,
        of_any_context: false,
    };
    (to, from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}

pub(crate) fn cuMemcpy3D_v2(pCopy: In<CUDA_MEMCPY3D_v2>) -> Answer {
    now(pCopy, block)
}

pub(crate) fn cuMemcpy3DAsync_v2(pCopy: In<CUDA_MEMCPY3D_v2>, hStream: CUstream) -> Answer {
    later(pCopy, block, hStream)
}

/// The contexts are not looked at, as in `cuMemcpyPeer`.
fn peer_block(c: CUDA_MEMCPY3D_PEER_v1) -> Parts {
    let to = End {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        x: c.dstXInBytes,
        y: c.dstY,
        z: c.dstZ,
        pitch: c.dstPitch,
        height: c.dstHeight,
        of_any_context: true,
    };
    let from = End {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        x: c.srcXInBytes,
        y: c.srcY,
        z: c.srcZ,
        pitch: c.srcPitch,
        height: c.srcHeight,
        of_any_context: true,
    };
    (to, from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}

pub(crate) fn cuMemcpy3DPeer(pCopy: In<CUDA_MEMCPY3D_PEER_v1>) -> Answer {
    now(pCopy, peer_block)
}

pub(crate) fn cuMemcpy3DPeerAsync(pCopy: In<CUDA_MEMCPY3D_PEER_v1>, hStream: CUstream) -> Answer {
    later(pCopy, peer_block, hStream)
}
