//! Edges: which node comes after which.

use super::add::node_of;
use super::cycle;
use super::definition::{State, Tree};
use super::ids::{GraphId, NodeId};
use super::node_name::NodeName;
use super::present::{self, Wrong};
use super::{Graph, Node, foreign, refusal, relations};
use crate::driver::CallError;
use crate::driver::calls::graph::definition::{PLAIN, RawEdge, RawGraph};
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::{CUgraphEdgeData, CUgraphNode};
use crate::object::error::{Error, Status};
use std::collections::HashSet;
use std::sync::Arc;

/// An edge: one node comes after another.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The node that comes first.
    pub from: Node,
    /// The node that comes after it.
    pub to: Node,
    /// How they hang together.
    pub data: EdgeData,
}

/// How the nodes of an edge hang together; all zero, by default: the later starts when the earlier is done. Else driver 12.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeData {
    /// When the earlier node lets the later start, `CU_GRAPH_KERNEL_NODE_PORT_*` of a kernel node.
    pub from_port: u8,
    /// Which part of the later node waits; 0 for all types of nodes so far.
    pub to_port: u8,
    /// The type of the dependency, `CU_GRAPH_DEPENDENCY_TYPE_*`.
    pub kind: u8,
}

impl EdgeData {
    fn raw(self) -> CUgraphEdgeData {
        CUgraphEdgeData { from_port: self.from_port, to_port: self.to_port, type_: self.kind, ..PLAIN }
    }

    pub(super) fn of(raw: &CUgraphEdgeData) -> Self {
        Self { from_port: raw.from_port, to_port: raw.to_port, kind: raw.type_ }
    }
}

/// An edge whose nodes a caller lent.
#[derive(Clone, Copy)]
pub(crate) struct EdgeOf<'a> {
    pub(crate) from: NodeName<'a>,
    pub(crate) to: NodeName<'a>,
    pub(crate) data: EdgeData,
}

impl<'a> EdgeOf<'a> {
    fn of(edge: &'a Edge) -> Self {
        Self { from: edge.from.name(), to: edge.to.name(), data: edge.data }
    }
}

impl Graph {
    /// The edges, in the driver's order.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; the driver's.
    pub fn edges(&self) -> Result<Vec<Edge>, Error> {
        let tree = &self.definition.tree;
        let mut state = self.lock()?;
        let graph = state.graph(self.object.id);
        let edges = graph.native.edges().map_err(|error| tree.failed(error, self.object.as_ref()))?;
        listed(tree, &mut state, self.object.id, edges)
    }

