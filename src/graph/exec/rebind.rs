//! What many nodes of an instance use is exchanged in one call: a buffer, or the value of a parameter.

use super::own::Own;
use super::set::Setting;
use super::{CURE, Exec, State};
use crate::graph::state::{self, ByNode, NodeId};
use crate::memory::Buffer;
use crate::object::error::{Error, Status};
use crate::op::node::{Changed, Holds, Parameters, Rebinding};
use crate::op::{Operand, check_operand};
use smallvec::SmallVec;
use std::sync::Arc;

impl Exec {
    /// Has every node of this instance use one buffer in place of another, from its next launch on; each part keeps its offset. Answers with
    /// how many nodes it changed. The old buffer is let go of when every launch made before is done.
    ///
    /// It reaches buffers among the arguments of kernels, at the ends of copies of ranges and under memsets, in child graphs and bodies too.
    /// Pointers that were given as bytes or in a block, memory operations, and what others captured it does not reach.
    ///
    /// # Safety
    /// As for [`Graph::add`](crate::graph::Graph::add).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a buffer that is smaller, or of another context or resource, and if a copy of a box, or a node that was
    /// removed, uses the old one; [`Status::INVALID_HANDLE`] for a buffer of another driver; the driver's. The instance is as it was then.
    pub unsafe fn rebind(&self, from: &Arc<Buffer>, to: &Arc<Buffer>) -> Result<usize, Error> {
        self.check_buffers(from, to)?;
        let (old, new): (Arc<dyn Operand>, Arc<dyn Operand>) =
            (Arc::<Buffer>::clone(from), Arc::<Buffer>::clone(to));
        let rebinding = Rebinding::new((&old, from.range()), (&new, to.range()));
        let mut state = self.state.lock();
        self.check_whole(&state)?;
        let tree = self.tree.lock();
        self.find_uses(&mut state, &tree)?;
        self.check_removed(&state, &rebinding)?;
        let key = Arc::as_ptr(from).addr();
        let nodes = state.uses.as_ref().and_then(|uses| uses.objects.get(&key).cloned()).unwrap_or_default();
        self.check_rebound(&state, &tree, &nodes, from)?;
        // SAFETY: the caller vouches for the buffer.
        let exchanged = unsafe { self.change_all(&mut state, &tree, &nodes, &Exchange::Object(&rebinding)) }?;
        drop(tree);
        if let Some(uses) = &mut state.uses
            && let Some(moved) = uses.objects.remove(&key)
        {
            // Some may use both.
            let users = uses.objects.entry(Arc::as_ptr(to).addr()).or_default();
            users.extend(moved);
            users.sort_unstable();
            users.dedup();
        }
        state.retire_given(&exchanged);
        state.retire([Holds::of_inner(rebinding.old_hold())]);
        Ok(nodes.len())
    }

    /// Gives a parameter another value, in every kernel node of this instance that has it, from its next launch on. Answers with how many
    /// nodes it changed.
    ///
    /// # Safety
    /// As for [`Graph::add`](crate::graph::Graph::add).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a name that no argument of the instance has, or has any more, and for a value of another size; the
    /// driver's. The instance is as it was then.
    pub unsafe fn set_parameter(&self, name: &str, value: &[u8]) -> Result<usize, Error> {
        let mut state = self.state.lock();
        self.check_whole(&state)?;
        let tree = self.tree.lock();
        self.find_uses(&mut state, &tree)?;
        let nodes = state.uses.as_ref().and_then(|uses| uses.names.get(name).cloned()).unwrap_or_default();
        if nodes.is_empty() {
            return Err(self.no_parameter(&tree, name));
        }
        self.check_parameter(&state, &tree, &nodes, name, value.len())?;
        // SAFETY: the caller vouches for the value.
        unsafe { self.change_all(&mut state, &tree, &nodes, &Exchange::Value(name, value)) }?;
        Ok(nodes.len())
    }

    /// Refuses a value that is not of the parameter's size. What the nodes of this instance have counts: an update may have brought
    /// a parameter of the same name from another definition, of another size, too.
    fn check_parameter(
        &self,
        state: &State,
        tree: &state::State,
        nodes: &[NodeId],
        name: &str,
        given: usize,
    ) -> Result<(), Error> {
        for id in nodes {
            let size_in = |parameters: &Parameters| match parameters {
                Parameters::Kernel(kernel) => kernel.parameter(name).map(<[u8]>::len),
                _ => None,
            };
            if let Some(size) = self.now(state, tree, *id, size_in)?.filter(|size| *size != given) {
                let node = tree.name_of(*id);
                return Err(self.refused(format!(
                    "the parameter \"{name}\" of {node} takes {size} bytes, and {given} are given"
                )));
            }
        }
        Ok(())
    }

