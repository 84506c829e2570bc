//! Nodes that run a graph.

use super::Place;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_SUPPORTED, CUgraph, CUgraphChildGraphNodeOwnership, CUgraphNode, CUresult,
};
use crate::driver::graph::definition::{Graph, Node, Work};
use crate::instruments::log;
use crate::instruments::settings::version;
use std::sync::Arc;

/// A node with a copy of the graph.
pub(crate) fn cuGraphAddChildGraphNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    childGraph: CUgraph,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|graph| embed(&*Graph::of(childGraph)?, graph))
}

/// Whether a node has a copy of the graph that is given to it, or the graph itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    Copy,
    Move,
}

/// The version from which on graphs can be moved.
const MOVES_SINCE: u32 = 12090;

impl Ownership {
    pub(super) fn of(given: CUgraphChildGraphNodeOwnership) -> Self {
        match given {
            _ if version() < MOVES_SINCE => Self::Copy,
            CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => Self::Move,
            // Whatever else it says (measured).
            _ => Self::Copy,
        }
    }

    /// Of a graph in a node.
    pub(super) fn of_child(graph: &Graph) -> Self {
        if graph.is_moved() { Self::Move } else { Self::Copy }
    }

    pub(super) fn tell(self) -> CUgraphChildGraphNodeOwnership {
        match self {
            Self::Copy => CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE,
            Self::Move => CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
        }
    }
}

/// What a node of a graph is to have of another graph.
pub(super) fn give(child: &Arc<Graph>, graph: &Arc<Graph>, ownership: Ownership) -> Result<Work, CUresult> {
    match ownership {
        Ownership::Copy => embed(child, graph),
        Ownership::Move => begin_move(child, graph),
    }
}

/// The graph itself, for a node of another. It must be the program's own, and in no other.
fn begin_move(child: &Arc<Graph>, graph: &Arc<Graph>) -> Result<Work, CUresult> {
    check_outside(child, graph)?;
    if child.place().is_some() || child.had_condition() {
        return Err(CUDA_ERROR_NOT_SUPPORTED); // measured
    }
    graph.check_depth(child.height())?;
    child.check_not_captured()?;
    if !child.begin_move() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Ok(Work::Child(Arc::clone(child)))
}

/// A copy of a graph, for a node of another.
fn embed(child: &Graph, graph: &Arc<Graph>) -> Result<Work, CUresult> {
    check_outside(child, graph)?;
    if child.place().is_some() {
        return Err(CUDA_ERROR_NOT_SUPPORTED); // measured
    }
    child.check_duplicate()?;
    graph.check_depth(child.height())?;
    Ok(Work::Child(child.copy_for_node()))
}

/// Gives a node another graph instead of what it has.
pub(super) fn exchange(node: &Arc<Node>, child: &Arc<Graph>, ownership: Ownership) -> Answer {
    let graph = node.graph().ok_or(CUDA_ERROR_INVALID_VALUE)?;
    match node.work() {
        Work::Child(_) => node.set_graph(give(child, &graph, ownership)?),
        Work::Leaf(_) | Work::Conditional(_) => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// A graph is not put into itself, where a real driver crashes (measured), nor into what it holds.
fn check_outside(child: &Graph, graph: &Arc<Graph>) -> Result<(), CUresult> {
    let mut above = Some(Arc::clone(graph));
    while let Some(one) = above {
        if one.handle == child.handle {
            log::detail("A graph cannot be a child graph of itself, or of a graph in it");
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        above = one.place().and_then(|node| node.graph());
    }
    Ok(())
}

pub(crate) fn cuGraphChildGraphNodeGetGraph(hNode: CUgraphNode, phGraph: Out<CUgraph>) -> Answer {
    phGraph.check()?;
    match Node::of(hNode)?.work() {
        Work::Child(graph) => phGraph.set(graph.handle as CUgraph),
        Work::Leaf(_) | Work::Conditional(_) => Err(CUDA_ERROR_INVALID_VALUE),
    }
}
