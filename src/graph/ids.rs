//! By what the parts of a definition are named in it.

/// How many nodes share a page.
pub(super) const PLACES: usize = 32;

/// A graph: the root, a child graph, or a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GraphId(pub(super) u32);

impl GraphId {
    pub(super) const ROOT: Self = Self(0);
}

/// A node of one of the graphs. Used again when the node was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub(super) u32);

/// A condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConditionId(pub(super) u32);
