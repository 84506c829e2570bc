//! Copies of graphs, with all that is in them.

use super::content::Content;
use super::{GRAPHS, Graph, NODES, NOT_CAPTURED, Node, Work};
use crate::driver::graph::leaf::Leaf;
use crate::driver::handle::reserve;
use std::collections::HashMap;
use std::sync::Arc;

impl Graph {
    /// A copy, whose nodes have the same numbers, and which has references of its own to what the graph keeps.
    pub(crate) fn duplicate(&self) -> Arc<Self> {
        let source = self.content.lock();
        let copy = Arc::new(Self::build(reserve(1).next().unwrap_or_default(), NOT_CAPTURED));
        let mut content = copy.content.lock();
        let mut copies = HashMap::with_capacity(source.nodes.len());
        let mut nodes = Vec::with_capacity(source.nodes.len());
        for (original, handle) in source.nodes.values().zip(reserve(source.nodes.len())) {
            let work = match original.work() {
                Work::Leaf(leaf) => Work::Leaf(for_copy(leaf)),
                Work::Child(inner) => Work::Child(inner.duplicate()),
                // Refused before; one that was added meanwhile is left out.
                Work::Conditional(_) => continue,
            };
            nodes.push((handle, copy.insert(&mut content, handle, original.number, work)));
            copies.insert(original.handle, handle);
        }
        copy_edges(&source, &mut content, &copies);
        content.order_last_as(&source, &copies);
        content.continue_numbers(&source);
        content.copies = copies;
        content.objects = source.objects.again();
        drop(content);
        NODES.insert(nodes);
        GRAPHS.insert([(copy.handle, Arc::clone(&copy))]);
        copy
    }

    /// The node of this graph, which is a copy, that is the copy of another graph's.
    pub(crate) fn copy_of(&self, original: &Node) -> Option<Arc<Node>> {
        let content = self.content.lock();
        content.node(*content.copies.get(&original.handle)?)
    }
}

/// What a node does that is the copy of another one.
fn for_copy(leaf: Arc<Leaf>) -> Arc<Leaf> {
    match &*leaf {
        Leaf::Kernel(kernel) if leaf.is_updatable() => {
            let copy = kernel.with_attributes(kernel.attributes.of_copy());
            copy.map_or_else(|_| Arc::clone(&leaf), |copy| Arc::new(Leaf::Kernel(copy)))
        }
        _ => leaf,
    }
}

/// Node by node: each follows the same ones in the same order, and is followed in the order of nodes (measured).
fn copy_edges(from: &Content, to: &mut Content, copies: &HashMap<usize, usize>) {
    for later in from.nodes.keys() {
        for (earlier, data) in from.before(*later) {
            if let (Some(earlier), Some(later)) = (copies.get(&earlier), copies.get(later)) {
                to.connect(*earlier, *later, data);
            }
        }
    }
}
