//! Graphs are created, copied, and destroyed.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUgraph, CUgraphNode};
use crate::driver::graph::definition::{Graph, Node};

/// Needs no context.
pub(crate) fn cuGraphCreate(phGraph: Out<CUgraph>, flags: u32) -> Answer {
    phGraph.check()?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    phGraph.set(Graph::new().handle as CUgraph)
}

/// Only of graphs that are in no node, and that no capture makes.
pub(crate) fn cuGraphDestroy(hGraph: CUgraph) -> Answer {
    let graph = Graph::of(hGraph)?;
    graph.check_not_captured()?;
    if graph.place().is_some() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    graph.destroy();
    Ok(())
}

pub(crate) fn cuGraphClone(phGraphClone: Out<CUgraph>, originalGraph: CUgraph) -> Answer {
    phGraphClone.check()?;
    let graph = Graph::of(originalGraph)?;
    // Nor a graph within one that has a condition (both measured).
    if graph.is_body() || graph.root().had_condition() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    graph.check_duplicate()?;
    // Measured; it can be embedded.
    if graph.has_updatable() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    phGraphClone.set(graph.clone_graph().handle as CUgraph)
}

pub(crate) fn cuGraphNodeFindInClone(
    phNode: Out<CUgraphNode>,
    hOriginalNode: CUgraphNode,
    hClonedGraph: CUgraph,
) -> Answer {
    phNode.check()?;
    let (original, copy) = (Node::of(hOriginalNode)?, Graph::of(hClonedGraph)?);
    phNode.set(copy.copy_of(&original).ok_or(CUDA_ERROR_INVALID_VALUE)?.handle as CUgraphNode)
}
