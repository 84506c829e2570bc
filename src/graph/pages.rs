//! Handles of nodes: those of up to 32 nodes are a run, whose page is made when the first of them is asked for.

use super::contents::Contents;
use super::definition::{NodePage, NodeState, Pages, Tree};
use super::ids::NodeId;
use super::names::Names;
use super::record::Record;
use crate::object::handle::{Exhausted, PLACES, Page, Run, Token, kind};
use crate::op::node::NodeType;
use std::sync::{Arc, Weak};

/// What a handle tells of its node without the lock of the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct What {
    pub(super) number: u32,
    pub(super) node_type: NodeType,
    pub(super) is_removed: bool,
}

const REMOVED: u64 = 1 << 63;
const TYPE_SHIFT: u32 = 32;
const TYPE: u64 = (1 << 31) - 1;

impl What {
    fn bits(self) -> u64 {
        // Types have small numbers: one that needs all bits would be told as another that nobody knows either.
        let node_type = self.node_type.number() as u64 & TYPE;
        let removed = if self.is_removed { REMOVED } else { 0 };
        removed | node_type << TYPE_SHIFT | u64::from(self.number)
    }

    pub(super) fn of_bits(bits: u64) -> Self {
        let node_type = NodeType::of_number((bits >> TYPE_SHIFT & TYPE) as i32);
        Self { number: bits as u32, node_type, is_removed: bits & REMOVED != 0 }
    }
}

impl kind::Divided for kind::Node {
    type Page = NodePage;
}

impl Page for NodePage {
    type Kind = kind::Node;

    fn has_labels(&self) -> bool {
        self.names.are_any()
    }

    fn label(&self, what: u64) -> Option<Arc<str>> {
        self.names.label(What::of_bits(what).number)
    }

    fn set_label(&self, what: u64, label: Option<&str>) {
        self.names.set_label(What::of_bits(what).number, label.map(Arc::from));
    }

    #[cfg(feature = "capi")]
    fn identity(&self, what: u64) -> u64 {
        self.names.identity(What::of_bits(what).number)
    }
}

impl NodePage {
    /// The node in a place.
    pub(super) fn id(&self, place: usize) -> NodeId {
        NodeId(self.first + place as u32)
    }
}

/// Page and place of a node.
fn place(id: NodeId) -> (usize, usize) {
    (id.0 as usize / PLACES, id.0 as usize % PLACES)
}

impl Pages {
    pub(super) fn new(names: &Arc<Names>) -> Self {
        Self { names: Arc::clone(names), runs: Vec::new() }
    }

    /// The handle of a node, which is issued if it has none.
    #[inline]
    pub(super) fn handle(
        &mut self,
        tree: &Weak<Tree>,
        id: NodeId,
        node: &mut NodeState,
        contents: &Contents,
    ) -> Result<Token, Exhausted> {
        let (page, place) = place(id);
        let run = match self.runs.get(page) {
            Some(Some(run)) => run,
            _ => self.begin(tree, page)?,
        };
        if node.has_handle {
            return Ok(run.token(place));
        }
        (node.is_named, node.has_handle) = (true, true);
        let node_type = contents.get(id).map_or(NodeType::Empty, Record::node_type);
        Ok(run.issue(place, What { number: node.number, node_type, is_removed: false }.bits()))
    }

    #[cold]
    fn begin(&mut self, tree: &Weak<Tree>, page: usize) -> Result<&Run<NodePage>, Exhausted> {
        if page >= self.runs.len() {
            self.runs.resize_with(page + 1, || None);
        }
        let first = (page * PLACES) as u32;
        let run = Run::of(NodePage { tree: Weak::clone(tree), names: Arc::clone(&self.names), first })?;
        Ok(self.runs[page].insert(run))
    }

    /// The handle that a node has, which may have been removed.
    pub(super) fn known(&self, id: NodeId) -> Option<Token> {
        let (page, place) = place(id);
        Some(self.runs.get(page)?.as_ref()?.token(place))
    }

    /// The handle of a node that was removed tells so.
    pub(super) fn was_removed(&self, id: NodeId, number: u32, node_type: NodeType) {
        let (page, place) = place(id);
        if let Some(Some(run)) = self.runs.get(page) {
            run.change(place, What { number, node_type, is_removed: true }.bits());
        }
    }

    /// Ends the handle of a node that was removed. Answers whether another node can take its place.
    pub(super) fn end(&self, id: NodeId) -> bool {
        let (page, place) = place(id);
        self.runs.get(page).and_then(Option::as_ref).is_none_or(|run| run.end(place))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        Run::end_all(&mut self.runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_handle_tells_is_what_it_was_told() {
        for node_type in [NodeType::Empty, NodeType::Kernel, NodeType::Conditional, NodeType::Other(77)] {
            for (number, is_removed) in [(0, false), (u32::MAX, true), (7, true)] {
                let what = What { number, node_type, is_removed };
                assert_eq!(What::of_bits(what.bits()), what);
            }
        }
    }
}
