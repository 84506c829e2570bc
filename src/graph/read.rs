//! What the driver says of nodes that others made.

use super::definition::{State, Tree};
use super::ids::NodeId;
use crate::driver::CallError;
use crate::driver::calls::graph::query;
use crate::driver::sys::CUgraphNode;
use crate::op::node::{
    AllocationParameters, CopyParameters, EventParameters, HostFunctionParameters, KernelParameters,
    MemoryOperationsParameters, MemsetParameters, NodeType, Parameters,
};
use crate::pointer::DevicePointer;
use std::sync::Arc;

/// What a node does, by the driver's own account; only its type where the driver says no more.
///
/// # Safety
/// The node is there.
unsafe fn told(tree: &Tree, node: CUgraphNode, node_type: NodeType) -> Result<Parameters, CallError> {
    let table = tree.table();
    // SAFETY: the caller vouches for the node, and with it for what the answers point to.
    unsafe {
        Ok(match node_type {
            NodeType::Kernel => {
                let raw = query::kernel(table, node)?;
                Parameters::Kernel(KernelParameters::of_driver(tree.context(), &raw))
            }
            NodeType::Copy => {
                Parameters::Copy(Arc::new(CopyParameters::of_driver(query::copy(table, node)?)))
            }
            NodeType::Memset => {
                Parameters::Memset(Arc::new(MemsetParameters::of_driver(query::memset(table, node)?)))
            }
            NodeType::HostFunction => {
                let raw = query::host_function(table, node)?;
                Parameters::HostFunction(Arc::new(HostFunctionParameters::of_driver(raw.fn_, raw.userData)))
            }
            NodeType::EventRecord => {
                let event = query::recorded_event(table, node)?;
                Parameters::EventRecord(EventParameters::of_driver(tree.driver(), event))
            }
            NodeType::EventWait => {
                let event = query::awaited_event(table, node)?;
                Parameters::EventWait(EventParameters::of_driver(tree.driver(), event))
            }
            NodeType::Allocation => {
                let raw = query::allocation(table, node)?;
                Parameters::Allocation(Arc::new(AllocationParameters::of_driver(&raw)))
            }
            NodeType::Free => Parameters::Free(DevicePointer(query::freed(table, node)?)),
            NodeType::MemoryOperations => {
                let raw = query::memory_operations(table, node)?;
                let operations = match raw.paramArray.is_null() {
                    true => &[],
                    false => std::slice::from_raw_parts(raw.paramArray.cast_const(), raw.count as usize),
                };
                Parameters::MemoryOperations(Arc::new(MemoryOperationsParameters::of_driver(operations)))
            }
            other => Parameters::Plain(other),
        })
    }
}

/// What a node does: what is remembered of one of ours, what the driver says of another.
pub(super) fn with_parameters<R>(
    tree: &Tree,
    state: &State,
    id: NodeId,
    look: impl FnOnce(&Parameters) -> R,
) -> Result<R, CallError> {
    let record = state.record(id);
    if record.is_ours {
        return Ok(look(&record.parameters));
    }
    // SAFETY: the node is listed, and its definition locked.
    unsafe { told(tree, state.node(id).native, record.node_type()) }.map(|parameters| look(&parameters))
}
