//! Copies of boxes: rows of bytes, slices of rows.

use super::peers::Peers;
use super::refusal::End;
use super::region::Checked as CheckedRegion;
use super::{Captured, Endpoint, Extent, Operation, Region, Side, Synchronous, Traits, refusal};
use crate::check::{Access, Deeds, Use};
use crate::context::Context;
use crate::driver::calls::memory::copy::{self as calls, RawRegion};
use crate::driver::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUarray, CUmemorytype,
};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::stream::Stream;
use std::ffi::c_void;

/// A copy of a box between two regions. See [`Copy`](struct@super::Copy). A copy of an empty box succeeds without checking the
/// regions.
#[derive(Debug)]
pub struct Copy3d<'a> {
    pub(super) to: Region<'a>,
    pub(super) from: Region<'a>,
    pub(super) extent: Extent,
}

/// A copy in the driver's terms.
pub struct Checked<'a> {
    raw: RawRegion,
    _peers: Option<Peers<'a>>,
}

impl<'a> Copy3d<'a> {
    /// The copy of a box of this size.
    #[must_use]
    pub fn new(to: Region<'a>, from: Region<'a>, extent: Extent) -> Self {
        Self { to, from, extent }
    }

    /// Both ends: the destination, and the source.
    #[cfg(feature = "capi")]
    pub(crate) fn endpoints_mut(&mut self) -> [&mut Endpoint<'a>; 2] {
        [&mut self.to.at, &mut self.from.at]
    }

    fn ends(&self) -> [&Endpoint<'a>; 2] {
        [&self.to.at, &self.from.at]
    }

    /// Both ends, the destination first, with as much as the copy reaches.
    pub(super) fn reaches(&self) -> [End; 2] {
        [&self.to, &self.from]
            .map(|region| End { side: region.at.side(), bytes: region.span(self.extent).unwrap_or(0) })
    }

    #[cold]
    pub(super) fn refused(&self, failure: Error, at: &Context) -> Error {
        refusal::of_copy_3d(failure, at, self)
    }

    #[cold]
    pub(super) fn refused_in_capture(&self, failure: Error, at: &Context) -> Error {
        refusal::of_captured_copy(failure, at, &self.to.at, &self.from.at)
    }
}

impl Operation for Copy3d<'_> {
    type Output = ();
    type Checked<'a>
        = Checked<'a>
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        Traits {
            needs_context: true,
            touches_host: self.ends().iter().any(|end| end.may_be_host()),
            touches_arrays: self.ends().iter().any(|end| matches!(end.side(), Side::Array(_))),
            has_owners: self.ends().iter().any(|end| end.has_owner()),
            ..Traits::default()
        }
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<Checked<'a>, Error> {
        if self.extent.is_empty() {
            let nothing = parameters(&CheckedRegion::NOTHING, &CheckedRegion::NOTHING, self.extent);
            return Ok(Checked { raw: RawRegion::new(nothing), _peers: None });
        }
        let to = self.to.check("destination", self.extent, at)?;
        let from = self.from.check("source", self.extent, at)?;
        let peers = Peers::of(at, (&self.to.at, to.side), (&self.from.at, from.side));
        let raw = RawRegion::new(parameters(&to, &from, self.extent));
        let raw = match &peers {
            Some(peers) => raw.between(peers.natives()),
            None => raw,
        };
        Ok(Checked { raw, _peers: peers })
    }

    unsafe fn enqueue(&self, checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        let context = stream.context();
        // SAFETY: the caller vouches for both regions; the stream is alive.
        unsafe { calls::region(context.table(), &checked.raw, stream.raw()) }
            .map_err(|error| self.refused(context.failed(error, stream), context))
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let Extent { width, height, depth } = self.extent;
        let mut deeds = Deeds::new(match depth {
            0 | 1 => format!("copy of {height} rows of {width} bytes"),
            _ => format!("copy of {depth} slices of {height} rows of {width} bytes"),
        });
        self.from.touch(self.extent, Access::Reads, Use::Source, &mut deeds);
        self.to.touch(self.extent, Access::Writes, Use::Destination, &mut deeds);
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        [&mut self.to.at, &mut self.from.at].into_iter().filter_map(Endpoint::take_owner).collect()
    }

    fn captured(&mut self) -> Captured<'_> {
        if self.extent.is_empty() { Captured::Nothing } else { Captured::Node(self) }
    }

    unsafe fn enqueue_captured(&self, checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        // As for copies of a range.
        let checked = Checked { raw: checked.raw.plainly(), ..checked };
        // SAFETY: as the caller vouches.
        unsafe { self.enqueue(checked, stream) }
            .map_err(|failure| self.refused_in_capture(failure, stream.context()))
    }
}

impl Synchronous for Copy3d<'_> {
    unsafe fn run(&self, checked: Checked<'_>, context: &Context) -> Result<(), Error> {
        // SAFETY: the caller vouches for both regions; the context is current.
        unsafe { calls::region_now(context.table(), &checked.raw) }
            .map_err(|error| self.refused(context.failed(error, context), context))
    }
}

/// An end of the copy as the driver has it: what it is, and one of three ways to say where.
fn place(side: Side) -> (CUmemorytype, *mut c_void, u64, CUarray) {
    let (nowhere, no_array) = (std::ptr::null_mut(), std::ptr::null_mut());
    match side {
        Side::Host(address) => {
            let host = std::ptr::with_exposed_provenance_mut(address as usize);
            (CU_MEMORYTYPE_HOST, host, 0, no_array)
        }
        Side::Device(address) | Side::Auto(address) => (CU_MEMORYTYPE_DEVICE, nowhere, address, no_array),
        Side::Array(array) => (CU_MEMORYTYPE_ARRAY, nowhere, 0, array),
    }
}

/// The driver's description of a copy between two regions, both checked.
pub(super) fn parameters(to: &CheckedRegion, from: &CheckedRegion, extent: Extent) -> CUDA_MEMCPY3D {
    let (to_type, to_host, to_device, to_array) = place(to.side);
    let (from_type, from_host, from_device, from_array) = place(from.side);
    let (to, from) = (to.strides, from.strides);
    CUDA_MEMCPY3D {
        srcXInBytes: from.x,
        srcY: from.y,
        srcZ: from.z,
        srcLOD: 0,
        srcMemoryType: from_type,
        srcHost: from_host,
        srcDevice: from_device,
        srcArray: from_array,
        reserved0: std::ptr::null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.rows,
        dstXInBytes: to.x,
        dstY: to.y,
        dstZ: to.z,
        dstLOD: 0,
        dstMemoryType: to_type,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: to_array,
        reserved1: std::ptr::null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.rows,
        WidthInBytes: extent.width,
        Height: extent.height,
        Depth: extent.depth,
    }
}
