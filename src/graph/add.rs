//! Adding nodes.

#[cfg(feature = "capi")]
use super::definition::Last;
use super::definition::{GraphObject, NodeState, State, Tree};
use super::ids::{GraphId, NodeId};
use super::node_name::NodeName;
use super::predecessors::{Natives, Predecessors};
use super::record::Record;
use super::{Graph, Node, condition, keeping, refusal, relations, restriction};
use crate::context::Context;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use crate::object::error::Error;
#[cfg(feature = "capi")]
use crate::object::handle::{Exhausted, Token};
use crate::op::node::{NodeOperation, Parameters};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::Arc;

impl Graph {
    /// Adds an operation as a node, which runs when all of these are done; without any, when the graph is launched. What the
    /// operation names (kernels, buffers, events, owners) the graph keeps as long as the node, clones of the graph and what
    /// is instantiated from it need it. If it fails, owners stay in the operation.
    ///
    /// # Safety
    /// What the operation reads, writes and runs, and the graph does not keep, is good whenever the graph is launched.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for nodes of another graph, and for what the graph cannot
    /// hold; those of the operation's check; the driver's. The graph is as it was then.
    pub unsafe fn add<O: NodeOperation>(
        &self,
        after: &[&Node],
        operation: &mut O,
    ) -> Result<(Node, O::Output), Error> {
        let after: SmallVec<[NodeName<'_>; 8]> = after.iter().map(|node| node.name()).collect();
        // SAFETY: as the caller vouches.
        let (added, output) = unsafe { self.add_after(after.as_slice(), operation) }?;
        Ok((added.node(), output))
    }

    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn add_after<O: NodeOperation>(
        &self,
        after: &(impl Predecessors + ?Sized),
        operation: &mut O,
    ) -> Result<(Added<'_>, O::Output), Error> {
        if self.object.is_gone() {
            return Err(self.object.refusal());
        }
        let (tree, graph) = (&self.definition.tree, self.object.id);
        let conditions = operation.conditions().0;
        let has_conditions = !conditions.is_empty();
        if has_conditions {
            condition::check_own(tree, graph, &conditions)?;
        }
        drop(conditions);
        let own = operation.node_context(tree.context());
        let at = own.as_ref().unwrap_or(tree.context());
        let mut parameters = operation.parameters(at)?;
        let mut guard = self.lock_to_edit()?;
        let state = &mut *guard;
        if has_conditions {
            condition::check_there(&operation.conditions().0)?;
        }
        let mut natives = Natives::new();
        before(tree, state, graph, after, &mut natives)?;
        restriction::check(tree, state, graph, &parameters, at)?;
        state.check_parameters(&parameters)?;
        let native = &state.graph(graph).native;
        let failed = |error| refusal::of_add(tree.failed(error, state.graph(graph).object.as_ref()), after);
        if has_attributes(&parameters) && state.allocating > 0 {
            // SAFETY: as below.
            unsafe { rehearse(tree, &mut parameters, at) }
                .map_err(|error| operation.explain(failed(error), at))?;
        }
        let keeps = operation.has_holds();
        let prepared = if keeps { state.prepare(graph).map_err(failed)? } else { None };
        let related = relations::kept(state);
        // SAFETY: the caller vouches for what the operation uses; the nodes are nodes of this graph, which the lock keeps.
        let added =
            unsafe { add_native(native, &natives, &mut parameters, operation.argument_addresses(), at) };
        drop(related);
        let added = added.map_err(|error| operation.explain(failed(error), at))?;
        // From here on nothing fails.
        let attachment = keeping::kept(keeps, prepared, || operation.holds().0);
        let output = O::output(&parameters);
        let context = own.filter(|own| own != tree.context());
        let id = state.list_made(graph, added, (context, attachment), || Record::new(parameters));
        Ok((Added { tree, state: guard, id }, output))
    }
}

/// A node that was just added: its object is made when somebody wants it. As long as this lives, nobody else edits the definition.
pub(crate) struct Added<'g> {
    pub(super) tree: &'g Arc<Tree>,
    pub(super) state: MutexGuard<'g, State>,
    pub(super) id: NodeId,
}

impl Added<'_> {
    /// What handles of the graphs in it name.
    pub(crate) fn graphs(&self) -> Vec<Arc<GraphObject>> {
        let inner = &self.state.node(self.id).inner;
        inner.iter().map(|graph| Arc::clone(&self.state.graph(*graph).object)).collect()
    }

    /// Gives it its handle.
    ///
    /// # Errors
    /// [`Exhausted`], if the call did not make [room](crate::object::handle::Guard::room_for_run).
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn give_handle(&mut self) -> Result<Token, Exhausted> {
        let (id, state) = (self.id, &mut *self.state);
        let token = self.tree.handle_of(state, id)?;
        let node = state.node(id);
        state.last = Some(Last { token, id, graph: node.graph, native: node.native });
        Ok(token)
    }

    pub(super) fn node(mut self) -> Node {
        Node::of(self.tree, &mut self.state, self.id)
    }
}

