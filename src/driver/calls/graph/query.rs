//! What the driver says of nodes.

use super::definition::{PLAIN, RawEdge};
use super::listed;
use super::node::RawConditional;
use crate::driver::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEM_ALLOC_NODE_PARAMS_v1, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS_v1,
    CUdeviceptr, CUevent, CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeType,
};
use crate::driver::{CallError, Table, call};
use std::ptr::null_mut;

/// A function that writes one struct about a node.
macro_rules! ask {
    ($(#[$doc:meta])* $name:ident, $entry:ident -> $answer:ty) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The node is alive.
        pub(crate) unsafe fn $name(table: &Table, node: CUgraphNode) -> Result<$answer, CallError> {
            // SAFETY: zeros are valid for the struct, which the driver writes; the caller vouches for the node.
            unsafe {
                let mut answer: $answer = std::mem::zeroed();
                call!(table, $entry(node, &raw mut answer))?;
                Ok(answer)
            }
        }
    };
}

ask!(
    /// What sort of node it is.
    node_type, cuGraphNodeGetType_10000 -> CUgraphNodeType
);
ask!(
    /// What a copy does.
    copy, cuGraphMemcpyNodeGetParams_10000 -> CUDA_MEMCPY3D
);
ask!(
    /// What a memset does.
    memset, cuGraphMemsetNodeGetParams_10000 -> CUDA_MEMSET_NODE_PARAMS_v1
);
ask!(
    /// Which function a host node calls, and with what.
    host_function, cuGraphHostNodeGetParams_10000 -> CUDA_HOST_NODE_PARAMS_v1
);
ask!(
    /// The graph of a child graph node.
    child, cuGraphChildGraphNodeGetGraph_10000 -> CUgraph
);
ask!(
    /// The event that is recorded.
    recorded_event, cuGraphEventRecordNodeGetEvent_11010 -> CUevent
);
ask!(
    /// The event that is waited for.
    awaited_event, cuGraphEventWaitNodeGetEvent_11010 -> CUevent
);
ask!(
    /// What an allocation node allocates; the list of those with access is the driver's, and lasts as long as the node.
    allocation, cuGraphMemAllocNodeGetParams_11040 -> CUDA_MEM_ALLOC_NODE_PARAMS_v1
);
ask!(
    /// The address that a free node frees.
    freed, cuGraphMemFreeNodeGetParams_11040 -> CUdeviceptr
);
ask!(
    /// The operations of a batch; the list is the driver's, and lasts as long as the node.
    memory_operations, cuGraphBatchMemOpNodeGetParams_11070 -> CUDA_BATCH_MEM_OP_NODE_PARAMS_v1
);
ask!(
    /// The number that the node has in its graph; 13.1.
    local_id, cuGraphNodeGetLocalId_13010 -> u32
);
ask!(
    /// The number by which profilers tell nodes apart; 13.1.
    tools_id, cuGraphNodeGetToolsId_13010 -> u64
);

/// What a conditional node looks at, and its bodies; 13.2.
///
/// # Safety
/// The node is alive, and a conditional node.
pub(crate) unsafe fn conditional(table: &Table, node: CUgraphNode) -> Result<RawConditional, CallError> {
    // SAFETY: zeros are valid for the struct, which the driver writes; the list of bodies has as many as it says.
    unsafe {
        let mut answer: CUgraphNodeParams = std::mem::zeroed();
        call!(table, cuGraphNodeGetParams_13020(node, &raw mut answer))?;
        let CUDA_CONDITIONAL_NODE_PARAMS { handle, type_, size, phGraph_out, ctx } = answer.u16.conditional;
        let bodies = match phGraph_out.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(phGraph_out, size as usize).to_vec(),
        };
        Ok(RawConditional { condition: handle, kind: type_, size, context: ctx, bodies })
    }
}

/// What a kernel node runs; pointers in it are the driver's, and last as long as the node.
///
/// # Safety
/// The node is alive. Before driver 12.0 the function is in `func` and what is younger is zero.
pub(crate) unsafe fn kernel(
    table: &Table,
    node: CUgraphNode,
) -> Result<CUDA_KERNEL_NODE_PARAMS_v2, CallError> {
    // SAFETY: zeros are valid for the struct, of which the driver writes all or the older part.
    unsafe {
        let mut answer: CUDA_KERNEL_NODE_PARAMS_v2 = std::mem::zeroed();
        if table.cuGraphKernelNodeGetParams_12000.is_some() {
            call!(table, cuGraphKernelNodeGetParams_12000(node, &raw mut answer))?;
        } else {
            call!(table, cuGraphKernelNodeGetParams_10000(node, (&raw mut answer).cast()))?;
        }
        Ok(answer)
    }
}

/// In which direction edges are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toward {
    Predecessors,
    Successors,
}

/// The edges of a node in one direction.
///
/// # Safety
/// The node is alive.
pub(crate) unsafe fn edges(
    table: &Table,
    node: CUgraphNode,
    toward: Toward,
) -> Result<Vec<RawEdge>, CallError> {
    let mut data: Vec<CUgraphEdgeData> = Vec::new();
    let others = listed(null_mut(), |others: *mut CUgraphNode, count| {
        let data = if others.is_null() {
            null_mut()
        } else {
            data.resize(*count, PLAIN);
            data.as_mut_ptr()
        };
        // SAFETY: writes as many as `count` says at most, or only the number; the caller vouches for the node.
        unsafe { neighbours(table, node, toward, others, data, count) }
    })?;
    let edge = |(index, other): (usize, CUgraphNode)| {
        let data = data.get(index).copied().unwrap_or(PLAIN);
        match toward {
            Toward::Predecessors => RawEdge { from: other, to: node, data },
            Toward::Successors => RawEdge { from: node, to: other, data },
        }
    };
    Ok(others.into_iter().enumerate().map(edge).collect())
}

/// How many edges a node has in one direction.
///
/// # Safety
/// The node is alive.
pub(crate) unsafe fn degree(table: &Table, node: CUgraphNode, toward: Toward) -> Result<usize, CallError> {
    let mut count = 0;
    // SAFETY: writes the number alone; the caller vouches for the node.
    unsafe { neighbours(table, node, toward, null_mut(), null_mut(), &mut count) }?;
    Ok(count)
}

/// The nodes at the other ends of edges, with the edges' data where the driver has such; without room, how many there are.
///
/// # Safety
/// The node is alive; there is room for as many as `count` says, or none.
unsafe fn neighbours(
    table: &Table,
    node: CUgraphNode,
    toward: Toward,
    others: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: &mut usize,
) -> Result<(), CallError> {
    let has_data = table.cuGraphNodeGetDependencies_12030.is_some();
    // SAFETY: as the caller vouches.
    unsafe {
        match (toward, has_data) {
            (Toward::Predecessors, true) => {
                call!(table, cuGraphNodeGetDependencies_12030(node, others, data, count))
            }
            (Toward::Successors, true) => {
                call!(table, cuGraphNodeGetDependentNodes_12030(node, others, data, count))
            }
            (Toward::Predecessors, false) => {
                call!(table, cuGraphNodeGetDependencies_10000(node, others, count))
            }
            (Toward::Successors, false) => {
                call!(table, cuGraphNodeGetDependentNodes_10000(node, others, count))
            }
        }
    }
}
