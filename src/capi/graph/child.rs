//! Graphs as nodes of other graphs.
//!
//! @header cushim.h
//! @task build graphs

use super::after::{Where, add_to};
use super::definition::{cushim_graph, cushim_node, invalid};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{borrowed, get};
use crate::capi::out;
use crate::graph::{Graph, Predecessors};
use crate::object::error::Error;
use crate::object::handle;

/// How a graph becomes a child graph.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_child_ownership {
    /// The node runs a copy of the graph, which stays as it is.
    CUSHIM_CHILD_CLONE = 0,
    /// The graph becomes the node's, and its nodes, its conditions and all below are reached by new handles only.
    /// CUDA 12.9.
    CUSHIM_CHILD_MOVE = 1,
}

const CLONE: i32 = cushim_child_ownership::CUSHIM_CHILD_CLONE as i32;
const MOVE: i32 = cushim_child_ownership::CUSHIM_CHILD_MOVE as i32;

/// Whether a graph is moved, and not copied.
pub(super) fn is_moved(number: i32) -> Result<bool, Error> {
    match number {
        CLONE => Ok(false),
        MOVE => Ok(true),
        _ => Err(invalid(format!(
            "ownership is {number}; use CUSHIM_CHILD_CLONE (0) or CUSHIM_CHILD_MOVE (1)"
        ))),
    }
}

/// Adds a node that runs another graph (`cuGraphAddChildGraphNode`). The child graph keeps what that graph keeps, on
/// its own account, and is edited like any other graph.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] child The other graph.
/// @param[in, enum(cushim_child_ownership)] ownership How it becomes a child graph.
/// @param[out, borrowed, nullable] node The node.
/// @param[out, borrowed, nullable] inner The child graph: the copy, or what was moved.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, for a graph that is this one or
///   contains it, for graphs more than 256 deep in each other, for nodes that a body cannot hold, for moving a graph
///   that is part of another or was wrapped as borrowed, and for a copy of a graph with device-updatable nodes;
///   `CUSHIM_ERROR_UNSUPPORTED` for moving before CUDA 12.9; `CUDA_ERROR_NOT_SUPPORTED` (801) for a copy of a graph
///   that allocates memory, and for any graph with a condition, also one that is gone.
/// @driver any
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles; `node` and `inner` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_child(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    child: cushim_graph,
    ownership: i32,
    node: *mut cushim_node,
    inner: *mut cushim_graph,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    call(|| {
        // SAFETY: as above.
        let inner = unsafe { out::cleared_if_given(inner, std::ptr::null_mut(), "inner") }?;
        let is_moved = self::is_moved(ownership)?;
        handle::room(usize::from(inner.is_some()))?;
        // It may be the last hold by then, and goes when the graph is not locked any more.
        let mut held = None;
        // SAFETY: the caller vouches for `after` and `node`.
        let graphs = unsafe {
            add_to(
                at,
                |guard, graph, after| {
                    // What is wrong with `after` is said before what is wrong with the graphs.
                    after.each(&mut |_, _| Ok(()))?;
                    let child = &*held.insert(Graph::of(&*get(guard, child)?)?);
                    match is_moved {
                        true => graph.move_child_after(after, child),
                        false => graph.add_child_after(after, child),
                    }
                },
                |added| added.graphs(),
            )
        }?;
        if let Some(inner) = inner {
            *inner = borrowed(&graphs[0])?;
        }
        Ok(())
    })
}
