//! Single nodes are changed, in one instance only.

use super::{Exec, State};
use crate::context::{Context, ContextObject};
use crate::driver::CallError;
use crate::driver::calls::context::Current;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{self, CUgraphNode};
use crate::graph::definition;
use crate::graph::ids::NodeId;
use crate::graph::node_name::NodeName;
use crate::graph::record::Record;
use crate::graph::state::name;
use crate::graph::{Node, condition, read, restriction};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::op::ConditionOperand;
use crate::op::node::{HandedOver, Holds, NodeChange, Parameters};
use std::sync::Arc;

impl Exec {
    /// Changes what a node does in this instance, from its next launch on; neither the definition nor other instances are changed. What the
    /// node used before is let go of when every launch made before is done. If it fails, owners stay in the change.
    ///
    /// # Safety
    /// As for [`Graph::add`](crate::graph::Graph::add).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a node of another definition, for one that is younger than the instance, and for an operation that is
    /// no such node; [`Status::INVALID_HANDLE`] if it was removed; the driver's. The node is as it was then.
    pub unsafe fn set<C: NodeChange>(&self, node: &Node, change: &mut C) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.set_named(node.name(), change) }
    }

    /// The same for a node that a handle names.
    ///
    /// # Safety
    /// As for [`set`](Self::set).
    pub(crate) unsafe fn set_named<C: NodeChange>(
        &self,
        node: NodeName<'_>,
        change: &mut C,
    ) -> Result<(), Error> {
        self.check_node(node)?;
        restriction::check_version(&self.0.tree, change.node_type())?;
        node.check_change(change)?;
        let conditions = change.change_conditions().0;
        if !conditions.is_empty() {
            condition::check_change(&self.0.tree, node, &conditions)?;
            self.check_conditions(&conditions)?;
        }
        drop(conditions);
        let mut state = self.0.state.lock();
        self.check_whole(&state)?;
        let mut tree = self.0.tree.lock();
        let id = node.check_there(&tree)?;
        self.check_age(node, &tree, id)?;
        // SAFETY: the caller vouches for what the change uses.
        let gone = unsafe { self.set_node(&mut state, &mut tree, id, change) }.map_err(|mut failure| {
            if failure.object.is_empty() {
                failure = failure.about(&node);
            }
            failure
        })?;
        self.watch(&mut state, &tree, std::iter::once(id));
        drop(tree);
        if gone.is_some() {
            state.retire(gone);
        }
        Ok(())
    }

    /// Refuses conditions that nothing used when the instance was made: kernels of it cannot set them.
    fn check_conditions(&self, conditions: &[(usize, &dyn ConditionOperand)]) -> Result<(), Error> {
        let unknown =
            conditions.iter().find(|(_, condition)| !self.0.instance.has_condition(condition.known()));
        let Some((index, condition)) = unknown else { return Ok(()) };
        let refusal = format!(
            "argument {index}: no node used {condition} when {self} was instantiated, so it has no such condition; instantiate the \
             graph again"
        );
        let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(*condition);
        error.item = Some(*index);
        Err(error)
    }

    /// Refuses a node that was added after the instance was made.
    #[inline]
    pub(super) fn check_age(
        &self,
        node: NodeName<'_>,
        tree: &definition::State,
        id: NodeId,
    ) -> Result<(), Error> {
        if tree.node(id).number < self.0.instance.born { Ok(()) } else { Err(self.too_young(node)) }
    }

    #[cold]
    fn too_young(&self, node: NodeName<'_>) -> Error {
        let refusal = format!(
            "{node} was not known when {self} was instantiated, or was added since; update it from the graph"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(&node)
    }

    /// What a node does in this instance.
    pub(super) fn now<R>(
        &self,
        state: &State,
        tree: &definition::State,
        id: NodeId,
        look: impl FnOnce(&Parameters) -> R,
    ) -> Result<R, Error> {
        let record = state.contents.get(id).ok_or_else(|| self.gone())?;
        self.now_of(id, record, tree, look)
    }

    /// The same of a record of this instance. Of what others made, and nobody has set since, the driver tells.
    pub(super) fn now_of<R>(
        &self,
        id: NodeId,
        record: &Record,
        tree: &definition::State,
        look: impl FnOnce(&Parameters) -> R,
    ) -> Result<R, Error> {
        if !record.is_known {
            let label = self.0.tree.names.label(record.number);
            return Err(self.unknown(&name(record.node_type(), record.number, label.as_deref())));
        }
        let is_others =
            !record.is_ours && tree.find_number(id, record.number).is_some_and(|_| !tree.record(id).is_ours);
        match is_others {
            true => read::with_parameters(&self.0.tree, tree, id, look).map_err(|error| self.failed(error)),
            false => Ok(look(&record.parameters)),
        }
    }

    /// The context in which a node runs in this instance; `None` for that of the definition.
    pub(super) fn context_of(&self, state: &State, id: NodeId) -> Option<Context> {
        state.contents.context(id).cloned()
    }

    #[cold]
    fn unknown(&self, node: &str) -> Error {
        let refusal = format!(
            "{self} took over a graph (cushim_exec_update, cushim_exec_set_child) whose nodes and edges are not known to be those of its own \
             in the same order, so what {node} does there is not known: set all of it once"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    /// Changes a node; answers with what it kept before, and keeps no more.
    ///
    /// # Safety
    /// As for [`set`](Self::set).
    unsafe fn set_node<C: NodeChange>(
        &self,
        state: &mut State,
        tree: &mut definition::State,
        id: NodeId,
        change: &mut C,
    ) -> Result<Option<Holds>, Error> {
        let named = change.change_context(self.0.tree.context());
        let is_named = named.is_some();
        let context = named.or_else(|| self.context_of(state, id));
        let at = context.as_ref().unwrap_or(self.0.tree.context());
        // SAFETY: as the caller vouches.
        let is_of_value = unsafe { self.put(state, tree, id, change, at) }?;
        // From here on nothing fails.
        let Some(record) = state.contents.get_mut(id) else { return Ok(None) };
        (record.is_ours, record.is_known) = (true, true);
        if is_named {
            state.contents.set_context(id, context.clone().filter(|own| own != self.0.tree.context()));
        }
        // A value keeps nothing; what was kept for the one before goes.
        if is_of_value && !state.contents.keeps_for_value(id) {
            return Ok(None);
        }
        let Some(record) = state.contents.get(id) else { return Ok(None) };
        state.held.runs_in(at);
        state.held.uses(&record.parameters);
        state.uses = None;
        tree.list_parameters(&record.parameters);
        let mut before = state.contents.take_holds(id).unwrap_or_default();
        let now = change.kept(HandedOver(before.clone())).0;
        state.keeps |= !now.is_empty();
        let gone = before.split_off_others(&now);
        state.contents.keep(id, now);
        Ok(Some(gone))
    }

    /// Has the node do in this instance what the change says; answers whether it uses what it used before, but for values.
    ///
    /// # Safety
    /// As for [`set`](Self::set).
    unsafe fn put<C: NodeChange>(
        &self,
        state: &mut State,
        tree: &definition::State,
        id: NodeId,
        change: &mut C,
        at: &Context,
    ) -> Result<bool, Error> {
        self.find_out(state, tree, id, change.is_whole())?;
        let State { raw: Some(raw), contents, held, .. } = state else { return Err(self.gone()) };
        let Some((Record { parameters, .. }, context)) = contents.edit(id) else { return Err(self.gone()) };
        let device = context.unwrap_or(self.0.tree.context()).device();
        let is_elsewhere = at.device().ordinal() != device.ordinal();
        let undo = change.apply(parameters, at)?;
        let checked = match undo.is_of_value() {
            true => Ok(()),
            false => self.check_changed(tree, id, undo.all(), parameters, at),
        };
        let checked = checked.and_then(|()| held.check(self));
        let set = checked.and_then(|()| {
            // SAFETY: the caller vouches for what the change uses; the node is there, which the lock keeps.
            unsafe { Setting::of(raw).set(tree.node(id).native, parameters, at) }.map_err(|error| {
                // The driver says nothing of memory that a graph allocates, which is none the worse.
                let failure = match tree.has_memory_of(parameters) {
                    true => self.failed(error),
                    false => change.why(self.failed(error), parameters, at),
                };
                explain(failure, parameters, is_elsewhere)
            })
        });
        match set {
            Ok(()) => Ok(undo.is_of_value()),
            Err(failure) => {
                undo.put_back(parameters);
                Err(failure)
            }
        }
    }

    /// Finds out what a node does that is about to be changed, if only the driver knows; refused if nobody does, unless all of it is said anew.
    #[inline]
    fn find_out(
        &self,
        state: &mut State,
        tree: &definition::State,
        id: NodeId,
        is_said_anew: bool,
    ) -> Result<(), Error> {
        let record = state.contents.get(id).ok_or_else(|| self.gone())?;
        if record.is_known && record.is_ours || !record.is_known && is_said_anew {
            return Ok(());
        }
        match self.now_of(id, record, tree, Parameters::clone) {
            Ok(told) => {
                if let Some(record) = state.contents.get_mut(id) {
                    (record.parameters, record.is_ours) = (told, true);
                }
                Ok(())
            }
            Err(_) if is_said_anew => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Refuses what a node of this instance cannot become.
    fn check_changed(
        &self,
        tree: &definition::State,
        id: NodeId,
        before: Option<&Parameters>,
        after: &Parameters,
        at: &Context,
    ) -> Result<(), Error> {
        restriction::check(&self.0.tree, tree, tree.node(id).graph, after, at)?;
        tree.check_parameters(after)?;
        before.map_or(Ok(()), |before| self.check_attributes(before, after))
    }

    /// The attributes of a kernel are those that it had when it was instantiated.
    fn check_attributes(&self, now: &Parameters, then: &Parameters) -> Result<(), Error> {
        let (Parameters::Kernel(now), Parameters::Kernel(then)) = (now, then) else { return Ok(()) };
        if now.has_attributes_of(then) {
            return Ok(());
        }
        let refusal = format!(
            "{self} keeps the attributes of its kernels, and these are others; update it from a graph"
        );
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self))
    }
}

/// Tells the driver what nodes do: one after the other, so that those of one context enter it once.
pub(super) struct Setting<'a> {
    exec: &'a RawExec,
    /// Which context was entered last.
    at: *const ContextObject,
    current: Option<Current>,
}

impl<'a> Setting<'a> {
    pub(super) fn of(exec: &'a RawExec) -> Self {
        Self { exec, at: std::ptr::null(), current: None }
    }

    /// # Safety
    /// As for [`calls::set_in`].
    #[inline(always)]
    pub(super) unsafe fn set(
        &mut self,
        node: CUgraphNode,
        parameters: &mut Parameters,
        at: &Context,
    ) -> Result<(), CallError> {
        // Driver 580 crashes on kernels where no context is current (measured).
        if matches!(parameters, Parameters::Kernel(_)) && self.at != Arc::as_ptr(at.object()) {
            (self.current, self.at) = (None, std::ptr::null());
            (self.current, self.at) = (Some(at.entered()?), Arc::as_ptr(at.object()));
        }
        // SAFETY: as the caller vouches.
        unsafe {
            match parameters {
                Parameters::Kernel(kernel) => {
                    kernel.with_raw(at.native(), |raw| calls::set_kernel_in(self.exec, node, raw))
                }
                other => Self::set_other(self.exec, node, other, at),
            }
        }
    }

    /// # Safety
    /// As for [`calls::set_in`].
    #[inline(never)]
    unsafe fn set_other(
        exec: &RawExec,
        node: CUgraphNode,
        parameters: &mut Parameters,
        at: &Context,
    ) -> Result<(), CallError> {
        // SAFETY: as the caller vouches.
        let set = parameters.with_raw(at.native(), |raw| unsafe { calls::set_in(exec, node, raw) });
        set.unwrap_or_else(|| Err(CallError::missing("cuGraphExecNodeSetParams_12020")))
    }
}

/// What the driver does not change in an instance (measured on 580).
fn explain(mut failure: Error, parameters: &Parameters, is_elsewhere: bool) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(match parameters {
            Parameters::Copy(copy) if !copy.is_range() => {
                ". A 2D or 3D copy keeps its memory in an exec; instantiate the graph again"
            }
            Parameters::Copy(_) => {
                ". A copy keeps its direction, the kind of its memory, and the context of its source in an exec: memory of a pool, or a \
                 source of another context, is not exchanged for other memory"
            }
            Parameters::Memset(memset) if memset.raw().height > 1 => {
                ". A memset of rows keeps its width and height in an exec; instantiate the graph again"
            }
            Parameters::Memset(_) => {
                ". A memset keeps the context of its memory in an exec; for memory of another context instantiate a graph that has it"
            }
            Parameters::MemoryOperations(_) => {
                ". A node keeps its operations and their number in an exec; their addresses and values can be others"
            }
            Parameters::Kernel(_) if is_elsewhere => ". A kernel keeps its device in an exec",
            _ => "",
        });
    }
    failure
}
