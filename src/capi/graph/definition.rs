//! Graphs: created, wrapped, cloned, listed, drawn.
//!
//! @header cushim.h
//! @task build graphs

use super::named::{handle_of, node_of};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CU_GRAPH_DEBUG_DOT_FLAGS_FABRIC_CPY_BATCH_NODE_PARAMS, CUgraph};
use crate::capi::error::{call, call_taking, cushim_status, long_call};
use crate::capi::handles::{self, Incomplete, borrowed, enter, get, ownership, reserve};
use crate::capi::{options, out, text};
use crate::graph::{ConditionObject, Graph, GraphObject, JsonOptions};
use crate::object::error::{Error, Status};
use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

/// A graph: operations as nodes, and edges that say which node comes after which. A graph keeps alive what its nodes
/// use: kernels, buffers, events and owners.
///
/// A child graph and a body of a conditional node are graphs, too: the handle is borrowed and good as long as their
/// node is. A handle of `cushim_graph_ref` keeps the whole graph that they are part of.
///
/// Calls that edit graphs of one whole wait for each other. What others change through the native handle is not seen,
/// except that new nodes are found when nodes are listed; nobody else removes nodes.
///
/// @driver any
pub type cushim_graph = *mut cushim_graph_s;

/// Never given a body.
pub struct cushim_graph_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_graph_s {
    type Object = GraphObject;
}

/// A node of a graph. The handle is borrowed, always the same for one node, and valid as long as its graph, or an
/// exec of it. When the node was removed, or its graph was moved into another one, the handle still tells type, label
/// and last parameters; every other call returns an error. A graph keeps such handles of the 4096 nodes and graphs
/// that were removed last.
///
/// Where a function adds a node, `node` may point to an element of `after`: a chain needs one variable.
///
/// @driver any
pub type cushim_node = *mut cushim_node_s;

/// Never given a body.
pub struct cushim_node_s {
    _private: [u8; 0],
}

/// A condition of a graph: a value that kernels set, and by which a conditional node decides what it runs. The handle
/// is borrowed, and good as long as the graph.
///
/// @driver 12.3
pub type cushim_condition = *mut cushim_condition_s;

/// Never given a body.
pub struct cushim_condition_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_condition_s {
    type Object = ConditionObject;
}

/// Options of `cushim_graph_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_graph_options {
    /// Bytes of this struct, `sizeof(cushim_graph_options)`.
    pub struct_size: usize,
    /// Zero.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// A new owning handle of a graph that was just made.
pub(super) fn owned_graph(make: impl FnOnce() -> Result<Graph, Error>) -> Result<cushim_graph, Error> {
    let reserved = reserve()?;
    // It holds the definition until the handle does.
    let graph = make()?;
    Ok(reserved.of(Arc::clone(graph.object())))
}

/// Creates an empty graph (`cuGraphCreate`). Its nodes run in this context, whichever context is current on the
/// calling thread, unless a node names another one.
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] graph The graph.
/// @driver any
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_create(
    context: cushim_context,
    options: *const cushim_graph_options,
    graph: *mut cushim_graph,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `graph`.
        let graph = unsafe { out::cleared(graph, std::ptr::null_mut(), "graph") }?;
        // SAFETY: the caller vouches for `options`.
        let given = unsafe { options::read(options, "options") }?;
        options::check_flags(given.flags, 0)?;
        options::check_reserved(given.reserved)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        *graph = owned_graph(|| Graph::create(&context))?;
        Ok(())
    })
}

/// Wraps a graph that was created elsewhere. What its nodes do is read from the driver; what they use is kept alive
/// by whoever added them. If there is a graph of it already, also a child graph or a body, the handle is one more of
/// that graph.
///
/// @param[in] context The context in which new nodes run.
/// @param[in] native The graph; a `cudaGraph_t` is the same. A borrowed one must outlive the object and all that is
///   instantiated from it.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it.
/// @param[out, owned] graph The graph.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the graph is to be owned and is already owned, or is part of another.
/// @callback refused
///
/// # Safety
/// `native` is NULL or as described, and nobody removes nodes of it otherwise; `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_wrap(
    context: cushim_context,
    native: CUgraph,
    ownership: i32,
    graph: *mut cushim_graph,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for `graph`.
        let graph = unsafe { out::cleared(graph, std::ptr::null_mut(), "graph") }?;
        let ownership = self::ownership(ownership)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        // SAFETY: the caller vouches for `native`.
        *graph = owned_graph(|| unsafe { Graph::take_in(&context, native, lending.taking(ownership)) })?;
        Ok(())
    })
}

