//! The calls for nodes of every type.

use super::children::Ownership;
use super::{Place, children, conditionals, context, event as event_of};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_EMPTY,
    CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
    CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2,
    CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_SUPPORTED, CUDA_EVENT_WAIT_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v2,
    CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUDA_MEM_FREE_NODE_PARAMS,
    CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS_v2, CUgraph,
    CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeParams_u16 as Union, CUresult,
};
use crate::driver::context::current::top;
use crate::driver::graph::definition::{Dependency, Graph, Node, Work, reusable};
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::copy::CopyNode;
use crate::driver::graph::leaf::event::{RecordNode, WaitNode};
use crate::driver::graph::leaf::fill::FillNode;
use crate::driver::graph::leaf::host::HostNode;
use crate::driver::graph::leaf::kernel::{KernelNode, Parameters};
use crate::driver::graph::leaf::memory::{AllocNode, FreeNode};
use crate::driver::graph::leaf::values::ValuesNode;
use crate::instruments::complain::complain;
use crate::instruments::settings::version;
use std::sync::Arc;

/// The version from which on host nodes say how the device waits for them.
const WAITING_SINCE: u32 = 13020;

/// The version from which on there are conditional nodes.
const CONDITIONS_SINCE: u32 = 12030;

/// What a caller describes that holds no graph; `former` is what the node has done until now.
pub(crate) fn leaf(params: &CUgraphNodeParams, former: Option<&Leaf>) -> Result<Leaf, CUresult> {
    check_reserved(params)?;
    let union = &params.u16;
    // SAFETY: the caller has written the member that the type names; all members are of plain numbers and addresses, for
    // which every bit pattern is valid.
    unsafe {
        match params.type_ {
            CU_GRAPH_NODE_TYPE_EMPTY => Ok(Leaf::Empty),
            CU_GRAPH_NODE_TYPE_KERNEL => kernel(union.kernel.into(), former),
            CU_GRAPH_NODE_TYPE_MEMCPY => {
                let given = union.memcpy;
                if given.flags != 0 || given.reserved != 0 {
                    return Err(CUDA_ERROR_INVALID_VALUE);
                }
                Ok(Leaf::Copy(CopyNode::new(given.copyParams, context(given.copyCtx)?)?.into()))
            }
            CU_GRAPH_NODE_TYPE_MEMSET => fill(union.memset, former),
            CU_GRAPH_NODE_TYPE_HOST => {
                let given = union.host;
                let mode = if version() >= WAITING_SINCE { given.syncMode } else { 0 };
                Ok(Leaf::Host(HostNode::new(given.fn_, given.userData, mode)?))
            }
            CU_GRAPH_NODE_TYPE_WAIT_EVENT => Ok(Leaf::Wait(WaitNode::new(event_of(union.eventWait.event)?))),
            CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => Ok(Leaf::Values(ValuesNode::new(union.memOp.into())?)),
            CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
                Ok(Leaf::Record(RecordNode::new(event_of(union.eventRecord.event)?)))
            }
            CU_GRAPH_NODE_TYPE_MEM_ALLOC | CU_GRAPH_NODE_TYPE_MEM_FREE | CU_GRAPH_NODE_TYPE_CONDITIONAL => {
                Err(CUDA_ERROR_NOT_SUPPORTED) // measured
            }
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                complain("softcuda has no nodes for external semaphores; the call is refused");
                Err(CUDA_ERROR_NOT_SUPPORTED)
            }
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// What a type has no use for must be zeros (measured).
fn check_reserved(params: &CUgraphNodeParams) -> Answer {
    let used = match params.type_ {
        CU_GRAPH_NODE_TYPE_KERNEL => size_of::<CUDA_KERNEL_NODE_PARAMS_v3>(),
        CU_GRAPH_NODE_TYPE_MEMCPY => size_of::<CUDA_MEMCPY_NODE_PARAMS>(),
        CU_GRAPH_NODE_TYPE_MEMSET => size_of::<CUDA_MEMSET_NODE_PARAMS_v2>(),
        CU_GRAPH_NODE_TYPE_HOST => size_of::<CUDA_HOST_NODE_PARAMS_v2>(),
        CU_GRAPH_NODE_TYPE_GRAPH => size_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>(),
        CU_GRAPH_NODE_TYPE_WAIT_EVENT | CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
            size_of::<CUDA_EVENT_WAIT_NODE_PARAMS>()
        }
        CU_GRAPH_NODE_TYPE_MEM_ALLOC => size_of::<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(),
        CU_GRAPH_NODE_TYPE_MEM_FREE => size_of::<CUDA_MEM_FREE_NODE_PARAMS>(),
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => size_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2>(),
        CU_GRAPH_NODE_TYPE_CONDITIONAL => size_of::<CUDA_CONDITIONAL_NODE_PARAMS>(),
        _ => 0,
    };
    // SAFETY: all members are of plain numbers and addresses, and so is their place as a whole.
    let words = unsafe { params.u16.reserved1 };
    let rest = &words[used.div_ceil(size_of::<i64>())..];
    let zero = params.reserved0 == [0; 3] && params.reserved2 == 0 && rest.iter().all(|word| *word == 0);
    if zero { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

fn kernel(parameters: Parameters, former: Option<&Leaf>) -> Result<Leaf, CUresult> {
    Ok(Leaf::Kernel(match former {
        Some(Leaf::Kernel(former)) => former.with(parameters)?,
        _ => KernelNode::new(parameters)?,
    }))
}

fn fill(given: CUDA_MEMSET_NODE_PARAMS_v2, former: Option<&Leaf>) -> Result<Leaf, CUresult> {
    let CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx } = given;
    let params = CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height };
    Ok(Leaf::Fill(match former {
        Some(Leaf::Fill(former)) if ctx.is_null() && top().is_none() => former.set(params)?,
        _ => FillNode::new(params, context(ctx)?)?,
    }))
}