/// Lists the native handles of the nodes that come before another in this graph.
#[inline]
pub(super) fn before(
    tree: &Tree,
    state: &State,
    graph: GraphId,
    after: &(impl Predecessors + ?Sized),
    natives: &mut Natives,
) -> Result<(), Error> {
    if let (Some(token), Some(last)) = (after.only(), &state.last)
        && last.token == token
        && last.graph == graph
    {
        natives.push(last.native);
        return Ok(());
    }
    if let Some(asked) = after.asked() {
        natives.extend(asked?);
        return Ok(());
    }
    after.each(&mut |index, node| {
        let known = node_of(tree, state, graph, node)?;
        natives.push(known.ok_or_else(|| refusal::of_another_graph(node, index))?.native);
        Ok(())
    })
}

/// The node of a graph that is named; `None` if it is one of another graph, refused if it was removed.
#[inline]
pub(super) fn node_of<'s>(
    tree: &Tree,
    state: &'s State,
    graph: GraphId,
    node: NodeName<'_>,
) -> Result<Option<&'s NodeState>, Error> {
    if !node.is_in(tree) {
        return node.check_elsewhere().map(|()| None);
    }
    let known = state.node(node.check_there(state)?);
    Ok(Some(known).filter(|known| known.graph == graph))
}

/// Has the driver add a node; the arguments of a kernel may be `given` where their caller has them.
///
/// # Safety
/// As for [`calls::add`].
#[inline]
unsafe fn add_native(
    graph: &RawGraph,
    after: &[CUgraphNode],
    parameters: &mut Parameters,
    given: Option<&[*const c_void]>,
    at: &Context,
) -> Result<CUgraphNode, CallError> {
    // Driver 580 crashes on kernels where no context is current (measured). Of allocations that was not measured.
    let needs_context = matches!(parameters, Parameters::Kernel(_) | Parameters::Allocation(_));
    let _current = if needs_context { Some(at.entered()?) } else { None };
    let added = match &*parameters {
        // SAFETY: as the caller vouches.
        Parameters::Kernel(kernel) => Some(unsafe {
            match given {
                Some(given) => calls::add_kernel(graph, after, kernel.raw_of(at.native(), given)),
                None => kernel.with_raw(at.native(), |raw| calls::add_kernel(graph, after, raw)),
            }
        }),
        // SAFETY: as the caller vouches.
        _ => parameters.with_raw(at.native(), |raw| unsafe { calls::add(graph, after, raw) }),
    };
    let node = added.unwrap_or_else(|| Err(CallError::missing("cuGraphAddNode_12030")))?;
    if !has_attributes(parameters) {
        return Ok(node);
    }
    // SAFETY: the node was added; the caller vouches for attributes that were given by number.
    if let Err(error) = unsafe { set_attributes(graph.table(), node, parameters) } {
        // SAFETY: as above. A graph with allocations keeps it; it was tried on another graph before.
        let _ = unsafe { calls::destroy(graph.table(), node) };
        return Err(error);
    }
    Ok(node)
}

pub(super) fn has_attributes(parameters: &Parameters) -> bool {
    matches!(parameters, Parameters::Kernel(kernel) if !kernel.attributes().is_empty())
}

/// Adds a node to a graph of its own: attributes are set when a node exists, and from a graph with allocations the driver removes
/// none again, should it refuse them.
///
/// # Safety
/// As for [`calls::add`].
unsafe fn rehearse(tree: &Tree, parameters: &mut Parameters, at: &Context) -> Result<(), CallError> {
    let scratch = RawGraph::create(tree.table())?;
    // SAFETY: as the caller vouches.
    let added = unsafe { add_native(&scratch, &[], parameters, None, at) };
    // SAFETY: nobody else knows it.
    let destroyed = unsafe { scratch.destroy() };
    added.and(destroyed)
}

/// # Safety
/// As for [`calls::set_attributes`].
unsafe fn set_attributes(table: &Table, node: CUgraphNode, parameters: &Parameters) -> Result<(), CallError> {
    match parameters {
        // SAFETY: as the caller vouches.
        Parameters::Kernel(kernel) => unsafe { calls::set_attributes(table, node, kernel.attributes()) },
        _ => Ok(()),
    }
}
