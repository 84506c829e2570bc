//! What is instantiated from a definition.
//!
//! | file | concept |
//! |---|---|
//! | `instantiate` | definitions are instantiated |
//! | `update` | instances take over another definition's parameters |
//! | `child` | the child graph of a node takes over another graph's parameters, in this instance only |
//! | `set`, `rebind`, `uses` | nodes are changed in this instance only: one, or all that use something |
//! | `own`, `taken` | what nodes do here, where that is not what the definition says |
//! | `retired` | what was kept for nodes until they were changed |
//! | `due` | what the driver releases after an instance was destroyed |
//! | `watched` | whether the memory of nodes is still there, where somebody asked for that check |
//! | `enabled` | nodes take part in launches, or are passed over |
//! | `held` | what the driver's instance holds, and what becomes of it when a context is gone |

mod child;
mod due;
mod enabled;
mod held;
mod instantiate;
mod own;
mod rebind;
mod retired;
mod set;
mod summary;
mod taken;
mod update;
mod uses;
mod watched;

pub use instantiate::{ExecOptions, InstantiateFailure, InstantiateReason};
pub(super) use own::{Kept, Removed};
pub use update::{UpdateFailure, UpdateReason};

use super::state::{ByNode, NodeId};
use super::tree::Tree;
use super::{Graph, Node, relations};
use crate::context::Context;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::{CallError, Driver, sys};
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::native;
use crate::op::node::{Holds, KeptMemory, Parameters};
use crate::op::why_no_values;
use crate::stream::Stream;
use held::Held;
use own::{Base, Own};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use retired::{Launches, Leaving};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use uses::Uses;
use watched::Watched;

/// What is instantiated from a definition: it is launched in streams, as often as one likes.
///
/// It keeps alive what its nodes use, whatever becomes of the definition. Every function may be called from every thread; those on
/// one instance wait for each other, and its launches run one after the other.
pub struct Exec {
    header: Header,
    tree: Arc<Tree>,
    options: ExecOptions,
    kept: Arc<Kept>,
    state: Mutex<State>,
}

object!(Exec: Exec, header);

/// What changes of an instance, under its lock. Whoever needs the definition's, too, takes this first.
struct State {
    /// `None` only while it is being destroyed.
    raw: Option<RawExec>,
    base: Base,
    /// The nodes that were set in this instance.
    own: ByNode<Own>,
    /// Whether what they were set to is kept here, and not by the driver.
    keeps: bool,
    held: Held,
    /// Which nodes use what, once somebody asked.
    uses: Option<Uses>,
    launches: Launches,
    /// What earlier launches use, and nobody can tell when they are done.
    unreleased: Leaving,
    /// Nodes below child graphs that took over others, whose nodes nobody can tell apart.
    unknown: HashSet<NodeId>,
    /// Why nobody knows what a node does: a change of many failed, and so did the way back. Cleared by an update, which sets every node.
    broken: Option<String>,
    /// The memory that nodes use, if each launch is to ask whether it is still there.
    watched: Option<Watched>,
}

impl State {
    /// Lets go of what was kept for nodes, when the launches until now are done.
    fn retire(&mut self, holds: impl IntoIterator<Item = Holds>) {
        let mut leaving = std::mem::take(&mut self.unreleased);
        leaving.extend(holds);
        self.unreleased = self.launches.retire(leaving);
    }

    /// The same for what the driver's instance was given for nodes that were set, and they have no more. What nobody can tell when it is
    /// not used any more stays there.
    fn retire_given(&mut self, nodes: &[NodeId]) {
        let Self { own, held, launches, .. } = self;
        let may_have_other = |own: &Own| own.holds.is_some() && !own.given.is_empty();
        if !nodes.iter().any(|id| own.get(*id).is_some_and(may_have_other)) || !launches.can_tell() {
            return;
        }
        let mut gone = Vec::new();
        for id in nodes {
            let Some(own) = own.get_mut(*id) else { continue };
            let Some(holds) = &own.holds else { continue };
            gone.extend(held.exchange(*id, holds));
            own.look_at_given(held, *id);
        }
        self.retire(gone);
    }

    /// The same for all nodes that were set in this instance.
    fn retire_own(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.keeps = false;
        self.retire(own.into_all().filter_map(|(_, own)| own.holds.map(|holds| *holds)));
    }
}

