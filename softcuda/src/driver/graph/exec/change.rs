//! Nodes of execs are given something else to do, enabled and disabled.

use super::Exec;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_GRAPH_NODE_TYPE_CONDITIONAL, CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_SUPPORTED, CUDA_HOST_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUevent,
    CUgraphExec, CUgraphNode, CUgraphNodeParams, CUresult,
};
use crate::driver::graph::calls::children::Ownership;
use crate::driver::graph::calls::{context, event as event_of, generic};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::copy::CopyNode;
use crate::driver::graph::leaf::event::{RecordNode, WaitNode};
use crate::driver::graph::leaf::fill::FillNode;
use crate::driver::graph::leaf::host::HostNode;
use crate::driver::graph::leaf::kernel::Parameters;
use crate::driver::graph::leaf::values::ValuesNode;
use crate::driver::graph::leaf::{Leaf, exchange};
use std::sync::Arc;

/// Gives a node of an exec something else to do; `make` sees what it does. The node is named by the definition's, which must
/// still be there (measured).
fn give(exec: CUgraphExec, node: CUgraphNode, make: impl FnOnce(&Leaf) -> Result<Leaf, CUresult>) -> Answer {
    let (exec, node) = (Exec::of(exec)?, Node::of(node)?);
    let mut state = exec.state.lock();
    let step = state.step(&node)?;
    let old = &state.actions.steps[step].leaf;
    let new = make(old)?;
    exchange::check(old, &new, exec.has_own_priorities()).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
    Arc::make_mut(&mut state.actions).steps[step].leaf = Arc::new(new);
    Ok(())
}

fn exchange_kernel(exec: CUgraphExec, node: CUgraphNode, parameters: Parameters) -> Answer {
    give(exec, node, |old| match old {
        Leaf::Kernel(old) => Ok(Leaf::Kernel(old.with(parameters)?)),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })
}

pub(crate) fn cuGraphExecKernelNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Answer {
    exchange_kernel(hGraphExec, hNode, nodeParams.get()?.into())
}

pub(crate) fn cuGraphExecKernelNodeSetParams_v2(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Answer {
    exchange_kernel(hGraphExec, hNode, nodeParams.get()?.into())
}

pub(crate) fn cuGraphExecMemcpyNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    copyParams: In<CUDA_MEMCPY3D_v2>,
    ctx: CUcontext,
) -> Answer {
    let params = copyParams.get()?;
    give(hGraphExec, hNode, |_| Ok(Leaf::Copy(CopyNode::new(params, context(ctx)?)?.into())))
}

pub(crate) fn cuGraphExecMemsetNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    memsetParams: In<CUDA_MEMSET_NODE_PARAMS_v1>,
    ctx: CUcontext,
) -> Answer {
    let params = memsetParams.get()?;
    give(hGraphExec, hNode, |_| Ok(Leaf::Fill(FillNode::new(params, context(ctx)?)?)))
}

pub(crate) fn cuGraphExecHostNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<CUDA_HOST_NODE_PARAMS_v1>,
) -> Answer {
    let params = nodeParams.get()?;
    give(hGraphExec, hNode, |_| Ok(Leaf::Host(HostNode::new(params.fn_, params.userData, 0)?)))
}

pub(crate) fn cuGraphExecEventRecordNodeSetEvent(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    event: CUevent,
) -> Answer {
    give(hGraphExec, hNode, |_| Ok(Leaf::Record(RecordNode::new(event_of(event)?))))
}

pub(crate) fn cuGraphExecEventWaitNodeSetEvent(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    event: CUevent,
) -> Answer {
    give(hGraphExec, hNode, |_| Ok(Leaf::Wait(WaitNode::new(event_of(event)?))))
}

pub(crate) fn cuGraphExecBatchMemOpNodeSetParams(
    graphExec: CUgraphExec,
    node: CUgraphNode,
    nodeParams: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Answer {
    let params = nodeParams.get()?;
    give(graphExec, node, |_| Ok(Leaf::Values(ValuesNode::new(params)?)))
}

/// The same for every type.
pub(crate) fn cuGraphExecNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: Out<CUgraphNodeParams>,
) -> Answer {
    let params = nodeParams.item(0)?;
    match generic::child_of(&params)? {
        Some((child, Ownership::Copy)) => Exec::of(hGraphExec)?.update_child(&*Node::of(hNode)?, &child),
        Some((_, Ownership::Move)) => Err(CUDA_ERROR_INVALID_VALUE),
        None if params.type_ == CU_GRAPH_NODE_TYPE_CONDITIONAL => Err(CUDA_ERROR_NOT_SUPPORTED), // measured
        None => give(hGraphExec, hNode, |old| generic::leaf(&params, Some(old))),
    }
}

/// Only what has an effect on a device can be disabled.
fn step(exec: &Exec, node: CUgraphNode) -> Result<usize, CUresult> {
    let state = exec.state.lock();
    let step = state.step(&*Node::of(node)?)?;
    match &*state.actions.steps[step].leaf {
        Leaf::Kernel(_) | Leaf::Copy(_) | Leaf::Fill(_) => Ok(step),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphNodeSetEnabled(hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: u32) -> Answer {
    let exec = Exec::of(hGraphExec)?;
    let step = step(&exec, hNode)?;
    Arc::make_mut(&mut exec.state.lock().actions).steps[step].enabled = isEnabled != 0;
    Ok(())
}

pub(crate) fn cuGraphNodeGetEnabled(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    isEnabled: Out<u32>,
) -> Answer {
    isEnabled.check()?;
    let exec = Exec::of(hGraphExec)?;
    let step = step(&exec, hNode)?;
    let enabled = exec.state.lock().actions.steps[step].enabled;
    isEnabled.set(enabled.into())
}
