//! Nodes without memory: empty, events, host functions.
//!
//! @header cushim.h
//! @task build graphs

use super::after::{After, Where, adding, adding_taking};
use super::definition::{cushim_graph, cushim_node};
use crate::capi::callback::{cushim_host_function, cushim_owner, operation, operation_on_bytes};
use crate::capi::error::cushim_status;
use crate::capi::event::cushim_event;
use crate::capi::handles::get;
use crate::graph::{Added, Graph};
use crate::object::error::Error;
use crate::op::{Empty, NodeOperation, Record, Wait};
use std::ffi::c_void;

/// Adds an operation.
///
/// # Safety
/// As for [`Graph::add`].
#[inline]
pub(super) unsafe fn add<'g, O: NodeOperation>(
    graph: &'g Graph,
    after: &After<'_>,
    operation: &mut O,
) -> Result<(Added<'g>, O::Output), Error> {
    // SAFETY: as the caller vouches.
    unsafe { graph.add_after(after, operation) }
}

/// Adds a node that does nothing (`cuGraphAddEmptyNode`): it brings together the nodes that it comes after.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph.
/// @driver any
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_empty(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for both; an empty node uses nothing.
    unsafe { adding(at, |_, graph, after| add(graph, after, &mut Empty).map(|(added, ())| added)) }
}

/// Adds a node that records an event (`cuGraphAddEventRecordNode`). The graph keeps the event.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] event The event.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph; `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an event of another driver.
/// @driver any
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_event_record(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    event: cushim_event,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for both; the graph keeps the event.
    unsafe {
        adding(at, |guard, graph, after| {
            let event = get(guard, event)?;
            add(graph, after, &mut Record::new(&event)).map(|(added, ())| added)
        })
    }
}

/// Adds a node that waits for an event (`cuGraphAddEventWaitNode`): for what it recorded last when the node runs. The
/// graph keeps the event.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] event The event.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph; `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an event of another driver.
/// @driver any
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_event_wait(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    event: cushim_event,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for both; the graph keeps the event.
    unsafe {
        adding(at, |guard, graph, after| {
            let event = get(guard, event)?;
            add(graph, after, &mut Wait::new(&event)).map(|(added, ())| added)
        })
    }
}

/// Adds a node that calls a function on a thread of the driver's (`cuGraphAddHostNode`), once for each launch. What
/// it may call is what a function of `cushim_stream_launch_host_function` may call.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in, nullable] function The function; NULL: `data` comes out of `cushim_drain` at each launch instead.
/// @param[in, nullable] data Given to the function.
/// @param[in, taken, nullable] owner Keeps `data`: released when the graph, its clones and all that was instantiated
///   from them need it no more. NULL: nothing to release. Without a function its `release` must be NULL too.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph.
/// @driver any
///
/// # Safety
/// `function` may be called with `data`, at every launch, from another thread; `owner` is NULL or a valid owner;
/// `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_host_function(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding_taking(at, |lending, _, graph, after| {
            let mut operation = operation(lending, function, data, owner)?;
            add(graph, after, &mut operation).map(|(added, ())| added)
        })
    }
}

/// Adds a node that calls a function with a copy of some bytes, which the graph keeps. Otherwise as
/// `cushim_graph_add_host_function`.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] function The function. It gets the address of the copy, which is aligned to 16 bytes, and the same at
///   each launch; NULL if there are no bytes.
/// @param[in, bytes(size), nullable_if_zero(size)] bytes The bytes.
/// @param[in] size Their number; may be 0.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph; `CUSHIM_ERROR_OUT_OF_MEMORY`.
/// @driver any
///
/// # Safety
/// `function` may be called with as many bytes, at every launch, from another thread; `bytes` is NULL or valid for
/// reads of `size` bytes; `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_host_function_bytes(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding(at, |_, graph, after| {
            let mut operation = operation_on_bytes(function, bytes, size)?;
            add(graph, after, &mut operation).map(|(added, ())| added)
        })
    }
}