/// Returns one more owned handle of a graph. Of a child graph or a body, it keeps the whole graph that it is part of,
/// but for the removal of its node.
///
/// @param[in] graph The graph.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_ref(
    graph: cushim_graph,
    reference: *mut cushim_graph,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference_if(graph, reference, |graph| graph.check_there()) }
}

/// Destroys an owned handle of a graph. When the last one is destroyed, what the nodes use is released, except for
/// what is instantiated from the graph and runs on; that cannot be edited any more, but its nodes can still be
/// updated by their handles.
///
/// @param[in, ended, nullable] graph The graph.
/// @errors `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle, such as that of a body.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_graph_destroy(graph: cushim_graph) -> cushim_status {
    handles::destroy(graph)
}

/// Returns the context in which the nodes of a graph run unless they name another one.
///
/// @param[in] graph The graph.
/// @param[out, borrowed] context The context.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_get_context(
    graph: cushim_graph,
    context: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `context`.
    unsafe { handles::tell(graph, context, "context", |graph| borrowed(Graph::of(graph)?.context())) }
}

/// Returns the node whose child graph or body a graph is.
///
/// @param[in] graph The graph.
/// @param[out, borrowed] node The node; NULL if the graph is part of no other.
///
/// # Safety
/// `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_get_parent(
    graph: cushim_graph,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for `node`.
    unsafe {
        handles::tell(graph, node, "node", |graph| match Graph::of(graph)?.parent()? {
            Some(node) => handle_of(&node),
            None => Ok(std::ptr::null_mut()),
        })
    }
}

/// Returns the native handle of a graph.
///
/// @param[in] graph The graph.
/// @param[out] native The `CUgraph`; a `cudaGraph_t` is the same.
/// @driver any
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_native(graph: cushim_graph, native: *mut CUgraph) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, std::ptr::null_mut(), "native") }?;
        let guard = enter()?;
        *native = Graph::of(&*get(&guard, graph)?)?.native()?;
        Ok(())
    })
}

/// Returns the number by which the driver's tools, such as profilers, tell graphs apart (`cuGraphGetId`).
///
/// @param[in] graph The graph.
/// @param[out] id The number.
/// @driver 13.1
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_get_id(graph: cushim_graph, id: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(graph, id, "id", |graph| Graph::of(graph)?.id()) }
}

/// Creates a copy of a graph (`cuGraphClone`), with all graphs below it and the labels of the nodes. The copy keeps
/// what the original keeps, on its own account.
///
/// While the copy or an exec made from it exists, a graph with conditional nodes that is or contains the original
/// cannot be instantiated: driver branch 580 crashes (measured). Copies made by `cushim_graph_add_child` do not count.
///
/// @param[in] graph The graph; also a child graph.
/// @param[out, owned] clone The copy.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if one of its kernels sets a condition of a graph around it;
///   `CUDA_ERROR_NOT_SUPPORTED` (801) for a graph that allocates memory or has conditional nodes.
/// @driver any
///
/// # Safety
/// `clone` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_clone(graph: cushim_graph, clone: *mut cushim_graph) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `clone`.
        let clone = unsafe { out::cleared(clone, std::ptr::null_mut(), "clone") }?;
        let guard = enter()?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        *clone = owned_graph(|| graph.clone_graph())?;
        Ok(())
    })
}

