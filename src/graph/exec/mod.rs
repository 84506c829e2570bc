//! What is instantiated from a definition.
//!
//! | file | concept |
//! |---|---|
//! | `instantiate` | definitions are instantiated |
//! | `update` | instances take over another definition's parameters |
//! | `child` | the child graph of a node takes over another graph's parameters, in this instance only |
//! | `set`, `rebind`, `many`, `uses` | nodes are changed in this instance only: one, or all that use something |
//! | `pairing` | which node of another definition stands for which of this one |
//! | `launches` | by what is told when the launches until now are done |
//! | `leaving`, `retired` | what was kept, and goes when they are done; what is waited for |
//! | `ending` | the driver's instance goes, with what it holds |
//! | `watched`, `watching` | whether the memory of nodes is still there, where somebody asked for that check |
//! | `enabled` | nodes take part in launches, or are passed over |
//! | `held` | what the driver's instance holds, and what becomes of it when a context is gone |

mod child;
mod derived;
mod enabled;
mod ending;
mod held;
mod instantiate;
mod joining;
mod launches;
mod leaving;
mod many;
mod pairing;
mod rebind;
mod retired;
mod set;
mod summary;
mod update;
mod uses;
mod watched;
mod watching;

pub use instantiate::{ExecOptions, InstantiateFailure, InstantiateReason};
pub use update::{UpdateFailure, UpdateReason};

use super::contents::Contents;
use super::definition::Tree;
use super::ids::GraphId;
use super::instance::Instance;
use super::{Graph, Node};
use crate::context::Context;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::{CallError, Driver, sys};
use crate::event::{NoneRecorded, none_is_recorded};
use crate::graph::definition;
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::native;
use crate::op::node::{Hold, Holds, KeptMemory, Parameters};
use crate::op::{any_asleep, why_no_values};
use crate::stream::Stream;
use ending::Ending;
use held::Held;
use launches::Launches;
use leaving::Leaving;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use uses::Uses;
use watched::Watched;

/// What is instantiated from a definition: it is launched in streams, as often as one likes.
///
/// It keeps alive what its nodes use, whatever becomes of the definition. Every function may be called from every thread; those on
/// one instance wait for each other, and its launches run one after the other.
pub struct Exec(Arc<ExecObject>);

/// What handles of execs name.
pub(crate) struct ExecObject {
    header: Header,
    tree: Arc<Tree>,
    options: ExecOptions,
    instance: Arc<Instance>,
    state: Mutex<State>,
}

object!(ExecObject as Exec: Exec, header);

/// What changes of an instance, under its lock. Whoever needs the definition's, too, takes this first.
struct State {
    /// `None` only while it is being destroyed.
    raw: Option<RawExec>,
    /// What its nodes do, each in the place that it has in the definition, or had there.
    contents: Contents,
    /// What is kept for nodes of other graphs, which the instance took over and nobody can tell apart; and of which child graph they took
    /// the place.
    untold: Vec<(GraphId, Contents)>,
    /// Whether somebody has to know when launches are done: something that they use is kept here, and not by the driver, or the driver's
    /// instance goes then.
    keeps: bool,
    held: Held,
    /// Which nodes use what, once somebody asked.
    uses: Option<Uses>,
    launches: Launches,
    /// What earlier launches use, and nobody can tell when they are done.
    unreleased: Leaving,
    /// Why nobody knows what a node does: a change of many failed, and so did the way back. Cleared by an update, which sets every node.
    broken: Option<String>,
    /// The memory that nodes use, if each launch is to ask whether it is still there.
    watched: Option<Watched>,
}

impl State {
    /// Lets go of what was kept for nodes, when the launches until now are done; where others launch it, not before the next update.
    fn retire(&mut self, holds: impl IntoIterator<Item = Holds>) {
        let mut leaving = Leaving::default();
        leaving.extend(holds);
        self.retire_all(leaving);
    }

    fn retire_all(&mut self, mut leaving: Leaving) {
        if !self.unreleased.is_empty() {
            leaving.append(std::mem::take(&mut self.unreleased));
        }
        self.unreleased = self.launches.retire(leaving, self.held.contexts());
    }