    /// Adds edges, all or none.
    ///
    /// An edge that leads from a node to one that was made later costs nothing to check; others are followed until it is sure
    /// that they close no cycle, which the driver would only find when the graph is instantiated.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for nodes of other graphs, for a node after itself, for an edge that is there already, or twice
    /// in the list, and for a cycle, with the number of the edge; [`Status::UNSUPPORTED`] for data before driver 12.3; the driver's.
    pub fn add_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        self.add_lent_edges(&edges.iter().map(EdgeOf::of).collect::<Vec<_>>())
    }

    pub(crate) fn add_lent_edges(&self, edges: &[EdgeOf<'_>]) -> Result<(), Error> {
        let tree = &self.definition.tree;
        let mut state = self.lock()?;
        let (raw, is_ordered) = resolve(tree, &state, self.object.id, edges)?;
        if raw.is_empty() {
            return Ok(());
        }
        if raw.len() > 1 {
            refuse_wrong(tree, &raw, edges, false)?;
        }
        if !(is_ordered && state.graph(self.object.id).is_ordered) {
            refuse_cycle(tree, &raw, &raw, edges)?;
        }
        let _related = relations::kept(&state);
        let added = add_all(&state.graph(self.object.id).native, &raw);
        note_edit(&mut state, self.object.id, &raw, added.is_ok(), raw.len() > 1);
        added.map_err(|error| {
            let failure = tree.failed(error, self.object.as_ref());
            refuse_wrong(tree, &raw, edges, false).err().unwrap_or_else(|| refusal::of_edges(failure))
        })?;
        state.graph_mut(self.object.id).is_ordered &= is_ordered;
        Ok(())
    }

    /// Removes edges, all or none.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for nodes of other graphs, and for an edge that is not there, or twice in the list, with the
    /// number of the edge; the driver's, also for an edge whose data is other, and for every edge of a graph that allocates memory.
    pub fn remove_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        self.remove_lent_edges(&edges.iter().map(EdgeOf::of).collect::<Vec<_>>())
    }

    pub(crate) fn remove_lent_edges(&self, edges: &[EdgeOf<'_>]) -> Result<(), Error> {
        let tree = &self.definition.tree;
        let mut state = self.lock()?;
        let (raw, _) = resolve(tree, &state, self.object.id, edges)?;
        if raw.is_empty() {
            return Ok(());
        }
        if raw.len() > 1 {
            refuse_wrong(tree, &raw, edges, true)?;
        }
        let _related = relations::kept(&state);
        let removed = remove_all(&state.graph(self.object.id).native, &raw);
        note_edit(&mut state, self.object.id, &raw, removed.is_ok(), true);
        removed.map_err(|error| {
            let failure = refusal::of_change(tree.failed(error, self.object.as_ref()), state.allocating > 0);
            refuse_wrong(tree, &raw, edges, true).err().unwrap_or_else(|| refusal::of_missing_edges(failure))
        })
    }
}

impl Node {
    /// The edges from the nodes that come right before this one.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed; the driver's.
    pub fn dependencies(&self) -> Result<Vec<Edge>, Error> {
        self.edges(Toward::Predecessors)
    }

    /// The edges to the nodes that come right after this one.
    ///
    /// # Errors
    /// As [`dependencies`](Self::dependencies).
    pub fn dependents(&self) -> Result<Vec<Edge>, Error> {
        self.edges(Toward::Successors)
    }

    /// Has the node come right after these, and no others; after none, it starts when the graph is launched. Edges that stay keep
    /// their data.
    ///
    /// # Errors
    /// As [`Graph::add_edges`] and [`Graph::remove_edges`]; everything is as it was then.
    pub fn set_dependencies(&self, after: &[&Node]) -> Result<(), Error> {
        self.assign(Toward::Predecessors, &after.iter().map(|node| node.name()).collect::<Vec<_>>())
    }

    /// Has these come right after the node, and no others.
    ///
    /// # Errors
    /// As [`set_dependencies`](Self::set_dependencies).
    pub fn set_dependents(&self, before: &[&Node]) -> Result<(), Error> {
        self.assign(Toward::Successors, &before.iter().map(|node| node.name()).collect::<Vec<_>>())
    }

    fn edges(&self, toward: Toward) -> Result<Vec<Edge>, Error> {
        let mut state = self.tree.lock();
        let id = self.name().check_there(&state)?;
        let node = state.node(id);
        let (native, graph) = (node.native, node.graph);
        // SAFETY: the node is there, which the lock keeps.
        let edges = unsafe { query::edges(self.tree.table(), native, toward) };
        let edges = edges.map_err(|error| self.tree.failed(error, &self.name()))?;
        listed(&self.tree, &mut state, graph, edges)
    }

