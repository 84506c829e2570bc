//! What is in a graph.

use super::running::{UNTOUCHED, untouched};
use super::scene::Scene;
use crate::driver::{Answer, Given, call};
use crate::nodes::nodes;
use cushim::driver::sys::{CUgraph, CUgraphNode, CUgraphNodeType};
use std::ptr::null_mut;

impl Scene {
    pub(super) fn nodes(&self, graph: CUgraph) -> Given<Vec<CUgraphNode>> {
        nodes(&self.cu, graph)
    }

    /// The first node.
    pub(super) fn first(&self, graph: CUgraph) -> Given<CUgraphNode> {
        self.nodes(graph)?.first().copied().ok_or_else(|| "cannot ask: there is no node".into())
    }

    /// How many nodes there are.
    pub(super) fn count(&self, graph: CUgraph) -> Answer {
        let mut count = 0;
        call!(self.cu, cuGraphGetNodes_10000(graph, null_mut(), &raw mut count)).then(|| count)
    }

    /// How many edges there are.
    pub(super) fn edge_count(&self, graph: CUgraph) -> Answer {
        let mut count = 0;
        call!(self.cu, cuGraphGetEdges_10000(graph, null_mut(), null_mut(), &raw mut count)).then(|| count)
    }

    pub(super) fn node_type(&self, node: CUgraphNode) -> Answer {
        let mut kind = CUgraphNodeType(UNTOUCHED);
        call!(self.cu, cuGraphNodeGetType_10000(node, &raw mut kind)).then(|| kind.0)
    }

    /// A node by its place in one of some graphs.
    pub(super) fn place(&self, node: CUgraphNode, graphs: &[(&str, CUgraph)]) -> String {
        if node.is_null() {
            return "none".to_owned();
        }
        if node == untouched() {
            return "untouched".to_owned();
        }
        let place = graphs.iter().find_map(|(name, graph)| {
            let at = self.nodes(*graph).ok()?.iter().position(|one| *one == node)?;
            Some(format!("{name} {at}"))
        });
        place.unwrap_or_else(|| "another".to_owned())
    }
}
