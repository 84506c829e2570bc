//! Conditions, and nodes that look at them.

use super::named;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_ERROR_INVALID_VALUE, CUcontext, CUgraph,
    CUgraphConditionalHandle, CUresult,
};
use crate::driver::condition::Condition;
use crate::driver::graph::definition::conditional::{Choice, Conditional};
use crate::driver::graph::definition::{Graph, Work};
use std::sync::Arc;

pub(crate) fn cuGraphConditionalHandleCreate(
    pHandle_out: Out<CUgraphConditionalHandle>,
    hGraph: CUgraph,
    ctx: CUcontext,
    defaultLaunchValue: u32,
    flags: u32,
) -> Answer {
    pHandle_out.check()?;
    let graph = Graph::of(hGraph)?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let assigned = (flags != 0).then_some(defaultLaunchValue);
    let condition = Condition::new(graph.handle, named(ctx)?, assigned);
    let handle = condition.handle;
    graph.add_condition(condition);
    pHandle_out.set(handle)
}

/// What a caller describes for a node of a graph.
pub(super) fn conditional(given: CUDA_CONDITIONAL_NODE_PARAMS, graph: &Arc<Graph>) -> Result<Work, CUresult> {
    let CUDA_CONDITIONAL_NODE_PARAMS { handle, type_, size, ctx, .. } = given;
    let choice = Choice::of(type_, size)?;
    let condition = Condition::of(handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if !graph.can_use(&condition) || named(ctx)?.id() != condition.context.id() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    graph.check_depth(0)?;
    Ok(Work::Conditional(Conditional::new(condition, choice, size)?.into()))
}

/// A node, for callers.
pub(super) fn tell(node: &Conditional) -> CUDA_CONDITIONAL_NODE_PARAMS {
    CUDA_CONDITIONAL_NODE_PARAMS {
        handle: node.condition.handle,
        type_: node.choice.kind(),
        size: node.count(),
        phGraph_out: node.handles(),
        ctx: node.condition.context.context(),
    }
}
