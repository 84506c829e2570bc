//! Which node of one definition stands for which of another, when an instance of the one was updated from the other.
//!
//! The driver tells nodes apart by their place: an instance still answers to the nodes of its own definition (measured on driver 580). It pairs
//! those that no other follows in the order of nodes, and from there those before them, in the order in which their edges were added. So
//! where both definitions list nodes of the same types with the same predecessors in the same order, places are equal. What the definition
//! lists now counts only where it is what the instance was made of.

use super::own::{Base, Kept, Taken};
use crate::driver::calls::graph::query::{self, Toward};
use crate::graph::foreign;
use crate::graph::read;
use crate::graph::state::{GraphId, NodeId, State};
use crate::graph::tree::Tree;
use crate::object::error::Error;
use crate::op::node::{NodeType, Parameters};
use std::collections::HashMap;

/// The nodes of a definition, graph by graph, in the driver's order.
pub(super) struct Nodes {
    /// Nodes of this number or a greater one are not listed.
    born: u32,
    all: Vec<Entry>,
    /// When edges were changed last.
    edges_edited: u64,
    /// Whether several nodes of a graph are followed by no other, and nobody can tell in which order the driver has them.
    is_uncertain: bool,
}

struct Entry {
    id: NodeId,
    number: u32,
    place: Place,
    parameters: Parameters,
}

/// What has to be equal of two nodes that stand for each other.
#[derive(PartialEq, Eq)]
struct Place {
    node_type: NodeType,
    /// In the order in which the edges were added.
    predecessors: Vec<usize>,
    inner: usize,
}

impl Nodes {
    /// All.
    pub(super) fn all() -> Self {
        Self::before(u32::MAX)
    }

    /// Those that an instance has, which is of this age.
    pub(super) fn before(born: u32) -> Self {
        Self { born, all: Vec::new(), edges_edited: 0, is_uncertain: false }
    }

    /// Lists the nodes of a graph, and of all below it.
    pub(super) fn list(&mut self, tree: &Tree, state: &mut State, graph: GraphId) -> Result<(), Error> {
        let mut nodes = foreign::list_all(tree, state, graph)?;
        nodes.retain(|id| state.node(*id).number < self.born);
        let failed = |error, state: &State| tree.failed(error, state.graph(graph).object.as_ref());
        let positions: HashMap<usize, usize> = nodes
            .iter()
            .enumerate()
            .map(|(position, id)| (state.node(*id).native.addr(), position))
            .collect();
        let mut predecessors = vec![Vec::new(); nodes.len()];
        let mut is_followed = vec![false; nodes.len()];
        for edge in state.graph(graph).native.edges().map_err(|error| failed(error, state))? {
            if let (Some(from), Some(to)) = (positions.get(&edge.from.addr()), positions.get(&edge.to.addr()))
            {
                predecessors[*to].push(*from);
                is_followed[*from] = true;
            }
        }
        let ends = is_followed.into_iter().filter(|followed| !followed).count();
        self.is_uncertain |= state.graph(graph).is_cut && ends > 1;
        self.edges_edited = self.edges_edited.max(state.graph(graph).edges_edited);
        for (id, mut predecessors) in nodes.into_iter().zip(predecessors) {
            let node = state.node(id);
            if predecessors.len() > 1 {
                // SAFETY: the node is there, which the lock keeps.
                let edges = unsafe { query::edges(tree.table(), node.native, Toward::Predecessors) };
                let edges = edges.map_err(|error| failed(error, state))?;
                predecessors =
                    edges.iter().filter_map(|edge| positions.get(&edge.from.addr()).copied()).collect();
            }
            let parameters =
                read::with_parameters(tree, node, Parameters::clone).map_err(|error| failed(error, state))?;
            let inner = node.inner.clone();
            let place = Place { node_type: node.node_type(), predecessors, inner: inner.len() };
            self.all.push(Entry { id, number: node.number, place, parameters });
            for graph in inner {
                self.list(tree, state, graph)?;
            }
        }
        Ok(())
    }

    /// Whether these, of which none was removed, are the nodes of an instance, and the driver has them in the same order as there.
    pub(super) fn are_those_of(&self, instance: &Kept) -> bool {
        let is_old = |node: &Entry| instance.has_node(node.number);
        !self.is_uncertain && instance.has_edges(self.edges_edited) && self.all.iter().all(is_old)
    }

    /// What these nodes do when an instance of theirs was updated from others.
    pub(super) fn taken(self, others: Self, instance: &Kept) -> Base {
        let is_equal = self.all.len() == others.all.len()
            && self.all.iter().zip(&others.all).all(|(own, other)| own.place == other.place);
        if !(self.are_those_of(instance) && is_equal) || others.is_uncertain {
            return Base::Unknown;
        }
        let pairs = self.all.into_iter().zip(others.all);
        let taken = |other: Entry| Taken { parameters: other.parameters, from: other.id };
        Base::Taken(pairs.map(|(own, other)| (own.id, taken(other))).collect())
    }
}
