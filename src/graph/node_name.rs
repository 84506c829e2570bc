//! A node as a handle or a [`Node`](super::Node) names it: by its place in a definition, and the number that it has there.

#[cfg(feature = "capi")]
use super::definition::NodePage;
use super::definition::{State, Tree};
use super::ids::NodeId;
#[cfg(feature = "capi")]
use super::pages::What;
use super::state::name;
use crate::object::error::{Error, Status, Subject};
#[cfg(feature = "capi")]
use crate::object::handle::Part;
use crate::op::node::{NodeType, Parameters};
use std::fmt;
use std::sync::Arc;

/// A node by what names it. Whether it is still there is to be asked under the lock of its definition.
#[derive(Clone, Copy)]
pub(crate) struct NodeName<'a> {
    pub(super) tree: &'a Tree,
    pub(super) id: NodeId,
    pub(super) number: u32,
    pub(super) node_type: NodeType,
}

#[cfg(feature = "capi")]
impl<'a> NodeName<'a> {
    /// The name of what a handle names, if that is a node of this definition.
    #[inline]
    pub(super) fn of_part(part: &Part<'_, NodePage>, tree: &'a Tree) -> Option<Self> {
        let page = part.page();
        if !std::ptr::eq(page.tree.as_ptr(), tree) {
            return None;
        }
        let What { number, node_type, .. } = What::of_bits(part.what());
        Some(Self { tree, id: page.id(part.place()), number, node_type })
    }
}

impl NodeName<'_> {
    /// What sort of node it is, or was.
    #[inline]
    pub(crate) fn node_type(&self) -> NodeType {
        self.node_type
    }

    /// Whether it is, or was, a node of this definition.
    #[inline]
    pub(super) fn is_in(&self, tree: &Tree) -> bool {
        std::ptr::eq(self.tree, tree)
    }

    /// Which node it is; refused if it was removed. Asked under the lock of its definition.
    #[inline]
    pub(super) fn check_there(&self, state: &State) -> Result<NodeId, Error> {
        if self.is_there(state) { Ok(self.id) } else { Err(self.gone(Status::INVALID_HANDLE)) }
    }

    #[inline]
    pub(super) fn is_there(&self, state: &State) -> bool {
        state.find_number(self.id, self.number).is_some()
    }

    /// The same for whoever has not locked its definition, and another one perhaps: of one that is edited just now nobody can tell.
    #[cold]
    pub(super) fn check_elsewhere(&self) -> Result<(), Error> {
        self.tree.try_lock().map_or(Ok(()), |state| self.check_there(&state).map(drop))
    }

    /// What it did last, if it was removed, and not so many others since that nobody tells any more.
    pub(super) fn last<'s>(&self, state: &'s State) -> Option<&'s Parameters> {
        state.last_of(self.id, self.number)
    }

    #[cold]
    pub(super) fn gone(&self, status: Status) -> Error {
        Error::new(status, format!("{self} was removed from its graph, or moved with it")).about(self)
    }
}

impl Subject for NodeName<'_> {
    fn label(&self) -> Option<Arc<str>> {
        self.tree.names.label(self.number)
    }
}

impl fmt::Display for NodeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.node_type, self.number, self.label().as_deref()))
    }
}