impl Exec {
    fn new(tree: &Arc<Tree>, raw: RawExec, options: ExecOptions, kept: Arc<Kept>, held: Held) -> Arc<Self> {
        let state = State {
            raw: Some(raw),
            base: Base::Definition,
            own: ByNode::default(),
            keeps: false,
            held,
            uses: None,
            launches: Launches::default(),
            unreleased: Leaving::default(),
            unknown: HashSet::new(),
            broken: None,
            watched: tree.driver().checks_graphs().then(Watched::default),
        };
        let header = Header::new::<Self>();
        let exec = Arc::new(Self { header, tree: Arc::clone(tree), options, kept, state: Mutex::new(state) });
        exec.watch_all(&mut exec.state.lock());
        exec
    }

    /// The context of the definition.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        self.tree.context()
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.tree.driver()
    }

    /// How it was instantiated.
    #[must_use]
    pub fn options(&self) -> ExecOptions {
        self.options
    }

    /// The driver's own handle.
    #[must_use]
    pub fn native(&self) -> sys::CUgraphExec {
        let mut state = self.state.lock();
        state.launches.may_be_by_others();
        state.raw.as_ref().map_or(std::ptr::null_mut(), RawExec::handle)
    }

    /// The definition, as long as somebody holds it.
    #[must_use]
    pub fn graph(&self) -> Option<Graph> {
        let definition = self.tree.definition()?;
        let object = Arc::clone(self.tree.root());
        Some(Graph { definition, object }).filter(|graph| !graph.object.is_gone())
    }

    /// Launches it in the stream: its nodes run after the work that is in the stream by now, and what is enqueued afterwards waits
    /// for them. Two launches of one instance never run at the same time, also in two streams.
    ///
    /// # Safety
    /// What its nodes read, write and run, and it does not keep, is good until the stream has passed it.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; [`Status::INVALID_ARGUMENT`] for one that is being captured, and for memory
    /// that is not there any more, where graphs are checked ([`OpenOptions::check_graphs`](crate::driver::OpenOptions::check_graphs)); the
    /// driver's, also for memory that the launch before allocated and nobody freed.
    #[inline]
    pub unsafe fn launch(&self, stream: &Arc<Stream>) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        stream.check_not_capturing(NOT_CAPTURED)?;
        let _current = stream.enter_if_default()?;
        let mut state = self.state.lock();
        if state.watched.is_some() {
            self.check_watched(&state)?;
        }
        let State { raw: Some(raw), broken: None, launches, held, keeps, unreleased, .. } = &mut *state
        else {
            return Err(self.not_launched(&state));
        };
        stream.context().check_still_there(stream.as_ref())?;
        held.check(self)?;
        // SAFETY: the caller vouches for the nodes; the stream is alive.
        let launched = unsafe { raw.launch(stream.raw().handle()) };
        let mut left = None;
        if launched.is_ok() {
            left = launches.was_launched(stream, *keeps || !unreleased.is_empty());
        }
        drop(state);
        drop(left); // outside of the lock
        launched.map_err(|error| self.refused_launch(error, stream))
    }

    /// Brings it to the device, in the order of the stream, so that the first launch does not have to.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn upload(&self, stream: &Stream) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        stream.context().check_still_there(stream)?;
        stream.check_not_capturing(NOT_CAPTURED)?;
        let _current = stream.enter_if_default()?;
        self.check_whole(&self.state.lock())?;
        self.here(|raw| raw.upload(stream.raw().handle()))
    }

    /// The number by which the driver's tools tell instances apart; driver 13.1.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 13.1.
    pub fn id(&self) -> Result<u32, Error> {
        self.here(RawExec::id)
    }

    /// The flags by which the driver instantiated it (`CUDA_GRAPH_INSTANTIATE_FLAG_*`); driver 12.0.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.0; the driver's.
    pub fn flags(&self) -> Result<u64, Error> {
        self.here(RawExec::flags)
    }

    /// Ends one hold on the instance, and answers for its release if it was the last. A launch in flight goes on.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where the release comes soon afterwards; the driver's.
    pub fn destroy(exec: Arc<Self>) -> Result<(), Error> {
        callback::check_allowed()?;
        crate::object::release::collect(|| drop(exec))
    }

    /// Names it in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.header.label()
    }

    /// The native instance, which nobody else uses meanwhile.
    fn raw(&self) -> Result<MappedMutexGuard<'_, RawExec>, Error> {
        let state = self.state.lock();
        state.held.check(self)?;
        MutexGuard::try_map(state, |state| state.raw.as_mut()).map_err(|_| self.gone())
    }

    fn here<T>(&self, call: impl FnOnce(&RawExec) -> Result<T, CallError>) -> Result<T, Error> {
        call(&*self.raw()?).map_err(|error| self.failed(error))
    }

    #[cold]
    fn gone(&self) -> Error {
        Error::new(Status::INVALID_HANDLE, format!("{self} was destroyed")).about(self)
    }

    #[cold]
    fn failed(&self, error: CallError) -> Error {
        self.context().failed(error, self)
    }

    #[cold]
    fn not_launched(&self, state: &State) -> Error {
        self.check_whole(state).err().unwrap_or_else(|| self.gone())
    }

    /// Refuses an instance that cannot be launched: to change a node of it would have no effect.
    #[inline]
    fn check_whole(&self, state: &State) -> Result<(), Error> {
        state.broken.as_ref().map_or(Ok(()), |why| Err(self.is_broken(why)))
    }

    #[cold]
    fn is_broken(&self, why: &str) -> Error {
        let refusal = format!("{self} cannot be launched any more: {why}; {CURE}");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    #[cold]
    fn refused_launch(&self, error: CallError, stream: &Stream) -> Error {
        let mut failure = stream.context().failed(error, self);
        if failure.status.0 != sys::CUDA_ERROR_INVALID_VALUE.0 {
            return failure;
        }
        let (own, state) = (self.state.lock(), self.tree.lock());
        let addresses = self.addresses_of_values(&own, &state);
        let is_of_graph = |address| state.allocates(address);
        let why = why_no_values(self.tree.driver(), addresses.into_iter(), is_of_graph);
        if !why.is_empty() {
            failure.message.push_str(&why);
        } else if !self.options.auto_free && state.allocating > 0 {
            failure.message.push_str(
                ". If the launch before allocated memory that nobody freed, free it first, or instantiate with CUSHIM_EXEC_AUTO_FREE",
            );
        }
        failure
    }

    /// Where memory operations of this exec have their values.
    fn addresses_of_values(&self, own: &State, state: &super::state::State) -> Vec<u64> {
        let places = |parameters: &Parameters| match parameters {
            Parameters::MemoryOperations(operations) => {
                operations.places().iter().flatten().map(KeptMemory::address).collect()
            }
            _ => Vec::new(),
        };
        let nodes = state.nodes().filter(|(_, node)| node.number < self.kept.born);
        nodes.flat_map(|(id, _)| self.now(own, state, id, places).unwrap_or_default()).collect()
    }
}

