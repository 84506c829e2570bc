//! Changing what a node does.

use super::add::has_attributes;
use super::definition::{State, Tree};
use super::ids::NodeId;
use super::node_name::NodeName;
use super::{Node, condition, keeping, read, refusal, relations, restriction, updatable};
use crate::context::Context;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CUgraphNode};
use crate::driver::{CallError, Table};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::node::{HandedOver, NodeChange, NodeType, Parameters};
use std::sync::Arc;

impl Node {
    /// Changes what the node does: all of it by an operation, or a part. What was instantiated before is not changed. If it fails, owners
    /// stay in the change.
    ///
    /// # Safety
    /// As for [`Graph::add`](super::Graph::add).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an operation that is no such node, and as for [`Graph::add`](super::Graph::add);
    /// [`Status::UNSUPPORTED`] if no driver, or not this one, changes such nodes. The node is as it was then.
    pub unsafe fn set<C: NodeChange>(&self, change: &mut C) -> Result<(), Error> {
        let tree = &self.tree;
        let _used = self.hold_definition()?;
        restriction::check_version(tree, change.node_type())?;
        let name = self.name();
        name.check_change(change)?;
        let conditions = change.change_conditions().0;
        let has_conditions = !conditions.is_empty();
        if has_conditions {
            condition::check_change(tree, name, &conditions)?;
            condition::number_all(&conditions)?;
        }
        drop(conditions);
        let mut state = tree.lock_to_edit()?;
        let id = name.check_there(&state)?;
        if has_conditions {
            condition::check_there(&change.change_conditions().0)?;
        }
        // SAFETY: the caller vouches for what the change uses.
        let released = unsafe { set(tree, &mut state, id, change) }.map_err(|mut failure| {
            if failure.object.is_empty() {
                failure = failure.about(&name);
            }
            failure
        })?;
        drop(state);
        report(tree.driver(), released);
        Ok(())
    }
}

impl NodeName<'_> {
    /// Refuses a change that is for nodes of another type.
    #[inline]
    pub(super) fn check_change(&self, change: &impl NodeChange) -> Result<(), Error> {
        let wanted = change.node_type();
        if self.node_type() == wanted { Ok(()) } else { Err(self.no_change_to(wanted)) }
    }

    #[cold]
    fn no_change_to(&self, wanted: NodeType) -> Error {
        if let Err(gone) = self.check_there(&self.tree.lock_unasked()) {
            return gone;
        }
        let refusal =
            format!("{self} is no {wanted}, and cannot become one; remove it, and add another node");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }
}

/// Changes a node; answers with what came of the release of what it kept before.
///
/// # Safety
/// As for [`Node::set`].
unsafe fn set<C: NodeChange>(
    tree: &Arc<Tree>,
    state: &mut State,
    id: NodeId,
    change: &mut C,
) -> Result<Result<(), Error>, Error> {
    let node = state.node(id);
    let (graph, native) = (node.graph, node.native);
    let object = Arc::clone(&state.graph(graph).object);
    let failed = |error| tree.failed(error, object.as_ref());
    let named = change.change_context(tree.context());
    let own = named.clone().or_else(|| state.contents.context(id).cloned());
    let at = own.as_ref().unwrap_or(tree.context());
    // Whether an operand went with the context is the driver's to say when a node is added, and not when it is changed.
    at.check_still_there(object.as_ref())?;
    let mut now = read::with_parameters(tree, state, id, Parameters::clone).map_err(failed)?;
    let mut parameters = change.changed(&now, at)?;
    restriction::check(tree, state, graph, &parameters, at)?;
    state.check_parameters(&parameters)?;
    let kept = HandedOver(state.contents.holds_of(id));
    let keeps = change.keeps(&kept);
    let prepared = if keeps { state.prepare(graph).map_err(failed)? } else { None };
    let related = relations::kept(state);
    // SAFETY: the caller vouches for what the change uses; the node is there, which the lock keeps.
    let set = unsafe { set_native(tree.table(), native, &mut now, &mut parameters, at) };
    drop(related);
    set.map_err(|error| {
        let name = updatable::is_updatable(tree, state, id).then(|| state.name_of(id));
        // The driver says nothing of memory that a graph allocates, which is none the worse.
        let failure = match state.has_memory_of(&parameters) {
            true => failed(error),
            false => change.why(failed(error), &parameters, at),
        };
        refusal::of_updatable(refusal::of_set(failure, &parameters), name, "it keeps this attribute")
    })?;
    // From here on nothing fails.
    let attachment = keeping::kept(keeps, prepared, || change.kept(kept).0);
    state.list_parameters(&parameters);
    state.set_context(id, own.filter(|own| own != tree.context()));
    let record = state.record_mut(id);
    (record.parameters, record.is_ours) = (parameters, true);
    let before = state.contents.reattach(id, attachment);
    let released = before.map_or(Ok(()), |before| before.release(&state.graph(graph).native));
    Ok(released.map_err(failed))
}

