//! Removing nodes.

use super::Node;
use super::definition::{Removal, State, Tree};
use super::ids::{GraphId, NodeId};
use super::record::Loose;
use super::recorder::Recorder;
use super::{read, refusal, relations, updatable};
use crate::driver::CallError;
use crate::driver::calls::graph::node as calls;
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::node::{NodeType, Parameters};

impl Node {
    /// Takes the node out of its graph, with its edges and all graphs in it. Their handles still tell what they were. What was
    /// instantiated before goes on as it is.
    ///
    /// # Errors
    /// [`Status::ALREADY_DESTROYED`] if the node was removed before; [`Status::INVALID_ARGUMENT`] while a graph in it is being captured;
    /// the driver's, also for a node of a graph that allocates memory, or is being captured. Node, edges and owners are as they were then.
    pub fn remove(&self) -> Result<(), Error> {
        let tree = &self.tree;
        let name = self.name();
        let refuse_twice = |state: &State| match name.is_there(state) {
            true => Ok(name.id),
            false => Err(name.gone(Status::ALREADY_DESTROYED)),
        };
        refuse_twice(&tree.lock_unasked())?;
        let _used = tree.hold(&name)?;
        let mut state = tree.lock_to_edit()?;
        let id = refuse_twice(&state)?;
        if let Some(capture) = state.capture_below(id) {
            drop(state);
            return Err(self.captured_below(capture.as_ref()));
        }
        if tree.check_contexts(&state, &name).is_ok() {
            read_last(tree, &mut state, id);
        }
        if let Err(error) = destroy(tree, &state, id) {
            let updatable = updatable::is_updatable(tree, &state, id).then(|| self.to_string());
            let failure = refusal::of_change(tree.failed(error, &name), state.allocating > 0);
            let failure = refusal::of_updatable(failure, updatable, "such a node stays in its graph");
            let capture = state.graph(state.node(id).graph).capture();
            drop(state);
            return Err(refusal::of_captured(failure, capture));
        }
        let removed = forget(tree, &mut state, id);
        let graph = state.graph(removed.record.graph);
        let released = removed.attachment.map_or(Ok(()), |attachment| attachment.release(&graph.native));
        let released = released.map_err(|error| tree.failed(error, graph.object.as_ref()));
        drop(state);
        report(tree.driver(), released);
        Ok(())
    }

    /// The driver would take the graph away from under the capture, and crash on what comes next there (measured on 580).
    #[cold]
    fn captured_below(&self, capture: &dyn Recorder) -> Error {
        let refusal = format!(
            "{self} cannot be removed while {} captures into a graph in it; end that (cushim_builder_end) first",
            capture.builder()
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(&self.name())
    }
}

fn destroy(tree: &Tree, state: &State, id: NodeId) -> Result<(), CallError> {
    let node = state.node(id);
    // Copies of other graphs may go with it.
    let has_graphs = matches!(state.node_type(id), NodeType::Child | NodeType::Conditional);
    let _relatives = has_graphs.then(relations::changed);
    let _related = if has_graphs { None } else { relations::kept(state) };
    // SAFETY: the node is there, which the lock keeps.
    unsafe { calls::destroy(tree.table(), node.native) }
}

/// What nodes of others do that are about to be removed, and have handles: afterwards nobody tells it any more.
fn read_last(tree: &Tree, state: &mut State, id: NodeId) {
    if !state.record(id).is_ours && state.node(id).is_named {
        // An error leaves the type.
        if let Ok(last) = read::with_parameters(tree, state, id, Parameters::clone) {
            state.record_mut(id).parameters = last;
        }
    }
    for index in 0..state.node(id).inner.len() {
        let below = state.node(id).inner[index];
        for position in 0..state.graph(below).nodes.len() {
            read_last(tree, state, state.graph(below).nodes[position]);
        }
    }
}

/// Takes a node off the list that the driver has destroyed, with all below it. What the node itself kept is still its graph's;
/// what was kept below, the driver has let go of (measured on 580).
pub(super) fn forget(tree: &Tree, state: &mut State, id: NodeId) -> Loose {
    let inner = std::mem::take(&mut state.node_mut(id).inner);
    inner.iter().for_each(|graph| forget_graph(tree, state, *graph));
    let (node, removed) = state.unlist_node(id);
    if let Some(condition) = inner.condition() {
        state.conditions[condition.0 as usize].node = None;
    }
    state.remember_node(id, &node, &removed.record.parameters);
    removed
}

fn forget_graph(tree: &Tree, state: &mut State, id: GraphId) {
    while let Some(node) = state.graph(id).nodes.last().copied() {
        drop(forget(tree, state, node));
    }
    let graph = tree.unlist_inner(state, id);
    graph.object.was_removed();
    state.contents.unplaced.retain(|(of, _)| *of != id);
    state
        .conditions
        .iter_mut()
        .filter(|condition| condition.graph == id)
        .for_each(|condition| condition.end());
    state.remember(Removal::Graph(graph.object));
}
