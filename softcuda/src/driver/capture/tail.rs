//! What the next node of a capture follows.

use crate::abi::sys::CUgraphEdgeData;

/// An edge that says nothing.
const PLAIN: CUgraphEdgeData = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

/// A node, by its handle, and what the edge from it says.
#[derive(Clone, Copy)]
pub(crate) struct Dependency {
    pub(crate) node: usize,
    pub(crate) data: CUgraphEdgeData,
}

/// Nodes, none of them twice, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Tail(Vec<Dependency>);

impl Tail {
    /// The node alone.
    pub(crate) fn behind(node: usize) -> Self {
        Self(vec![Dependency { node, data: PLAIN }])
    }

    /// Adds one. Of a node that is there already the edge stays as it is (measured).
    pub(crate) fn add(&mut self, dependency: Dependency) {
        if self.0.iter().all(|known| known.node != dependency.node) {
            self.0.push(dependency);
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        other.0.iter().for_each(|dependency| self.add(*dependency));
    }

    pub(crate) fn items(&self) -> &[Dependency] {
        &self.0
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> Vec<usize> {
        self.0.iter().map(|dependency| dependency.node).collect()
    }
}

impl FromIterator<Dependency> for Tail {
    fn from_iter<I: IntoIterator<Item = Dependency>>(items: I) -> Self {
        let mut tail = Self::default();
        items.into_iter().for_each(|dependency| tail.add(dependency));
        tail
    }
}
