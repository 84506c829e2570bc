//! Definitions are instantiated.

use super::held::Held;
use super::{Exec, NOT_CAPTURED, blamed};
use crate::check::GraphOrder;
use crate::driver::Version;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::sys;
use crate::graph::ids::GraphId;
use crate::graph::instance::Instance;
use crate::graph::{
    Graph, GraphKind, Node, conditional, ordered, refusal, relations, restriction, setters, updatable,
};
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::object::setters::setters;
use crate::op::attachment::Keeper;
use crate::stream::Stream;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long it is waited between two looks at whether an instance is gone.
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

/// How to instantiate a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExecOptions {
    /// Each launch first frees what the one before allocated and nobody freed.
    pub auto_free: bool,
    /// Kernels may launch it, too; driver 12.0. Only kernel, copy and memset nodes and child graphs of such can be launched so, all
    /// on one device, and it has to be uploaded before.
    pub device_launch: bool,
    /// Nodes run with their own priorities, and not with that of the stream; driver 11.7.
    pub node_priority: bool,
    /// Others launch it, too, by its native handle ([`Exec::native`]). The driver keeps what its nodes use, by a user object: on driver
    /// 580 launches are slower for that, by 1 to 3 µs, and hold whoever launches as soon as some 27 of them are queued. What its nodes used
    /// before they were changed is released after an update, or its end.
    pub native_launches: bool,
}

setters!(ExecOptions { auto_free: bool, device_launch: bool, node_priority: bool, native_launches: bool });

impl ExecOptions {
    /// Whether it is launched without this library's knowledge.
    pub(super) fn is_launched_by_others(self) -> bool {
        self.native_launches || self.device_launch
    }

    /// Who keeps what its nodes use.
    pub(super) fn keeper(self) -> Keeper {
        if self.is_launched_by_others() { Keeper::Driver } else { Keeper::Owner }
    }

    fn flags(self) -> u64 {
        let flag = |is_set: bool, flag: sys::CUgraphInstantiate_flags| if is_set { flag.0 as u64 } else { 0 };
        flag(self.auto_free, sys::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
            | flag(self.device_launch, sys::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
            | flag(self.node_priority, sys::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)
    }
}

/// Why a definition was not instantiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiateReason {
    /// The driver's status says it. Before driver 12.0 always this.
    Error,
    /// The graph has a cycle, or something else that no graph has.
    InvalidStructure,
    /// A node cannot be launched as the options ask for.
    NodeNotSupported,
    /// Nodes run in several contexts, and they cannot here.
    MultipleContexts,
    /// A kernel uses a condition that no conditional node looks at.
    ConditionUnused,
    /// A reason that this library does not know, by the driver's number (`CUgraphInstantiateResult`).
    Other(i32),
}

impl InstantiateReason {
    fn of(result: sys::CUgraphInstantiateResult) -> Self {
        match result {
            // What failed and has no reason of its own says nothing there.
            sys::CUDA_GRAPH_INSTANTIATE_ERROR | sys::CUDA_GRAPH_INSTANTIATE_SUCCESS => Self::Error,
            sys::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE => Self::InvalidStructure,
            sys::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED => Self::NodeNotSupported,
            sys::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED => Self::MultipleContexts,
            sys::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED => Self::ConditionUnused,
            other => Self::Other(other.0),
        }
    }

    /// The driver's number.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Error => sys::CUDA_GRAPH_INSTANTIATE_ERROR.0,
            Self::InvalidStructure => sys::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE.0,
            Self::NodeNotSupported => sys::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED.0,
            Self::MultipleContexts => sys::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED.0,
            Self::ConditionUnused => sys::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED.0,
            Self::Other(number) => number,
        }
    }

    fn text(self) -> Option<&'static str> {
        Some(match self {
            Self::Error | Self::Other(_) => return None,
            Self::InvalidStructure => "the graph has a cycle, or something else that no graph has",
            Self::NodeNotSupported => "a node cannot be launched as the options ask for",
            Self::MultipleContexts => "its nodes run in several contexts, which they cannot here",
            Self::ConditionUnused => "a kernel uses a condition that no conditional node looks at",
        })
    }
}

/// What is wrong with a definition that was not instantiated.
pub struct InstantiateFailure {
    /// The failure, in a sentence.
    pub error: Error,
    /// The driver's reason.
    pub reason: InstantiateReason,
    /// The node that it blames, if it blames one that is known here.
    pub node: Option<Node>,
}

impl fmt::Debug for InstantiateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for InstantiateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for InstantiateFailure {}

impl From<Error> for InstantiateFailure {
    fn from(error: Error) -> Self {
        Self { error, reason: InstantiateReason::Error, node: None }
    }
}

impl From<InstantiateFailure> for Error {
    fn from(failure: InstantiateFailure) -> Self {
        failure.error
    }
}

