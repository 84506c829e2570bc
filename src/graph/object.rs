//! What handles of graphs, nodes and conditions name.
//!
//! The objects belong to their definition and hold nothing of it. Who holds a definition is told apart from its objects:
//! [`Graph`](super::Graph) does, and so does each claim on a graph.

use super::definition::{Definition, Gone, GraphObject, NodeObject, Tree};
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::in_place::arc_of;
use crate::op::node::{NodeType, Parameters};
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

object!(GraphObject: Graph, header, claimed, let_go);

impl GraphObject {
    pub(super) fn new(definition: &Weak<Definition>, id: GraphId, kind: GraphKind) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new::<Self>(),
            definition: Weak::clone(definition),
            id,
            kind,
            gone: OnceLock::new(),
            is_captured: AtomicBool::new(false),
            claims: Mutex::default(),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The definition that the graph is part of; refused if nobody holds it any more, or the graph was removed.
    pub(super) fn definition(&self) -> Result<Arc<Definition>, Error> {
        let definition = self.definition.upgrade().filter(|_| !self.is_gone());
        definition.ok_or_else(|| self.refusal())
    }

    #[cold]
    pub(super) fn refusal(&self) -> Error {
        let why = match self.gone.get() {
            Some(Gone::Moved) => "became the child graph of a node, whose handles are others",
            Some(Gone::Abandoned) => "was being captured, and its capture ended without a graph",
            Some(Gone::Removed) => "was removed with the node that it belonged to",
            None => "was destroyed; what was instantiated from it goes on, and cannot be edited",
        };
        Error::new(Status::INVALID_HANDLE, format!("{self} {why}")).about(self)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.get().is_some()
    }

    pub(super) fn was_removed(&self) {
        let _ = self.gone.set(Gone::Removed);
    }

    pub(super) fn was_abandoned(&self) {
        let _ = self.gone.set(Gone::Abandoned);
    }

    pub(super) fn was_moved(&self) {
        let _ = self.gone.set(Gone::Moved);
    }

    /// Whether it is being recaptured from now on.
    pub(super) fn set_captured(&self, is_captured: bool) {
        self.is_captured.store(is_captured, Relaxed);
    }

    /// Refuses a graph that is gone, and one that is being recaptured. Asked under the lock of its definition.
    pub(super) fn check_usable(&self) -> Result<(), Error> {
        self.check_there()?;
        self.check_not_captured()
    }

    /// Refuses a graph that is gone.
    pub(crate) fn check_there(&self) -> Result<(), Error> {
        if self.is_gone() { Err(self.refusal()) } else { Ok(()) }
    }

    /// Refuses a graph that is being recaptured.
    #[inline]
    fn check_not_captured(&self) -> Result<(), Error> {
        if self.is_captured.load(Relaxed) { Err(self.captured()) } else { Ok(()) }
    }

    #[cold]
    fn captured(&self) -> Error {
        let refusal = format!("{self} is being recaptured; end that capture (cushim_builder_end) first");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    /// One more owning handle names the graph.
    fn claimed(&self) {
        let mut claims = self.claims.lock();
        claims.count += 1;
        if claims.definition.is_none() {
            claims.definition = self.definition.upgrade();
        }
    }

    /// What one held is let go of.
    fn let_go(&self) {
        let mut claims = self.claims.lock();
        claims.count -= 1;
        let last = if claims.count == 0 { claims.definition.take() } else { None };
        drop(claims);
        drop(last); // outside of the lock: the definition may end with it
    }
}

impl fmt::Display for GraphObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            GraphKind::Root => f.write_str("graph")?,
            GraphKind::Child => f.write_str("child graph")?,
            GraphKind::Body(index) => write!(f, "body {index}")?,
        }
        match self.header.label() {
            Some(label) => write!(f, " \"{label}\""),
            None => Ok(()),
        }
    }
}

object!(NodeObject: Node, header);

impl NodeObject {
    #[inline]
    pub(super) fn new(tree: &Weak<Tree>, id: NodeId, node_type: NodeType, number: u32) -> Arc<Self> {
        arc_of(|| Self {
            header: Header::new::<Self>(),
            tree: Weak::clone(tree),
            id,
            node_type,
            number,
            last: OnceLock::new(),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// What sort of node it is.
    pub(crate) fn node_type(&self) -> NodeType {
        self.node_type
    }

    /// What it did last, if it was removed.
    pub(crate) fn last(&self) -> Option<&Parameters> {
        self.last.get().map(Box::as_ref)
    }

    pub(super) fn was_removed(&self, last: Parameters) {
        let _ = self.last.set(Box::new(last));
    }

    /// Where the node stands; refused if nobody holds its definition, nor anything that was instantiated from it.
    pub(super) fn tree(&self) -> Result<Arc<Tree>, Error> {
        self.tree.upgrade().ok_or_else(|| {
            Error::new(Status::INVALID_HANDLE, format!("the graph of {self} was destroyed")).about(self)
        })
    }

    /// Refuses a node that was removed. Asked under the lock of its definition.
    #[inline]
    pub(super) fn check_there(&self) -> Result<NodeId, Error> {
        if self.last.get().is_some() { Err(self.gone(Status::INVALID_HANDLE)) } else { Ok(self.id) }
    }

    /// The same for whoever need not know which node it is.
    #[cfg(feature = "capi")]
    pub(crate) fn check_not_removed(&self) -> Result<(), Error> {
        self.check_there().map(drop)
    }

    #[cold]
    pub(super) fn gone(&self, status: Status) -> Error {
        Error::new(status, format!("{self} was removed from its graph, or moved with it")).about(self)
    }
}

impl fmt::Display for NodeObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "{} \"{label}\"", self.node_type),
            None => write!(f, "{} {}", self.node_type, self.number),
        }
    }
}