/// Tells the driver; if it refuses the attributes of a kernel, or what the kernel does, the node is again what it was.
///
/// # Safety
/// As for [`calls::set`].
unsafe fn set_native(
    table: &Table,
    node: CUgraphNode,
    now: &mut Parameters,
    parameters: &mut Parameters,
    at: &Context,
) -> Result<(), CallError> {
    // Where no context is current, driver 580 crashes on kernels, refuses memsets of a pool's memory, and takes copies of it
    // which then no exec can take over (measured).
    let needs_context =
        matches!(parameters, Parameters::Kernel(_) | Parameters::Memset(_) | Parameters::Copy(_));
    let _current = if needs_context { Some(at.entered()?) } else { None };
    // SAFETY: as the caller vouches.
    let set = |to: &mut Parameters| unsafe {
        let set = to.with_raw(at.native(), |raw| calls::set(table, node, raw));
        set.unwrap_or_else(|| Err(CallError::missing("cuGraphNodeSetParams_12020")))
    };
    if !has_attributes(parameters) && !has_attributes(now) {
        return set(parameters);
    }
    // SAFETY: as above; what the node had before it can have again.
    let attributes = |from: &_, to: &_| unsafe { set_attributes(table, node, from, to) };
    // Where it fails there is nothing more to do if the way back fails, too.
    if now.has_untold_arguments() {
        // The driver cannot be told again what it did not tell. So the attributes are first.
        let set = attributes(now, parameters).and_then(|()| set(parameters));
        return set.inspect_err(|_| {
            let _ = attributes(parameters, now);
        });
    }
    set(parameters)?;
    attributes(now, parameters).inspect_err(|_| {
        let _ = set(now);
        let _ = attributes(parameters, now);
    })
}

/// Sets the attributes of a kernel node; those that it had and is to have no more become zero, which is no attribute.
///
/// # Safety
/// As for [`calls::set_attributes`].
unsafe fn set_attributes(
    table: &Table,
    node: CUgraphNode,
    before: &Parameters,
    after: &Parameters,
) -> Result<(), CallError> {
    let (Parameters::Kernel(before), Parameters::Kernel(after)) = (before, after) else { return Ok(()) };
    let mut all = after.attributes().to_vec();
    // A node that is updatable stays so. Driver 580 has refused to make one updatable again after changes in an instance (seen once; set
    // again without such changes it accepts).
    if updatable::says_so(before) && updatable::says_so(after) {
        all.retain(|attribute| attribute.id != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
    }
    for attribute in before.attributes() {
        if after.attribute(attribute.id).is_none() {
            let mut none = *attribute;
            // SAFETY: zeros are valid for all of it.
            none.value = unsafe { std::mem::zeroed() };
            all.push(none);
        }
    }
    // SAFETY: as the caller vouches.
    unsafe { calls::set_attributes(table, node, &all) }
}
