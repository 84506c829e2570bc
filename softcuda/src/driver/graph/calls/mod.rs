//! The calls that make definitions of graphs, tell of them, and change them.

pub(crate) mod children;
pub(crate) mod conditionals;
pub(crate) mod copies;
pub(crate) mod created;
pub(crate) mod edges;
pub(crate) mod events;
pub(crate) mod fills;
pub(crate) mod generic;
pub(crate) mod hosts;
pub(crate) mod ids;
pub(crate) mod kernels;
pub(crate) mod memory;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod values;

use super::definition::{Dependency, Graph, Node, Work};
use super::edge::EdgeData;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, CUcontext,
    CUevent, CUgraph, CUgraphEdgeData, CUgraphNode, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::context::current::named_or_current;
use crate::driver::event::Event;
use std::ptr::null_mut;
use std::sync::Arc;

/// Where a new node goes, as a caller says it.
#[derive(Clone, Copy)]
struct Place {
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
}

impl Place {
    /// A place of which nothing is said by edges.
    fn plain(node: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize) -> Self {
        Self { node, graph, after, data: In::null(), count }
    }

    /// Adds a node; what it does is looked at when the place is known.
    fn add(self, work: impl FnOnce(&Arc<Graph>) -> Result<Work, CUresult>) -> Answer {
        self.add_behind(|graph, _| work(graph))
    }

    /// The same where it also matters what it follows.
    fn add_behind(self, work: impl FnOnce(&Arc<Graph>, &[Dependency]) -> Result<Work, CUresult>) -> Answer {
        self.node.check()?;
        let graph = Graph::of(self.graph)?;
        let after = dependencies(self.after, self.data, self.count)?;
        let work = work(&graph, &after)?;
        let node = graph.add(work.clone(), &after).inspect_err(|_| work.discard())?;
        self.node.set(node.handle as CUgraphNode)
    }
}

/// Nodes that a caller names.
fn dependencies(
    nodes: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
) -> Result<Vec<Dependency>, CUresult> {
    let dependency =
        |at| Ok(Dependency { node: Node::of(nodes.item(at)?)?, data: EdgeData::item(data, at)? });
    (0..count).map(dependency).collect()
}

/// The context that a caller names, who must name one.
fn named(handle: CUcontext) -> Result<Arc<Activation>, CUresult> {
    if handle.is_null() { Err(CUDA_ERROR_INVALID_CONTEXT) } else { context(handle) }
}

/// An event that a caller names.
pub(crate) fn event(handle: CUevent) -> Result<Arc<Event>, CUresult> {
    if handle.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Event::of(handle) }
}

/// The context that a caller names, or if it is NULL, the current one. One that is none counts as destroyed (measured).
pub(crate) fn context(handle: CUcontext) -> Result<Arc<Activation>, CUresult> {
    let none = if handle.is_null() { CUDA_ERROR_INVALID_CONTEXT } else { CUDA_ERROR_CONTEXT_IS_DESTROYED };
    named_or_current(handle).map_err(|_| none)?.activation()
}

/// Fills as much of an array as there is room for; what there is not is `none`.
fn fill<T: Copy>(array: Out<T>, room: usize, items: impl IntoIterator<Item = T>, none: T) -> Answer {
    let items = items.into_iter().chain(std::iter::repeat(none));
    items.take(room).enumerate().try_for_each(|(at, item)| array.set_item(at, item))
}

/// Tells how many nodes there are if no array is given; else which, as far as it has room for them.
fn tell_nodes(nodes: &[Arc<Node>], array: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    if array.address() == 0 {
        return count.set(nodes.len());
    }
    let room = count.item(0)?;
    // An array without room is refused (measured).
    if room == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    fill(array, room, nodes.iter().map(|node| node.handle as CUgraphNode), null_mut())?;
    count.set(room.min(nodes.len()))
}
