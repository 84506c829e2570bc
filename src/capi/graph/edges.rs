//! Edges.
//!
//! @header cushim.h
//! @task build graphs

use super::definition::{cushim_graph, cushim_node, invalid};
use super::named::{handle_of, node_of};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::{input, out};
use crate::graph::{Edge, EdgeData, EdgeOf, Graph, Node, Toward};
use crate::object::error::Error;
use crate::object::handle::Guard;

/// An edge of a graph: one node comes after another.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_edge {
    /// The node that comes first.
    pub from_node: cushim_node,
    /// The node that comes after it.
    pub to_node: cushim_node,
    /// When the first node lets the second start. 0: when it is done; of a kernel node also 1: when its blocks call
    /// `cudaTriggerProgrammaticLaunchCompletion`, and 2: when they have all begun. CUDA 12.3.
    pub from_port: u8,
    /// What of the second node waits: 0, all of it. CUDA 12.3.
    pub to_port: u8,
    /// @field[names(CUgraphDependencyType)] The type of the dependency, a `CUgraphDependencyType`. CUDA 12.3.
    pub r#type: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

const NONE: cushim_edge = cushim_edge {
    from_node: std::ptr::null_mut(),
    to_node: std::ptr::null_mut(),
    from_port: 0,
    to_port: 0,
    r#type: 0,
    reserved: [0; 5],
};

/// An edge of a caller's, with its nodes looked up.
struct CallersEdge {
    from: Node,
    to: Node,
    data: EdgeData,
}

impl CallersEdge {
    fn look_up(guard: &Guard, edge: &cushim_edge) -> Result<Self, Error> {
        if edge.reserved != [0; 5] {
            return Err(invalid("reserved is not zero"));
        }
        let data = EdgeData { from_port: edge.from_port, to_port: edge.to_port, kind: edge.r#type };
        Ok(Self { from: node_of(guard, edge.from_node)?, to: node_of(guard, edge.to_node)?, data })
    }

    fn edge(&self) -> EdgeOf<'_> {
        EdgeOf { from: self.from.name(), to: self.to.name(), data: self.data }
    }
}

fn told(edge: &Edge) -> Result<cushim_edge, Error> {
    let EdgeData { from_port, to_port, kind } = edge.data;
    let (from_node, to_node) = (handle_of(&edge.from)?, handle_of(&edge.to)?);
    Ok(cushim_edge { from_node, to_node, from_port, to_port, r#type: kind, ..NONE })
}

/// Writes edges into a caller's array.
///
/// # Safety
/// `edges` is valid for writes of `capacity` edges; `count` is NULL or valid for writes.
unsafe fn list(
    edges: *mut cushim_edge,
    capacity: usize,
    count: *mut usize,
    ask: impl FnOnce(&Guard) -> Result<Vec<Edge>, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (edges, count) = unsafe {
            out::both(out::array(edges, capacity, NONE, "edges"), out::cleared(count, 0, "count"))
        }?;
        let guard = enter()?;
        let all = ask(&guard)?;
        let shown: Vec<_> = all.iter().take(capacity).map(told).collect::<Result<_, _>>()?;
        edges[..shown.len()].copy_from_slice(&shown);
        *count = all.len();
        Ok(())
    })
}

/// Lists the edges of a graph, in the driver's order (`cuGraphGetEdges`).
///
/// @param[in] graph The graph.
/// @param[out, array(capacity), nullable_if_zero(capacity)] edges Receives the first `capacity` edges.
/// @param[in] capacity The number of edges that there is room for.
/// @param[out] count The number of edges, which may be greater than `capacity`.
/// @driver any
///
/// # Safety
/// `edges` is valid for writes of `capacity` edges; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_get_edges(
    graph: cushim_graph,
    edges: *mut cushim_edge,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { list(edges, capacity, count, |guard| Graph::of(&*get(guard, graph)?)?.edges()) }
}

/// # Safety
/// `edges` is NULL or valid for reads of `edge_count` edges.
unsafe fn change(
    graph: cushim_graph,
    edges: *const cushim_edge,
    edge_count: usize,
    change: impl FnOnce(&Graph, &[EdgeOf<'_>]) -> Result<(), Error>,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        // SAFETY: the caller vouches for the array.
        let given = unsafe {
            input::array_if_any(edges, edge_count, "edges", |edge| CallersEdge::look_up(&guard, edge))
        }?;
        change(&graph, &given.iter().map(CallersEdge::edge).collect::<Vec<_>>())
    })
}

