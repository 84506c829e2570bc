//! Allocations and frees as nodes.

use super::{HandedOver, Holds, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::driver::Version;
use crate::driver::sys::{self, CUDA_MEM_ALLOC_NODE_PARAMS, CUmemAccessDesc, CUmemPoolProps};
use crate::location::Location;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;
use crate::op::{Free, Traits, invalid};
use crate::pointer::DevicePointer;
use std::sync::Arc;

/// The first drivers that allocate managed memory in graphs.
const MANAGED_SINCE: Version = Version::from_number(13000);

/// A node that does nothing: it brings together what comes before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Empty;

/// A node that allocates memory, which the nodes after it may use, and other graphs and streams once it is done.
///
/// The address is the same at every launch. The driver takes the memory from one place for all graphs of the device, and
/// graphs that do not run at the same time may get the same.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GraphAllocation<'a> {
    /// Bytes; at least 1.
    pub bytes: usize,
    /// Where: by default the device of the graph. The host (13.0) and managed memory (13.0) where the driver offers them.
    pub location: Location,
    /// Whether it is managed memory; driver 13.0.
    pub managed: bool,
    /// Other devices that read and write it, by ordinal.
    pub peers: &'a [i32],
}

setters!(<'a> GraphAllocation { location: Location, managed: bool, peers: &'a [i32] });

impl<'a> GraphAllocation<'a> {
    /// So many bytes on the device of the graph.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { bytes, location: Location::UNSET, managed: false, peers: &[] }
    }

    fn location_in(&self, at: &Context) -> Location {
        if self.location.is_unset() { Location::device(at.device().ordinal()) } else { self.location }
    }

    /// Drivers before 13.0 say "invalid" of managed memory.
    fn check_version(&self, at: &Context) -> Result<(), Error> {
        let version = at.driver().version().filter(|version| self.managed && *version < MANAGED_SINCE);
        let Some(version) = version else { return Ok(()) };
        let refusal = format!(
            "managed memory in graphs needs a driver for CUDA {MANAGED_SINCE} or newer, and this one is for {version}; \
             allocate it before, and use its address"
        );
        Err(Error::new(Status(sys::CUDA_ERROR_NOT_SUPPORTED.0), refusal))
    }

    fn check_peers(&self, at: &Context) -> Result<(), Error> {
        self.peers.iter().enumerate().try_for_each(|(index, peer)| {
            Location::device(*peer).check(at.device()).map_err(|mut failure| {
                failure.message = format!("peer {index}: {}", failure.message);
                failure.item = Some(index);
                failure
            })
        })
    }
}

/// What an allocation node allocates.
#[derive(Debug, Clone)]
pub struct AllocationParameters {
    bytes: usize,
    location: Location,
    managed: bool,
    peers: Box<[i32]>,
    /// Where it is; 0 until the node was added.
    pointer: DevicePointer,
}

impl AllocationParameters {
    /// What the driver says of a node.
    pub(crate) fn of_driver(raw: &CUDA_MEM_ALLOC_NODE_PARAMS) -> Self {
        let peers = match raw.accessDescs.is_null() {
            true => &[],
            // SAFETY: the driver's list has so many, and is there as long as the node.
            false => unsafe { std::slice::from_raw_parts(raw.accessDescs, raw.accessDescCount) },
        };
        // SAFETY: of the places a node names only one without a number is not a device or a node.
        let id = |location: &sys::CUmemLocation| unsafe { location.u4.id };
        let properties = &raw.poolProps;
        Self {
            bytes: raw.bytesize,
            location: Location::told((properties.location.type_, id(&properties.location))),
            managed: properties.allocType == sys::CU_MEM_ALLOCATION_TYPE_MANAGED,
            peers: peers.iter().map(|peer| id(&peer.location)).collect(),
            pointer: DevicePointer(raw.dptr),
        }
    }

    /// Bytes, as they were asked for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the memory is.
    #[must_use]
    pub fn location(&self) -> Location {
        self.location
    }