/// Returns the node of a clone that stands for a node of the original (`cuGraphNodeFindInClone`).
///
/// @param[in] node The node of the original.
/// @param[in] clone The clone.
/// @param[out, borrowed] found The node of the clone.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) if the graph is no clone of the node's graph, or the node is younger than
///   the clone.
/// @driver any
///
/// # Safety
/// `found` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_find_in(
    node: cushim_node,
    clone: cushim_graph,
    found: *mut cushim_node,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `found`.
        let found = unsafe { out::cleared(found, std::ptr::null_mut(), "found") }?;
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        let clone = Graph::of(&*get(&guard, clone)?)?;
        *found = handle_of(&node.find_in(&clone)?)?;
        Ok(())
    })
}

/// Lists the nodes of a graph, in the driver's order (`cuGraphGetNodes`).
///
/// @param[in] graph The graph.
/// @param[out, borrowed, array(capacity), nullable_if_zero(capacity)] nodes Receives the first `capacity` nodes.
/// @param[in] capacity The number of handles that there is room for.
/// @param[out] count The number of nodes, which may be greater than `capacity`.
/// @driver any
///
/// # Safety
/// `nodes` is valid for writes of `capacity` handles; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_get_nodes(
    graph: cushim_graph,
    nodes: *mut cushim_node,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (nodes, count) = unsafe {
            out::both(
                out::array(nodes, capacity, std::ptr::null_mut(), "nodes"),
                out::cleared(count, 0, "count"),
            )
        }?;
        let guard = enter()?;
        let all = Graph::of(&*get(&guard, graph)?)?.nodes()?;
        let handles: Vec<_> = all.iter().take(capacity).map(handle_of).collect::<Result<_, _>>()?;
        nodes[..handles.len()].copy_from_slice(&handles);
        *count = all.len();
        Ok(())
    })
}

/// All flags of `cuGraphDebugDotPrint` that some driver defines, up to the newest.
const DOT_FLAGS: u32 = (CU_GRAPH_DEBUG_DOT_FLAGS_FABRIC_CPY_BATCH_NODE_PARAMS.0 as u32) * 2 - 1;

/// Writes a graph to a file, as text for Graphviz (`cuGraphDebugDotPrint`).
///
/// @param[in] graph The graph.
/// @param[in, example("/dev/null")] path The file.
/// @param[in, flags(CUgraphDebugDot_flags)] flags What to write besides nodes and edges,
///   `CU_GRAPH_DEBUG_DOT_FLAGS_*`.
/// @errors `CUDA_ERROR_OPERATING_SYSTEM` (304) if the file cannot be written; `CUSHIM_ERROR_INVALID_ARGUMENT` if it
///   is a pipe that nobody reads.
/// @driver any
///
/// # Safety
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_write_dot(
    graph: cushim_graph,
    path: *const c_char,
    flags: u32,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for the text.
        let path = unsafe { text::bytes(path, "path") }?;
        options::check_flags(flags, DOT_FLAGS)?;
        let guard = enter()?;
        Graph::of(&*get(&guard, graph)?)?.write_dot(path, flags)
    })
}

/// What `cushim_graph_write_json` leaves out.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_json_flags {
    /// Addresses, so that two programs which build the same graph write the same text.
    CUSHIM_JSON_WITHOUT_ADDRESSES = 1,
}

const WITHOUT_ADDRESSES: u32 = cushim_json_flags::CUSHIM_JSON_WITHOUT_ADDRESSES as u32;

/// Writes a graph to a file as JSON, with all graphs below it: nodes with type, label and what they do, and edges.
/// Nodes are numbered in the order in which they were added.
///
/// @param[in] graph The graph.
/// @param[in, example("/dev/null")] path The file.
/// @param[in, flags(cushim_json_flags)] flags Flags.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also if the file cannot be written.
/// @driver any
///
/// # Safety
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_write_json(
    graph: cushim_graph,
    path: *const c_char,
    flags: u32,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for the text.
        let path = unsafe { text::required(path, "path") }?;
        options::check_flags(flags, WITHOUT_ADDRESSES)?;
        let options = JsonOptions { without_addresses: flags & WITHOUT_ADDRESSES != 0 };
        let guard = enter()?;
        Graph::of(&*get(&guard, graph)?)?.write_json(Path::new(&*path), options)
    })
}

/// A refusal about an argument.
pub(super) fn invalid(why: impl Into<String>) -> Error {
    Error::new(Status::INVALID_ARGUMENT, why.into())
}
