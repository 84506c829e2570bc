//! Nodes that allocate and free memory.

use super::Place;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_MEM_ALLOC_NODE_PARAMS_v1, CUdeviceptr, CUgraph, CUgraphNode,
};
use crate::driver::graph::definition::{Node, reusable};
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::memory::{AllocNode, FreeNode};

pub(crate) fn cuGraphAddMemAllocNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: Out<CUDA_MEM_ALLOC_NODE_PARAMS_v1>,
) -> Answer {
    let (place, mut told) = (Place::plain(phGraphNode, hGraph, dependencies, numDependencies), None);
    place.add_behind(|graph, after| {
        graph.check_memory_nodes()?;
        let node = AllocNode::new(nodeParams.item(0)?, |wanted| reusable(graph, after, wanted))?;
        told = Some(node.tell().dptr);
        Ok(Leaf::Alloc(node.into()).into())
    })?;
    let dptr = told.unwrap_or_default();
    nodeParams.set(CUDA_MEM_ALLOC_NODE_PARAMS_v1 { dptr, ..nodeParams.item(0)? })
}

pub(crate) fn cuGraphMemAllocNodeGetParams(
    hNode: CUgraphNode,
    params_out: Out<CUDA_MEM_ALLOC_NODE_PARAMS_v1>,
) -> Answer {
    params_out.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Alloc(node) => params_out.set(node.tell()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphAddMemFreeNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    dptr: CUdeviceptr,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|graph| {
        graph.check_memory_nodes()?;
        Ok(Leaf::Free(FreeNode::new(dptr)?).into())
    })
}

pub(crate) fn cuGraphMemFreeNodeGetParams(hNode: CUgraphNode, dptr_out: Out<CUdeviceptr>) -> Answer {
    dptr_out.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Free(node) => dptr_out.set(node.address() as u64),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}
