//! What objects of graphs are, in a few words: what can be told at once, without asking the driver or waiting for whoever changes the graph.

use super::GraphKind;
use super::definition::{GraphObject, NodePage, NodeState, State};
use super::ids::GraphId;
use super::pages::What;
use super::state::name;
use crate::object::handle::Part;
use std::sync::Arc;

impl NodePage {
    /// The node that a handle names: what it is called, and what it does, or did last.
    #[cold]
    pub(crate) fn in_words(part: &Part<'_, Self>) -> (String, Option<String>) {
        let What { number, node_type, is_removed } = What::of_bits(part.what());
        let page = part.page();
        let node = name(node_type, number, page.names.label(number).as_deref());
        let summary = page.tree.upgrade().and_then(|tree| {
            let (state, id) = (tree.try_lock()?, page.id(part.place()));
            let known = state.find_number(id, number).map(|node| &node.parameters);
            known.or_else(|| state.last_of(id, number))?.summary()
        });
        (format!("{}{node}", if is_removed { "removed " } else { "" }), summary)
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
