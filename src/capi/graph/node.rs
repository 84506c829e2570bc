//! Nodes: type, graph, owners, removal.
//!
//! @header cushim.h
//! @task build graphs

use super::definition::{cushim_graph, cushim_node};
use super::named::{ask_node, node_of};
use crate::capi::callback::{self, cushim_owner};
use crate::capi::driver_types::{CUgraphDeviceNode, CUgraphNode};
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::handles::{borrowed, enter, enter_anywhere};
use crate::capi::out;
use crate::graph::Node;
use crate::op::node::NodeType;
use std::ffi::c_void;

/// What sort of node it is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_node_type {
    /// Runs a kernel.
    CUSHIM_NODE_KERNEL = 1,
    /// Copies memory.
    CUSHIM_NODE_COPY = 2,
    /// Sets memory to a value.
    CUSHIM_NODE_FILL = 3,
    /// Calls a function on the host.
    CUSHIM_NODE_HOST_FUNCTION = 4,
    /// Runs another graph.
    CUSHIM_NODE_CHILD = 5,
    /// Does nothing.
    CUSHIM_NODE_EMPTY = 6,
    /// Waits for an event.
    CUSHIM_NODE_EVENT_WAIT = 7,
    /// Records an event.
    CUSHIM_NODE_EVENT_RECORD = 8,
    /// Allocates memory.
    CUSHIM_NODE_ALLOCATION = 9,
    /// Frees memory.
    CUSHIM_NODE_FREE = 10,
    /// Waits for values in memory, and writes such.
    CUSHIM_NODE_MEMORY_OPERATIONS = 11,
    /// Runs one of its bodies, or none, by the value of a condition.
    CUSHIM_NODE_CONDITIONAL = 12,
    /// Something that this version of cushim does not know.
    CUSHIM_NODE_OTHER = 13,
}

fn number(node_type: NodeType) -> i32 {
    use cushim_node_type::*;
    (match node_type {
        NodeType::Kernel => CUSHIM_NODE_KERNEL,
        NodeType::Copy => CUSHIM_NODE_COPY,
        NodeType::Memset => CUSHIM_NODE_FILL,
        NodeType::HostFunction => CUSHIM_NODE_HOST_FUNCTION,
        NodeType::Child => CUSHIM_NODE_CHILD,
        NodeType::Empty => CUSHIM_NODE_EMPTY,
        NodeType::EventWait => CUSHIM_NODE_EVENT_WAIT,
        NodeType::EventRecord => CUSHIM_NODE_EVENT_RECORD,
        NodeType::Allocation => CUSHIM_NODE_ALLOCATION,
        NodeType::Free => CUSHIM_NODE_FREE,
        NodeType::MemoryOperations => CUSHIM_NODE_MEMORY_OPERATIONS,
        NodeType::Conditional => CUSHIM_NODE_CONDITIONAL,
        _ => CUSHIM_NODE_OTHER,
    }) as i32
}

/// Returns the type of a node, also of one that was removed.
///
/// @param[in] node The node.
/// @param[out, enum(cushim_node_type)] node_type The type.
///
/// # Safety
/// `node_type` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_type(node: cushim_node, node_type: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `node_type`.
    unsafe { ask_node(enter_anywhere, node, node_type, "node_type", |node| Ok(number(node.node_type()))) }
}

/// Returns the graph that a node is part of.
///
/// @param[in] node The node.
/// @param[out, borrowed] graph The graph.
///
/// # Safety
/// `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_graph(node: cushim_node, graph: *mut cushim_graph) -> cushim_status {
    // SAFETY: the caller vouches for `graph`.
    unsafe { ask_node(enter_anywhere, node, graph, "graph", |node| borrowed(node.graph()?.object())) }
}

/// Lists the graphs in a node: of a child graph node one, of a conditional node its bodies, of other nodes none.
///
/// @param[in] node The node.
/// @param[out, borrowed, array(capacity), nullable_if_zero(capacity)] graphs Receives the first `capacity` graphs.
/// @param[in] capacity The number of handles that there is room for.
/// @param[out] count The number of graphs, which may be greater than `capacity`.
///
/// # Safety
/// `graphs` is valid for writes of `capacity` handles; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_graphs(
    node: cushim_node,
    graphs: *mut cushim_graph,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (graphs, count) = unsafe {
            out::both(
                out::array(graphs, capacity, std::ptr::null_mut(), "graphs"),
                out::cleared(count, 0, "count"),
            )
        }?;
        let guard = enter_anywhere()?;
        let all = node_of(&guard, node)?.graphs()?;
        for (place, graph) in graphs.iter_mut().zip(&all) {
            *place = borrowed(graph.object())?;
        }
        *count = all.len();
        Ok(())
    })
}