/// The graph that a caller describes for a node that holds one, and what becomes of it.
pub(crate) fn child_of(params: &CUgraphNodeParams) -> Result<Option<(Arc<Graph>, Ownership)>, CUresult> {
    if params.type_ != CU_GRAPH_NODE_TYPE_GRAPH {
        return Ok(None);
    }
    check_reserved(params)?;
    // SAFETY: as in `leaf`.
    let given = unsafe { params.u16.graph };
    Ok(Some((Graph::of(given.graph)?, Ownership::of(given.ownership))))
}

/// Adds a node of any type, and writes what the driver tells of it.
fn add(place: Place, nodeParams: Out<CUgraphNodeParams>) -> Answer {
    let mut told = None;
    place.add_behind(|graph, after| {
        let params = nodeParams.item(0)?;
        let work = work(&params, graph, after)?;
        told = tells(&work).then(|| tell(&work));
        Ok(work)
    })?;
    told.map_or(Ok(()), |told| nodeParams.set(told))
}

/// What a caller describes for a graph.
fn work(params: &CUgraphNodeParams, graph: &Arc<Graph>, after: &[Dependency]) -> Result<Work, CUresult> {
    match params.type_ {
        CU_GRAPH_NODE_TYPE_CONDITIONAL if version() >= CONDITIONS_SINCE => {
            check_reserved(params)?;
            // SAFETY: as in `leaf`.
            conditionals::conditional(unsafe { params.u16.conditional }, graph)
        }
        CU_GRAPH_NODE_TYPE_MEM_ALLOC | CU_GRAPH_NODE_TYPE_MEM_FREE => {
            check_reserved(params)?;
            graph.check_memory_nodes()?;
            // SAFETY: as in `leaf`.
            let union = unsafe { (params.u16.alloc, params.u16.free) };
            Ok(match params.type_ {
                CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                    let former = |wanted: &_| reusable(graph, after, wanted);
                    Leaf::Alloc(AllocNode::new(union.0.into(), former)?.into())
                }
                _ => Leaf::Free(FreeNode::new(union.1.dptr)?),
            }
            .into())
        }
        _ => match child_of(params)? {
            Some((child, ownership)) => children::give(&child, graph, ownership),
            None => Ok(leaf(params, None)?.into()),
        },
    }
}

/// Whether the driver tells a caller what it has made.
fn tells(work: &Work) -> bool {
    match work {
        Work::Conditional(_) => true,
        Work::Leaf(leaf) => matches!(**leaf, Leaf::Alloc(_)),
        Work::Child(_) => false,
    }
}

pub(crate) fn cuGraphAddNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: Out<CUgraphNodeParams>,
) -> Answer {
    add(Place::plain(phGraphNode, hGraph, dependencies, numDependencies), nodeParams)
}

pub(crate) fn cuGraphAddNode_v2(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    dependencyData: In<CUgraphEdgeData>,
    numDependencies: usize,
    nodeParams: Out<CUgraphNodeParams>,
) -> Answer {
    let place = Place {
        node: phGraphNode,
        graph: hGraph,
        after: dependencies,
        data: dependencyData,
        count: numDependencies,
    };
    add(place, nodeParams)
}

pub(crate) fn cuGraphAddNode_v3(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    dependencyData: In<CUgraphEdgeData>,
    numDependencies: usize,
    nodeParams: Out<CUgraphNodeParams>,
) -> Answer {
    cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)
}

/// What a node does, for callers.
fn tell(work: &Work) -> CUgraphNodeParams {
    let type_ = work.kind();
    let mut params =
        CUgraphNodeParams { type_, reserved0: [0; 3], u16: Union { reserved1: [0; 29] }, reserved2: 0 };
    let union = &mut params.u16;
    match work {
        Work::Conditional(it) => union.conditional = conditionals::tell(it),
        Work::Child(graph) => {
            let (ownership, graph) = (Ownership::of_child(graph).tell(), graph.handle as CUgraph);
            union.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph, ownership };
        }
        Work::Leaf(leaf) => match &**leaf {
            Leaf::Empty => {}
            Leaf::Kernel(it) => union.kernel = it.into(),
            Leaf::Copy(it) => union.memcpy = it.tell_all(),
            Leaf::Fill(it) => union.memset = it.tell_all(),
            Leaf::Host(it) => union.host = it.tell_all(),
            Leaf::Record(it) => union.eventRecord.event = it.event.handle(),
            Leaf::Wait(it) => union.eventWait.event = it.event.handle(),
            Leaf::Alloc(it) => union.alloc = it.tell().into(),
            Leaf::Free(it) => union.free.dptr = it.address() as u64,
            Leaf::Values(it) => union.memOp = it.tell().into(),
        },
    }
    params
}

pub(crate) fn cuGraphNodeGetParams(hNode: CUgraphNode, nodeParams: Out<CUgraphNodeParams>) -> Answer {
    nodeParams.check()?;
    nodeParams.set(tell(&Node::of(hNode)?.work()))
}

pub(crate) fn cuGraphNodeSetParams(hNode: CUgraphNode, nodeParams: Out<CUgraphNodeParams>) -> Answer {
    let (node, params) = (Node::of(hNode)?, nodeParams.item(0)?);
    match child_of(&params)? {
        Some((child, ownership)) => children::exchange(&node, &child, ownership),
        None => node.set(leaf(&params, node.leaf().ok().as_deref())?),
    }
}

pub(crate) fn cuGraphNodeSetParams_v2(hNode: CUgraphNode, nodeParams: Out<CUgraphNodeParams>) -> Answer {
    cuGraphNodeSetParams(hNode, nodeParams)
}
