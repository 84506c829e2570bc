//! Copies as nodes.

use super::memory::{SOURCE, check_kept, hold_in};
use super::rebind::Rebinding;
use super::{HandedOver, Holds, KeptMemory, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::device::Device;
use crate::driver::calls::memory::pool::access_of;
use crate::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, CUDA_MEMCPY3D, CUarray,
    CUmemoryPool,
};
use crate::object::error::Error;
use crate::op::copy_3d::parameters;
use crate::op::endpoint::Endpoint;
use crate::op::refusal::{self, End};
use crate::op::region::{Checked, Strides};
use crate::op::{Copy, Copy3d, Extent, Side, Traits, invalid};
use crate::pointer::PointerAttributes;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// What a copy node does.
#[derive(Clone)]
pub struct CopyParameters {
    raw: CUDA_MEMCPY3D,
    /// Whether it is a copy of a range, and not of a box.
    is_range: bool,
    to: KeptMemory,
    from: KeptMemory,
}

// SAFETY: the pointers in it are addresses, which nobody follows here.
unsafe impl Send for CopyParameters {}
// SAFETY: as above.
unsafe impl Sync for CopyParameters {}

impl CopyParameters {
    /// What the driver says of a node.
    pub(crate) fn of_driver(raw: CUDA_MEMCPY3D) -> Self {
        let address = |memory_type, host: *const c_void, device, array: CUarray| match memory_type {
            CU_MEMORYTYPE_HOST => host.addr() as u64,
            CU_MEMORYTYPE_ARRAY => array.addr() as u64,
            _ => device,
        };
        let to = address(raw.dstMemoryType, raw.dstHost.cast_const(), raw.dstDevice, raw.dstArray);
        let from = address(raw.srcMemoryType, raw.srcHost, raw.srcDevice, raw.srcArray);
        let offsets = raw.dstXInBytes | raw.dstY | raw.dstZ | raw.srcXInBytes | raw.srcY | raw.srcZ;
        let is_array = |memory_type| memory_type == CU_MEMORYTYPE_ARRAY;
        let has_array = is_array(raw.dstMemoryType) || is_array(raw.srcMemoryType);
        let is_row = raw.Height <= 1 && raw.Depth <= 1 && offsets == 0;
        let (to, from) = (KeptMemory::at(to), KeptMemory::at(from));
        Self { raw, is_range: is_row && !has_array, to, from }
    }

    /// Whether it is a copy of a range ([`Copy`](crate::op::Copy)), and not of a box ([`Copy3d`](crate::op::Copy3d)).
    #[must_use]
    pub fn is_range(&self) -> bool {
        self.is_range
    }

    /// The copy as the driver has it: what sort of memory each end is in, where it lies there, and the extent.
    #[must_use]
    pub fn raw(&self) -> &CUDA_MEMCPY3D {
        &self.raw
    }

    pub(super) fn rebind(&mut self, rebinding: &Rebinding<'_>, changed: &mut Vec<u32>) {
        if self.to.rebind(rebinding) {
            changed.push(0);
        }
        if self.from.rebind(rebinding) {
            changed.push(1);
        }
        self.tell_addresses();
    }

    pub(super) fn unbind(&mut self, rebinding: &Rebinding<'_>, changed: &[u32]) {
        for end in changed {
            (if *end == 0 { &mut self.to } else { &mut self.from }).unbind(rebinding);
        }
        self.tell_addresses();
    }

    /// The addresses of both ends as the driver has them. Only of copies of ranges, which have no offsets.
    fn tell_addresses(&mut self) {
        let (to, from) = (self.to.address(), self.from.address());
        match self.raw.dstMemoryType {
            CU_MEMORYTYPE_HOST => self.raw.dstHost = std::ptr::with_exposed_provenance_mut(to as usize),
            _ => self.raw.dstDevice = to,
        }
        match self.raw.srcMemoryType {
            CU_MEMORYTYPE_HOST => self.raw.srcHost = std::ptr::with_exposed_provenance(from as usize),
            _ => self.raw.srcDevice = from,
        }
    }

