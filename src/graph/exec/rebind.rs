//! What many nodes of an instance use is exchanged in one call: a buffer, or the value of a parameter.

use super::many::{Object, Value};
use super::uses::{User, Users};
use super::{Exec, State};
use crate::graph::definition;
use crate::graph::state::name;
use crate::kernel::some_of;
use crate::memory::Buffer;
use crate::object::error::{Error, Status};
use crate::op::check_operand;
use crate::op::node::{Holds, Parameters, Rebinding};
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
    pub unsafe fn rebind(&self, from: &Buffer, to: &Buffer) -> Result<usize, Error> {
        self.check_buffers(from, to)?;
        let (old, new) = (from.operand(), to.operand());
        let rebinding = Rebinding::new((&old, from.range()), (&new, to.range()));
        let mut state = self.0.state.lock();
        self.check_whole(&state)?;
        let tree = self.0.tree.lock();
        let uses = self.find_uses(&mut state, &tree)?;
        let (old_key, new_key) = (Arc::as_ptr(&old).addr(), Arc::as_ptr(&new).addr());
        let Some(users) = uses.take_object(old_key) else {
            self.check_removed(&state, &rebinding)?;
            state.held.check(self)?;
            return Ok(0);
        };
        let checked = self.check_removed(&state, &rebinding);
        let checked = checked.and_then(|()| self.check_rebound(&state, &tree, &users, from));
        // SAFETY: the caller vouches for the buffer.
        let changed =
            checked.and_then(|()| unsafe { self.change_all(&mut state, &tree, &users, &Object(&rebinding)) });
        let nodes = users.node_count();
        if let Some(uses) = &mut state.uses {
            uses.put_object(if changed.is_ok() { new_key } else { old_key }, users);
        }
        drop(tree);
        let gone = changed?;
        state.retire([Holds::of_inner(rebinding.old_hold()), gone]);
        Ok(nodes)
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
        let mut state = self.0.state.lock();
        self.check_whole(&state)?;
        let tree = self.0.tree.lock();
        let uses = self.find_uses(&mut state, &tree)?;
        let Some((key, users)) = uses.take_name(name) else {
            return Err(self.no_parameter(&tree, name, uses.names()));
        };
        let checked = self.check_parameter(&state, &tree, &users, name, value.len());
        // SAFETY: the caller vouches for the value.
        let changed =
            checked.and_then(|()| unsafe { self.change_all(&mut state, &tree, &users, &Value(value)) });
        let nodes = users.node_count();
        if let Some(uses) = &mut state.uses {
            uses.put_name(key, users);
        }
        changed.map(|_| nodes)
    }

    /// Refuses a value that is not of the parameter's size. What the nodes of this instance have counts: an update may have brought
    /// a parameter of the same name from another definition, of another size, too.
    fn check_parameter(
        &self,
        state: &State,
        tree: &definition::State,
        users: &Users,
        name: &str,
        given: usize,
    ) -> Result<(), Error> {
        if users.all_take(given) {
            return Ok(());
        }
        for User { node: id, part } in users.all() {
            let size_in = |parameters: &Parameters| parameters.argument_size(*part);
            let size = self.now(state, tree, *id, size_in)?;
            if size as usize != given {
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
    fn no_parameter(&self, tree: &definition::State, name: &str, others: Vec<String>) -> Error {
        if tree.parameter_size(name).is_none() {
            let others = match &others[..] {
                [] => "none of its arguments has a name (CUSHIM_ARG_PARAMETER)".to_owned(),
                some => format!("it has {}", some_of(some)),
            };
            return self.refused(format!("{self} has no parameter \"{name}\"; {others}"));
        }
        self.refused(format!(
            "no argument in {self} is the parameter \"{name}\" any more: each was set to something else, or its node was removed; set one \
             to the parameter again (cushim_exec_set_argument with CUSHIM_ARG_PARAMETER)"
        ))
    }

    pub(super) fn refused(&self, why: String) -> Error {
        Error::new(Status::INVALID_ARGUMENT, why).about(self)
    }

    fn check_buffers(&self, from: &Buffer, to: &Buffer) -> Result<(), Error> {
        check_operand(to.as_operand(), self.context())?;
        if from.driver() != self.driver() {
            let refusal = format!("{from} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(from));
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
        Err(Error::new(Status::INVALID_ARGUMENT, why).about(to))
    }

    /// Nodes that were removed from the definition run on, and nothing reaches them any more.
    fn check_removed(&self, state: &State, rebinding: &Rebinding<'_>) -> Result<(), Error> {
        let removed = state.uses.iter().flat_map(|uses| &uses.removed);
        for record in removed.filter_map(|id| state.contents.get(*id)) {
            let mut is_used = !record.is_known && record.parameters.can_use_objects();
            if record.is_known {
                record.parameters.each_object(|object| is_used |= rebinding.is_from(object));
            }
            if is_used {
                let may =
                    if record.is_known { "uses" } else { "may use, since another graph was taken over," };
                let label = self.0.tree.names.label(record.number);
                let what = name(record.node_type(), record.number, label.as_deref());
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
        tree: &definition::State,
        users: &Users,
        from: &Buffer,
    ) -> Result<(), Error> {
        if users.all_can_rebind() {
            return Ok(());
        }
        for User { node: id, .. } in users.all() {
            if !self.now(state, tree, *id, Parameters::can_rebind)? {
                let node = tree.name_of(*id);
                return Err(self.refused(format!(
                    "{node} is a 2D or 3D copy of {from}, which the driver does not exchange in an exec; instantiate the graph again"
                )));
            }
        }
        Ok(())
    }
}
