//! Nodes that write values and wait for them.

use super::Place;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_ERROR_INVALID_VALUE, CUgraph, CUgraphNode};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::values::ValuesNode;

pub(crate) fn cuGraphAddBatchMemOpNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Values(ValuesNode::new(nodeParams.get()?)?).into()))
}

/// The array in the answer is the node's.
pub(crate) fn cuGraphBatchMemOpNodeGetParams(
    hNode: CUgraphNode,
    nodeParams_out: Out<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Answer {
    nodeParams_out.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Values(values) => nodeParams_out.set(values.tell()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphBatchMemOpNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Answer {
    Node::of(hNode)?.set(Leaf::Values(ValuesNode::new(nodeParams.get()?)?))
}