    /// Whether something goes when launches are done.
    fn has_what_goes(&self) -> bool {
        self.held.has_conditional() || objects(&self.contents, &self.untold).next().is_some()
    }

    /// All that is kept here.
    fn take_kept(&mut self) -> Leaving {
        let mut leaving = std::mem::take(&mut self.unreleased);
        let (contents, untold) = (std::mem::take(&mut self.contents), std::mem::take(&mut self.untold));
        if self.keeps {
            leaving.add(contents);
            untold.into_iter().for_each(|(_, contents)| leaving.add(contents));
        }
        leaving
    }

    /// Where others can launch the instance: has the driver keep what this keeps, too, for as long as it keeps the instance as it is. Answers
    /// whether there was anything.
    fn leave_to_driver(&mut self) -> bool {
        if !self.launches.are_by_others() {
            return false;
        }
        let mut leaving = std::mem::take(&mut self.unreleased);
        leaving.add(self.contents.clone());
        self.untold.iter().for_each(|(_, contents)| leaving.add(contents.clone()));
        if leaving.is_empty() {
            return false;
        }
        let left = self.held.leave_to_driver(Box::new(leaving));
        let is_left = left.is_ok();
        if let Err(back) = left {
            self.take_back(Some(back));
        }
        is_left
    }

    /// The driver's instance is as it was after all.
    fn take_back(&mut self, left: Option<Box<dyn Any + Send>>) {
        if let Some(Ok(leaving)) = left.map(|left| left.downcast::<Leaving>()) {
            self.unreleased.append(leaving.without_contents());
        }
    }

    /// The driver's instance was updated, and holds this from now on; its nodes do this, and it took over what nobody can tell apart. What it
    /// kept before goes when the launches until now are done.
    fn was_updated(&mut self, held: Held, contents: Contents, untold: Option<Contents>) {
        let leaving = self.take_kept();
        self.held.update(held);
        self.contents = contents;
        self.untold.extend(untold.map(|untold| (GraphId::ROOT, untold)));
        self.keeps = self.has_what_goes();
        match self.launches.are_by_others() {
            // The driver lets go of it.
            true => callback::later(leaving),
            false => self.unreleased = self.launches.retire(leaving, self.held.contexts()),
        }
    }
}

impl Exec {
    fn new(
        tree: &Arc<Tree>,
        raw: RawExec,
        options: ExecOptions,
        instance: Arc<Instance>,
        (contents, held): (Contents, Held),
        uploaded: Option<Stream>,
    ) -> Self {
        let mut launches = Launches::new(options.is_launched_by_others());
        let keeps = held.has_conditional() || contents.keeps();
        if let Some(stream) = uploaded {
            launches.may_run_in(&stream, keeps);
        }
        let state = State {
            raw: Some(raw),
            contents,
            untold: Vec::new(),
            keeps,
            held,
            uses: None,
            launches,
            unreleased: Leaving::default(),
            broken: None,
            watched: Watched::asked_for(tree.driver()),
        };
        let header = Header::new::<ExecObject>();
        let exec = Self(Arc::new(ExecObject {
            header,
            tree: Arc::clone(tree),
            options,
            instance,
            state: Mutex::new(state),
        }));
        exec.watch_all(&mut exec.0.state.lock());
        exec
    }

