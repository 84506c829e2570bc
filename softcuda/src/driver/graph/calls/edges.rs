//! Which nodes follow which.

use super::fill;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_LOSSY_QUERY, CUgraph, CUgraphEdgeData, CUgraphNode, CUresult};
use crate::driver::graph::definition::{Edge, Graph, Node};
use crate::driver::graph::edge::EdgeData;
use std::ptr::null_mut;

/// Edges that a caller names.
struct Named {
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
}

impl Named {
    fn plain(from: In<CUgraphNode>, to: In<CUgraphNode>, count: usize) -> Self {
        Self { from, to, data: In::null(), count }
    }

    fn read(&self) -> Result<Vec<Edge>, CUresult> {
        let edge = |at| {
            let (from, to) = (Node::of(self.from.item(at)?)?, Node::of(self.to.item(at)?)?);
            Ok(Edge { from, to, data: EdgeData::item(self.data, at)? })
        };
        (0..self.count).map(edge).collect()
    }
}

pub(crate) fn cuGraphAddDependencies(
    hGraph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    numDependencies: usize,
) -> Answer {
    Graph::of(hGraph)?.connect(&Named::plain(from, to, numDependencies).read()?)
}

pub(crate) fn cuGraphAddDependencies_v2(
    hGraph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    edgeData: In<CUgraphEdgeData>,
    numDependencies: usize,
) -> Answer {
    let named = Named { from, to, data: edgeData, count: numDependencies };
    Graph::of(hGraph)?.connect(&named.read()?)
}

pub(crate) fn cuGraphRemoveDependencies(
    hGraph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    numDependencies: usize,
) -> Answer {
    Graph::of(hGraph)?.disconnect(&Named::plain(from, to, numDependencies).read()?)
}

pub(crate) fn cuGraphRemoveDependencies_v2(
    hGraph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    edgeData: In<CUgraphEdgeData>,
    numDependencies: usize,
) -> Answer {
    let named = Named { from, to, data: edgeData, count: numDependencies };
    Graph::of(hGraph)?.disconnect(&named.read()?)
}

/// Where a caller wants to be told of edges: of all of a graph, or of a node's, of which one end is known.
struct Wanted {
    from: Option<Out<CUgraphNode>>,
    to: Option<Out<CUgraphNode>>,
    /// The older calls have no place for it.
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
}

impl Wanted {
    /// Tells how many there are if no arrays are given; else which, as far as there is room for them. It leaves out nothing
    /// that an edge says.
    fn tell(&self, edges: &[Edge]) -> Answer {
        const NONE: CUgraphEdgeData =
            CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let ends = [self.from, self.to];
        if self.data.address() == 0 && ends.iter().flatten().all(|end| end.address() == 0) {
            return self.count.set(edges.len());
        }
        let room = self.count.item(0)?;
        ends.iter().flatten().try_for_each(|end| end.check())?;
        if self.data.address() == 0 && !edges.iter().all(|edge| edge.data.is_plain()) {
            return Err(CUDA_ERROR_LOSSY_QUERY);
        }
        let handle = |node: &Node| node.handle as CUgraphNode;
        if let Some(from) = self.from {
            fill(from, room, edges.iter().map(|edge| handle(&edge.from)), null_mut())?;
        }
        if let Some(to) = self.to {
            fill(to, room, edges.iter().map(|edge| handle(&edge.to)), null_mut())?;
        }
        if self.data.address() != 0 {
            fill(self.data, room, edges.iter().map(|edge| edge.data.tell()), NONE)?;
        }
        self.count.set(room.min(edges.len()))
    }
}

pub(crate) fn cuGraphGetEdges(
    hGraph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    numEdges: Out<usize>,
) -> Answer {
    cuGraphGetEdges_v2(hGraph, from, to, Out::null(), numEdges)
}

pub(crate) fn cuGraphGetEdges_v2(
    hGraph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    edgeData: Out<CUgraphEdgeData>,
    numEdges: Out<usize>,
) -> Answer {
    let wanted = Wanted { from: Some(from), to: Some(to), data: edgeData, count: numEdges };
    wanted.tell(&Graph::of(hGraph)?.edges())
}

pub(crate) fn cuGraphNodeGetDependencies(
    hNode: CUgraphNode,
    dependencies: Out<CUgraphNode>,
    numDependencies: Out<usize>,
) -> Answer {
    cuGraphNodeGetDependencies_v2(hNode, dependencies, Out::null(), numDependencies)
}

pub(crate) fn cuGraphNodeGetDependencies_v2(
    hNode: CUgraphNode,
    dependencies: Out<CUgraphNode>,
    edgeData: Out<CUgraphEdgeData>,
    numDependencies: Out<usize>,
) -> Answer {
    let wanted = Wanted { from: Some(dependencies), to: None, data: edgeData, count: numDependencies };
    wanted.tell(&Node::of(hNode)?.edges_before())
}

pub(crate) fn cuGraphNodeGetDependentNodes(
    hNode: CUgraphNode,
    dependentNodes: Out<CUgraphNode>,
    numDependentNodes: Out<usize>,
) -> Answer {
    cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, Out::null(), numDependentNodes)
}

pub(crate) fn cuGraphNodeGetDependentNodes_v2(
    hNode: CUgraphNode,
    dependentNodes: Out<CUgraphNode>,
    edgeData: Out<CUgraphEdgeData>,
    numDependentNodes: Out<usize>,
) -> Answer {
    let wanted = Wanted { from: None, to: Some(dependentNodes), data: edgeData, count: numDependentNodes };
    wanted.tell(&Node::of(hNode)?.edges_after())
}
