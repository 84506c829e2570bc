//! Which nodes of a graph touch the same memory without a path between them: `CUSHIM_CHECK=order`.

use super::definition::{State, Tree};
use super::ids::GraphId;
use super::read;
use crate::check::{Deeds, GraphOrder, Place};
use std::collections::HashMap;

/// They, if somebody wants to know; to be told once nobody's lock is held. Of what the driver does not tell nothing is said.
#[inline]
pub(super) fn look(tree: &Tree, state: &State) -> Option<GraphOrder> {
    tree.driver().checks_order().then(|| look_at_all(tree, state))
}

#[cold]
fn look_at_all(tree: &Tree, state: &State) -> GraphOrder {
    let mut order = GraphOrder::new(tree.root().to_string());
    add_graph(&mut order, tree, state, GraphId::ROOT, &[]);
    order
}

/// Adds the nodes of a graph, each after those before it, and after each node those of the graphs in it.
fn add_graph(order: &mut GraphOrder, tree: &Tree, state: &State, id: GraphId, around: &[(u32, u32)]) {
    let graph = state.graph(id);
    let Ok(edges) = graph.native.edges() else { return };
    let numbers: HashMap<usize, u32> =
        graph.nodes.iter().zip(0..).map(|(node, number)| (state.node(*node).native.addr(), number)).collect();
    let number = |native: usize| numbers.get(&native).copied();
    let edges: Option<Vec<_>> =
        edges.iter().map(|edge| number(edge.from.addr()).zip(number(edge.to.addr()))).collect();
    let Some(nodes) = edges.and_then(|edges| order.add_graph(id.0, numbers.len(), &edges)) else { return };
    for number in nodes {
        let node = graph.nodes[number as usize];
        let place: Place = around.iter().copied().chain([(id.0, number)]).collect();
        let mut deeds = Deeds::new(state.name_of(node));
        if read::with_parameters(tree, state, node, |parameters| parameters.deeds(&mut deeds)).is_ok() {
            order.add_node(tree.driver(), &place, deeds);
        }
        for inner in state.node(node).inner.iter() {
            add_graph(order, tree, state, *inner, &place);
        }
    }
}
