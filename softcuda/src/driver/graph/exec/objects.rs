//! The user objects that an exec keeps: those of its graph, and apart from them those of each graph in it, which can be exchanged.

use crate::driver::graph::definition::Graph;
use crate::driver::user_object::references::References;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Objects {
    own: References,
    /// Those of the graphs in nodes, by the nodes' handles.
    inner: BTreeMap<usize, Self>,
}

impl Objects {
    /// References of its own for an exec of the graph.
    pub(super) fn of(graph: &Graph) -> Self {
        let mut objects = Self { own: graph.objects(), inner: BTreeMap::new() };
        for node in graph.nodes() {
            let mut graphs = node.work().into_graphs().into_iter();
            if let Some(first) = graphs.next() {
                let mut inside = Self::of(&first);
                // Nobody exchanges bodies.
                graphs.for_each(|body| inside.append(Self::of(&body)));
                objects.inner.insert(node.handle, inside);
            }
        }
        objects
    }

    fn append(&mut self, other: Self) {
        self.own.append(other.own);
        self.inner.extend(other.inner);
    }

    /// As many references again, with another graph's in place of those of the graph in a node (measured).
    pub(super) fn with_child(&self, node: usize, graph: &Graph) -> Self {
        let mut objects = self.again(node);
        match objects.find(node) {
            Some(child) => *child = Self::of(graph),
            // It is within a child graph that was exchanged itself: the nodes of that are other ones.
            None => drop(objects.inner.insert(node, Self::of(graph))),
        }
        objects
    }

    /// As many references again, but for the graph in a node.
    fn again(&self, without: usize) -> Self {
        let again = |(node, inner): (&usize, &Self)| {
            let inner = if *node == without { Self::default() } else { inner.again(without) };
            (*node, inner)
        };
        Self { own: self.own.again(), inner: self.inner.iter().map(again).collect() }
    }

    fn find(&mut self, node: usize) -> Option<&mut Self> {
        if self.inner.contains_key(&node) {
            return self.inner.get_mut(&node);
        }
        self.inner.values_mut().find_map(|inner| inner.find(node))
    }

    /// A launch has kept them.
    pub(super) fn set_launched(&self) {
        self.own.set_launched();
        self.inner.values().for_each(Self::set_launched);
    }

    /// Gives them back; destructors are called before this returns. No lock may be held.
    pub(super) fn release(self) {
        self.own.release();
        self.inner.into_values().for_each(Self::release);
    }
}
