//! What nodes there are.

use super::{Place, tell_nodes};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUgraph, CUgraphNode, CUgraphNodeType};
use crate::driver::graph::definition::{Graph, Node};
use crate::driver::graph::leaf::Leaf;

pub(crate) fn cuGraphGetNodes(hGraph: CUgraph, nodes: Out<CUgraphNode>, numNodes: Out<usize>) -> Answer {
    tell_nodes(&Graph::of(hGraph)?.nodes(), nodes, numNodes)
}

pub(crate) fn cuGraphGetRootNodes(
    hGraph: CUgraph,
    rootNodes: Out<CUgraphNode>,
    numRootNodes: Out<usize>,
) -> Answer {
    tell_nodes(&Graph::of(hGraph)?.roots(), rootNodes, numRootNodes)
}

pub(crate) fn cuGraphNodeGetType(hNode: CUgraphNode, type_: Out<CUgraphNodeType>) -> Answer {
    type_.check()?;
    type_.set(Node::of(hNode)?.work().kind())
}

pub(crate) fn cuGraphDestroyNode(hNode: CUgraphNode) -> Answer {
    let node = Node::of(hNode)?;
    let graph = node.graph().ok_or(CUDA_ERROR_INVALID_VALUE)?;
    graph.check_not_captured()?;
    graph.remove(&node)
}

pub(crate) fn cuGraphAddEmptyNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
) -> Answer {
    Place::plain(phGraphNode, hGraph, dependencies, numDependencies).add(|_| Ok(Leaf::Empty.into()))
}
