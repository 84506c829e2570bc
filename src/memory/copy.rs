//! Copies of ranges and boxes between any two places.

use super::across::Across;
use super::place::Checked;
use super::{Extent, Place, Region, refusal};
use crate::context::Context;
use crate::driver::calls::memory::copy::{self as calls, Direction};
use crate::driver::sys::{CU_MEMORYTYPE_DEVICE, CUDA_MEMCPY3D};
use crate::error::Error;
use crate::stream::Stream;

impl Stream {
    /// Copies so many bytes after the work that is in the stream by now. Of no bytes, nothing is looked at.
    ///
    /// It returns before the bytes have arrived, unless one end is ordinary host memory: then it may wait for them.
    ///
    /// Memory of another device's pool is copied only if that gives the stream's device access
    /// ([`Resource::change_peers`](super::Resource::change_peers)), or if both ends are parts of buffers with resources; or by
    /// [`copy_peer`](Self::copy_peer). Other memory of other devices is copied always.
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
        let Some(ends) = ends(to, from, bytes)? else {
            return self.boxed(&row(to), &row(from), Extent::rectangle(bytes, 1));
        };
        let (context, table) = (self.context(), self.context().table());
        let across = Across::of(context, to, from);
        let _current = self.enter_to_copy()?;
        match &across {
            None => calls::range(table, direction(to, from), ends, bytes, self.raw()),
            Some(across) => {
                let (to, from) = across.ranges(ends);
                calls::peer(table, to, from, bytes, self.raw())
            }
        }
        .map_err(|error| refused(context.failed(error, self), context, across.is_some(), (to, from, bytes)))
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
        self.boxed(to, from, extent)
    }

    fn boxed(&self, to: &Region, from: &Region, extent: Extent) -> Result<(), Error> {
        let copy = between(to, from, extent)?;
        let (context, table) = (self.context(), self.context().table());
        let across = Across::of(context, to.place, from.place);
        let _current = self.enter_to_copy()?;
        match &across {
            None => calls::boxed(table, &copy, self.raw()),
            Some(across) => calls::boxed_peer(table, between_devices(copy), across.natives(), self.raw()),
        }
        .map_err(|error| refused_box(context.failed(error, self), context, across.is_some(), (to, from)))
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
        let Some(ends) = ends(to, from, bytes)? else {
            return self.boxed(&row(to), &row(from), Extent::rectangle(bytes, 1));
        };
        let across = Across::of(self, to, from);
        let _current = self.enter()?;
        match &across {
            None => calls::range_now(self.table(), direction(to, from), ends, bytes),
            Some(across) => {
                let (to, from) = across.ranges(ends);
                calls::peer_now(self.table(), to, from, bytes)
            }
        }
        .map_err(|error| refused(self.failed(error, self), self, across.is_some(), (to, from, bytes)))
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
        self.boxed(to, from, extent)
    }

    fn boxed(&self, to: &Region, from: &Region, extent: Extent) -> Result<(), Error> {
        let copy = between(to, from, extent)?;
        let across = Across::of(self, to.place, from.place);
        let _current = self.enter()?;
        match &across {
            None => calls::boxed_now(self.table(), &copy),
            Some(across) => calls::boxed_peer_now(self.table(), between_devices(copy), across.natives()),
        }
        .map_err(|error| refused_box(self.failed(error, self), self, across.is_some(), (to, from)))
    }
}

/// What the two ends are said to be.
#[inline]
fn direction(to: Place, from: Place) -> Direction {
    match (to, from) {
        (Place::Device(_), Place::Host(_)) => Direction::HostToDevice,
        (Place::Host(_), Place::Device(_)) => Direction::DeviceToHost,
        (Place::Device(_), Place::Device(_)) => Direction::DeviceToDevice,
        _ => Direction::Any,
    }
}

/// The addresses of both ends of a copy of one range, checked; `None` if one is an array, which the driver copies as a box of
/// one row.
#[inline]
fn ends(to: Place, from: Place, bytes: usize) -> Result<Option<(u64, u64)>, Error> {
    let (Some(destination), Some(source)) = (to.address(), from.address()) else { return Ok(None) };
    if bytes != 0 {
        to.check_range("destination", bytes as u64)?;
        from.check_range("source", bytes as u64)?;
    }
    Ok(Some((destination, source)))
}

#[cold]
fn refused(
    failure: Error,
    context: &Context,
    is_across: bool,
    (to, from, bytes): (Place, Place, usize),
) -> Error {
    match is_across {
        true => refusal::of_peer_copy(failure, context.driver(), to, from, bytes),
        false => refusal::of_copy(failure, context, to, from, bytes),
    }
}

#[cold]
fn refused_box(failure: Error, context: &Context, is_across: bool, (to, from): (&Region, &Region)) -> Error {
    if is_across { failure } else { refusal::of_box(failure, context, to.place, from.place) }
}

fn row(place: Place) -> Region {
    Region::new(place, 0)
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

/// The same copy, of which both ends are known to be device memory.
fn between_devices(copy: CUDA_MEMCPY3D) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D { srcMemoryType: CU_MEMORYTYPE_DEVICE, dstMemoryType: CU_MEMORYTYPE_DEVICE, ..copy }
}
