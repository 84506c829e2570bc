//! Instances take over the parameters of another definition.

use super::held::Held;
use super::pairing::{self, Source};
use super::{Exec, blamed};
use crate::check::GraphOrder;
use crate::driver::sys;
use crate::graph::contents::Contents;
use crate::graph::definition::{self, Tree};
use crate::graph::ids::GraphId;
use crate::graph::{Graph, Node, conditional, ordered, refusal, relations, updatable};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use parking_lot::MutexGuard;
use std::fmt;
use std::sync::Arc;

/// Why an instance was not updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateReason {
    /// The driver's status says it.
    Error,
    /// There are more nodes, fewer, or other edges.
    TopologyChanged,
    /// A node is of another type.
    NodeTypeChanged,
    /// A kernel node runs another function, in a way that this driver cannot change.
    FunctionChanged,
    /// A parameter that cannot change.
    ParametersChanged,
    /// Something of the node cannot be updated.
    NotSupported,
    /// A kernel node runs another function of another sort.
    UnsupportedFunctionChange,
    /// An attribute that cannot change.
    AttributesChanged,
    /// A reason that this library does not know, by the driver's number (`CUgraphExecUpdateResult`).
    Other(i32),
}

impl UpdateReason {
    fn of(result: sys::CUgraphExecUpdateResult) -> Self {
        match result {
            // What failed and has no reason of its own says nothing there.
            sys::CU_GRAPH_EXEC_UPDATE_ERROR | sys::CU_GRAPH_EXEC_UPDATE_SUCCESS => Self::Error,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED => Self::TopologyChanged,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED => Self::NodeTypeChanged,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED => Self::FunctionChanged,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED => Self::ParametersChanged,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED => Self::NotSupported,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE => Self::UnsupportedFunctionChange,
            sys::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED => Self::AttributesChanged,
            other => Self::Other(other.0),
        }
    }

    /// The driver's number.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Error => sys::CU_GRAPH_EXEC_UPDATE_ERROR.0,
            Self::TopologyChanged => sys::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED.0,
            Self::NodeTypeChanged => sys::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED.0,
            Self::FunctionChanged => sys::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED.0,
            Self::ParametersChanged => sys::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED.0,
            Self::NotSupported => sys::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED.0,
            Self::UnsupportedFunctionChange => sys::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE.0,
            Self::AttributesChanged => sys::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED.0,
            Self::Other(number) => number,
        }
    }

    fn text(self) -> Option<&'static str> {
        Some(match self {
            Self::Error | Self::Other(_) => return None,
            Self::TopologyChanged => "the new graph has other nodes or edges; instantiate it",
            Self::NodeTypeChanged => "a node is of another type; instantiate the new graph",
            Self::FunctionChanged => "a kernel node runs another function, which this driver cannot change",
            Self::ParametersChanged => "a node has a parameter that cannot change; instantiate the new graph",
            Self::NotSupported => "something of a node cannot be updated; instantiate the new graph",
            Self::UnsupportedFunctionChange => {
                "a kernel node runs a function that cannot take the place of the old one"
            }
            Self::AttributesChanged => {
                "a node has an attribute that cannot change; instantiate the new graph"
            }
        })
    }
}

/// What is wrong with a definition that an instance did not take over.
pub struct UpdateFailure {
    /// The failure, in a sentence.
    pub error: Error,
    /// The driver's reason.
    pub reason: UpdateReason,
    /// The node of the new definition that it blames, if it blames one that is known here.
    pub node: Option<Node>,
    /// The node that this one would have had to wait for, or should not have; driver 12.0.
    pub other: Option<Node>,
}

impl fmt::Debug for UpdateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for UpdateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for UpdateFailure {}

impl From<Error> for UpdateFailure {
    fn from(error: Error) -> Self {
        Self { error, reason: UpdateReason::Error, node: None, other: None }
    }
}

impl From<UpdateFailure> for Error {
    fn from(failure: UpdateFailure) -> Self {
        failure.error
    }
}

