//! The numbers of graphs, execs and nodes, by which profilers know them.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUgraph, CUgraphNode};
use crate::driver::graph::definition::{Graph, Node};

pub(crate) fn cuGraphGetId(hGraph: CUgraph, graphId: Out<u32>) -> Answer {
    graphId.check()?;
    graphId.set(Graph::of(hGraph)?.id)
}

pub(crate) fn cuGraphNodeGetLocalId(hNode: CUgraphNode, nodeId: Out<u32>) -> Answer {
    nodeId.check()?;
    nodeId.set(Node::of(hNode)?.number)
}

/// The graph's number above, the node's below.
pub(crate) fn cuGraphNodeGetToolsId(hNode: CUgraphNode, nodeId: Out<u64>) -> Answer {
    nodeId.check()?;
    let node = Node::of(hNode)?;
    let graph = node.graph().ok_or(CUDA_ERROR_INVALID_VALUE)?;
    nodeId.set(u64::from(graph.id) << 32 | u64::from(node.number))
}

pub(crate) fn cuGraphNodeGetContainingGraph(hNode: CUgraphNode, phGraph: Out<CUgraph>) -> Answer {
    phGraph.check()?;
    let graph = Node::of(hNode)?.graph().ok_or(CUDA_ERROR_INVALID_VALUE)?;
    phGraph.set(graph.handle as CUgraph)
}
