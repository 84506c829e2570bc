//! One node.

#[cfg(feature = "capi")]
use super::definition::NodePage;
use super::definition::{Definition, GraphObject, State, Tree};
use super::ids::NodeId;
use super::node_name::NodeName;
#[cfg(feature = "capi")]
use super::pages::What;
#[cfg(feature = "capi")]
use super::state::name;
use super::{Graph, foreign, read};
use crate::context::Context;
use crate::driver::calls::graph::query;
use crate::driver::sys::{self, CUgraphNode};
use crate::driver::{CallError, Table};
use crate::object::error::{Error, Status};
#[cfg(feature = "capi")]
use crate::object::handle::{Part, Token};
use crate::op::node::{NodeType, Parameters};
use std::fmt;
use std::sync::Arc;

/// A node of a graph. It holds the definition as long as it exists, and not what that keeps alive for its nodes.
///
/// What a node did that was removed a graph tells of the 4,096 nodes and graphs that were removed last.
#[derive(Clone)]
pub struct Node {
    pub(super) tree: Arc<Tree>,
    id: NodeId,
    number: u32,
    node_type: NodeType,
}

impl Graph {
    /// The node whose child graph or body it is; `None` for the root.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed.
    pub fn parent(&self) -> Result<Option<Node>, Error> {
        let mut state = self.lock()?;
        let parent = state.graph(self.object.id).parent;
        Ok(parent.map(|parent| Node::of(&self.definition.tree, &mut state, parent)))
    }

    /// The nodes, in the driver's order.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; the driver's.
    pub fn nodes(&self) -> Result<Vec<Node>, Error> {
        let tree = &self.definition.tree;
        let mut state = self.lock()?;
        let nodes = foreign::list(tree, &mut state, self.object.id)?;
        Ok(nodes.into_iter().map(|id| Node::of(tree, &mut state, id)).collect())
    }

    /// What a handle names, if that is a node of the definition.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn named(&self, part: &Part<'_, NodePage>) -> Option<NodeName<'_>> {
        NodeName::of_part(part, &self.definition.tree)
    }
}

impl Node {
    pub(super) fn of(tree: &Arc<Tree>, state: &mut State, id: NodeId) -> Self {
        let node_type = state.node_type(id);
        let node = state.node_mut(id);
        node.is_named = true;
        Self { tree: Arc::clone(tree), id, number: node.number, node_type }
    }

    /// The node that a handle names; refused if nobody holds its definition, nor anything that was instantiated from it.
    #[cfg(feature = "capi")]
    pub(crate) fn of_part(part: &Part<'_, NodePage>) -> Result<Self, Error> {
        let What { number, node_type, .. } = What::of_bits(part.what());
        let tree = part.page().tree.upgrade().ok_or_else(|| {
            let node = name(node_type, number, part.page().names.label(number).as_deref());
            Error::new(Status::INVALID_HANDLE, format!("the graph of {node} was destroyed"))
        })?;
        Ok(Self { tree, id: part.page().id(part.place()), number, node_type })
    }

    /// Refuses a handle whose node was removed, without the lock of the definition.
    #[cfg(feature = "capi")]
    pub(crate) fn check_part(part: &Part<'_, NodePage>) -> Result<(), Error> {
        match What::of_bits(part.what()).is_removed {
            true => Err(Self::of_part(part)?.name().gone(Status::INVALID_HANDLE)),
            false => Ok(()),
        }
    }

    /// Its handle, which is issued if it has none.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed before it had one; that there are too many handles.
    #[cfg(feature = "capi")]
    pub(crate) fn handle(&self) -> Result<Token, Error> {
        let mut state = self.tree.lock_unasked();
        match self.name().check_there(&state) {
            Ok(id) => Ok(self.tree.handle_of(&mut state, id)?),
            Err(gone) => state.handle_of_removed(self.number).ok_or(gone),
        }
    }