    /// The context of the definition.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.tree.context()
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.tree.driver()
    }

    /// How it was instantiated.
    #[must_use]
    pub fn options(&self) -> ExecOptions {
        self.0.options
    }

    /// The driver's own handle: for instances that are made for it ([`ExecOptions::native_launches`], [`ExecOptions::device_launch`]).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for any other: nobody could tell when launches by that handle are done, so that what they use would be
    /// released too early.
    pub fn native(&self) -> Result<sys::CUgraphExec, Error> {
        if !self.0.options.is_launched_by_others() {
            return Err(self.refused(format!(
                "{self} was not made to be launched by its native handle, and cushim could not tell when such a launch is done: instantiate the \
                 graph with CUSHIM_EXEC_NATIVE_LAUNCHES"
            )));
        }
        Ok(self.0.state.lock().raw.as_ref().map_or(std::ptr::null_mut(), RawExec::handle))
    }

    /// The definition, as long as somebody holds it.
    #[must_use]
    pub fn graph(&self) -> Option<Graph> {
        let definition = self.0.tree.definition()?;
        let object = Arc::clone(self.0.tree.root());
        Some(Graph { definition, object }).filter(|graph| !graph.object.is_gone())
    }

    /// Launches it in the stream: its nodes run after the work that is in the stream by now, and what is enqueued afterwards waits
    /// for them. Two launches of one instance never run at the same time, also in two streams.
    ///
    /// # Safety
    /// What its nodes read, write and run, and it does not keep, is good until the stream has passed it.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; [`Status::INVALID_ARGUMENT`] for one that is being captured, or would be
    /// since a node waits for an event that a capture under way has recorded, and for memory that is not there any more, where graphs are checked ([`OpenOptions::check_graphs`](crate::driver::OpenOptions::check_graphs)); the
    /// driver's, also for memory that the launch before allocated and nobody freed.
    #[inline]
    pub unsafe fn launch(&self, stream: &Stream) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        let _current = stream.enter_uncaptured(NOT_CAPTURED)?;
        let state = self.0.state.lock();
        // SAFETY: as the caller vouches.
        unsafe {
            match state.watched.is_some() {
                true => self.launch_watched(state, stream),
                false => self.launch_locked(state, stream),
            }
        }
    }

    /// Launches it, and lets go of the lock.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    #[inline(always)]
    unsafe fn launch_locked(&self, mut state: MutexGuard<'_, State>, stream: &Stream) -> Result<(), Error> {
        self.check_used(&mut state)?;
        let mut before = None;
        let launched = {
            let State {
                raw: Some(raw),
                broken: None,
                launches,
                held,
                keeps,
                unreleased,
                contents,
                untold,
                ..
            } = &mut *state
            else {
                return Err(self.not_launched(&state));
            };
            held.check_launched(stream.context(), self)?;
            if any_asleep() {
                held.check_awake(objects(contents, untold), self)?;
            }
            // Last: who has it waits for no lock that others hold while they capture.
            let recorded = none_is_recorded();
            if recorded.as_ref().is_some_and(NoneRecorded::may_be_in_capture) {
                let untold = untold.iter().map(|(_, contents)| contents);
                self.check_joins_none(std::iter::once(&*contents).chain(untold), stream)?;
            }
            // SAFETY: the caller vouches for the nodes; the stream is alive.
            let launched = unsafe { raw.launch(stream.raw().handle()) };
            drop(recorded);
            match launched {
                Ok(()) => {
                    before = launches.was_launched(stream, *keeps);
                    if !unreleased.is_empty() {
                        // What no event had told of goes with this launch.
                        *unreleased = launches.retire(std::mem::take(unreleased), held.contexts());
                    }
                }
                // Some of it may run all the same.
                Err(_) => launches.may_run_in(stream, *keeps),
            }
            launched
        };
        drop(state);
        drop(before); // outside of the lock
        launched.map_err(|error| self.refused_launch(error, stream))
    }

    /// Brings it to the device, in the order of the stream, so that the first launch does not have to.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn upload(&self, stream: &Stream) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        let _current = stream.enter_uncaptured(NOT_CAPTURED)?;
        let mut state = self.0.state.lock();
        self.check_whole(&state)?;
        self.check_used(&mut state)?;
        stream.context().check_still_there(stream)?;
        state.held.check(self)?;
        let Some(raw) = &state.raw else { return Err(self.gone()) };
        let uploaded = raw.upload(stream.raw().handle());
        let keeps = state.keeps;
        state.launches.may_run_in(stream, keeps);
        uploaded.map_err(|error| self.failed(error))
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

    /// Ends one hold on the instance, and answers for its release if it was the last. A launch in flight goes on. With conditional nodes the
    /// driver's instance goes when that is done, and instantiating the same definition waits for it: driver 580 would wait here.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where the release comes soon afterwards; the driver's.
    pub fn destroy(exec: Self) -> Result<(), Error> {
        callback::check_allowed()?;
        crate::object::release::collect(|| drop(exec))
    }

    /// Names it in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    /// The native instance, which nobody else uses meanwhile.
    fn raw(&self) -> Result<MappedMutexGuard<'_, RawExec>, Error> {
        let state = self.0.state.lock();
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

    /// Refuses a launch that would use what went with its context. Of what nodes used before they were changed nothing is said.
    #[inline]
    fn check_used(&self, state: &mut State) -> Result<(), Error> {
        match state.held.used_and_gone() {
            Some(context) => self.check_used_of(state, context),
            None => Ok(()),
        }
    }

    #[cold]
    fn check_used_of(&self, state: &mut State, context: Context) -> Result<(), Error> {
        let mut gone = Some(context);
        while let Some(context) = gone {
            if self.uses_of(state, &context) {
                return context.check_there(self);
            }
            state.held.uses_no_more(&context);
            gone = state.held.used_and_gone();
        }
        Ok(())
    }

    /// Whether a node of the instance uses something of the context, as far as that is known.
    fn uses_of(&self, state: &State, context: &Context) -> bool {
        let tree = self.0.tree.lock();
        let of_parameters = |parameters: &Parameters| {
            let mut is_used = false;
            parameters.each_context(|of| is_used |= of == context);
            is_used
        };
        if tree.root().is_none() {
            return true; // nobody can tell any more
        }
        let mut nodes = state.contents.iter();
        nodes.any(|(id, record)| self.now_of(id, record, &tree, of_parameters).unwrap_or(true))
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
        let (own, state) = (self.0.state.lock(), self.0.tree.lock());
        let addresses = self.addresses_of_values(&own, &state);
        let is_of_graph = |address| state.allocates(address);
        let why = why_no_values(self.0.tree.driver(), addresses.into_iter(), is_of_graph);
        if !why.is_empty() {
            failure.message.push_str(&why);
        } else if !self.0.options.auto_free && state.allocating > 0 {
            failure.message.push_str(
                ". If the launch before allocated memory that nobody freed, free it first, or instantiate with CUSHIM_EXEC_AUTO_FREE",
            );
        }
        failure
    }

    /// Where memory operations of this exec have their values.
    fn addresses_of_values(&self, own: &State, state: &definition::State) -> Vec<u64> {
        let places = |parameters: &Parameters| match parameters {
            Parameters::MemoryOperations(operations) => {
                operations.places().iter().flatten().map(KeptMemory::address).collect()
            }
            _ => Vec::new(),
        };
        let nodes = own.contents.iter();
        nodes.flat_map(|(id, record)| self.now_of(id, record, state, places).unwrap_or_default()).collect()
    }
}

/// What becomes of an instance that cannot be launched.
const CURE: &str = "update it from the graph (cushim_exec_update), or instantiate the graph again";

/// Why a stream under capture takes no instance: driver 580 invalidates the capture (measured).
const NOT_CAPTURED: &str = "an exec cannot be part of a graph: embed the graph that it was made of";

impl Drop for ExecObject {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let Some(raw) = state.raw.take() else { return };
        // Where others launch it, the driver knows until when it is used: of what is kept here, too.
        state.leave_to_driver();
        let leaving = state.take_kept();
        let launches = std::mem::take(&mut state.launches);
        let held = std::mem::take(&mut state.held);
        let (tree, instance) = (Arc::clone(&self.tree), Arc::clone(&self.instance));
        let ending = Ending { raw, held, tree, instance };
        native::release(self.tree.driver(), self, move |exec| ending.end(launches, leaving, exec));
    }
}

impl fmt::Display for ExecObject {
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

/// What is kept here for nodes, and for those that nobody can tell apart.
fn objects<'a>(contents: &'a Contents, untold: &'a [(GraphId, Contents)]) -> impl Iterator<Item = &'a Hold> {
    contents.objects().chain(untold.iter().flat_map(|(_, contents)| contents.objects()))
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
