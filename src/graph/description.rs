//! What objects of graphs are, in a few words: what can be told at once, without asking the driver or waiting for whoever changes the graph.

use super::GraphKind;
use super::contents::Contents;
use super::definition::{GraphObject, NodePage};
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
            let known = state.find_number(id, number).map(|_| &state.record(id).parameters);
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
        Some(in_words(count(&state.contents, self.id)))
    }

    /// Whether it is a child graph or a body, and not the whole.
    #[cold]
    pub(crate) fn is_part(&self) -> bool {
        self.kind != GraphKind::Root
    }
}

/// How many nodes of a graph there are, but for those that nobody is told of.
pub(super) fn count(contents: &Contents, graph: GraphId) -> usize {
    contents.iter().filter(|(_, record)| record.graph == graph && !record.is_hidden).count()
}

pub(super) fn in_words(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        more => format!("{more} nodes"),
    }
}
