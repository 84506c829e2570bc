//! What handles of graphs name.
//!
//! The objects belong to their definition and hold nothing of it. Who holds a definition is told apart from its objects:
//! [`Graph`](super::Graph) does, and so does each claim on a graph.

use super::definition::{Definition, Gone, GraphObject};
use super::ids::GraphId;
use super::kind::GraphKind;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
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
