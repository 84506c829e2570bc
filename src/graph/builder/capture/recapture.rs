//! Recapturing a graph: its nodes take over what is captured; driver 13.3.

use super::begin::Beginning;
use super::{Capture, keep_for_graph};
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::{CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUgraph, CUgraphNode};
use crate::driver::{CallError, Version};
use crate::graph::definition::State;
use crate::graph::ids::NodeId;
use crate::graph::record::Loose;
use crate::graph::{Graph, GraphKind, foreign, relations, restriction, updatable};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::attachment::Attachment;
use crate::op::node::{NodeType, Parameters};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Capture {
    /// Ends it. Nobody has the definition between the driver's answer and what that means for its nodes.
    pub(super) fn end_again(&self) -> Result<Graph, Error> {
        let mut state = self.tree().lock();
        let ended = match self.end_driver(&state) {
            Ok(_) => Ok(self.was_captured_again(&mut state)),
            Err(error) if !self.is_over() => return Err(self.still_goes_on(error)),
            Err(error) => {
                let failure = self.lacks_nodes(&state, self.not_ended(&state, error));
                self.is_lost(&mut state, Err(error));
                Err(failure)
            }
        };
        drop(state);
        self.is_over_now();
        for released in ended? {
            report(self.tree().driver(), released);
        }
        Ok(self.graph.clone())
    }

    /// The refusal of an end, with how many nodes were not captured again.
    #[cold]
    fn lacks_nodes(&self, state: &State, mut failure: Error) -> Error {
        let nodes = &state.graph(self.object().id).nodes;
        let taken = self.parts.lock().taken.len();
        if failure.status.0 == CUDA_ERROR_GRAPH_RECAPTURE_FAILURE.0 && taken < nodes.len() {
            failure.message.push_str(&format!(
                ". Of the {} nodes of {} {taken} were captured with this library, and the graph is lost: capture all of them, in the \
                 order in which they were added",
                nodes.len(),
                self.object()
            ));
        }
        failure
    }

    /// It was ended, and the graph is given up.
    pub(super) fn was_given_up_again(
        &self,
        mut state: MutexGuard<'_, State>,
        ended: Result<CUgraph, CallError>,
    ) {
        self.is_lost(&mut state, ended);
        drop(state);
        self.is_over_now();
    }

    /// There is no graph. The driver has destroyed it, as it does after other captures into a graph (measured); but not one that differs:
    /// that is to be destroyed by whom it belongs to (documented).
    fn is_lost(&self, state: &mut State, ended: Result<CUgraph, CallError>) {
        let has_differed = self.parts.lock().differs;
        let differs = |error: CallError| error.result() == Some(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
        self.tree().spoil(state, has_differed || ended.map_or_else(differs, |_| true));
    }

    /// The graph is anybody's again, and lets go of what its nodes kept before. Answers with what came of that.
    fn was_captured_again(&self, state: &mut State) -> Vec<Result<(), Error>> {
        let (tree, object) = (self.tree(), self.object());
        object.set_captured(false);
        let mut parts = self.parts.lock();
        let (mut replaced, taken) = (std::mem::take(&mut parts.replaced), std::mem::take(&mut parts.taken));
        drop(parts);
        for id in state.graph(object.id).nodes.clone() {
            if !taken.contains(&id) {
                replaced.extend(is_others_now(state, id));
            }
        }
        let native = &state.graph(object.id).native;
        let release = |attachment: Attachment| attachment.release(native);
        replaced.into_iter().map(|old| release(old).map_err(|error| tree.failed(error, object))).collect()
    }

    /// A node does what was captured, from now on.
    pub(super) fn takes_over(&self, state: &mut State, native: CUgraphNode, new: Loose) {
        let Loose { record: new, context, attachment } = new;
        let known = state.find(native).filter(|id| state.node_type(*id) == new.node_type());
        let Some(id) = known else { return keep_for_graph(state, self.object().id, attachment) };
        state.list_parameters(&new.parameters);
        state.set_context(id, context);
        let record = state.record_mut(id);
        (record.parameters, record.is_ours) = (new.parameters, new.is_ours);
        self.last.store(record.number.wrapping_add(1), Relaxed);
        let before = state.contents.reattach(id, attachment);
        let mut parts = self.parts.lock();
        parts.taken.insert(id);
        parts.replaced.extend(before);
    }
}

/// Somebody else has captured a node, by a call of the driver's: of what it does only the type is known. Answers with what it kept.
fn is_others_now(state: &mut State, id: NodeId) -> Option<Attachment> {
    state.set_context(id, None);
    let record = state.record_mut(id);
    (record.parameters, record.is_ours) = (Parameters::Plain(record.node_type()), false);
    state.contents.detach(id)
}

impl Beginning<'_> {
    /// Into a graph whose nodes take over what is captured.
    pub(super) fn into_again(self, graph: &Graph) -> Result<Arc<Capture>, Error> {
        let (stream, mode) = (self.stream, self.mode);
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
        if state.is_new {
            let refusal = format!("{graph} is being captured; end that capture (cushim_builder_end) first");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object));
        }
        tree.check_contexts(&state, object)?;
        let nodes = foreign::list_all(tree, &mut state, object.id)?;
        let has_graphs =
            |id: &NodeId| matches!(state.node_type(*id), NodeType::Child | NodeType::Conditional);
        if !state.conditions.is_empty()
            || nodes.iter().any(has_graphs)
            || updatable::find(tree, &state).is_some()
        {
            let refusal = format!(
                "{graph} has child graphs, conditions or nodes that kernels update, and cannot be recaptured; capture the same calls into a new \
             graph"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object));
        }
        if stream.may_be_known_to_others() {
            tree.share(&mut state)?;
        }
        let native = state.graph(object.id).native.handle();
        let related = relations::kept(&state);
        let capture = self.begin(|| {
            // SAFETY: the definition is alive, and the lock keeps it as it is.
            stream.here(|raw| unsafe { calls::begin_again(tree.table(), raw, native, mode.raw()) })?;
            Ok((graph.clone(), native))
        })?;
        drop(related);
        object.set_captured(true);
        drop(state);
        Ok(capture)
    }
}
