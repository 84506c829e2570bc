//! Nodes that allocate and free memory of graphs.

use crate::abi::pointer::In;
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_MEM_ALLOC_NODE_PARAMS_v1,
    CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUmemAccessDesc, CUmemAllocationHandleType, CUmemLocation,
    CUmemLocation_v1_u4, CUmemPoolProps, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::context::current::current;
use crate::driver::context::primary;
use crate::driver::device::Device;
use crate::driver::memory::graph_allocation::{self, Reservation, Wanted};
use crate::driver::memory::location::{Location, device_at};
use crate::driver::memory::table::Allocation;
use crate::driver::operation::Operation;
use crate::driver::operation::allocation::{Allocate, Free};
use crate::instruments::settings::{concurrent_managed, version};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

/// The version from which on graphs have managed memory.
const MANAGED_SINCE: u32 = 13000;

/// Allocates memory.
pub(crate) struct AllocNode {
    params: CUDA_MEM_ALLOC_NODE_PARAMS_v1,
    /// As the caller gave them.
    access: Box<[CUmemAccessDesc]>,
    reservation: Reservation,
    pub(crate) operation: Arc<Operation>,
}

/// Frees memory of its graph or of another one.
pub(crate) struct FreeNode {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) operation: Arc<Operation>,
    /// Once it is in a graph: whether that is the memory's own.
    is_own: OnceLock<bool>,
}

// SAFETY: the addresses in the parameters are those of `access`, which nobody changes, and words that nobody follows.
unsafe impl Send for AllocNode {}
// SAFETY: as above.
unsafe impl Sync for AllocNode {}

/// Two names for the same.
impl From<CUDA_MEM_ALLOC_NODE_PARAMS_v2> for CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
    fn from(p: CUDA_MEM_ALLOC_NODE_PARAMS_v2) -> Self {
        let CUDA_MEM_ALLOC_NODE_PARAMS_v2 { poolProps, accessDescs, accessDescCount, bytesize, dptr } = p;
        Self { poolProps, accessDescs, accessDescCount, bytesize, dptr }
    }
}

impl From<CUDA_MEM_ALLOC_NODE_PARAMS_v1> for CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
    fn from(p: CUDA_MEM_ALLOC_NODE_PARAMS_v1) -> Self {
        let CUDA_MEM_ALLOC_NODE_PARAMS_v1 { poolProps, accessDescs, accessDescCount, bytesize, dptr } = p;
        Self { poolProps, accessDescs, accessDescCount, bytesize, dptr }
    }
}

/// Looks for an allocation whose addresses the wanted one can have.
pub(crate) trait Former: FnOnce(&Wanted) -> Option<Arc<Allocation>> {}
impl<F: FnOnce(&Wanted) -> Option<Arc<Allocation>>> Former for F {}

impl AllocNode {
    pub(crate) fn new(params: CUDA_MEM_ALLOC_NODE_PARAMS_v1, former: impl Former) -> Result<Self, CUresult> {
        let device = home(&params)?;
        // No context has to be current (measured on driver 580).
        let owner = current().or_else(|_| primary::active(device))?;
        let access = read_access(&params)?;
        let peers = access.iter().filter_map(|entry| Location::of(entry.location).ok()?.device()).collect();
        let is_managed = params.poolProps.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
        let wanted = Wanted { size: params.bytesize, is_managed, device, peers, owner };
        Self::with(params, access, wanted, former)
    }

    /// A node for an allocation in a stream. What it tells has a place for the others that may use it, even if there are none
    /// (measured).
    pub(crate) fn of(
        size: usize,
        device: Device,
        peers: Box<[Device]>,
        owner: Arc<Activation>,
        former: impl Former,
    ) -> Result<Self, CUresult> {
        let location = |device: Device| CUmemLocation {
            type_: CU_MEM_LOCATION_TYPE_DEVICE,
            u4: CUmemLocation_v1_u4 { id: device.handle() },
        };
        let flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access: Box<[_]> =
            peers.iter().map(|peer| CUmemAccessDesc { location: location(*peer), flags }).collect();
        let poolProps = CUmemPoolProps {
            allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType(0),
            location: location(device),
            win32SecurityAttributes: null_mut(),
            maxSize: 0,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let (accessDescs, accessDescCount) = (access.as_ptr(), access.len());
        let params = CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
            poolProps,
            accessDescs,
            accessDescCount,
            bytesize: size,
            dptr: 0,
        };
        Self::with(params, access, Wanted { size, is_managed: false, device, peers, owner }, former)
    }