    /// By what it is named.
    #[inline]
    pub(crate) fn name(&self) -> NodeName<'_> {
        let Self { tree, id, number, node_type } = self;
        NodeName { tree, id: *id, number: *number, node_type: *node_type }
    }

    /// Refuses a node that was removed.
    pub(super) fn check_there(&self) -> Result<(), Error> {
        self.name().check_there(&self.tree.lock_unasked()).map(drop)
    }

    /// What sort of node it is, or was.
    #[must_use]
    pub fn node_type(&self) -> NodeType {
        self.node_type
    }

    /// Refuses nodes that the driver is too old for.
    #[cfg(feature = "capi")]
    pub(crate) fn check_version(&self, wanted: NodeType) -> Result<(), Error> {
        super::restriction::check_version(&self.tree, wanted)
    }

    /// Refuses what is for nodes of another type.
    pub(crate) fn check_type(&self, wanted: NodeType) -> Result<(), Error> {
        if self.node_type() == wanted { Ok(()) } else { Err(self.of_another_type(wanted)) }
    }

    /// The refusal of what is for nodes of another type.
    #[cold]
    pub(crate) fn of_another_type(&self, wanted: NodeType) -> Error {
        Error::new(Status::INVALID_ARGUMENT, format!("{self} is no {wanted}"))
    }

    /// The graph that it is a node of.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed, or nobody holds the definition any
    /// more.
    pub fn graph(&self) -> Result<Graph, Error> {
        let state = self.tree.lock();
        let id = self.name().check_there(&state)?;
        let object = Arc::clone(&state.graph(state.node(id).graph).object);
        drop(state);
        Self::hold(object)
    }

    fn hold(object: Arc<GraphObject>) -> Result<Graph, Error> {
        Ok(Graph { definition: object.definition()?, object })
    }

    /// The graphs in it: of a child graph node one, of a conditional node its bodies.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed, or nobody holds the definition any
    /// more.
    pub fn graphs(&self) -> Result<Vec<Graph>, Error> {
        let state = self.tree.lock();
        let id = self.name().check_there(&state)?;
        let inner = &state.node(id).inner;
        let objects: Vec<_> = inner.iter().map(|graph| Arc::clone(&state.graph(*graph).object)).collect();
        drop(state);
        objects.into_iter().map(Self::hold).collect()
    }

    /// The driver's own handle, by which others can have the driver's graph, too ([`Graph::native`]).
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed; the driver's.
    pub fn native(&self) -> Result<sys::CUgraphNode, Error> {
        let mut state = self.tree.lock();
        let id = self.name().check_there(&state)?;
        self.tree.share(&mut state)?;
        Ok(state.node(id).native)
    }

    /// The number of the node in its graph, which its clones and instances have too (`cuGraphNodeGetLocalId`); driver 13.1.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed;
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) before driver 13.1.
    pub fn id(&self) -> Result<u32, Error> {
        // SAFETY: `ask` names a node that is there.
        self.ask(|table, native| unsafe { query::local_id(table, native) })
    }

    /// The number by which profilers tell nodes of the process apart (`cuGraphNodeGetToolsId`); driver 13.1.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    pub fn tools_id(&self) -> Result<u64, Error> {
        // SAFETY: as above.
        self.ask(|table, native| unsafe { query::tools_id(table, native) })
    }

    pub(super) fn ask<R>(
        &self,
        question: impl FnOnce(&Table, CUgraphNode) -> Result<R, CallError>,
    ) -> Result<R, Error> {
        let state = self.tree.lock();
        let native = state.node(self.name().check_there(&state)?).native;
        question(self.tree.table(), native).map_err(|error| self.tree.failed(error, &self.name()))
    }

    /// Holds the definition for whoever changes the node; refused if the node was removed, or nobody holds the definition any more.
    pub(super) fn hold_definition(&self) -> Result<Arc<Definition>, Error> {
        self.check_there()?;
        self.tree.hold(&self.name())
    }

    /// The context in which it runs.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed.
    pub fn context(&self) -> Result<Context, Error> {
        let state = self.tree.lock();
        let own = state.contents.context(self.name().check_there(&state)?);
        Ok(own.unwrap_or(self.tree.context()).clone())
    }

    /// The context in which it runs, or that of its graph if it was removed.
    #[cfg(feature = "capi")]
    pub(crate) fn last_context(&self) -> Context {
        self.context().unwrap_or_else(|_| self.tree.context().clone())
    }

    /// Shows what the node does, or did last if it was removed. Of a node that others made, what the driver says.
    ///
    /// # Errors
    /// The driver's; [`Status::INVALID_HANDLE`] if the node was removed before 4,096 others.
    pub fn with_parameters<R>(&self, look: impl FnOnce(&Parameters) -> R) -> Result<R, Error> {
        let (state, name) = (self.tree.lock(), self.name());
        if let Some(last) = name.last(&state).cloned() {
            drop(state);
            return Ok(look(&last));
        }
        let id = name.check_there(&state)?;
        if !state.record(id).is_ours {
            self.tree.check_contexts(&state, &name)?;
        }
        read::with_parameters(&self.tree, &state, id, look).map_err(|error| self.tree.failed(error, &name))
    }

    /// Names the node in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.tree.names.set_label(self.number, label.map(Arc::from));
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.tree.names.label(self.number)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tree, &other.tree) && self.number == other.number
    }
}

impl Eq for Node {}

impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.tree), self.number).hash(state);
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({self})")
    }
}
