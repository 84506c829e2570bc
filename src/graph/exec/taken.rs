//! Which node of one definition stands for which of another, when an instance of the one was updated from the other.
//!
//! The driver tells nodes apart by their place: an instance still answers to the nodes of its own definition (measured on driver 580). Where
//! both definitions list nodes of the same types with the same predecessors in the same order, places are equal.

use super::own::Base;
use crate::graph::foreign;
use crate::graph::read;
use crate::graph::state::{GraphId, NodeId, State};
use crate::graph::tree::Tree;
use crate::object::error::Error;
use crate::op::node::{NodeType, Parameters};
use std::collections::HashMap;

/// The nodes of a definition, graph by graph, in the driver's order.
#[derive(Default)]
pub(super) struct Nodes(Vec<Entry>);

struct Entry {
    id: NodeId,
    place: Place,
    parameters: Parameters,
}

/// What has to be equal of two nodes that stand for each other.
#[derive(PartialEq, Eq)]
struct Place {
    node_type: NodeType,
    predecessors: Vec<usize>,
    inner: usize,
}

impl Nodes {
    /// Lists the nodes of a graph, and of all below it.
    pub(super) fn list(&mut self, tree: &Tree, state: &mut State, graph: GraphId) -> Result<(), Error> {
        let nodes = foreign::list_all(tree, state, graph)?;
        let failed = |error, state: &State| tree.failed(error, state.graph(graph).object.as_ref());
        let positions: HashMap<usize, usize> = nodes
            .iter()
            .enumerate()
            .map(|(position, id)| (state.node(*id).native.addr(), position))
            .collect();
        let mut predecessors = vec![Vec::new(); nodes.len()];
        for edge in state.graph(graph).native.edges().map_err(|error| failed(error, state))? {
            if let (Some(from), Some(to)) = (positions.get(&edge.from.addr()), positions.get(&edge.to.addr()))
            {
                predecessors[*to].push(*from);
            }
        }
        for (id, mut predecessors) in nodes.into_iter().zip(predecessors) {
            predecessors.sort_unstable();
            let node = state.node(id);
            let parameters =
                read::with_parameters(tree, node, Parameters::clone).map_err(|error| failed(error, state))?;
            let inner = node.inner.clone();
            let place = Place { node_type: node.node_type(), predecessors, inner: inner.len() };
            self.0.push(Entry { id, place, parameters });
            for graph in inner {
                self.list(tree, state, graph)?;
            }
        }
        Ok(())
    }

    /// What these nodes do when an instance of theirs was updated from others.
    pub(super) fn taken(self, others: Self) -> Base {
        let is_equal = self.0.len() == others.0.len()
            && self.0.iter().zip(&others.0).all(|(own, other)| own.place == other.place);
        if !is_equal {
            return Base::Unknown;
        }
        let pairs = self.0.into_iter().zip(others.0);
        Base::Taken(pairs.map(|(own, other)| (own.id, other.parameters)).collect())
    }
}