    fn with(
        params: CUDA_MEM_ALLOC_NODE_PARAMS_v1,
        access: Box<[CUmemAccessDesc]>,
        wanted: Wanted,
        former: impl Former,
    ) -> Result<Self, CUresult> {
        let former = former(&wanted);
        let reservation = Reservation::new(wanted, former)?;
        let operation = Arc::new(Allocate { allocation: Arc::clone(&reservation.allocation) }.into());
        Ok(Self { params, access, reservation, operation })
    }

    /// Whether an exec can allocate this instead.
    pub(crate) fn fits(&self, new: &Self) -> bool {
        let memory =
            |node: &Self| node.allocation().of_graph().map(|memory| (memory.device(), memory.is_managed()));
        self.params.bytesize == new.params.bytesize && memory(self) == memory(new)
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.reservation.allocation
    }

    pub(crate) fn address(&self) -> usize {
        self.allocation().address
    }

    /// The number of the allocation whose addresses it has.
    pub(crate) fn former(&self) -> Option<u64> {
        self.reservation.former
    }

    /// As the caller gave it, with the address.
    pub(crate) fn tell(&self) -> CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
            accessDescs: if self.params.accessDescs.is_null() {
                std::ptr::null()
            } else {
                self.access.as_ptr()
            },
            dptr: self.address() as u64,
            ..self.params
        }
    }
}

/// Where the memory is to be: only devices have memory for graphs.
fn home(params: &CUDA_MEM_ALLOC_NODE_PARAMS_v1) -> Result<Device, CUresult> {
    let props = &params.poolProps;
    let known = match props.allocType {
        CU_MEM_ALLOCATION_TYPE_PINNED => true,
        CU_MEM_ALLOCATION_TYPE_MANAGED => version() >= MANAGED_SINCE,
        _ => false,
    };
    if params.bytesize == 0 || props.reserved != [0; 53] || !known {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let is_managed = props.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    match props.location.type_ {
        CU_MEM_LOCATION_TYPE_DEVICE if props.handleTypes.0 != 0 => Err(CUDA_ERROR_NOT_SUPPORTED),
        CU_MEM_LOCATION_TYPE_DEVICE if is_managed && !concurrent_managed() => Err(CUDA_ERROR_NOT_SUPPORTED),
        CU_MEM_LOCATION_TYPE_DEVICE => device_at(props.location),
        _ if is_managed => Err(CUDA_ERROR_NOT_SUPPORTED),
        _ => match Location::of(props.location)? {
            Location::Host | Location::Node => Err(CUDA_ERROR_NOT_SUPPORTED),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        },
    }
}

/// Who may use it, by a caller's list, which may name the host, too (measured).
fn read_access(params: &CUDA_MEM_ALLOC_NODE_PARAMS_v1) -> Result<Box<[CUmemAccessDesc]>, CUresult> {
    let given = In::at(params.accessDescs);
    let entry = |at| {
        let entry: CUmemAccessDesc = given.item(at)?;
        Location::of(entry.location)?;
        match entry.flags {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Ok(entry),
            // As with pools.
            CU_MEM_ACCESS_FLAGS_PROT_NONE | CU_MEM_ACCESS_FLAGS_PROT_READ => Err(CUDA_ERROR_NOT_SUPPORTED),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    };
    (0..params.accessDescCount).map(entry).collect()
}

impl FreeNode {
    /// The address must be one that a graph gave.
    pub(crate) fn new(address: u64) -> Result<Self, CUresult> {
        let allocation = graph_allocation::find(address as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let operation = Arc::new(Free { allocation: Arc::clone(&allocation) }.into());
        Ok(Self { allocation, operation, is_own: OnceLock::new() })
    }

    pub(crate) fn address(&self) -> usize {
        self.allocation.address
    }

    /// It comes into the memory's own graph, or into another one; false if it cannot.
    pub(crate) fn begin(&self, is_own: bool) -> bool {
        let fits = self.allocation.of_graph().is_some_and(|memory| memory.begin_free(is_own));
        fits && self.is_own.set(is_own).is_ok()
    }
}

impl Drop for FreeNode {
    fn drop(&mut self) {
        if let (Some(memory), Some(is_own)) = (self.allocation.of_graph(), self.is_own.get()) {
            memory.end_free(*is_own);
        }
    }
}
