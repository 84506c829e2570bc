//! Nodes and graphs that others made: found when somebody lists them.

use super::definition::{State, Tree};
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use super::record::Record;
use super::within::Within;
use super::{below::list_below, conditional};
use crate::driver::calls::graph::query;
use crate::driver::sys::CUgraphNode;
use crate::object::error::Error;
use crate::op::node::{NodeType, Parameters};

/// The node with this native handle: known, or listed now. Of one that others made only the type is known.
pub(super) fn known(
    tree: &Tree,
    state: &mut State,
    graph: GraphId,
    native: CUgraphNode,
) -> Result<NodeId, Error> {
    if let Some(id) = state.find(native) {
        return Ok(id);
    }
    let failed = |error, state: &State| tree.failed(error, state.graph(graph).object.as_ref());
    // SAFETY: the driver has just named the node.
    let node_type =
        unsafe { query::node_type(tree.table(), native) }.map_err(|error| failed(error, state))?;
    let node_type = NodeType::of(node_type);
    if matches!(node_type, NodeType::Child | NodeType::Conditional) {
        state.check_depth(graph, 0)?;
    }
    // Edges that others made may lead anywhere.
    state.graph_mut(graph).is_ordered = false;
    let record = Record { is_ours: false, ..Record::new(Parameters::Plain(node_type)) };
    let id = state.list_node(graph, native, record);
    if node_type == NodeType::Child {
        // SAFETY: as above.
        let child = unsafe { query::child(tree.table(), native) }.map_err(|error| failed(error, state))?;
        let child = list_below(tree, state, id, child, GraphKind::Child);
        state.node_mut(id).inner = Within::child(child);
    }
    if node_type == NodeType::Conditional && tree.table().cuGraphNodeGetParams_13020.is_some() {
        // SAFETY: as above.
        let raw =
            unsafe { query::conditional(tree.table(), native) }.map_err(|error| failed(error, state))?;
        conditional::list_foreign(tree, state, id, &raw);
    }
    Ok(id)
}

/// All nodes of a graph, in the driver's order, without those that nobody is told of.
pub(super) fn list(tree: &Tree, state: &mut State, graph: GraphId) -> Result<Vec<NodeId>, Error> {
    let mut nodes = list_all(tree, state, graph)?;
    nodes.retain(|id| !state.record(*id).is_hidden);
    Ok(nodes)
}

/// All nodes of a graph, in the driver's order.
pub(super) fn list_all(tree: &Tree, state: &mut State, graph: GraphId) -> Result<Vec<NodeId>, Error> {
    let known_graph = state.graph(graph);
    let natives =
        known_graph.native.nodes().map_err(|error| tree.failed(error, known_graph.object.as_ref()))?;
    // Most stand here in the driver's order, too: then none has to be looked up.
    let here = |state: &State, (position, native): (usize, CUgraphNode)| {
        let id = *state.graph(graph).nodes.get(position)?;
        (state.node(id).native == native).then_some(id)
    };
    let found = natives.into_iter().enumerate();
    found
        .map(|(position, native)| match here(state, (position, native)) {
            Some(id) => Ok(id),
            None => known(tree, state, graph, native),
        })
        .collect()
}
