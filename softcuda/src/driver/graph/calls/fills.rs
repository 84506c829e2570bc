//! Nodes that fill memory.

use super::{Place, context};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUgraph, CUgraphNode,
};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::fill::FillNode;

pub(crate) fn cuGraphAddMemsetNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    memsetParams: In<CUDA_MEMSET_NODE_PARAMS_v1>,
    ctx: CUcontext,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Fill(FillNode::new(memsetParams.get()?, context(ctx)?)?).into()))
}

pub(crate) fn cuGraphMemsetNodeGetParams(
    hNode: CUgraphNode,
    nodeParams: Out<CUDA_MEMSET_NODE_PARAMS_v1>,
) -> Answer {
    nodeParams.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Fill(fill) => nodeParams.set(fill.params),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// The node keeps its context.
pub(crate) fn cuGraphMemsetNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<CUDA_MEMSET_NODE_PARAMS_v1>,
) -> Answer {
    let params = nodeParams.get()?;
    Node::of(hNode)?.change(|leaf| match leaf {
        Leaf::Fill(fill) => Ok(Leaf::Fill(fill.set(params)?)),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })
}