    pub(super) fn set_bytes(&mut self, bytes: usize) {
        (self.raw.WidthInBytes, self.raw.dstPitch, self.raw.srcPitch) = (bytes, bytes, bytes);
    }

    pub(super) fn set_to(&mut self, to: &Endpoint<'_>, side: Side) {
        let row = row(side, self.raw.WidthInBytes);
        let raw = parameters(&row, &row, Extent::rectangle(self.raw.WidthInBytes, 1));
        self.raw.dstMemoryType = raw.dstMemoryType;
        (self.raw.dstHost, self.raw.dstDevice, self.raw.dstArray) =
            (raw.dstHost, raw.dstDevice, raw.dstArray);
        self.to = KeptMemory::of(to);
    }

    pub(super) fn set_from(&mut self, from: &Endpoint<'_>, side: Side) {
        let row = row(side, self.raw.WidthInBytes);
        let raw = parameters(&row, &row, Extent::rectangle(self.raw.WidthInBytes, 1));
        self.raw.srcMemoryType = raw.srcMemoryType;
        (self.raw.srcHost, self.raw.srcDevice, self.raw.srcArray) =
            (raw.srcHost, raw.srcDevice, raw.srcArray);
        self.from = KeptMemory::of(from);
    }

    /// Adds to the refusal of the copy which end is to blame.
    #[cold]
    pub(super) fn explain(&self, failure: Error, at: &Context) -> Error {
        let raw = &self.raw;
        let extent = Extent { width: raw.WidthInBytes, height: raw.Height, depth: raw.Depth };
        let end = |memory_type, memory: &KeptMemory, strides: Strides| End {
            side: match memory_type {
                CU_MEMORYTYPE_HOST => Side::Host(memory.address()),
                CU_MEMORYTYPE_ARRAY => Side::Array(std::ptr::null_mut()),
                _ => Side::Device(memory.address()),
            },
            bytes: if extent.is_empty() { 0 } else { strides.bytes(extent).unwrap_or(0) },
        };
        let (to, from) = (
            Strides {
                x: raw.dstXInBytes,
                y: raw.dstY,
                z: raw.dstZ,
                pitch: raw.dstPitch,
                rows: raw.dstHeight,
            },
            Strides {
                x: raw.srcXInBytes,
                y: raw.srcY,
                z: raw.srcZ,
                pitch: raw.srcPitch,
                rows: raw.srcHeight,
            },
        );
        let ends = [end(raw.dstMemoryType, &self.to, to), end(raw.srcMemoryType, &self.from, from)];
        refusal::of_copy_node(failure, at, ends)
    }

    /// Refuses more bytes than the memory has that stays.
    pub(super) fn check_fits(&self) -> Result<(), Error> {
        let bytes = self.raw.WidthInBytes as u64;
        self.to.check_fits("destination", bytes)?;
        self.from.check_fits("source", bytes)
    }

    /// Where it copies to, before the offsets of a box.
    #[must_use]
    pub fn to(&self) -> &KeptMemory {
        &self.to
    }

    /// Where it copies from, before the offsets of a box.
    #[must_use]
    pub fn from(&self) -> &KeptMemory {
        &self.from
    }
}

impl fmt::Debug for CopyParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyParameters")
            .field("to", &self.to)
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