    /// Makes `others` the neighbours in one direction: what is too many is removed in one call, what is missing is added in another. If
    /// that fails, what was removed is added again. The other way around nothing could be taken back in a graph that allocates: the
    /// driver removes no edge of it (measured on 580).
    pub(crate) fn assign(&self, toward: Toward, others: &[NodeName<'_>]) -> Result<(), Error> {
        let tree = &self.tree;
        let _used = self.hold_definition()?;
        let mut state = tree.lock_to_edit()?;
        let id = self.name().check_there(&state)?;
        let (native, graph) = (state.node(id).native, state.node(id).graph);
        let wanted: Vec<EdgeOf<'_>> =
            others.iter().map(|other| toward_of(toward, self.name(), *other)).collect();
        let (raw, is_ordered) = resolve(tree, &state, graph, &wanted)?;
        // SAFETY: the node is there, which the lock keeps.
        let current = unsafe { query::edges(tree.table(), native, toward) };
        let current = current.map_err(|error| tree.failed(error, &self.name()))?;
        let (missing, surplus) = (without(&raw, &current), without(&current, &raw));
        if !(is_ordered && state.graph(graph).is_ordered) {
            refuse_cycle(tree, &missing, &raw, &wanted)?;
        }
        let _related = relations::kept(&state);
        let native = &state.graph(graph).native;
        let removed = remove_all(native, &surplus);
        note_edit(&mut state, graph, &surplus, removed.is_ok(), true);
        removed
            .map_err(|error| refusal::of_change(tree.failed(error, &self.name()), state.allocating > 0))?;
        let native = &state.graph(graph).native;
        let added = add_all(native, &missing).inspect_err(|_| {
            // They were just removed; an error would leave them so.
            let _ = add_all(native, &surplus);
        });
        note_edit(&mut state, graph, &missing, added.is_ok(), missing.len() > 1);
        added.map_err(|error| refusal::of_edges(tree.failed(error, &self.name())))?;
        state.graph_mut(graph).is_ordered &= is_ordered;
        Ok(())
    }
}

fn toward_of<'a>(toward: Toward, node: NodeName<'a>, other: NodeName<'a>) -> EdgeOf<'a> {
    let data = EdgeData::default();
    match toward {
        Toward::Predecessors => EdgeOf { from: other, to: node, data },
        Toward::Successors => EdgeOf { from: node, to: other, data },
    }
}

fn ends(edge: &RawEdge) -> (CUgraphNode, CUgraphNode) {
    (edge.from, edge.to)
}

/// Those of the first that are not among the second, whatever their data; each once.
fn without(all: &[RawEdge], others: &[RawEdge]) -> Vec<RawEdge> {
    let mut others: HashSet<_> = others.iter().map(ends).collect();
    all.iter().filter(|edge| others.insert(ends(edge))).copied().collect()
}

/// Adds edges of which none is there, all or none.
fn add_all(native: &RawGraph, edges: &[RawEdge]) -> Result<(), CallError> {
    let add = || native.add_edges(edges).inspect_err(|_| one_by_one(edges, |edge| native.remove_edges(edge)));
    if edges.is_empty() { Ok(()) } else { add() }
}

/// Removes edges that are all there, all or none.
fn remove_all(native: &RawGraph, edges: &[RawEdge]) -> Result<(), CallError> {
    let remove =
        || native.remove_edges(edges).inspect_err(|_| one_by_one(edges, |edge| native.add_edges(edge)));
    if edges.is_empty() { Ok(()) } else { remove() }
}

/// These edges were changed, or the driver refused that. What was taken back of a list stands in another order than before; of a
/// single edge that it refused it has done nothing.
fn note_edit(state: &mut State, graph: GraphId, edges: &[RawEdge], is_done: bool, removes: bool) {
    if edges.len() > 1 || is_done && !edges.is_empty() {
        state.edits_edges(graph, removes);
    }
}

/// Takes back what the driver did of a list before it refused one of it: what it did not do, it refuses now. Of a single edge
/// it has done nothing.
fn one_by_one(edges: &[RawEdge], mut undo: impl FnMut(&[RawEdge]) -> Result<(), CallError>) {
    if edges.len() > 1 {
        edges.iter().for_each(|edge| _ = undo(std::slice::from_ref(edge)));
    }
}

/// Refuses a list with an edge that is there although it should not be, or the other way around, and one with an edge twice. Of a
/// single edge it is asked when the driver refused it, which has changed nothing.
fn refuse_wrong(tree: &Tree, raw: &[RawEdge], edges: &[EdgeOf<'_>], wanted: bool) -> Result<(), Error> {
    let found = present::first_wrong(tree.table(), raw, wanted);
    let found = found.map_err(|error| tree.failed(error, &edges[0].from))?;
    let Some((index, wrong)) = found else { return Ok(()) };
    let EdgeOf { from, to, .. } = edges[index];
    let what = match wrong {
        Wrong::Twice => "is in the list twice",
        Wrong::There(true) => "is there already",
        Wrong::There(false) => "is not there",
    };
    let refusal = format!("edge {index}, from {from} to {to}, {what}; nothing was changed");
    Err(at_item(Error::new(Status::INVALID_ARGUMENT, refusal).about(&to), index))
}

/// The edges as the driver has them, and whether each leads to a node that was made later.
fn resolve(
    tree: &Tree,
    state: &State,
    graph: GraphId,
    edges: &[EdgeOf<'_>],
) -> Result<(Vec<RawEdge>, bool), Error> {
    let mut is_ordered = true;
    let mut raw = Vec::with_capacity(edges.len());
    for (index, edge) in edges.iter().enumerate() {
        let end = |node: NodeName<'_>| -> Result<(CUgraphNode, u32), Error> {
            let known = node_of(tree, state, graph, node).map_err(|failure| at_item(failure, index))?;
            known
                .map(|known| (known.native, known.number))
                .ok_or_else(|| refusal::of_another_graph(node, index))
        };
        let ((from, earlier), (to, later)) = (end(edge.from)?, end(edge.to)?);
        if from == to {
            let refusal = format!("edge {index} leads from {} to itself", edge.from);
            return Err(at_item(Error::new(Status::INVALID_ARGUMENT, refusal).about(&edge.from), index));
        }
        is_ordered &= earlier < later;
        raw.push(RawEdge { from, to, data: edge.data.raw() });
    }
    Ok((raw, is_ordered))
}

fn at_item(mut failure: Error, index: usize) -> Error {
    failure.item = Some(index);
    failure
}

/// Refuses edges that close a cycle; `missing` are those of `raw` that the driver does not have, and `edges` is what the caller gave.
fn refuse_cycle(
    tree: &Tree,
    missing: &[RawEdge],
    raw: &[RawEdge],
    edges: &[EdgeOf<'_>],
) -> Result<(), Error> {
    let found = cycle::find(tree.table(), missing).map_err(|error| tree.failed(error, &edges[0].from))?;
    let Some(closing) = found.map(|found| ends(&missing[found])) else { return Ok(()) };
    let index = raw.iter().position(|edge| ends(edge) == closing).expect("what is missing is of these");
    let EdgeOf { from, to, .. } = edges[index];
    let refusal =
        format!("{to} cannot come after {from}, which comes after it: the edges would close a cycle");
    Err(at_item(Error::new(Status::INVALID_ARGUMENT, refusal).about(&to), index))
}

/// Edges of the driver's, with the nodes that they join.
fn listed(
    tree: &Arc<Tree>,
    state: &mut State,
    graph: GraphId,
    edges: Vec<RawEdge>,
) -> Result<Vec<Edge>, Error> {
    let mut node = |native: CUgraphNode| -> Result<Option<Node>, Error> {
        let id: NodeId = foreign::known(tree, state, graph, native)?;
        Ok((!state.record(id).is_hidden).then(|| Node::of(tree, state, id)))
    };
    let mut listed = Vec::with_capacity(edges.len());
    for RawEdge { from, to, data } in edges {
        if let (Some(from), Some(to)) = (node(from)?, node(to)?) {
            listed.push(Edge { from, to, data: EdgeData::of(&data) });
        }
    }
    Ok(listed)
}