impl Exec {
    /// Instantiates the definition, and brings the instance to the device if a stream is given. Later changes of the definition do
    /// not reach the instance.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a graph that is part of another, and for a stream that is being captured; the driver's, also for a second instance, while the first
    /// exists, of a graph that allocates memory or has conditional nodes, and for one with conditional nodes while there is a clone of it, or
    /// of a graph in it. The failure says the driver's reason, and which node it
    /// blames.
    pub fn create(
        graph: &Graph,
        options: &ExecOptions,
        upload: Option<&Stream>,
    ) -> Result<Self, InstantiateFailure> {
        graph.instantiate(options, upload)
    }
}

impl Graph {
    fn instantiate(
        &self,
        options: &ExecOptions,
        upload: Option<&Stream>,
    ) -> Result<Exec, InstantiateFailure> {
        let tree = &self.definition.tree;
        self.check_root()?;
        if let Some(stream) = upload {
            stream.same_driver(tree.driver(), self.object.as_ref())?;
            stream.context().check_still_there(stream)?;
            stream.check_not_capturing(NOT_CAPTURED)?;
        }
        if options.device_launch {
            restriction::require(tree, "an exec that kernels launch", Version::from_number(12000))?;
        }
        if options.node_priority {
            restriction::require(tree, "an exec whose nodes have priorities", Version::from_number(11070))?;
        }
        // Driver 580 instantiates nothing where no context is current (measured).
        let _current = tree.context().enter()?;
        let _of_default = match upload {
            Some(stream) => stream.enter_if_default()?,
            None => None,
        };
        self.wait_for_ending()?;
        let mut state = self.lock()?;
        tree.check_contexts(&state, self.object.as_ref())?;
        tree.check_used(&state, self.object.as_ref())?;
        conditional::cure(tree, &mut state)?;
        self.check_derived(&state)?;
        let conditions = state.conditions.iter().filter_map(|condition| condition.native);
        let instance = Instance::new(state.made(), state.edges_edited(), conditions);
        let failed = |error| tree.failed(error, self.object.as_ref());
        let lent = state.lend(GraphId::ROOT, options.keeper()).map_err(failed)?;
        let native = &state.graph(GraphId::ROOT).native;
        let relatives = relations::changed();
        let made = RawExec::instantiate(native, options.flags(), upload.map(|stream| stream.raw()));
        drop(relatives);
        let contents = state.contents.clone();
        let (given, taken_back) = lent.end(made.is_ok(), || contents.clone());
        let has_limits = state.allocating > 0
            || state.has_conditions()
            || made.is_err() && updatable::find(tree, &state).is_some();
        let order = if made.is_ok() { ordered::look(tree, &state) } else { None };
        state.execs.retain(|exec| exec.strong_count() > 0);
        let live = if has_limits { state.execs.len() } else { 0 };
        let held = Held::of(tree, &state, given);
        if made.is_ok() {
            state.has_relatives = true;
            state.execs.push(Arc::downgrade(&instance));
        }
        drop(state);
        order.into_iter().for_each(GraphOrder::tell);
        report(tree.driver(), taken_back.map_err(failed));
        let raw = made.map_err(|refused| {
            let failure = failed(refused.error);
            let (reason, node) = (InstantiateReason::of(refused.reason), blamed(tree, refused.node));
            let mut error = explain(failure, reason, node.as_ref(), live);
            if options.device_launch {
                explain_device_launch(&mut error);
            }
            InstantiateFailure { error, reason, node }
        })?;
        Ok(Exec::new(tree, raw, *options, instance, (contents, held), upload.cloned()))
    }

    /// The driver has one instance at a time of a graph with conditional nodes: waits until the last launch of one that nobody has any more is
    /// done, and it is gone.
    fn wait_for_ending(&self) -> Result<(), Error> {
        let is_ending = |exec: &Weak<Instance>| exec.upgrade().is_some_and(|exec| exec.is_ending());
        while self.lock()?.execs.iter().any(is_ending) && callback::ask_now() {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    pub(super) fn check_root(&self) -> Result<(), Error> {
        let what = match self.kind() {
            GraphKind::Root => return Ok(()),
            GraphKind::Child => "the graph of a child graph node",
            GraphKind::Body(_) => "a body of a conditional node",
        };
        let is_bound = self.lock().is_ok_and(|state| setters::is_bound(&state, self.object.id));
        let instead =
            if is_bound { "; one of its kernels sets a condition from there" } else { ", or a clone" };
        let refusal = format!("{self} is {what}: instantiate the graph that it is part of{instead}");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self.object.as_ref()))
    }
}

/// What the driver asks of an instance that kernels launch; it says at most which node it has not expected (measured on 580).
fn explain_device_launch(failure: &mut Error) {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(
            ". A graph that kernels launch has at least one node; its nodes are kernels, memsets, copies of device or page-locked memory, and child graphs of such, all in one context; and it cannot free memory at its launch",
        );
    }
}

fn explain(mut failure: Error, reason: InstantiateReason, node: Option<&Node>, live: usize) -> Error {
    if let Some(text) = reason.text() {
        failure.message.push_str(&format!(". The reason: {text}"));
    }
    if let Some(node) = node {
        failure.message.push_str(&format!(". The driver blames {node}"));
    }
    refusal::of_second_exec(failure, live)
}
