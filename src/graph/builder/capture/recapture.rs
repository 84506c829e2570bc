//! Recapturing a graph: its nodes take over what is captured; driver 13.3.

use super::super::CaptureMode;
use super::{Capture, keep_for_graph};
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::{CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUgraph};
use crate::driver::{CallError, Version};
use crate::graph::state::{NodeId, NodeState, State};
use crate::graph::{Graph, GraphKind, foreign, restriction, updatable};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::node::NodeType;
use crate::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Capture {
    /// There is no graph. The driver has destroyed it, also one that was there before (measured of captures into a graph); but not one that
    /// was to be recaptured and differs: that is to be destroyed by whom it belongs to (documented).
    pub(super) fn is_lost(&self, ended: Result<CUgraph, CallError>) {
        if !self.is_again {
            return self.tree().abandon();
        }
        let has_differed = self.parts.lock().differs;
        let differs = |error: CallError| error.result() == Some(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
        self.tree().spoil(has_differed || ended.map_or_else(differs, |_| true));
    }

    /// The graph is anybody's again, and lets go of what its nodes kept before.
    pub(super) fn was_captured_again(&self) {
        let state = self.tree().lock();
        self.object().set_captured(false);
        let native = &state.graph(self.object().id).native;
        let replaced = std::mem::take(&mut self.parts.lock().replaced);
        for attachment in replaced {
            let released =
                attachment.release(native).map_err(|error| self.tree().failed(error, self.object()));
            report(self.tree().driver(), released);
        }
    }

    /// A node does what was captured, from now on.
    pub(super) fn takes_over(&self, state: &mut State, new: NodeState) {
        let known = state.find(new.native).filter(|id| state.node(*id).node_type() == new.node_type());
        let Some(id) = known else { return keep_for_graph(state, self.object().id, new.attachment) };
        state.keep_for_execs(id);
        state.list_parameters(&new.parameters);
        state.set_context(id, new.context);
        let node = state.node_mut(id);
        (node.parameters, node.is_ours) = (new.parameters, new.is_ours);
        let before = std::mem::replace(&mut node.attachment, new.attachment);
        self.last.store(node.number.wrapping_add(1), Relaxed);
        self.parts.lock().replaced.extend(before);
    }
}

/// Begins to capture into a graph whose nodes take over what is captured.
pub(super) fn begin_again(stream: &Arc<Stream>, mode: CaptureMode, graph: &Graph) -> Result<Graph, Error> {
    let (tree, object) = (&graph.definition.tree, graph.object.as_ref());
    stream.same_driver(tree.driver(), object)?;
    restriction::require(tree, "to recapture a graph", Version::from_number(13030)).map_err(
        |mut refusal| {
            refusal.message.push_str(
                "; capture the same calls into a new graph, and update the exec from that (cushim_exec_update)",
            );
            refusal
        },
    )?;
    if graph.kind() != GraphKind::Root {
        let refusal = format!("{graph} is part of another graph, and is not captured by itself");
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object));
    }
    let mut state = graph.lock()?;
    tree.check_contexts(&state, object)?;
    let nodes = foreign::list_all(tree, &mut state, object.id)?;
    let has_graphs =
        |id: &NodeId| matches!(state.node(*id).node_type(), NodeType::Child | NodeType::Conditional);
    if state.had_conditions() || nodes.iter().any(has_graphs) || updatable::find(tree, &state).is_some() {
        let refusal = format!(
            "{graph} has child graphs, conditions or nodes that kernels update, and cannot be recaptured; capture the same calls into a new \
             graph"
        );
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object));
    }
    let native = state.graph(object.id).native.handle();
    // SAFETY: the definition is alive, and the lock keeps it as it is.
    stream.here(|raw| unsafe { calls::begin_again(tree.table(), raw, native, mode.raw()) })?;
    object.set_captured(true);
    drop(state);
    Ok(graph.clone())
}
