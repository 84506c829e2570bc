//! Copies of rectangles and boxes.

use super::span::Span;
use crate::context::current::current;
use crate::error::Answer;
use crate::pointer::In;
use crate::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_PEER_v1,
    CUDA_MEMCPY3D_v2, CUarray, CUdeviceptr_v2, CUmemorytype, CUresult,
};
use std::ffi::c_void;

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
}

/// One end, checked: its first byte and its strides.
struct Located {
    span: Span,
    row: usize,
    slice: usize,
}

/// A copy whose ends have been checked.
struct BoxCopy {
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
    fn locate(&self, extent: Extent) -> Result<Located, CUresult> {
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

impl BoxCopy {
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

/// Copies at once.
fn copy(to: &End, from: &End, extent: Extent) -> Answer {
    if extent.is_empty() {
        return Ok(());
    }
    BoxCopy { to: to.locate(extent)?, from: from.locate(extent)?, extent }.run();
    Ok(())
}

pub(crate) fn cuMemcpy2D_v2(pCopy: In<CUDA_MEMCPY2D_v2>) -> Answer {
    current()?;
    let c = pCopy.get()?;
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
    };
    copy(&to, &from, extent)
}

pub(crate) fn cuMemcpy2DUnaligned_v2(pCopy: In<CUDA_MEMCPY2D_v2>) -> Answer {
    cuMemcpy2D_v2(pCopy)
}

pub(crate) fn cuMemcpy3D_v2(pCopy: In<CUDA_MEMCPY3D_v2>) -> Answer {
    current()?;
    let c = pCopy.get()?;
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
    };
    copy(&to, &from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}

/// The contexts are not looked at, as in `cuMemcpyPeer`.
pub(crate) fn cuMemcpy3DPeer(pCopy: In<CUDA_MEMCPY3D_PEER_v1>) -> Answer {
    current()?;
    let c = pCopy.get()?;
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
    };
    copy(&to, &from, Extent { width: c.WidthInBytes, height: c.Height, depth: c.Depth })
}
