//! Graphs that become the child graph of a node, and are no graphs of their own any more.
//!
//! The driver keeps graph and nodes as they are; here they change their definition, and so their objects: handles of before
//! tell that the graph was moved.

use super::definition::{GraphObject, GraphState, NodeState, Removal, State, Tree};
use super::ids::{ConditionId, GraphId, NodeId};
use super::record::Loose;
use std::collections::HashMap;
use std::sync::Arc;

/// Takes over everything that a definition knows into a graph of another one; what it was before is remembered in what is left of it.
pub(super) fn take_over(
    tree: &Tree,
    state: &mut State,
    below: GraphId,
    (mut from, left): (State, &mut State),
    before: &Arc<Tree>,
) {
    let GraphState { depth, is_in_body, .. } = *state.graph(below);
    let graphs = HashMap::from([(GraphId::ROOT, below)]);
    let mut moved = Moved { before: Arc::clone(before), depth, is_in_body, graphs, nodes: HashMap::new() };
    state.remember(Removal::Tree(Arc::clone(before)));
    let mut execs = std::mem::take(&mut from.execs);
    let (graphs, nodes, conditions, mut contents) = from.into_parts();
    let first = ConditionId(state.conditions.len() as u32);
    for (id, graph) in graphs {
        graph.object.was_moved();
        match id {
            GraphId::ROOT => {
                copy_label(&graph.object, &state.graph(below).object);
                let here = state.graph_mut(below);
                (here.is_cut, here.derived) = (graph.is_cut, graph.derived.moved(std::mem::take(&mut execs)));
            }
            _ => {
                left.remember(Removal::Graph(Arc::clone(&graph.object)));
                moved.list_graph(tree, state, id, graph);
            }
        }
    }
    for (id, node) in nodes {
        let removed = contents.remove(id).expect("a node that is listed has a record");
        left.remember_node(id, &node, &removed.record.parameters);
        moved.list_node(tree, state, id, (node, removed), first);
    }
    let unplaced = contents.unplaced.drain(..);
    state.contents.unplaced.extend(unplaced.map(|(graph, attachment)| (moved.graphs[&graph], attachment)));
    for mut condition in conditions {
        // One whose graph was removed only keeps its number.
        let is_ended = condition.is_ended();
        condition.end();
        condition.graph = if is_ended { below } else { moved.graphs[&condition.graph] };
        condition.node = condition.node.map(|node| moved.nodes[&node]);
        condition.object =
            condition.object.moved(tree.known_definition(), ConditionId(state.conditions.len() as u32));
        if is_ended {
            condition.end();
        }
        state.conditions.push(condition);
    }
    moved.join(state);
}

/// What graphs and nodes are called in the new definition.
struct Moved {
    /// The definition of before: nodes that name no context ran in its own.
    before: Arc<Tree>,
    /// Of the graph that was moved, in the new definition.
    depth: u32,
    is_in_body: bool,
    graphs: HashMap<GraphId, GraphId>,
    nodes: HashMap<NodeId, NodeId>,
}

impl Moved {
    fn list_graph(&mut self, tree: &Tree, state: &mut State, id: GraphId, graph: GraphState) {
        let object = GraphObject::new(tree.known_definition(), state.next_graph(), graph.object.kind);
        copy_label(&graph.object, &object);
        let is_in_body = graph.is_in_body || self.is_in_body;
        let depth = graph.depth + self.depth;
        // Nothing that is instantiated from the new definition has its nodes yet.
        let edges_edited = 0;
        let graph = GraphState { object, nodes: Vec::new(), depth, is_in_body, edges_edited, ..graph };
        let new = tree.list_inner(state, graph);
        self.graphs.insert(id, new);
    }

    fn list_node(
        &mut self,
        tree: &Tree,
        state: &mut State,
        id: NodeId,
        (mut node, removed): (NodeState, Loose),
        first: ConditionId,
    ) {
        let label = self.before.names.label(node.number);
        node.inner.iter_mut().for_each(|graph| *graph = self.graphs[graph]);
        node.inner.rename_condition(|condition| ConditionId(first.0 + condition.0));
        let moved = removed.moved(self.before.context(), tree.context());
        let new = state.list_node(self.graphs[&node.graph], node.native, moved);
        state.node_mut(new).inner = node.inner;
        self.nodes.insert(id, new);
        if let Some(label) = label {
            tree.names.set_label(state.node(new).number, Some(label));
        }
    }

    /// Each graph below has the node that it belongs to.
    fn join(&self, state: &mut State) {
        for (old, new) in &self.graphs {
            if *old != GraphId::ROOT {
                let graph = state.graph_mut(*new);
                graph.parent = graph.parent.map(|parent| self.nodes[&parent]);
            }
        }
    }
}

fn copy_label(from: &GraphObject, to: &GraphObject) {
    if let Some(label) = from.header().label() {
        to.header().set_label(Some(&label));
    }
}