/// Returns the number of a node in its graph, which its clones have too (`cuGraphNodeGetLocalId`).
///
/// @param[in] node The node.
/// @param[out] id The number.
/// @driver 13.1
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_id(node: cushim_node, id: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { ask_node(enter, node, id, "id", Node::id) }
}

/// Returns the number by which profilers tell the nodes of a process apart (`cuGraphNodeGetToolsId`): with it a trace
/// can show the labels of nodes.
///
/// @param[in] node The node.
/// @param[out] id The number.
/// @driver 13.1
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_tools_id(node: cushim_node, id: *mut u64) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { ask_node(enter, node, id, "id", Node::tools_id) }
}

/// Returns the handle by which kernels update a kernel node, while the graph runs (`cudaGraphKernelNodeSetParam`,
/// `cudaGraphKernelNodeSetGridDim`, `cudaGraphKernelNodeSetEnabled` in device code). A node has one if its
/// configuration, or the captured launch's, has the attribute `CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE` with
/// the value 1.
///
/// Such a node is not removed, its graph not cloned, and has one exec at a time, which is not updated from a graph.
/// What kernels have changed is not read back.
///
/// @param[in] node The kernel node.
/// @param[out] handle The handle: pass it to a kernel as an argument.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a node that is not device-updatable.
/// @driver 12.4
///
/// # Safety
/// `handle` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_device_node(
    node: cushim_node,
    handle: *mut CUgraphDeviceNode,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `handle`.
        let handle = unsafe { out::cleared(handle, std::ptr::null_mut(), "handle") }?;
        let guard = enter()?;
        *handle = node_of(&guard, node)?.device_node()?;
        Ok(())
    })
}

/// Returns the native handle of a node.
///
/// @param[in] node The node.
/// @param[out] native The `CUgraphNode`; a `cudaGraphNode_t` is the same.
/// @driver any
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_native(node: cushim_node, native: *mut CUgraphNode) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, std::ptr::null_mut(), "native") }?;
        let guard = enter()?;
        *native = node_of(&guard, node)?.native()?;
        Ok(())
    })
}

/// Removes a node from its graph (`cuGraphDestroyNode`), with its edges, and with the graphs in it. What the node
/// uses is released, except for what clones of the graph, or what was instantiated from it, still use. Handles of the
/// node, and of everything below it, still tell type, label and last parameters.
///
/// @param[in] node The node.
/// @errors `CUSHIM_ERROR_ALREADY_DESTROYED` if the node was removed before; `CUSHIM_ERROR_INVALID_ARGUMENT`, also
///   while a builder captures a body below the node; `CUDA_ERROR_ILLEGAL_STATE` (401) while a builder captures the
///   node's graph; `CUDA_ERROR_NOT_SUPPORTED` (801) if the graph allocates memory. If it fails, node, edges and
///   owners are as they were.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_node_remove(node: cushim_node) -> cushim_status {
    call(|| {
        let guard = enter()?;
        node_of(&guard, node)?.remove()
    })
}

/// Gives a node an owner, in place of the one that the slot had. It is released when the graph, its clones and what
/// was instantiated from them since need it no more.
///
/// Slots: of a kernel node 0 is the kernel and 1 the arguments; of a copy 0 is the destination and 1 the source; of a
/// memset and of memory operations 0 is the destination; of an event node 0 is the event; of a host function 0 is the
/// function and 1 its data.
///
/// @param[in] node The node; also one that was added elsewhere, or captured.
/// @param[in] slot The number of the slot.
/// @param[in, taken, nullable] owner The owner. NULL: nothing happens.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a slot that the node does not have, and for the slot of a buffer or of
///   bytes that were copied, which the node keeps by itself.
/// @driver any
///
/// # Safety
/// `owner` is NULL or a valid owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_owner(
    node: cushim_node,
    slot: usize,
    owner: *const cushim_owner,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        // SAFETY: the caller vouches for the owner.
        let Some(owner) = unsafe { callback::given(lending, owner) }? else {
            return node.check_owner_slot(slot);
        };
        node.set_owner(slot, owner).map_err(|(error, _)| error)
    })
}

/// Returns the `data` of the owner that a slot of a node has.
///
/// @param[in] node The node.
/// @param[in] slot The number of the slot; see `cushim_node_set_owner`.
/// @param[out] data The `data`; NULL if the slot has no owner.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a slot that the node does not have.
///
/// # Safety
/// `data` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_owner(
    node: cushim_node,
    slot: usize,
    data: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `data`.
        let data = unsafe { out::cleared(data, std::ptr::null_mut(), "data") }?;
        let guard = enter_anywhere()?;
        let node = node_of(&guard, node)?;
        *data = node.with_owner(slot, |owner| owner.map_or(std::ptr::null_mut(), |owner| owner.data()))?;
        Ok(())
    })
}