    /// The refusal of a name that no argument has. The definition remembers names that arguments had once.
    #[cold]
    fn no_parameter(&self, tree: &state::State, name: &str) -> Error {
        if tree.parameter_size(name).is_none() {
            return self.refused(format!("{self} has no parameter \"{name}\""));
        }
        self.refused(format!(
            "no argument in {self} is the parameter \"{name}\" any more: each was set to something else, or its node was removed; set one \
             to the parameter again (cushim_node_set_argument with CUSHIM_ARG_PARAMETER)"
        ))
    }

    pub(super) fn refused(&self, why: String) -> Error {
        Error::new(Status::INVALID_ARGUMENT, why).about(self)
    }

    fn check_buffers(&self, from: &Arc<Buffer>, to: &Arc<Buffer>) -> Result<(), Error> {
        check_operand(to.as_ref(), self.context())?;
        if from.driver() != self.driver() {
            let refusal = format!("{from} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(from.as_ref()));
        }
        let is_same = match (from.resource(), to.resource()) {
            (Some(from), Some(to)) => from.is_like(to),
            (None, None) => true,
            _ => false,
        };
        let why = if to.bytes() < from.bytes() {
            format!(
                "{to} has {} bytes, fewer than the {} of {from}, in whose place it is to come",
                to.bytes(),
                from.bytes()
            )
        } else if !is_same {
            format!("{to} is not of the same resource as {from}, in whose place it is to come")
        } else if from.is_elsewhere(to) {
            format!("{to} is not of the same context as {from}, in whose place it is to come")
        } else {
            return Ok(());
        };
        Err(Error::new(Status::INVALID_ARGUMENT, why).about(to.as_ref()))
    }

    /// Nodes that were removed from the definition run on, and nothing reaches them any more.
    fn check_removed(&self, state: &State, rebinding: &Rebinding<'_>) -> Result<(), Error> {
        for removed in self.kept.removed() {
            let known = self.now_of_removed(state, &removed);
            let mut is_used = known.is_none() && removed.parameters.can_use_objects();
            if let Some(parameters) = known {
                parameters.each_object(|object| is_used |= rebinding.is_from(object));
            }
            if is_used {
                let may =
                    if known.is_some() { "uses" } else { "may use, since another graph was taken over," };
                let what = removed.object.map_or_else(
                    || format!("{} {}", removed.parameters.node_type(), removed.number),
                    |object| object.to_string(),
                );
                return Err(self.refused(format!(
                    "{what} {may} the buffer, still runs in {self}, and was removed from the graph, so that nothing changes it any more; \
                     instantiate the graph again"
                )));
            }
        }
        Ok(())
    }

    fn check_rebound(
        &self,
        state: &State,
        tree: &state::State,
        nodes: &[NodeId],
        from: &Arc<Buffer>,
    ) -> Result<(), Error> {
        for id in nodes {
            if !self.now(state, tree, *id, Parameters::can_rebind)? {
                let node = tree.name_of(*id);
                return Err(self.refused(format!(
                    "{node} is a 2D or 3D copy of {from}, which the driver does not exchange in an exec; instantiate the graph again"
                )));
            }
        }
        Ok(())
    }

    /// Exchanges the same in all of these nodes, or in none. Answers with those that have no more what they were given.
    ///
    /// # Safety
    /// As for [`rebind`](Self::rebind).
    unsafe fn change_all(
        &self,
        state: &mut State,
        tree: &state::State,
        nodes: &[NodeId],
        exchange: &Exchange<'_>,
    ) -> Result<Vec<NodeId>, Error> {
        for id in nodes {
            self.make_own(state, tree, *id)?;
        }
        state.held.check(self)?;
        let State { raw: Some(raw), own, broken, .. } = &mut *state else { return Err(self.gone()) };
        let mut setting = Setting::of(raw);
        let mut done = Vec::with_capacity(nodes.len());
        for id in nodes {
            // SAFETY: the caller vouches for what is exchanged.
            match unsafe { self.change(&mut setting, own, tree, *id, exchange) } {
                Ok(changed) => done.push((*id, changed)),
                Err(mut failure) => {
                    let name = tree.name_of(*id);
                    match self.undo(&mut setting, own, tree, done, exchange) {
                        None => failure
                            .message
                            .push_str(&format!(". It was about {name}; all other nodes are as they were")),
                        Some(why) => {
                            failure.message.push_str(&format!(
                                ". It was about {name}; {why}, so that it cannot be launched any more: {CURE}"
                            ));
                            *broken = Some(why);
                        }
                    }
                    return Err(failure);
                }
            }
        }
        drop(setting);
        // From here on nothing fails.
        let mut exchanged = Vec::new();
        if let Exchange::Object(rebinding) = exchange {
            let hold = rebinding.hold();
            state.keeps = true;
            for (id, changed) in &done {
                if let (Some(own), Before::Places(places)) = (state.own.get_mut(*id), changed) {
                    let mut holds = own.holds.take().unwrap_or_else(|| Box::new(state.held.given(*id)));
                    if own.given.intersects(holds.rebind(&own.parameters, &hold, places)) {
                        exchanged.push(*id);
                    }
                    own.holds = Some(holds);
                }
            }
        }
        self.watch(state, tree, nodes.iter().copied());
        Ok(exchanged)
    }

    /// Sees to it that what a node does is this instance's own; answers whether it was before.
    #[inline]
    pub(super) fn make_own(&self, state: &mut State, tree: &state::State, id: NodeId) -> Result<bool, Error> {
        if state.own.get(id).is_some() {
            return Ok(true);
        }
        let parameters = self.by_base(state, tree, id, Parameters::clone)?;
        let context = self.context_of(state, tree, id);
        let own = Own::given(parameters, context, &state.held, id);
        *state.own.place(id) = Some(own);
        Ok(false)
    }

    /// # Safety
    /// As for [`rebind`](Self::rebind).
    unsafe fn change(
        &self,
        setting: &mut Setting<'_>,
        own: &mut ByNode<Own>,
        tree: &state::State,
        id: NodeId,
        exchange: &Exchange<'_>,
    ) -> Result<Before, Error> {
        let Some(Own { parameters, context, .. }) = own.get_mut(id) else { return Err(self.gone()) };
        let at = context.as_ref().unwrap_or(self.tree.context());
        let before = exchange.put(parameters);
        // SAFETY: the caller vouches for what is exchanged; the node is there, which the lock keeps.
        match unsafe { setting.set(tree.node(id).native, parameters, at) } {
            Ok(()) => Ok(before),
            Err(error) => {
                exchange.put_back(parameters, before);
                Err(self.failed(error))
            }
        }
    }

    /// Gives nodes what they had. Answers with why nothing is launched any more, if the driver refuses even that.
    fn undo(
        &self,
        setting: &mut Setting<'_>,
        own: &mut ByNode<Own>,
        tree: &state::State,
        done: Vec<(NodeId, Before)>,
        exchange: &Exchange<'_>,
    ) -> Option<String> {
        let mut broken = None;
        for (id, before) in done.into_iter().rev() {
            let Some(Own { parameters, context, .. }) = own.get_mut(id) else { continue };
            let at = context.as_ref().unwrap_or(self.tree.context());
            exchange.put_back(parameters, before);
            // SAFETY: the node had these parameters before.
            if unsafe { setting.set(tree.node(id).native, parameters, at) }.is_err() {
                let name = tree.name_of(id);
                broken = Some(format!(
                    "a change of many nodes failed half-way, and {name} could not be changed back"
                ));
            }
        }
        broken
    }
}

/// What is exchanged.
enum Exchange<'a> {
    Object(&'a Rebinding<'a>),
    Value(&'a str, &'a [u8]),
}

/// What a node had before.
enum Before {
    Places(Changed),
    Value(SmallVec<[u8; 16]>),
}

impl Exchange<'_> {
    fn put(&self, parameters: &mut Parameters) -> Before {
        match (self, &mut *parameters) {
            (Self::Value(name, value), Parameters::Kernel(kernel)) => {
                let before = kernel.parameter(name).map(SmallVec::from_slice);
                kernel.set_parameter(name, value);
                Before::Value(before.unwrap_or_default())
            }
            (Self::Object(rebinding), parameters) => Before::Places(parameters.rebind(rebinding)),
            (Self::Value(..), _) => Before::Places(Changed::new()),
        }
    }

    fn put_back(&self, parameters: &mut Parameters, before: Before) {
        match (self, parameters, before) {
            (Self::Object(rebinding), parameters, Before::Places(changed)) => {
                parameters.unbind(rebinding, &changed)
            }
            (Self::Value(name, _), Parameters::Kernel(kernel), Before::Value(value)) => {
                kernel.set_parameter(name, &value)
            }
            _ => {}
        }
    }
}
