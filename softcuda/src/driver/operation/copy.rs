//! Copies: linear, 2D and 3D.

use super::{Action, use_span};
use crate::abi::Answer;
use crate::abi::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUmemorytype, CUresult,
};
use crate::check::Used;
use crate::check::access::{Kind, Moved};
use crate::driver::context::Activation;
use crate::driver::memory::span::{Access, Span};
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// Bytes in a row, rows in a slice, slices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// Whose access to the memory of a device's pool is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    /// The calling thread's current context's, or if there is none, the stream's.
    Current,
    /// The stream's context's.
    Stream,
    /// Nobody's.
    Any,
}

/// One end of a copy, as callers describe it.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) kind: CUmemorytype,
    /// A host or a device pointer, or the handle of an array; 0 for none.
    pub(crate) address: usize,
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    /// Bytes from row to row; 0 for as many as are copied.
    pub(crate) pitch: usize,
    /// Rows from slice to slice; 0 for as many as are copied.
    pub(crate) height: usize,
    pub(crate) reach: Reach,
}

/// A copy.
#[derive(Clone)]
pub(crate) struct Copy {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) extent: Extent,
}

impl Copy {
    /// Whether it copies the same from and to the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let form = |side: &Side| {
            let End { kind, address, x, y, z, pitch, height, .. } = side.end;
            (kind, [address, x, y, z, pitch, height])
        };
        self.extent == other.extent
            && form(&self.from) == form(&other.from)
            && form(&self.to) == form(&other.to)
    }
}

/// One end, checked and held.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) end: End,
    /// From the first byte to the last.
    pub(crate) span: Span,
}

/// Bytes from row to row and from slice to slice.
struct Strides {
    row: usize,
    slice: usize,
}

