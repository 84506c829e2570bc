//! A definition as it was when an exec was made of it.

use crate::abi::sys::{CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_GRAPH, CUgraphNodeType};
use crate::driver::condition::Condition;
use crate::driver::graph::definition::conditional::Choice;
use crate::driver::graph::definition::{Graph, Outline, Placed, Work};
use crate::driver::graph::edge::EdgeData;
use crate::driver::graph::leaf::Leaf;
use std::sync::Arc;

/// A graph.
#[derive(Default)]
pub(super) struct Layout {
    /// In the order in which they were added.
    pub(super) nodes: Vec<Place>,
    /// Those that none follows, the latest first.
    pub(super) last: Vec<u32>,
    /// How many nodes there ever were in the definition.
    pub(super) made: u32,
}

/// A node.
pub(super) struct Place {
    /// By which callers name it.
    pub(super) node: usize,
    /// Its number in the definition.
    pub(super) number: u32,
    /// The nodes that it follows, by their places.
    pub(super) before: Vec<(u32, EdgeData)>,
    pub(super) content: Content,
}

/// What it does.
pub(super) enum Content {
    Leaf(Arc<Leaf>),
    Child(Layout),
    Conditional { condition: Arc<Condition>, choice: Choice, bodies: Vec<Layout> },
}

impl Place {
    /// The type of the node.
    pub(super) fn kind(&self) -> CUgraphNodeType {
        match &self.content {
            Content::Leaf(leaf) => leaf.kind(),
            Content::Child(_) => CU_GRAPH_NODE_TYPE_GRAPH,
            Content::Conditional { .. } => CU_GRAPH_NODE_TYPE_CONDITIONAL,
        }
    }
}

impl Layout {
    pub(super) fn of(graph: &Graph) -> Self {
        let place = |Placed { node, before }| {
            let content = match node.work() {
                Work::Leaf(leaf) => Content::Leaf(leaf),
                Work::Child(inner) => Content::Child(Self::of(&inner)),
                Work::Conditional(it) => Content::Conditional {
                    condition: Arc::clone(&it.condition),
                    choice: it.choice,
                    bodies: it.bodies.iter().map(|body| Self::of(body)).collect(),
                },
            };
            Place { node: node.handle, number: node.number, before, content }
        };
        let Outline { nodes, last, made } = graph.outline();
        Self { nodes: nodes.into_iter().map(place).collect(), last, made }
    }

    /// The child graph in a node.
    pub(super) fn child(&self, node: usize) -> Option<&Self> {
        self.nodes.iter().find_map(|place| match &place.content {
            Content::Child(inner) if place.node == node => Some(inner),
            Content::Child(inner) => inner.child(node),
            Content::Conditional { bodies, .. } => bodies.iter().find_map(|body| body.child(node)),
            Content::Leaf(_) => None,
        })
    }

    /// Whether it has a conditional node, or a graph in it has.
    pub(super) fn has_conditional(&self) -> bool {
        self.nodes.iter().any(|place| match &place.content {
            Content::Leaf(_) => false,
            Content::Child(inner) => inner.has_conditional(),
            Content::Conditional { .. } => true,
        })
    }

    /// Whether it has a node that kernels can update, or a graph in it has.
    pub(super) fn has_updatable(&self) -> bool {
        self.nodes.iter().any(|place| match &place.content {
            Content::Leaf(leaf) => leaf.is_updatable(),
            Content::Child(inner) => inner.has_updatable(),
            Content::Conditional { bodies, .. } => bodies.iter().any(Self::has_updatable),
        })
    }

    /// Its places in an order in which each comes after those that it follows. Where there is none: a node of a cycle.
    pub(super) fn order(&self) -> Result<Vec<u32>, usize> {
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut unmet: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (place, node) in (0..).zip(&self.nodes) {
            unmet.push(node.before.len());
            node.before.iter().for_each(|(earlier, _)| after[*earlier as usize].push(place));
        }
        let mut order: Vec<u32> =
            (0..).zip(&unmet).filter(|(_, unmet)| **unmet == 0).map(|(at, _)| at).collect();
        let mut next = 0;
        while let Some(place) = order.get(next) {
            next += 1;
            for later in std::mem::take(&mut after[*place as usize]) {
                unmet[later as usize] -= 1;
                if unmet[later as usize] == 0 {
                    order.push(later);
                }
            }
        }
        if order.len() == self.nodes.len() { Ok(order) } else { Err(self.end_of_cycle()) }
    }

    /// In a graph with a cycle: whoever goes along the edges, from the first node on, comes from this one to one that he has
    /// come by (measured).
    fn end_of_cycle(&self) -> usize {
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (place, node) in (0..).zip(&self.nodes) {
            node.before.iter().for_each(|(earlier, _)| after[*earlier as usize].push(place));
        }
        let mut seen = vec![false; self.nodes.len()];
        let mut on_the_way = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut way = vec![(start, 0)];
            while let Some((place, next)) = way.pop() {
                (seen[place], on_the_way[place]) = (true, true);
                match after[place].get(next).map(|later| *later as usize) {
                    Some(later) if on_the_way[later] => return self.nodes[place].node,
                    later => {
                        if later.is_some() {
                            way.push((place, next + 1));
                        } else {
                            on_the_way[place] = false;
                        }
                        way.extend(later.filter(|later| !seen[*later]).map(|later| (later, 0)));
                    }
                }
            }
        }
        0
    }
}
