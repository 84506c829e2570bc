//! Single nodes are changed, in one instance only.

use super::own::{Base, Own};
use super::{Exec, State};
use crate::context::Context;
use crate::driver::CallError;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{self, CUgraphNode};
use crate::graph::state::{self, NodeId};
use crate::graph::{Node, condition, read, restriction};
use crate::object::error::{Error, Status};
use crate::op::ConditionOperand;
use crate::op::node::{Holds, Kept, NodeChange, Parameters};

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
        self.check_node(node)?;
        node.check_change(change)?;
        condition::check_change(node, change)?;
        self.check_conditions(&change.change_conditions().0)?;
        let mut state = self.state.lock();
        let mut tree = self.tree.lock();
        let id = node.object.check_there()?;
        self.check_age(node, &tree, id)?;
        // SAFETY: the caller vouches for what the change uses.
        let before = unsafe { self.set_node(&mut state, &tree, id, change) }.map_err(|mut failure| {
            if failure.object.is_empty() {
                failure = failure.about(node.object.as_ref());
            }
            failure
        })?;
        if let Some(own) = state.own.get(&id) {
            tree.list_parameters(&own.parameters);
        }
        self.watch(&mut state, &tree, std::iter::once(id));
        drop(tree);
        state.retire([before]);
        Ok(())
    }

    /// Refuses conditions that nothing used when the instance was made: kernels of it cannot set them.
    fn check_conditions(&self, conditions: &[(usize, &dyn ConditionOperand)]) -> Result<(), Error> {
        let unknown = conditions.iter().find(|(_, condition)| !self.kept.has_condition(condition.known()));
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
    pub(super) fn check_age(&self, node: &Node, tree: &state::State, id: NodeId) -> Result<(), Error> {
        if tree.node(id).number < self.kept.born {
            return Ok(());
        }
        let refusal = format!("{node} was added after {self} was instantiated; update it from the graph");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(node.object.as_ref()))
    }

    /// What a node does in this instance.
    pub(super) fn now<R>(
        &self,
        state: &State,
        tree: &state::State,
        id: NodeId,
        look: impl FnOnce(&Parameters) -> R,
    ) -> Result<R, Error> {
        if let Some(own) = state.own.get(&id) {
            return Ok(look(&own.parameters));
        }
        let node = tree.node(id);
        match &state.base {
            Base::Taken(taken) => match taken.get(&id) {
                Some(parameters) => Ok(look(parameters)),
                None => Err(self.unknown()),
            },
            Base::Unknown => Err(self.unknown()),
            Base::Definition => self.kept.with(id, |then| match then {
                Some(then) => Ok(look(then)),
                None => read::with_parameters(&self.tree, node, look).map_err(|error| self.failed(error)),
            }),
        }
    }

    #[cold]
    fn unknown(&self) -> Error {
        let refusal = format!(
            "{self} was updated from a graph whose nodes are not those of its own in the same order, so what this node does there is not \
             known: set all of it once"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    /// What a node keeps alive in this instance, as far as it is known here.
    pub(super) fn kept_now(state: &State, tree: &state::State, id: NodeId) -> Holds {
        match state.own.get(&id) {
            Some(own) => own.holds.clone(),
            None => tree.node(id).attachment.as_ref().map_or_else(Holds::default, |kept| kept.holds()),
        }
    }

    /// Changes a node; answers with what it kept before in this instance.
    ///
    /// # Safety
    /// As for [`set`](Self::set).
    unsafe fn set_node<C: NodeChange>(
        &self,
        state: &mut State,
        tree: &state::State,
        id: NodeId,
        change: &mut C,
    ) -> Result<Holds, Error> {
        let node = tree.node(id);
        let named = change.change_context(self.tree.context());
        let own = named.or_else(|| node.context.clone());
        let at = own.as_ref().unwrap_or(self.tree.context());
        let is_whole = change.is_whole();
        let mut changed = |now: &Parameters| -> Result<Parameters, Error> {
            let parameters = change.changed(now, at)?;
            restriction::check(&self.tree, tree, node.graph, &parameters, at)?;
            tree.check_parameters(&parameters)?;
            self.check_attributes(now, &parameters)?;
            Ok(parameters)
        };
        let mut parameters = match self.now(state, tree, id, &mut changed) {
            Ok(parameters) => parameters?,
            // All of a node can be set although nobody knows what it does now.
            Err(_) if is_whole => changed(&node.parameters)?,
            Err(failure) => return Err(failure),
        };
        state.held.check(self)?;
        let Some(raw) = &state.raw else { return Err(self.gone()) };
        // SAFETY: the caller vouches for what the change uses; the node is there, which the lock keeps.
        unsafe { set_native(raw, node.native, &mut parameters, at) }
            .map_err(|error| change.why(explain(self.failed(error), &parameters), at))?;
        // From here on nothing fails.
        let kept = Kept(Self::kept_now(state, tree, id));
        let holds = change.kept(kept).0;
        state.held.runs_in(at);
        state.uses = None;
        let keeps_more = state.own.get(&id).is_some_and(|own| !own.holds.is_same(&holds));
        let before = state.own.insert(id, Own { parameters, holds });
        Ok(before.filter(|_| keeps_more).map_or_else(Holds::default, |before| before.holds))
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

/// # Safety
/// As for [`calls::set_in`].
pub(super) unsafe fn set_native(
    exec: &RawExec,
    node: CUgraphNode,
    parameters: &mut Parameters,
    at: &Context,
) -> Result<(), CallError> {
    let is_kernel = matches!(parameters, Parameters::Kernel(_));
    // Driver 580 crashes on kernels where no context is current (measured).
    let _current = if is_kernel { Some(at.entered()?) } else { None };
    // SAFETY: as the caller vouches.
    let set = parameters.with_raw(at.native(), |raw| unsafe { calls::set_in(exec, node, raw) });
    set.unwrap_or_else(|| Err(CallError::missing("cuGraphExecNodeSetParams_12020")))
}

/// What the driver does not change in an instance (measured on 580).
fn explain(mut failure: Error, parameters: &Parameters) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(match parameters {
            Parameters::Copy(copy) if !copy.is_range() => {
                ". A copy of a box keeps its memory in an instance; instantiate the graph again"
            }
            Parameters::Copy(_) => {
                ". A copy keeps its direction and the sort of its memory in an instance: memory of a pool is not exchanged for other memory"
            }
            Parameters::Kernel(_) => ". A kernel keeps its device in an instance",
            _ => "",
        });
    }
    failure
}
