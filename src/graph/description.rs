//! What objects of graphs are, in a few words: what can be told at once, without asking the driver or waiting for whoever changes the graph.

use super::GraphKind;
use super::definition::{GraphObject, NodeObject, NodeState, State};
use super::ids::GraphId;
use std::sync::Arc;

impl NodeObject {
    /// What the node does, or did last.
    #[cold]
    pub(crate) fn summary(&self) -> Option<String> {
        if let Some(last) = self.last() {
            return last.summary();
        }
        let tree = self.tree.upgrade()?;
        let state = tree.try_lock()?;
        let id = self.check_there().ok()?;
        state.node(id).parameters.summary()
    }
}

impl GraphObject {
    /// How many nodes it has.
    #[cold]
    pub(crate) fn summary(&self) -> Option<String> {
        let tree = Arc::clone(&self.definition.upgrade()?.tree);
        let state = tree.try_lock()?;
        state.graph_object(self.id)?;
        Some(in_words(count(&state, self.id, u32::MAX)))
    }

    /// Whether it is a child graph or a body, and not the whole.
    #[cold]
    pub(crate) fn is_part(&self) -> bool {
        self.kind != GraphKind::Root
    }
}

/// How many nodes of a graph have a number below this one.
pub(super) fn count(state: &State, graph: GraphId, before: u32) -> usize {
    let is_of = |node: &&NodeState| node.graph == graph && node.number < before && !node.is_hidden;
    state.nodes().map(|(_, node)| node).filter(is_of).count()
}

pub(super) fn in_words(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        more => format!("{more} nodes"),
    }
}
