//! Graphs: work that is described once and launched again and again.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::graph::{Exec, ExecOptions, Graph};
//! use cushim::op::{Memset, Value};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let buffer = context.device().allocate(64, Some(&stream))?;
//! let graph = Graph::create(&context)?;
//! // SAFETY: the graph keeps the buffer, which has 64 bytes.
//! let (first, ()) = unsafe { graph.add(&[], &mut Memset::new(buffer.at(0), Value::U8(1), 64)) }?;
//! // SAFETY: as above; the second node comes after the first.
//! unsafe { graph.add(&[&first], &mut Memset::new(buffer.at(0), Value::U8(2), 32)) }?;
//! let exec = Exec::create(&graph, &ExecOptions::default(), None)?;
//! for _ in 0..2 {
//!     // SAFETY: nobody else uses the buffer meanwhile.
//!     unsafe { exec.launch(&stream) }?;
//! }
//! stream.synchronize()?;
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! A [`Graph`] is a definition: operations ([`op`](crate::op)) as nodes, and edges that say which comes after which. It keeps
//! alive what its nodes use. What is instantiated from it, an [`Exec`], is launched in a stream.

// | file | concept |
// |---|---|
// | `definition`, `ids`, `kind` | a definition and all that is in it, as data; by what its parts are named; what sorts there are |
// | `tree`, `state` | its lock, and who holds it; what is known of its graphs and nodes |
// | `contents` | what nodes do, and what they keep for that: pages that definitions, clones and execs share |
// | `by_node`, `by_address` | what is known by node, and by native handle |
// | `outline` | the nodes in the driver's order |
// | `object` | what handles of graphs name |
// | `pages`, `names`, `node_name` | handles of nodes; what nodes are called; a node as it is named |
// | `add`, `predecessors`, `remove`, `set` | nodes are added, removed and changed |
// | `edges`, `cycle`, `present` | which node comes after which; lists of edges that would close a cycle, or are there |
// | `read`, `foreign`, `below` | what a node does; nodes that others made; graphs below nodes |
// | `within`, `inner` | the graphs in a node; child graphs and bodies by their native handles |
// | `lent` | a graph for the time of a call |
// | `owner` | owners of a node |
// | `keeping` | who keeps what nodes use: the definition, or the driver's graph |
// | `kept` | which operands of a page its nodes keep |
// | `child`, `moved`, `copy` | graphs in graphs, as copies and moved; copies of graphs |
// | `condition`, `conditional` | conditions, and the nodes that look at them |
// | `depth` | how deep graphs stand in each other |
// | `restriction`, `refusal` | what a graph cannot hold, and why the driver refuses something |
// | `setters` | kernels that set conditions of graphs around theirs |
// | `updatable` | kernel nodes that kernels update |
// | `unasked` | captured nodes that the driver was not asked for yet |
// | `exec`, `instance` | what is instantiated from a definition; as the definition knows it |
// | `builder`, `recorder` | graphs that are captured from streams; a capture, as the definition knows it |
// | `memory` | the memory that a device keeps for graphs |

mod add;
mod attributes;
mod below;
mod builder;
mod by_address;
mod by_node;
mod child;
mod condition;
mod conditional;
mod contents;
mod copy;
mod cycle;
mod definition;
mod depth;
mod derived;
mod description;
mod edges;
mod exec;
mod foreign;
mod ids;
mod inner;
mod instance;
mod json;
mod keeping;
mod kept;
mod kind;
#[cfg(feature = "capi")]
mod lent;
mod memory;
mod moved;
mod names;
mod node;
mod node_name;
mod object;
mod ordered;
mod outline;
mod owner;
mod page;
mod pages;
mod predecessors;
mod present;
mod read;
mod record;
mod recorder;
mod refusal;
mod relations;
mod remove;
mod restriction;
mod set;
mod setters;
mod state;
mod tree;
mod unasked;
mod updatable;
mod within;

