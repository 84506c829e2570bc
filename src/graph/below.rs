//! Graphs below nodes.

use super::definition::{GraphObject, GraphState, State, Tree};
use super::derived::Derived;
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::CUgraph;

/// Lists the graph that a node has: its child graph, or one of its bodies.
pub(super) fn list_below(
    tree: &Tree,
    state: &mut State,
    node: NodeId,
    native: CUgraph,
    kind: GraphKind,
) -> GraphId {
    let above = state.node(node).graph;
    let is_in_body = matches!(kind, GraphKind::Body(_)) || state.graph(above).is_in_body;
    let depth = state.graph(above).depth + 1;
    let object = GraphObject::new(tree.known_definition(), state.next_graph(), kind);
    let graph = GraphState {
        // SAFETY: it is alive as long as its node.
        native: unsafe { RawGraph::adopt(tree.table(), native) },
        parent: Some(node),
        object,
        nodes: Vec::new(),
        depth,
        is_in_body,
        is_ordered: true,
        edges_edited: 0,
        is_cut: false,
        captured_by: None,
        derived: Derived::default(),
    };
    tree.list_inner(state, graph)
}
