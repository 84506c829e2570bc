//! Clones of graphs in graphs: in which of them a node is found.

use super::Question;
use super::clones::find;
use super::scene::Scene;
use super::work::Work;
use crate::driver::{Answer, Given};
use cushim::driver::sys::{CUgraph, CUgraphNode};

/// A graph in a graph in a graph.
pub(super) struct Nest {
    /// The innermost graph as it was embedded, and its only node.
    pub(super) source: CUgraph,
    pub(super) source_node: CUgraphNode,
    /// The graph in the middle as it was embedded, and its node for the innermost.
    pub(super) middle: CUgraph,
    pub(super) middle_node: CUgraphNode,
    /// The outermost one, and its node for the one in the middle.
    pub(super) outer: CUgraph,
    pub(super) outer_node: CUgraphNode,
    /// The node in the middle of the outermost, and the node in that.
    pub(super) embedded: CUgraphNode,
    pub(super) innermost: CUgraphNode,
}

pub(super) fn nest(s: &Scene) -> Given<Nest> {
    let source = s.graph()?;
    let source_node = s.node(source, &[], s.fill(1))?;
    let middle = s.graph()?;
    let middle_node = s.node(middle, &[], Work::Child(source))?;
    let outer = s.graph()?;
    let outer_node = s.node(outer, &[], Work::Child(middle))?;
    let embedded = s.first(s.inner(outer_node)?)?;
    let innermost = s.first(s.inner(embedded)?)?;
    Ok(Nest { source, source_node, middle, middle_node, outer, outer_node, embedded, innermost })
}

/// The clone of the outermost graph, the graph in it, and the one in that.
pub(super) fn levels(s: &Scene, nest: &Nest) -> Given<[CUgraph; 3]> {
    let outer = s.clone_of(nest.outer)?;
    let middle = s.inner(s.first(outer)?)?;
    let inner = s.inner(s.first(middle)?)?;
    Ok([outer, middle, inner])
}

pub(super) const NESTED: &[Question] = &[
    ("a child graph: a source's node in the embedded graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.source_node, s.inner(nest.middle_node)?))
    }),
    ("a source's node in the node's graph as a whole", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.source_node, nest.middle))
    }),
    ("the middle's node in the graph embedded in the outermost", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.middle_node, s.inner(nest.outer_node)?))
    }),
    ("the source's node in the innermost graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.source_node, s.inner(nest.embedded)?))
    }),
    ("a clone of all: the outermost's node in it", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.outer_node, levels(s, &nest)?[0]))
    }),
    ("the embedded node in the clone", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.embedded, levels(s, &nest)?[0]))
    }),
    ("the embedded node in the clone's inner graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.embedded, levels(s, &nest)?[1]))
    }),
    ("the innermost node in the clone", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.innermost, levels(s, &nest)?[0]))
    }),
    ("the innermost node in the clone's middle", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.innermost, levels(s, &nest)?[1]))
    }),
    ("the innermost node in the clone's innermost graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.innermost, levels(s, &nest)?[2]))
    }),
    ("the middle's node in the clone's inner graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.middle_node, levels(s, &nest)?[1]))
    }),
    ("the source's node in the clone's innermost graph", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.source_node, levels(s, &nest)?[2]))
    }),
    ("a clone of an embedded graph: its node in it", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.innermost, s.clone_of(s.inner(nest.embedded)?)?))
    }),
    ("  the source's node in it", |s| {
        let nest = nest(s)?;
        Ok(find(s, nest.source_node, s.clone_of(s.inner(nest.embedded)?)?))
    }),
    ("  it runs", |s| {
        let nest = nest(s)?;
        Ok(s.ran(s.clone_of(s.inner(nest.embedded)?)?))
    }),
    ("the source was changed after it was embedded: nodes", |s| {
        let nest = nest(s)?;
        s.node(nest.source, &[], Work::Empty)?;
        Ok(Answer::all([s.count(s.inner(nest.middle_node)?), s.count(nest.source)]))
    }),
];