#[cfg(feature = "capi")]
pub(crate) use crate::driver::calls::graph::query::Toward;
#[cfg(feature = "capi")]
pub(crate) use add::Added;
#[cfg(feature = "capi")]
pub(crate) use builder::BuilderObject;
pub use builder::{Builder, BuilderKind, BuilderOptions, BuilderState, CaptureMode, Embedding};
pub use condition::{Condition, ConditionOptions};
#[cfg(feature = "capi")]
pub(crate) use definition::ConditionObject;
pub(crate) use definition::GraphObject;
#[cfg(feature = "capi")]
pub(crate) use definition::NodePage;
#[cfg(feature = "capi")]
pub(crate) use edges::EdgeOf;
pub use edges::{Edge, EdgeData};
#[cfg(feature = "capi")]
pub(crate) use exec::ExecObject;
pub use exec::{Exec, ExecOptions, InstantiateFailure, InstantiateReason, UpdateFailure, UpdateReason};
pub use json::JsonOptions;
pub use kind::{ConditionalKind, GraphKind};
pub use memory::GraphMemory;
pub use node::Node;
#[cfg(feature = "capi")]
pub(crate) use node_name::NodeName;
#[cfg(feature = "capi")]
pub(crate) use predecessors::Predecessors;

use crate::context::Context;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::{Driver, file, sys};
use crate::object::error::{Error, Status};
use crate::object::owning::{Ownership, Taking};
use definition::{Definition, State, Tree};
use parking_lot::MutexGuard;
use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

/// A graph: the whole of a definition, the graph of a child graph node, or a body of a conditional node. Each of them holds the
/// whole definition.
///
/// Every function may be called from every thread; those that edit one definition wait for each other.
#[derive(Clone)]
pub struct Graph {
    definition: Arc<Definition>,
    object: Arc<GraphObject>,
}