/// A node copies in one context. Memory of a pool is copied in those of devices that have access to the pool, other memory in any
/// (measured on driver 580). So it is the given one if its device has access to every pool, and else that of the first end that is
/// another device's, of a pool if there is one.
fn context_of(ends: [&Endpoint<'_>; 2], at: &Context) -> Option<Context> {
    let elsewhere =
        |end: &&Endpoint<'_>| end.device_ordinal().is_some_and(|ordinal| ordinal != at.device().ordinal());
    let first = ends.into_iter().find(elsewhere)?;
    let pooled: SmallVec<[_; 2]> =
        ends.into_iter().filter_map(|end| Some((end, pool_of(end, at)?))).collect();
    let beyond = |(end, pool): &(&Endpoint<'_>, _)| elsewhere(end) && !has_access(at, *pool);
    let deciding = if pooled.is_empty() { first } else { pooled.iter().find(|end| beyond(end))?.0 };
    match deciding.context() {
        Some(named) => Some(named.clone()),
        None => {
            let device = Device::get(at.driver(), deciding.device_ordinal()?);
            device.and_then(|device| device.primary_context()).ok()
        }
    }
}

fn pool_of(end: &Endpoint<'_>, at: &Context) -> Option<CUmemoryPool> {
    let known = PointerAttributes::of(at.driver(), end.side().address()?).ok()?;
    Some(known.pool).filter(|pool| !pool.is_null())
}

fn has_access(at: &Context, pool: CUmemoryPool) -> bool {
    // SAFETY: the pool has the memory of an operand, which exists.
    let access = unsafe { access_of(at.driver().object_table(), pool, at.device().ordinal()) };
    access.is_ok_and(|access| access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
}

fn check_ends(to: &Endpoint<'_>, from: &Endpoint<'_>, at: &Context) -> Result<(), Error> {
    check_kept(to, "destination", at)?;
    check_kept(from, SOURCE, at)
}

/// One row of so many bytes.
fn row(side: Side, bytes: usize) -> Checked {
    Checked { side, strides: Strides { x: 0, y: 0, z: 0, pitch: bytes, rows: 1 } }
}

fn nothing_to_copy() -> Error {
    invalid("a copy node copies at least one byte".to_owned())
}

impl NodeOperation for Copy<'_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Copy
    }

    fn node_traits(&self) -> Traits {
        crate::op::Operation::traits(self)
    }

    fn node_context(&self, at: &Context) -> Option<Context> {
        context_of([&self.to, &self.from], at)
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        if self.bytes == 0 {
            return Err(nothing_to_copy());
        }
        let to = self.to.check("destination", self.bytes as u64, at)?;
        let from = self.from.check("source", self.bytes as u64, at)?;
        check_ends(&self.to, &self.from, at)?;
        let row = |side| row(side, self.bytes);
        Ok(Parameters::Copy(Arc::new(CopyParameters {
            raw: parameters(&row(to), &row(from), Extent::rectangle(self.bytes, 1)),
            is_range: true,
            to: KeptMemory::of(&self.to),
            from: KeptMemory::of(&self.from),
        })))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        [&self.to, &self.from].into_iter().any(Endpoint::is_kept)
    }

    fn holds(&mut self) -> HandedOver {
        let mut holds = Holds::default();
        hold_in(&mut holds, 0, &mut self.to);
        hold_in(&mut holds, 1, &mut self.from);
        HandedOver(holds)
    }

    fn explain(&self, failure: Error, at: &Context) -> Error {
        refusal::of_copy_node(failure, at, self.ends())
    }
}

impl NodeOperation for Copy3d<'_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Copy
    }

    fn node_traits(&self) -> Traits {
        crate::op::Operation::traits(self)
    }

    fn node_context(&self, at: &Context) -> Option<Context> {
        context_of([&self.to.at, &self.from.at], at)
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        if self.extent.is_empty() {
            return Err(nothing_to_copy());
        }
        let to = self.to.check("destination", self.extent, at)?;
        let from = self.from.check("source", self.extent, at)?;
        check_ends(&self.to.at, &self.from.at, at)?;
        Ok(Parameters::Copy(Arc::new(CopyParameters {
            raw: parameters(&to, &from, self.extent),
            is_range: false,
            to: KeptMemory::of(&self.to.at),
            from: KeptMemory::of(&self.from.at),
        })))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        [&self.to.at, &self.from.at].into_iter().any(Endpoint::is_kept)
    }

    fn holds(&mut self) -> HandedOver {
        let mut holds = Holds::default();
        hold_in(&mut holds, 0, &mut self.to.at);
        hold_in(&mut holds, 1, &mut self.from.at);
        HandedOver(holds)
    }

    fn explain(&self, failure: Error, at: &Context) -> Error {
        refusal::of_copy_node(failure, at, self.reaches())
    }
}
