//! Copies of ranges and boxes between any two places.

use super::place::Checked;
use super::{Extent, Place, Region, refusal};
use crate::context::Context;
use crate::driver::calls::memory::copy::{self as calls, Direction};
use crate::driver::sys::CUDA_MEMCPY3D;
use crate::error::Error;
use crate::stream::Stream;

impl Stream {
    /// Copies so many bytes after the work that is in the stream by now. Of no bytes, nothing is looked at.
    ///
    /// It returns before the bytes have arrived, unless one end is ordinary host memory: then it may wait for them.
    ///
    /// # Safety
    /// Both places hold so many bytes, apart from each other, and stay good until the stream has passed the copy; until
    /// then nobody writes the source, and nobody reads or writes the destination.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a place that is NULL or reaches past the end of
    /// all addresses; the driver's.
    #[inline]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy(&self, to: Place, from: Place, bytes: usize) -> Result<(), Error> {
        self.copy_vouched(to, from, bytes)
    }

    /// The same for those whose callers vouch for the places.
    #[inline]
    pub(super) fn copy_vouched(&self, to: Place, from: Place, bytes: usize) -> Result<(), Error> {
        match Line::new(to, from, bytes)? {
            Line::Range(direction, ends) => {
                let _current = self.enter_if_default()?;
                let table = self.context().table();
                calls::range(table, direction, ends, bytes, self.raw()).map_err(|error| {
                    refusal::of_copy(self.context().failed(error, self), self.driver(), to, from, bytes)
                })
            }
            Line::Box(copy) => self.boxed(&copy),
        }
    }

    /// Copies a box after the work that is in the stream by now. Of an empty box, nothing is looked at. See
    /// [`copy`](Self::copy).
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), with the bytes of the boxes.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) as for [`copy`](Self::copy), and for rows or slices
    /// that are too near to each other for the box; the driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_box(&self, to: &Region, from: &Region, extent: Extent) -> Result<(), Error> {
        self.boxed(&between(to, from, extent)?)
    }

    fn boxed(&self, copy: &CUDA_MEMCPY3D) -> Result<(), Error> {
        let _current = self.enter_if_default()?;
        calls::boxed(self.context().table(), copy, self.raw())
            .map_err(|error| self.context().failed(error, self))
    }
}

impl Context {
    /// Copies so many bytes; they have arrived when it returns. Of no bytes, nothing is looked at.
    ///
    /// It waits for the legacy default stream of the context, and so for the blocking streams; work in other streams goes
    /// on beside it.
    ///
    /// # Safety
    /// Both places hold so many bytes, apart from each other; meanwhile nobody writes the source, and nobody reads or
    /// writes the destination.
    ///
    /// # Errors
    /// As for [`Stream::copy`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy(&self, to: Place, from: Place, bytes: usize) -> Result<(), Error> {
        match Line::new(to, from, bytes)? {
            Line::Range(direction, ends) => {
                let _current = self.enter()?;
                calls::range_now(self.table(), direction, ends, bytes).map_err(|error| {
                    refusal::of_copy(self.failed(error, self), self.driver(), to, from, bytes)
                })
            }
            Line::Box(copy) => self.boxed(&copy),
        }
    }

    /// Copies a box; it has arrived when this returns. Of an empty box, nothing is looked at. See [`copy`](Self::copy).
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), with the bytes of the boxes.
    ///
    /// # Errors
    /// As for [`Stream::copy_box`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_box(&self, to: &Region, from: &Region, extent: Extent) -> Result<(), Error> {
        self.boxed(&between(to, from, extent)?)
    }

    fn boxed(&self, copy: &CUDA_MEMCPY3D) -> Result<(), Error> {
        let _current = self.enter()?;
        calls::boxed_now(self.table(), copy).map_err(|error| self.failed(error, self))
    }
}

/// What the two ends are said to be.
#[inline]
pub(super) fn direction(to: Place, from: Place) -> Direction {
    match (to, from) {
        (Place::Device(_), Place::Host(_)) => Direction::HostToDevice,
        (Place::Host(_), Place::Device(_)) => Direction::DeviceToHost,
        (Place::Device(_), Place::Device(_)) => Direction::DeviceToDevice,
        _ => Direction::Any,
    }
}

/// A copy of one range, checked.
enum Line {
    /// Between addresses.
    Range(Direction, (u64, u64)),
    /// From or to an array, which the driver copies as a box of one row.
    Box(CUDA_MEMCPY3D),
}

impl Line {
    #[inline]
    fn new(to: Place, from: Place, bytes: usize) -> Result<Self, Error> {
        let (Some(destination), Some(source)) = (to.address(), from.address()) else {
            let extent = Extent::rectangle(bytes, 1);
            return between(&Region::new(to, 0), &Region::new(from, 0), extent).map(Self::Box);
        };
        if bytes != 0 {
            to.check_range("destination", bytes as u64)?;
            from.check_range("source", bytes as u64)?;
        }
        Ok(Self::Range(direction(to, from), (destination, source)))
    }
}

/// The driver's description of a copy between two boxes, both checked.
pub(super) fn between(to: &Region, from: &Region, extent: Extent) -> Result<CUDA_MEMCPY3D, Error> {
    let (to, from) = if extent.is_empty() {
        (Checked::nothing(), Checked::nothing())
    } else {
        (to.check("destination", extent)?, from.check("source", extent)?)
    };
    Ok(CUDA_MEMCPY3D {
        srcXInBytes: from.x,
        srcY: from.y,
        srcZ: from.z,
        srcLOD: 0,
        srcMemoryType: from.memory_type,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: from.array,
        reserved0: std::ptr::null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.rows,
        dstXInBytes: to.x,
        dstY: to.y,
        dstZ: to.z,
        dstLOD: 0,
        dstMemoryType: to.memory_type,
        dstHost: to.host,
        dstDevice: to.device,
        dstArray: to.array,
        reserved1: std::ptr::null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.rows,
        WidthInBytes: extent.width,
        Height: extent.height,
        Depth: extent.depth,
    })
}