/// What becomes of an instance that cannot be launched.
const CURE: &str = "update it from the graph (cushim_exec_update), or instantiate the graph again";

/// Why a stream under capture takes no instance: driver 580 invalidates the capture (measured).
const NOT_CAPTURED: &str = "an exec cannot be part of a graph: embed the graph that it was made of";

impl Drop for Exec {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let Some(raw) = state.raw.take() else { return };
        let held = std::mem::take(&mut state.held);
        // A launch may be in flight: what was kept for it goes when that is done, or, where nobody can tell, now that it is the caller's duty.
        state.retire_own();
        let unreleased = std::mem::take(&mut state.unreleased);
        let mut launches = std::mem::take(&mut state.launches);
        let last = launches.take_last();
        let tree = Arc::clone(&self.tree);
        native::release(self.tree.driver(), self, move |exec| {
            let result = if held.is_gone() {
                held.abandon(tree.context().is_gone() || tree.definition().is_none());
                Ok(())
            } else {
                let relatives = relations::changed();
                let destroyed = raw.destroy();
                drop(relatives);
                if destroyed.is_ok() {
                    due::destroyed(held.into_own(), tree.context(), launches);
                }
                tree.context().released(destroyed, exec)
            };
            retired::retire_last(last, unreleased);
            result
        });
    }
}

impl fmt::Display for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "exec \"{label}\""),
            None => write!(f, "exec of {}", self.tree.root()),
        }
    }
}

impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exec({self})")
    }
}

/// The node that the driver blames, if it is known.
fn blamed(tree: &Arc<Tree>, node: sys::CUgraphNode) -> Option<Node> {
    if node.is_null() {
        return None;
    }
    let mut state = tree.lock();
    let id = state.find(node)?;
    Some(Node::of(tree, &mut state, id))
}
