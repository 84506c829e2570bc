//! Allocations of graphs: their addresses, and how they are freed by calls.

pub(crate) mod attributes;

use super::attachment::Visibility;
use super::graph_memory::GraphMemory;
use super::pages::Pages;
use super::table::{self, Allocation, Kind};
use crate::abi::Answer;
use crate::abi::sys::{CU_MEM_ATTACH_GLOBAL, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUresult};
use crate::driver::context::Activation;
use crate::driver::device::Device;
use std::sync::Arc;

/// The memory behind an address that a graph gave, which must be its first.
pub(crate) fn find(address: usize) -> Option<Arc<Allocation>> {
    table::find(address).filter(|found| found.address == address && found.of_graph().is_some())
}

/// What a node is to allocate.
pub(crate) struct Wanted {
    pub(crate) size: usize,
    pub(crate) is_managed: bool,
    pub(crate) device: Device,
    /// The others that may use it.
    pub(crate) peers: Box<[Device]>,
    pub(crate) owner: Arc<Activation>,
}

impl Wanted {
    /// Whether it can have the addresses of an allocation that is freed before it.
    pub(crate) fn can_follow(&self, former: &Allocation) -> bool {
        let fits = |memory: &GraphMemory| memory.fits(self.size, self.device, &self.peers);
        !self.is_managed && Arc::ptr_eq(&former.owner, &self.owner) && former.of_graph().is_some_and(fits)
    }
}

/// An address for memory of a graph. When it is dropped, there is no node for it any more.
pub(crate) struct Reservation {
    pub(crate) allocation: Arc<Allocation>,
    /// The number of the allocation that has the address before it.
    pub(crate) former: Option<u64>,
}

impl Reservation {
    /// A new address, or that of an allocation which the graph frees before.
    pub(crate) fn new(wanted: Wanted, former: Option<Arc<Allocation>>) -> Result<Self, CUresult> {
        if let Some(former) = former
            && let Some(memory) = former.of_graph()
        {
            let (kind, owner) = (Kind::Graph(memory.followed()), Arc::clone(&wanted.owner));
            let (address, bytes) = memory.place();
            let allocation = Allocation::new(address, wanted.size, bytes, kind, owner);
            // Unless somebody else was faster.
            if table::follow(&former, &allocation) {
                return Ok(Self { allocation, former: Some(former.id) });
            }
        }
        let Wanted { size, is_managed, device, peers, owner } = wanted;
        let memory = GraphMemory::new(size, is_managed, device, peers).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        let (address, bytes) = memory.place();
        let kind = Kind::Graph(memory);
        let allocation = match is_managed {
            true => {
                let pages = Pages::new(Visibility::of(CU_MEM_ATTACH_GLOBAL.0 as u32)?, None);
                Allocation::managed(address, size, bytes, kind, pages, owner)
            }
            false => Allocation::new(address, size, bytes, kind, owner),
        };
        table::insert(Arc::clone(&allocation));
        Ok(Self { allocation, former: None })
    }
}

impl Drop for Reservation {
    /// What is memory still stays until it is freed.
    fn drop(&mut self) {
        if !self.allocation.of_graph().is_some_and(GraphMemory::set_orphan) {
            table::forget_graph_memory(&self.allocation);
        }
    }
}

/// It is to be freed; refused if it is no memory. Answers whether nobody refers to it any more.
pub(crate) fn take(allocation: &Allocation) -> Result<bool, CUresult> {
    allocation.of_graph().ok_or(CUDA_ERROR_INVALID_VALUE)?.take_allocated()
}

/// Frees memory of a graph when all work of its context is finished.
pub(super) fn free(allocation: &Arc<Allocation>) -> Answer {
    let orphan = take(allocation)?;
    let waited = allocation.owner.wait_for_work();
    allocation.set_freed();
    if orphan {
        table::forget_graph_memory(allocation);
    }
    waited?;
    allocation.owner.fault()
}