impl Extent {
    /// So many bytes, one after the other.
    pub(crate) fn of_bytes(size: usize) -> Self {
        Self { width: size, height: 1, depth: 1 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

impl End {
    /// Memory without rows.
    pub(crate) fn plain(kind: CUmemorytype, address: usize, reach: Reach) -> Self {
        Self { kind, address, x: 0, y: 0, z: 0, pitch: 0, height: 0, reach }
    }

    /// Refuses what is no place at all. There are no arrays.
    fn check(&self) -> Result<(), CUresult> {
        match self.kind {
            CU_MEMORYTYPE_ARRAY if self.address != 0 => Err(CUDA_ERROR_INVALID_HANDLE),
            CU_MEMORYTYPE_HOST | CU_MEMORYTYPE_DEVICE | CU_MEMORYTYPE_UNIFIED if self.address != 0 => Ok(()),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// `None` if rows or slices overlap, or the numbers overflow.
    fn strides(&self, extent: Extent) -> Option<Strides> {
        let (width, height) = (self.x.checked_add(extent.width)?, self.y.checked_add(extent.height)?);
        let row = if self.pitch == 0 { width } else { self.pitch };
        let rows = if self.height == 0 { height } else { self.height };
        if width > row || height > rows {
            return None;
        }
        Some(Strides { row, slice: row.checked_mul(rows)? })
    }

    /// The first byte, and how many there are up to the last one. `None` as above.
    fn range(&self, extent: Extent) -> Option<(usize, usize)> {
        let Strides { row, slice } = self.strides(extent)?;
        let first = self.z.checked_mul(slice)?.checked_add(self.y.checked_mul(row)?)?.checked_add(self.x)?;
        let slices = (extent.depth - 1).checked_mul(slice)?;
        let size = slices.checked_add((extent.height - 1).checked_mul(row)?)?.checked_add(extent.width)?;
        Some((self.address.checked_add(first)?, size))
    }
}

impl Side {
    fn at(end: End, extent: Extent, context: &Arc<Activation>) -> Result<Self, CUresult> {
        let (start, size) = end.range(extent).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let span = match end.kind {
            CU_MEMORYTYPE_DEVICE => Span::on_device(start, size)?,
            _ => Span::anywhere(start, size)?,
        };
        match end.reach {
            Reach::Current => span.check_pool_access(context)?,
            Reach::Stream => span.check_pool_access_of(context)?,
            Reach::Any => {}
        }
        Ok(Self { end, span })
    }

    fn use_rows(&self, used: &mut Used, extent: Extent, kind: Kind) {
        let first = self.span.bytes() as usize;
        let mut rows = self.rows(extent).map(|row| self.span.address() + (row as usize - first)).peekable();
        while let Some(start) = rows.next() {
            let mut end = start + extent.width;
            while rows.next_if_eq(&end).is_some() {
                end += extent.width;
            }
            use_span(used, &self.span, start, end - start, kind);
        }
    }

    /// Where its rows are: those of each slice, one slice after the other.
    fn rows(&self, extent: Extent) -> impl Iterator<Item = *mut u8> {
        // There are strides: they were asked for when the copy was made.
        let Strides { row, slice } = self.end.strides(extent).unwrap_or(Strides { row: 0, slice: 0 });
        let start = self.span.bytes();
        let at = move |z, y| start.wrapping_add(z * slice + y * row);
        (0..extent.depth).flat_map(move |z| (0..extent.height).map(move |y| at(z, y)))
    }
}

impl Copy {
    /// A copy between two places that a caller describes. It is not empty.
    pub(crate) fn new(
        to: End,
        from: End,
        extent: Extent,
        context: &Arc<Activation>,
    ) -> Result<Self, CUresult> {
        let side = |end: End| end.check().and_then(|()| Side::at(end, extent, context));
        Self { to: side(to)?, from: side(from)?, extent }.told(context)
    }

    /// A copy of some bytes, at least one. Why an address is refused goes to the log.
    pub(crate) fn linear(
        to: End,
        from: End,
        size: usize,
        context: &Arc<Activation>,
    ) -> Result<Self, CUresult> {
        let extent = Extent::of_bytes(size);
        Self { to: Side::at(to, extent, context)?, from: Side::at(from, extent, context)?, extent }
            .told(context)
    }

    /// Refuses virtual memory that the context's device may not use so. Peer copies find a way.
    fn told(self, context: &Activation) -> Result<Self, CUresult> {
        for (side, writes) in [(&self.to, true), (&self.from, false)] {
            if !matches!(side.end.reach, Reach::Any) {
                side.span.check_told(context, writes)?;
            }
        }
        Ok(self)
    }

    /// Reads the source now, so that the caller's memory is not needed any more.
    pub(crate) fn stage(&mut self) -> Answer {
        let Extent { width, height, depth } = self.extent;
        let mut bytes = Vec::new();
        let size = width.checked_mul(height).and_then(|size| size.checked_mul(depth));
        size.and_then(|size| bytes.try_reserve_exact(size).ok()).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        for row in self.from.rows(self.extent) {
            // SAFETY: the caller promises every row for the duration of the call.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(row, width) });
        }
        let span = Span::staged(bytes.into());
        self.from = Side { end: End::plain(CU_MEMORYTYPE_HOST, span.address(), Reach::Any), span };
        Ok(())
    }
}

impl Copy {
    /// What goes from where to where, rows that follow each other on both sides as one.
    fn move_rows(&self, used: &mut Used) {
        let address = |side: &Side, row: *mut u8| {
            (side.span.address() + (row as usize - side.span.bytes() as usize)) as u64
        };
        let width = self.extent.width as u64;
        for (to, from) in self.to.rows(self.extent).zip(self.from.rows(self.extent)) {
            let (to, from) = (address(&self.to, to), address(&self.from, from));
            match used.moves.last_mut() {
                Some(last) if last.to + last.size == to && last.from + last.size == from => {
                    last.size += width
                }
                _ => used.moves.push(Moved { from, to, size: width }),
            }
        }
    }
}

impl Action for Copy {
    fn name(&self) -> &'static str {
        "a copy"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        look(Access::read(&self.from.span));
        look(Access::write(&self.to.span));
    }

    /// Row by row: what lies between them is not copied.
    fn uses(&self, used: &mut Used) {
        if let (Some(from), Some(to)) = (self.from.span.checked(), self.to.span.checked()) {
            used.memory.extend([from, to]);
            return self.move_rows(used);
        }
        for (side, kind) in [(&self.from, Kind::Read), (&self.to, Kind::Write)] {
            side.use_rows(used, self.extent, kind);
        }
    }

    fn needs_lasting_access(&self) -> bool {
        true
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        for (to, from) in self.to.rows(self.extent).zip(self.from.rows(self.extent)) {
            // SAFETY: both ends were checked up to the last byte of the last row, or promised by the caller for ordinary
            // host memory.
            unsafe { std::ptr::copy(from, to, self.extent.width) };
        }
    }
}
