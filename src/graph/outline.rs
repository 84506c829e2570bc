//! The nodes of a definition in the driver's order, by which two definitions are compared node by node.

use super::ids::{GraphId, NodeId};
use crate::op::node::NodeType;

/// The nodes of a graph and of all graphs below it, graph by graph, in the driver's order.
#[derive(Default)]
pub(super) struct Outline {
    nodes: Vec<Outlined>,
    /// The predecessors of one node after those of the other: positions among the nodes of the same graph, in the order in which the
    /// edges were added.
    predecessors: Vec<u32>,
    /// When edges were changed last.
    pub(super) edges_edited: u64,
    /// Whether several nodes of a graph are followed by no other, and nobody can tell in which order the driver has them.
    pub(super) is_uncertain: bool,
}

/// A node.
struct Outlined {
    id: NodeId,
    number: u32,
    graph: GraphId,
    shape: Shape,
}

/// What has to be equal of two nodes that stand for each other.
#[derive(PartialEq, Eq)]
struct Shape {
    node_type: NodeType,
    /// How many graphs are in it.
    inner: u32,
    /// Where its predecessors end, and those of the next node begin.
    end: u32,
}

impl Outline {
    /// Lists one node more.
    pub(super) fn add(
        &mut self,
        id: NodeId,
        (number, graph): (u32, GraphId),
        node_type: NodeType,
        inner: usize,
        predecessors: &[u32],
    ) {
        self.predecessors.extend_from_slice(predecessors);
        let shape = Shape { node_type, inner: inner as u32, end: self.predecessors.len() as u32 };
        self.nodes.push(Outlined { id, number, graph, shape });
    }

    pub(super) fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.predecessors.reserve(edges);
    }

    /// The nodes.
    pub(super) fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> {
        self.nodes.iter().map(|node| node.id)
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the nodes of both have the same places, numbers and graphs.
    pub(super) fn has_places_of(&self, other: &Self) -> bool {
        let place = |node: &Outlined| (node.id, node.number, node.graph);
        self.nodes.iter().map(place).eq(other.nodes.iter().map(place))
    }

    /// Whether all nodes have smaller numbers than this.
    pub(super) fn is_before(&self, born: u32) -> bool {
        self.nodes.iter().all(|node| node.number < born)
    }

    /// Whether both have the same nodes with the same predecessors in the same order.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.predecessors == other.predecessors
            && self.nodes.iter().zip(&other.nodes).all(|(own, other)| own.shape == other.shape)
    }
}