impl Exec {
    /// Takes over the parameters of a definition with the same nodes and edges, from the next launch on, and keeps what its nodes
    /// use in place of what it kept before. Nodes are still named by those of the definition that it was instantiated from.
    ///
    /// # Safety
    /// What the nodes of the definition use, and it does not keep, is good whenever this is launched.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a graph of another driver; the driver's. The failure says the driver's reason, and which node
    /// it blames. The instance is as it was then.
    pub unsafe fn update(&self, graph: &Graph) -> Result<(), UpdateFailure> {
        let tree = &graph.definition.tree;
        if graph.driver() != self.driver() {
            let refusal = format!("{graph} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(self).into());
        }
        graph.check_root()?;
        let _current = self.context().enter()?;
        let mut state = self.0.state.lock();
        state.held.check(self)?;
        let mut source = graph.lock()?;
        tree.check_contexts(&source, graph.object.as_ref())?;
        tree.check_used(&source, graph.object.as_ref())?;
        conditional::cure(tree, &mut source)?;
        source.has_relatives = true;
        let lent = source
            .lend(GraphId::ROOT, self.0.options.keeper())
            .map_err(|error| tree.failed(error, graph.object.as_ref()))?;
        // Inside the update the driver may let go of what it kept.
        let is_left = state.leave_to_driver();
        let Some(raw) = &state.raw else { return Err(self.gone().into()) };
        let relatives = relations::changed();
        // SAFETY: the caller vouches for what the nodes use.
        let updated = unsafe { raw.update(&source.graph(GraphId::ROOT).native) };
        drop(relatives);
        if is_left && updated.is_err() {
            let left = state.held.take_back();
            state.take_back(left);
        }
        let (given, taken_back) = lent.end(updated.is_ok(), || source.contents.clone());
        if let Err(refused) = updated {
            let name = updatable::find(tree, &source);
            drop((source, state));
            let name = name.or_else(|| updatable::find(&self.0.tree, &self.0.tree.lock()));
            let (reason, node) = (UpdateReason::of(refused.reason), blamed(tree, refused.node));
            let other = blamed(tree, refused.from);
            let error = explain(self.failed(refused.error), reason, node.as_ref());
            let error = refusal::of_updatable(
                error,
                name,
                "update the exec node by node, or instantiate the graph again",
            );
            return Err(UpdateFailure { error, reason, node, other });
        }
        let order = ordered::look(tree, &source);
        let held = Held::of(tree, &source, given);
        let there = source.contents.clone();
        let (contents, untold) = match self.taken_over(&state.contents, tree, source) {
            Some(contents) => (contents, None),
            None => (state.contents.forgotten(), Some(there)),
        };
        state.uses = None;
        // The driver has set every node, also one of which nobody knew what it did. Of the change that failed nothing was kept: what is exchanged
        // is kept once all nodes use it.
        state.broken = None;
        state.was_updated(held, contents, untold);
        self.watch_all(&mut state);
        drop(state);
        order.into_iter().for_each(GraphOrder::tell);
        report(tree.driver(), taken_back.map_err(|error| tree.failed(error, graph.object.as_ref())));
        Ok(())
    }

    /// What the nodes do from now on: those of the other definition, if both list the same nodes in the same order.
    fn taken_over(
        &self,
        own: &Contents,
        tree: &Arc<Tree>,
        mut source: MutexGuard<'_, definition::State>,
    ) -> Option<Contents> {
        if Arc::ptr_eq(tree, &self.0.tree) {
            // Its own definition, as it is now; unless nodes took the place of others, or edges lead elsewhere.
            let has_all =
                source.contents.count() == own.count() && self.0.instance.has_edges(source.edges_edited());
            // What was added since may have been removed again.
            let is_same = has_all && (source.made() == self.0.instance.born || self.is_as_made(&mut source));
            return is_same.then(|| source.contents.clone());
        }
        let there = Source::of(tree, &mut source);
        drop(source);
        let mut definition = self.0.tree.lock();
        // Moved into another graph since, where its nodes have other names, or lost.
        definition.root()?;
        let nodes = pairing::outline_for(&self.0.tree, &mut definition, &self.0.instance).ok()?;
        there.ok()?.taken_by(&nodes, own, &self.0.instance, self.0.tree.context())
    }

    /// Whether the driver has the nodes of the definition in the order in which they were when this was instantiated.
    fn is_as_made(&self, definition: &mut definition::State) -> bool {
        let now = pairing::outline(&self.0.tree, definition);
        now.is_ok_and(|now| pairing::are_those_of(&now, &self.0.instance))
    }
}

fn explain(mut failure: Error, reason: UpdateReason, node: Option<&Node>) -> Error {
    if let Some(text) = reason.text() {
        failure.message.push_str(&format!(". The reason: {text}"));
    }
    if let Some(node) = node {
        failure.message.push_str(&format!(". The driver blames {node}"));
    }
    failure
}
