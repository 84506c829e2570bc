//! Nodes that copy memory.

use super::{Place, context};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY3D_v2, CUcontext, CUgraph, CUgraphNode};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::copy::CopyNode;

pub(crate) fn cuGraphAddMemcpyNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    copyParams: In<CUDA_MEMCPY3D_v2>,
    ctx: CUcontext,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Copy(CopyNode::new(copyParams.get()?, context(ctx)?)?.into()).into()))
}

pub(crate) fn cuGraphMemcpyNodeGetParams(hNode: CUgraphNode, nodeParams: Out<CUDA_MEMCPY3D_v2>) -> Answer {
    nodeParams.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Copy(copy) => nodeParams.set(copy.params),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// The node keeps its context.
pub(crate) fn cuGraphMemcpyNodeSetParams(hNode: CUgraphNode, nodeParams: In<CUDA_MEMCPY3D_v2>) -> Answer {
    let params = nodeParams.get()?;
    Node::of(hNode)?.change(|leaf| match leaf {
        Leaf::Copy(copy) => Ok(Leaf::Copy(copy.set(params)?.into())),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })
}
