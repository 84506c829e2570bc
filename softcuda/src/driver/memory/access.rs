//! What contexts may do with memory, without a copy. Pools have a list of their own devices; copies of plain memory work
//! without access: a driver takes the way over the host then.

use super::location::Location;
use super::table::{Allocation, Kind};
use crate::abi::sys::{CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CUmemAccess_flags};
use crate::driver::context::Activation;
use crate::driver::context::current::top;
use crate::driver::peer::reaches;

/// What the calling thread's current context may do with memory, without a copy; everything where there is none.
fn current_access(memory: &Allocation, address: usize) -> CUmemAccess_flags {
    let context = top().and_then(|context| context.life());
    context.map_or(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, |context| access(&context, memory, address))
}

/// What the current context's device was told it may do with virtual memory at an address; nothing where there is none (measured).
pub(crate) fn told(memory: &Allocation, address: usize) -> CUmemAccess_flags {
    let context = top().and_then(|context| context.life());
    context.map_or(CU_MEM_ACCESS_FLAGS_PROT_NONE, |context| access(&context, memory, address))
}

/// Whether the calling thread's current context finds memory where it is; everybody does where there is none.
pub(crate) fn is_in_reach(memory: &Allocation, address: usize) -> bool {
    current_access(memory, address) != CU_MEM_ACCESS_FLAGS_PROT_NONE
}

/// What a context may do with memory at an address of it, without a copy.
pub(crate) fn access(from: &Activation, memory: &Allocation, address: usize) -> CUmemAccess_flags {
    match &memory.kind {
        Kind::Reserved(_) => {
            let mapping = memory.mapping(address);
            let place = Location::Device(from.device());
            mapping.map_or(CU_MEM_ACCESS_FLAGS_PROT_NONE, |(_, mapping)| mapping.access_from(place))
        }
        Kind::Pooled(pooled) => pooled.pool().access_from(from.device()),
        Kind::Graph(graph) => graph.access_from(from.device()),
        Kind::Device(_) | Kind::Variable(_) | Kind::Opened(_) if !reaches(from, &memory.owner) => {
            CU_MEM_ACCESS_FLAGS_PROT_NONE
        }
        _ => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}

/// Whether a context reaches plain memory of another device, which it has asked for.
pub(crate) fn is_lent(from: &Activation, memory: &Allocation) -> bool {
    let plain = matches!(memory.kind, Kind::Device(_) | Kind::Variable(_) | Kind::Opened(_));
    plain && from.device() != memory.owner.device() && reaches(from, &memory.owner)
}
