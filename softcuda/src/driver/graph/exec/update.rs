//! Execs are updated by whole graphs.

use super::layout::{Content, Layout};
use super::objects::Objects;
use super::pairing::{Mismatch, Pairing, pair, pair_by_number};
use super::{Exec, State};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_SUCCESS,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUgraph,
    CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode, CUresult,
};
use crate::driver::condition::Condition;
use crate::driver::graph::definition::{Graph, Node};
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::exchange::{self, Refused};
use std::ptr::null_mut;
use std::sync::Arc;

/// What is to be exchanged, when all of it can be.
struct Exchange {
    pairing: Pairing,
    /// Whether priorities of kernels have to stay.
    own_priorities: bool,
    /// By the steps.
    leaves: Vec<(u32, Arc<Leaf>)>,
    /// By the branches: with new defaults come other conditions.
    conditions: Vec<(u32, Arc<Condition>)>,
}

impl Exchange {
    fn new(exec: &Exec, pairing: Pairing) -> Self {
        Self {
            pairing,
            own_priorities: exec.has_own_priorities(),
            leaves: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// What a graph has instead of what an exec does.
    fn add(&mut self, state: &State, old: &Layout, new: &Layout) -> Result<(), Mismatch> {
        for (place, other) in (self.pairing)(old, new)? {
            match (&place.content, &other.content) {
                (Content::Leaf(_), Content::Leaf(leaf)) => {
                    let step = state.plan.steps[&place.node];
                    exchange::check(&state.actions.steps[step as usize].leaf, leaf, self.own_priorities)
                        .map_err(|why| Mismatch::of_node(other, why))?;
                    self.leaves.push((step, Arc::clone(leaf)));
                }
                (Content::Child(inner), Content::Child(other)) => self.add(state, inner, other)?,
                (
                    Content::Conditional { choice, bodies, .. },
                    Content::Conditional { choice: other_choice, bodies: others, condition },
                ) => {
                    if choice != other_choice || bodies.len() != others.len() {
                        return Err(Mismatch::of_node(other, Refused::Condition));
                    }
                    self.conditions.push((state.plan.branch_of[&place.node], Arc::clone(condition)));
                    for (body, other) in bodies.iter().zip(others) {
                        self.add(state, body, other)?;
                    }
                }
                _ => return Err(Mismatch::of_node(other, Refused::Type)),
            }
        }
        Ok(())
    }

    fn apply(self, state: &mut State) {
        let actions = Arc::make_mut(&mut state.actions);
        for (step, leaf) in self.leaves {
            actions.steps[step as usize].leaf = leaf;
        }
        for (branch, condition) in self.conditions {
            actions.conditions[branch as usize] = condition;
        }
    }
}

impl Exec {
    /// Does from now on what the graph says, and keeps what that keeps instead of what it has kept.
    fn update(&self, graph: &Graph) -> Result<(), Mismatch> {
        let mut state = self.state.lock();
        let mut exchange = Exchange::new(self, pair);
        exchange.add(&state, &state.layout, &Layout::of(graph))?;
        exchange.apply(&mut state);
        let former = std::mem::replace(&mut state.objects, Arc::new(Objects::of(graph)));
        let launched = state.last.is_some();
        drop(state);
        Self::release(former, launched);
        Ok(())
    }

    /// Lets one of its child graphs do what another graph says.
    pub(super) fn update_child(&self, node: &Node, graph: &Graph) -> Answer {
        let mut state = self.state.lock();
        let inner = state.layout.child(node.handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let mut exchange = Exchange::new(self, pair_by_number);
        failure(exchange.add(&state, inner, &Layout::of(graph)))?;
        exchange.apply(&mut state);
        let objects = Arc::new(state.objects.with_child(node.handle, graph));
        let former = std::mem::replace(&mut state.objects, objects);
        let launched = state.last.is_some();
        drop(state);
        Self::release(former, launched);
        Ok(())
    }
}

/// The result of an update, for both ABIs.
fn update(exec: CUgraphExec, graph: CUgraph) -> Result<Result<(), Mismatch>, CUresult> {
    let (exec, graph) = (Exec::of(exec)?, Graph::of(graph)?);
    // Of graphs that were moved: documented.
    if graph.is_moved() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    if graph.is_body() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // Measured: nobody would know what kernels have made of the nodes.
    if graph.has_updatable() || exec.state.lock().layout.has_updatable() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    Ok(exec.update(&graph))
}

fn failure(updated: Result<(), Mismatch>) -> Answer {
    updated.map_err(|_| CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
}

pub(crate) fn cuGraphExecUpdate(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    hErrorNode_out: Out<CUgraphNode>,
    updateResult_out: Out<CUgraphExecUpdateResult>,
) -> Answer {
    let updated = update(hGraphExec, hGraph)?;
    let (node, result) = match &updated {
        Ok(()) => (0, CU_GRAPH_EXEC_UPDATE_SUCCESS),
        // Where no node is to blame, the older call says less (measured).
        Err(Mismatch { node: 0, .. }) => (0, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED),
        Err(mismatch) => (mismatch.node, mismatch.result),
    };
    hErrorNode_out.set_if_wanted(node as CUgraphNode);
    updateResult_out.set_if_wanted(result);
    failure(updated)
}

pub(crate) fn cuGraphExecUpdate_v2(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    resultInfo: Out<CUgraphExecUpdateResultInfo>,
) -> Answer {
    let info = |result, node: usize, from: usize| CUgraphExecUpdateResultInfo {
        result,
        errorNode: node as CUgraphNode,
        errorFromNode: if from == 0 { null_mut() } else { from as CUgraphNode },
    };
    let updated = update(hGraphExec, hGraph);
    resultInfo.set_if_wanted(match &updated {
        Ok(Ok(())) | Err(_) => info(CU_GRAPH_EXEC_UPDATE_SUCCESS, 0, 0),
        Ok(Err(Mismatch { result, node, from })) => info(*result, *node, *from),
    });
    failure(updated?)
}

/// The graph in the node must have the form of the one that it had. A graph in an exec is named by its node in the
/// definition.
pub(crate) fn cuGraphExecChildGraphNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    childGraph: CUgraph,
) -> Answer {
    let (exec, node) = (Exec::of(hGraphExec)?, Node::of(hNode)?);
    exec.update_child(&node, &*Graph::of(childGraph)?)
}
