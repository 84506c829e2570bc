//! Single nodes are changed, in one instance only.

use super::own::{Base, Own};
use super::{Exec, State};
use crate::context::Context;
use crate::driver::CallError;
use crate::driver::calls::context::Current;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{self, CUgraphNode};
use crate::graph::by_node::ByNode;
use crate::graph::definition;
use crate::graph::ids::NodeId;
use crate::graph::instance::Removed;
use crate::graph::node_name::NodeName;
use crate::graph::{Node, condition, read, restriction};
use crate::object::error::{Error, Status};
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
        restriction::check_version(&self.tree, change.node_type())?;
        node.check_change(change)?;
        let conditions = change.change_conditions().0;
        if !conditions.is_empty() {
            condition::check_change(&self.tree, node, &conditions)?;
            self.check_conditions(&conditions)?;
        }
        drop(conditions);
        let mut state = self.state.lock();
        self.check_whole(&state)?;
        let mut tree = self.tree.lock();
        let id = node.check_there(&tree)?;
        self.check_age(node, &tree, id)?;
        // SAFETY: the caller vouches for what the change uses.
        let set = unsafe { self.set_node(&mut state, &mut tree, id, change) }.map_err(|mut failure| {
            if failure.object.is_empty() {
                failure = failure.about(&node);
            }
            failure
        })?;
        self.watch(&mut state, &tree, std::iter::once(id));
        drop(tree);
        if let Set::Keeping(before) = set {
            state.retire_given(&[id]);
            state.retire(before.into_iter().map(|holds| *holds));
        }
        Ok(())
    }

    /// Refuses conditions that nothing used when the instance was made: kernels of it cannot set them.
    fn check_conditions(&self, conditions: &[(usize, &dyn ConditionOperand)]) -> Result<(), Error> {
        let unknown =
            conditions.iter().find(|(_, condition)| !self.instance.has_condition(condition.known()));
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
        if tree.node(id).number < self.instance.born { Ok(()) } else { Err(self.too_young(node)) }
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
        match state.own.get(id) {
            Some(own) => Ok(look(&own.parameters)),
            None => self.by_base(state, tree, id, look),
        }
    }

    /// The context in which a node runs in this instance; `None` for that of the definition.
    pub(super) fn context_of(
        &self,
        state: &State,
        tree: &definition::State,
        id: NodeId,
    ) -> Option<Arc<Context>> {
        match state.own.get(id) {
            Some(own) => own.context.clone(),
            None => self.instance.context(id, &tree.node(id).context),
        }
    }

    /// What a node does in this instance that the definition has no more; `None` if nobody knows.
    pub(super) fn now_of_removed<'a>(
        &self,
        state: &'a State,
        removed: &'a Removed,
    ) -> Option<&'a Parameters> {
        match (state.own.get(removed.id), &state.base) {
            (Some(own), _) => Some(&own.parameters),
            (None, _) if state.unknown.contains(&removed.id) => None,
            (None, Base::Definition) => Some(&removed.parameters),
            (None, Base::Taken(taken)) => taken.get(removed.id).map(|taken| &taken.parameters),
            (None, Base::Unknown) => None,
        }
    }

    /// What a node does in this instance that was not set here.
    pub(super) fn by_base<R>(
        &self,
        state: &State,
        tree: &definition::State,
        id: NodeId,
        look: impl FnOnce(&Parameters) -> R,
    ) -> Result<R, Error> {
        match &state.base {
            _ if state.unknown.contains(&id) => Err(self.unknown(&tree.name_of(id))),
            Base::Taken(taken) => match taken.get(id) {
                Some(taken) => Ok(look(&taken.parameters)),
                None => Err(self.unknown(&tree.name_of(id))),
            },
            Base::Unknown => Err(self.unknown(&tree.name_of(id))),
            Base::Definition => self.instance.with(id, |then| match then {
                Some(then) => Ok(look(then)),
                None => {
                    let node = tree.node(id);
                    read::with_parameters(&self.tree, node, look).map_err(|error| self.failed(error))
                }
            }),
        }
    }

    #[cold]
    fn unknown(&self, node: &str) -> Error {
        let refusal = format!(
            "{self} took over a graph (cushim_exec_update, cushim_exec_set_child) whose nodes and edges are not known to be those of its own \
             in the same order, so what {node} does there is not known: set all of it once"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    /// Changes a node.
    ///
    /// # Safety
    /// As for [`set`](Self::set).
    unsafe fn set_node<C: NodeChange>(
        &self,
        state: &mut State,
        tree: &mut definition::State,
        id: NodeId,
        change: &mut C,
    ) -> Result<Set, Error> {
        let named = change.change_context(self.tree.context());
        let is_named = named.is_some();
        let context = named.or_else(|| self.context_of(state, tree, id));
        let at = context.as_ref().unwrap_or(self.tree.context());
        // SAFETY: as the caller vouches.
        let is_of_value = unsafe { self.put(state, tree, id, change, at) }?;
        // From here on nothing fails.
        let Some(own) = state.own.get_mut(id) else { return Ok(Set::KeepingTheSame) };
        if is_named {
            own.context = context.clone().filter(|context| !Arc::ptr_eq(context, self.tree.context()));
        }
        // A value keeps nothing; what was kept for the one before goes.
        if is_of_value && own.holds.is_none() && !own.has_values_of_owners {
            return Ok(Set::KeepingTheSame);
        }
        state.held.runs_in(at);
        state.held.uses(&own.parameters);
        state.uses = None;
        tree.list_parameters(&own.parameters);
        let now = match &own.holds {
            Some(holds) => Holds::clone(holds),
            None => state.held.given(id),
        };
        let holds = change.kept(HandedOver(now)).0;
        if own.holds.is_none() && own.given.is_empty() && holds.is_empty() {
            return Ok(Set::KeepingTheSame);
        }
        state.keeps |= !holds.is_empty();
        let before = own.holds.replace(Box::new(holds));
        Ok(Set::Keeping(before.filter(|before| own.holds.as_ref().is_some_and(|now| !now.is_same(before)))))
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
        at: &Arc<Context>,
    ) -> Result<bool, Error> {
        let was_own = match self.make_own(state, tree, id) {
            // All of a node can be set although nobody knows what it does now.
            Err(_) if change.is_whole() => {
                let context = self.context_of(state, tree, id);
                let parameters = tree.node(id).parameters.clone();
                *state.own.place(id) = Some(Own::given(parameters, context, &state.held.given(id)));
                false
            }
            was_own => was_own?,
        };
        let State { raw, own, held, .. } = state;
        let (Some(raw), Some(Own { parameters, context, .. })) = (raw, own.get_mut(id)) else {
            return Err(self.gone());
        };
        let device = context.as_ref().unwrap_or(self.tree.context()).device();
        let is_elsewhere = at.device().ordinal() != device.ordinal();
        let undo = match change.apply(parameters, at) {
            Ok(undo) => undo,
            Err(failure) => {
                Self::forget_own(own, id, was_own);
                return Err(failure);
            }
        };
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
                Self::forget_own(own, id, was_own);
                Err(failure)
            }
        }
    }

    /// Sees to it that what a node does is this instance's own; answers whether it was before.
    #[inline]
    pub(super) fn make_own(
        &self,
        state: &mut State,
        tree: &definition::State,
        id: NodeId,
    ) -> Result<bool, Error> {
        if state.own.get(id).is_some() {
            return Ok(true);
        }
        let parameters = self.by_base(state, tree, id, Parameters::clone)?;
        let context = self.context_of(state, tree, id);
        let own = Own::given(parameters, context, &state.held.given(id));
        *state.own.place(id) = Some(own);
        Ok(false)
    }

    /// A node was not changed: what it does is this instance's own only if it was before.
    #[cold]
    fn forget_own(all: &mut ByNode<Own>, id: NodeId, was_own: bool) {
        if !was_own {
            all.remove(id);
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
        restriction::check(&self.tree, tree, tree.node(id).graph, after, at)?;
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

/// A node was set.
enum Set {
    /// It keeps what it kept before.
    KeepingTheSame,
    /// It keeps this no more, if anything, and perhaps not all that it was given.
    Keeping(Option<Box<Holds>>),
}

/// Tells the driver what nodes do: one after the other, so that those of one context enter it once.
pub(super) struct Setting<'a> {
    exec: &'a RawExec,
    /// Which context was entered last.
    at: *const Context,
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
        if matches!(parameters, Parameters::Kernel(_)) && !std::ptr::eq(self.at, at) {
            (self.current, self.at) = (None, std::ptr::null());
            (self.current, self.at) = (Some(at.entered()?), at);
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