impl Graph {
    /// Creates an empty graph. Its nodes run in the context, whichever is current, unless they name another one.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(context: &Context) -> Result<Self, Error> {
        context.check_there(context)?;
        let native = RawGraph::create(context.table()).map_err(|error| context.failed(error, context))?;
        Ok(Self::new(context, native, Ownership::Owned))
    }

    /// Takes in a graph that somebody else made; if there is an object of it already, one more hold on that.
    ///
    /// Nodes in it that this library did not add are known by what the driver says of them.
    ///
    /// # Safety
    /// `native` is a graph of the driver, alive until the last object that is part of it, or was instantiated from it, is gone;
    /// nobody removes nodes of it otherwise, or edits it at the same time. If it is to be owned, nobody else destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL, or is to be owned and is owned already, or part of another graph.
    pub unsafe fn wrap(context: &Context, native: sys::CUgraph, ownership: Ownership) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in(context, native, ownership.into()) }
    }

    /// As [`wrap`](Self::wrap).
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in(
        context: &Context,
        native: sys::CUgraph,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native graph is NULL"));
        }
        loop {
            let known = Tree::known(context.driver(), native);
            if let Some(tree) = &known
                && let Some(definition) = tree.wrap_again(taking)?
            {
                return Ok(Self { definition, object: Arc::clone(tree.root()) });
            }
            if let Some((definition, object)) = inner::wrap_again(context.driver(), native, taking)? {
                return Ok(Self { definition, object });
            }
            // SAFETY: the caller vouches for the handle.
            let raw = unsafe { RawGraph::adopt(context.table(), native) };
            if let Some((definition, object)) = Tree::around_foreign(context, raw, known.as_ref()) {
                // Another thread may have found it since, and may own it.
                definition.tree.wrap_again(taking)?;
                return Ok(Self { definition, object });
            }
        }
    }

    fn new(context: &Context, native: RawGraph, ownership: Ownership) -> Self {
        let (definition, object) = Tree::around(context, native, ownership);
        Self { definition, object }
    }

    /// The graph that a handle names.
    #[cfg(feature = "capi")]
    pub(crate) fn of(object: &Arc<GraphObject>) -> Result<Self, Error> {
        Ok(Self { definition: object.definition()?, object: Arc::clone(object) })
    }

    /// What handles of it name.
    #[cfg(feature = "capi")]
    pub(crate) fn object(&self) -> &Arc<GraphObject> {
        &self.object
    }

    /// The context in which its nodes run, unless they name another one.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.definition.tree.context()
    }

    /// The driver that the graph belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.definition.tree.driver()
    }

    /// What the graph is in its definition.
    #[must_use]
    pub fn kind(&self) -> GraphKind {
        self.object.kind
    }

    /// The driver's own handle. What nodes keep the driver's graph keeps from now on, for copies that others make of it.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; the driver's.
    pub fn native(&self) -> Result<sys::CUgraph, Error> {
        let mut state = self.lock()?;
        self.definition.tree.share(&mut state)?;
        Ok(state.graph(self.object.id).native.handle())
    }

    /// Writes the graph as text for Graphviz; `flags` are the driver's `CU_GRAPH_DEBUG_DOT_FLAGS_*`.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; `CUDA_ERROR_OPERATING_SYSTEM` if the file cannot be written;
    /// [`Status::INVALID_ARGUMENT`] for a pipe that nobody reads; the driver's.
    pub fn write_dot(&self, path: &CStr, flags: u32) -> Result<(), Error> {
        let _pipe = file::keep_pipe(&file::path(path)).map_err(|error| {
            let refusal = format!("the file {} cannot be written: {error}", path.to_string_lossy());
            Error::new(Status::INVALID_ARGUMENT, refusal).about(self.object.as_ref())
        })?;
        let state = self.lock()?;
        self.definition.tree.check_contexts(&state, self.object.as_ref())?;
        state.graph(self.object.id).native.write_dot(path, flags).map_err(|error| {
            let mut failure = self.definition.tree.failed(error, self.object.as_ref());
            failure.message.push_str(&format!(". The file was to be {}", path.to_string_lossy()));
            failure
        })
    }

    /// The number by which the driver's tools tell graphs apart; driver 13.1.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; [`Status::UNSUPPORTED`] before driver 13.1.
    pub fn id(&self) -> Result<u32, Error> {
        let state = self.lock()?;
        let id = state.graph(self.object.id).native.id();
        id.map_err(|error| self.definition.tree.failed(error, self.object.as_ref()))
    }

    /// Names the graph in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.object.header().set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.object.header().label()
    }

    /// The same once more; refused if the graph was removed, or moved.
    fn still_there(&self) -> Result<Self, Error> {
        if self.object.is_gone() { Err(self.object.refusal()) } else { Ok(self.clone()) }
    }

    /// These graphs, which the definition of this one has.
    fn beside(&self, objects: Vec<Arc<GraphObject>>) -> Vec<Self> {
        let graph = |object| Self { definition: Arc::clone(&self.definition), object };
        objects.into_iter().map(graph).collect()
    }

    /// Keeps others from editing; refused if the graph was removed, and while any part of the definition is recaptured.
    fn lock(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.definition.tree.lock();
        self.check_usable()?;
        Ok(state)
    }

    /// Refuses a graph that was removed, and one of which any part of the definition is recaptured. Asked under the lock.
    fn check_usable(&self) -> Result<(), Error> {
        self.object.check_there()?;
        self.definition.tree.root().check_usable()
    }

    /// The same for whoever adds to it; refused while any part of the definition is recaptured.
    #[inline(always)]
    fn lock_to_edit(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.definition.tree.lock_to_edit()?;
        self.object.check_there()?;
        Ok(state)
    }
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

impl Eq for Graph {}

impl std::hash::Hash for Graph {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.object.hash(state);
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({self})")
    }
}
