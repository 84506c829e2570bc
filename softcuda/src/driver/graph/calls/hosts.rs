//! Nodes that call the program's functions.

use super::Place;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_HOST_NODE_PARAMS_v1, CUgraph, CUgraphNode, CUresult};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::host::HostNode;

fn host(params: In<CUDA_HOST_NODE_PARAMS_v1>) -> Result<Leaf, CUresult> {
    let CUDA_HOST_NODE_PARAMS_v1 { fn_, userData } = params.get()?;
    Ok(Leaf::Host(HostNode::new(fn_, userData, 0)?))
}

pub(crate) fn cuGraphAddHostNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<CUDA_HOST_NODE_PARAMS_v1>,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(host(nodeParams)?.into()))
}

pub(crate) fn cuGraphHostNodeGetParams(
    hNode: CUgraphNode,
    nodeParams: Out<CUDA_HOST_NODE_PARAMS_v1>,
) -> Answer {
    nodeParams.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Host(host) => nodeParams.set(host.tell()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphHostNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<CUDA_HOST_NODE_PARAMS_v1>,
) -> Answer {
    Node::of(hNode)?.set(host(nodeParams)?)
}