    /// Whether it is managed memory.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.managed
    }

    /// Other devices that read and write it, by ordinal.
    #[must_use]
    pub fn peers(&self) -> &[i32] {
        &self.peers
    }

    /// The address, the same at every launch.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    pub(super) fn with_raw<R>(&mut self, call: impl FnOnce(&mut CUDA_MEM_ALLOC_NODE_PARAMS) -> R) -> R {
        let access = |peer: &i32| CUmemAccessDesc {
            location: Location::device(*peer).native(),
            flags: sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let access: Vec<_> = self.peers.iter().map(access).collect();
        // SAFETY: zeros are valid for all of it, and mean the defaults.
        let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = match self.managed {
            true => sys::CU_MEM_ALLOCATION_TYPE_MANAGED,
            false => sys::CU_MEM_ALLOCATION_TYPE_PINNED,
        };
        properties.location = self.location.native();
        let mut raw = CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: properties,
            accessDescs: if access.is_empty() { std::ptr::null() } else { access.as_ptr() },
            accessDescCount: access.len(),
            bytesize: self.bytes,
            dptr: 0,
        };
        let result = call(&mut raw);
        self.pointer = DevicePointer(raw.dptr);
        result
    }
}

impl NodeOperation for GraphAllocation<'_> {
    type Output = DevicePointer;

    fn node_type(&self) -> NodeType {
        NodeType::Allocation
    }

    fn node_traits(&self) -> Traits {
        Traits { allocates: true, ..Traits::default() }
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        if self.bytes == 0 {
            return Err(invalid("an allocation node allocates at least one byte".to_owned()));
        }
        self.check_version(at)?;
        let location = self.location_in(at);
        location.check(at.device())?;
        self.check_peers(at)?;
        Ok(Parameters::Allocation(Arc::new(AllocationParameters {
            bytes: self.bytes,
            location,
            managed: self.managed,
            peers: self.peers.into(),
            pointer: DevicePointer(0),
        })))
    }

    fn output(parameters: &Parameters) -> DevicePointer {
        match parameters {
            Parameters::Allocation(allocation) => allocation.pointer,
            _ => DevicePointer(0),
        }
    }

    fn has_holds(&self) -> bool {
        false
    }

    fn holds(&mut self) -> HandedOver {
        HandedOver(Holds::default())
    }

    /// The driver says "not supported" of places other than a device, and "invalid" before it knew such.
    fn explain(&self, mut failure: Error, at: &Context) -> Error {
        let place = self.location_in(at);
        let is_place = !place.is_device() || self.managed;
        if is_place
            && [sys::CUDA_ERROR_INVALID_VALUE.0, sys::CUDA_ERROR_NOT_SUPPORTED.0].contains(&failure.status.0)
        {
            let what = if self.managed { "managed memory" } else { "memory" };
            let status = Status(sys::CUDA_ERROR_NOT_SUPPORTED.0);
            let object =
                if failure.object.is_empty() { String::new() } else { format!("{}: ", failure.object) };
            failure.status = status;
            failure.message = format!(
                "{object}{status}: this driver allocates no {what} of {place} in graphs; allocate it before, and use its address"
            );
        }
        failure
    }
}

impl NodeOperation for Free {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Free
    }

    fn node_traits(&self) -> Traits {
        Traits { allocates: true, ..Traits::default() }
    }

    fn parameters(&mut self, _at: &Context) -> Result<Parameters, Error> {
        let pointer = self.pointer();
        if pointer.is_null() {
            return Err(invalid(
                "a free node frees what an allocation node of a graph allocated, not NULL".to_owned(),
            ));
        }
        Ok(Parameters::Free(pointer))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        false
    }

    fn holds(&mut self) -> HandedOver {
        HandedOver(Holds::default())
    }

    fn explain(&self, mut failure: Error, _at: &Context) -> Error {
        if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
            failure.message.push_str(&format!(
                ". {} is not the address of an allocation node of this graph, or of one that was launched, or is freed already",
                self.pointer()
            ));
        }
        failure
    }
}

impl NodeOperation for Empty {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Empty
    }

    fn node_traits(&self) -> Traits {
        Traits::default()
    }

    fn parameters(&mut self, _at: &Context) -> Result<Parameters, Error> {
        Ok(Parameters::Plain(NodeType::Empty))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        false
    }

    fn holds(&mut self) -> HandedOver {
        HandedOver(Holds::default())
    }
}