/// Adds edges to a graph, all or none, in one call of the driver (`cuGraphAddDependencies`).
///
/// An edge from a node to one that was added later is always good. Others are followed, until it is certain that they
/// close no cycle: the driver would only find it when the graph is instantiated.
///
/// @param[in] graph The graph.
/// @param[in, array(edge_count), nullable_if_zero(edge_count)] edges The edges.
/// @param[in] edge_count The number of edges.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, an edge from a node to itself, one that
///   exists, and one that closes a cycle, with the number of the edge as the error's `item`;
///   `CUSHIM_ERROR_UNSUPPORTED` for ports and types before CUDA 12.3; `CUDA_ERROR_INVALID_VALUE` (1) for ports and
///   types that its nodes do not have.
/// @driver any
///
/// # Safety
/// `edges` is NULL or valid for reads of `edge_count` edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_edges(
    graph: cushim_graph,
    edges: *const cushim_edge,
    edge_count: usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the array.
    unsafe { change(graph, edges, edge_count, Graph::add_lent_edges) }
}

/// Removes edges from a graph, all or none, in one call of the driver (`cuGraphRemoveDependencies`).
///
/// @param[in] graph The graph.
/// @param[in, array(edge_count), nullable_if_zero(edge_count)] edges The edges; ports and types do not matter.
/// @param[in] edge_count The number of edges.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, and for an edge that does not exist,
///   with its number as the error's `item`; `CUDA_ERROR_NOT_SUPPORTED` (801) in a graph with allocation or free
///   nodes.
/// @driver any
///
/// # Safety
/// `edges` is NULL or valid for reads of `edge_count` edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_remove_edges(
    graph: cushim_graph,
    edges: *const cushim_edge,
    edge_count: usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the array.
    unsafe { change(graph, edges, edge_count, Graph::remove_lent_edges) }
}

/// Lists the edges from the nodes that come directly before a node (`cuGraphNodeGetDependencies`).
///
/// @param[in] node The node.
/// @param[out, array(capacity), nullable_if_zero(capacity)] edges Receives the first `capacity` edges.
/// @param[in] capacity The number of edges that there is room for.
/// @param[out] count The number of edges, which may be greater than `capacity`.
/// @driver any
///
/// # Safety
/// `edges` is valid for writes of `capacity` edges; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_dependencies(
    node: cushim_node,
    edges: *mut cushim_edge,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { list(edges, capacity, count, |guard| node_of(guard, node)?.dependencies()) }
}

/// Lists the edges to the nodes that come directly after a node (`cuGraphNodeGetDependentNodes`).
///
/// @param[in] node The node.
/// @param[out, array(capacity), nullable_if_zero(capacity)] edges Receives the first `capacity` edges.
/// @param[in] capacity The number of edges that there is room for.
/// @param[out] count The number of edges, which may be greater than `capacity`.
/// @driver any
///
/// # Safety
/// `edges` is valid for writes of `capacity` edges; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_dependents(
    node: cushim_node,
    edges: *mut cushim_edge,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { list(edges, capacity, count, |guard| node_of(guard, node)?.dependents()) }
}

/// # Safety
/// `others` is NULL or valid for reads of `other_count` handles.
unsafe fn assign(
    node: cushim_node,
    toward: Toward,
    others: *const cushim_node,
    other_count: usize,
    what: &str,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        // SAFETY: the caller vouches for the array.
        let others =
            unsafe { input::array_if_any(others, other_count, what, |other| node_of(&guard, *other)) }?;
        node.assign(toward, &others.iter().map(Node::name).collect::<Vec<_>>())
    })
}

/// Makes a node come directly after these nodes, and no others. What is too many is removed in one call of the
/// driver, what is missing is added in another; edges that stay keep their ports and types. If it fails, all edges
/// are as they were.
///
/// @param[in] node The node.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes.
/// @param[in] after_count The number of nodes; 0: the node comes after none.
/// @errors as `cushim_graph_add_edges` and `cushim_graph_remove_edges`: `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_NOT_SUPPORTED` (801) where edges would be removed from a graph with allocation or free nodes.
/// @driver any
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_dependencies(
    node: cushim_node,
    after: *const cushim_node,
    after_count: usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the array.
    unsafe { assign(node, Toward::Predecessors, after, after_count, "after") }
}

/// Makes these nodes come directly after a node, and no others. Otherwise as `cushim_node_set_dependencies`.
///
/// @param[in] node The node.
/// @param[in, array(before_count), nullable_if_zero(before_count)] before The nodes that the node comes before.
/// @param[in] before_count The number of nodes; 0: the node comes before none.
/// @errors as `cushim_node_set_dependencies`: `CUSHIM_ERROR_INVALID_ARGUMENT`.
/// @driver any
///
/// # Safety
/// `before` is NULL or valid for reads of `before_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_dependents(
    node: cushim_node,
    before: *const cushim_node,
    before_count: usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the array.
    unsafe { assign(node, Toward::Successors, before, before_count, "before") }
}
