//! Which node of one definition stands for which of another, when an instance of the one was updated from the other.
//!
//! The driver tells nodes apart by their place: an instance still answers to the nodes of its own definition (measured on driver 580). It pairs
//! those that no other follows in the order of nodes, and from there those before them, in the order in which their edges were added. So
//! where both definitions list nodes of the same types with the same predecessors in the same order, places are equal. What the definition
//! lists now counts only where it is what the instance was made of.
//!
//! To list them takes several calls of the driver. So a definition remembers its outline until its nodes or edges are edited.

use crate::context::Context;
use crate::driver::calls::graph::definition::RawEdge;
use crate::driver::calls::graph::query::{self, Toward};
use crate::graph::by_address::ByAddress;
use crate::graph::contents::Contents;
use crate::graph::definition::{State, Tree};
use crate::graph::foreign;
use crate::graph::ids::{GraphId, NodeId};
use crate::graph::instance::Instance;
use crate::graph::outline::Outline;
use crate::graph::read;
use crate::graph::record::Record;
use crate::object::error::Error;
use crate::op::node::Parameters;
use std::sync::Arc;

/// The nodes of a definition, and what each does.
pub(super) struct Source {
    outline: Arc<Outline>,
    contents: Contents,
    /// The context in which they run, unless they name another.
    context: Context,
}

impl Source {
    /// All of a definition.
    pub(super) fn of(tree: &Tree, state: &mut State) -> Result<Self, Error> {
        let outline = outline(tree, state)?;
        Self::outlined(tree, state, GraphId::ROOT, outline)
    }

    /// Those of a graph, and of all below it.
    pub(super) fn of_graph(tree: &Tree, state: &mut State, graph: GraphId) -> Result<Self, Error> {
        let outline = Arc::new(outline_of(tree, state, graph, u32::MAX)?);
        Self::outlined(tree, state, graph, outline)
    }

    /// Of nodes that others made the driver is asked now.
    fn outlined(tree: &Tree, state: &State, graph: GraphId, outline: Arc<Outline>) -> Result<Self, Error> {
        let mut contents = state.contents_of(graph);
        for id in outline.ids().filter(|id| !state.record(*id).is_ours) {
            let told = read::with_parameters(tree, state, id, Parameters::clone);
            let failed = |error| tree.failed(error, state.graph(state.node(id).graph).object.as_ref());
            let told = told.map_err(failed)?;
            if let Some(record) = contents.get_mut(id) {
                (record.parameters, record.is_ours) = (told, true);
            }
        }
        Ok(Self { outline, contents, context: tree.context().clone() })
    }

    /// What the nodes of an instance do that was updated from these, if its own nodes are `own`; `None` if nobody can tell.
    pub(super) fn taken_by(
        self,
        own: &Outline,
        now: &Contents,
        instance: &Instance,
        context: &Context,
    ) -> Option<Contents> {
        if !are_those_of(own, instance) || self.outline.is_uncertain || !own.has_shape_of(&self.outline) {
            return None;
        }
        let is_all = own.len() == now.count() && own.len() == self.contents.count();
        if is_all && *context == self.context && own.has_places_of(&self.outline) {
            // Two graphs that were built in the same way have the same nodes in the same places.
            return Some(self.contents);
        }
        let mut taken = Contents::default();
        for (id, from) in own.ids().zip(self.outline.ids()) {
            let Record { graph, number, .. } = *now.get(id)?;
            let mut there = self.contents.loose(from)?.moved(&self.context, context);
            (there.record.graph, there.record.number) = (graph, number);
            taken.put_loose(id, there);
        }
        taken.unplaced.clone_from(&self.contents.unplaced);
        Some(taken)
    }
}

/// Whether these, of which none was removed, are the nodes of an instance, and the driver has them in the same order as there.
pub(super) fn are_those_of(nodes: &Outline, instance: &Instance) -> bool {
    !nodes.is_uncertain && instance.has_edges(nodes.edges_edited) && nodes.is_before(instance.born)
}

/// The nodes of a definition that an instance of it has.
pub(super) fn outline_for(
    tree: &Tree,
    state: &mut State,
    instance: &Instance,
) -> Result<Arc<Outline>, Error> {
    let all = outline(tree, state)?;
    if all.is_before(instance.born) {
        return Ok(all);
    }
    outline_of(tree, state, GraphId::ROOT, instance.born).map(Arc::new)
}

/// All nodes of a definition. They are listed again only if something was edited since; what others may edit is listed each time.
pub(super) fn outline(tree: &Tree, state: &mut State) -> Result<Arc<Outline>, Error> {
    if let Some(known) = state.known_outline() {
        return Ok(Arc::clone(known));
    }
    let listed = Arc::new(outline_of(tree, state, GraphId::ROOT, u32::MAX)?);
    state.remember_outline(&listed);
    Ok(listed)
}

/// Those nodes of a graph, and of all below it, that have smaller numbers than this.
pub(super) fn outline_of(
    tree: &Tree,
    state: &mut State,
    graph: GraphId,
    born: u32,
) -> Result<Outline, Error> {
    let mut outline = Outline::default();
    list(tree, state, graph, born, &mut outline)?;
    Ok(outline)
}

fn list(
    tree: &Tree,
    state: &mut State,
    graph: GraphId,
    born: u32,
    outline: &mut Outline,
) -> Result<(), Error> {
    let mut nodes = foreign::list_all(tree, state, graph)?;
    nodes.retain(|id| state.node(*id).number < born);
    let failed = |error, state: &State| tree.failed(error, state.graph(graph).object.as_ref());
    let edges = state.graph(graph).native.edges().map_err(|error| failed(error, state))?;
    let before = Predecessors::of(state, &nodes, &edges);
    outline.is_uncertain |= state.graph(graph).is_cut && before.ends > 1;
    outline.edges_edited = outline.edges_edited.max(state.graph(graph).edges_edited);
    outline.reserve(nodes.len(), edges.len());
    for (position, id) in nodes.into_iter().enumerate() {
        let node = state.node(id);
        let mut predecessors = before.of_node(position);
        let in_order;
        if predecessors.len() > 1 {
            // SAFETY: the node is there, which the lock keeps.
            let edges = unsafe { query::edges(tree.table(), node.native, Toward::Predecessors) };
            in_order = before.positions_of(&edges.map_err(|error| failed(error, state))?);
            predecessors = &in_order;
        }
        outline.add(id, (node.number, node.graph), state.node_type(id), node.inner.len(), predecessors);
        let inner = node.inner.to_vec();
        for graph in inner {
            list(tree, state, graph, born, outline)?;
        }
    }
    Ok(())
}

/// Which nodes of a graph come before which, by their positions.
struct Predecessors {
    positions: ByAddress<u32>,
    /// Where those of each node end.
    ends_at: Vec<u32>,
    all: Vec<u32>,
    /// How many nodes no other follows.
    ends: usize,
}

impl Predecessors {
    fn of(state: &State, nodes: &[NodeId], edges: &[RawEdge]) -> Self {
        let natives = nodes.iter().map(|id| state.node(*id).native.addr());
        let positions: ByAddress<u32> = natives.zip(0..).collect();
        let joined = || {
            edges.iter().filter_map(|edge| {
                Some((*positions.get(&edge.from.addr())?, *positions.get(&edge.to.addr())?))
            })
        };
        let joined: Vec<(u32, u32)> = joined().collect();
        let mut is_followed = vec![false; nodes.len()];
        let mut ends_at = vec![0; nodes.len()];
        for (from, to) in &joined {
            is_followed[*from as usize] = true;
            ends_at[*to as usize] += 1;
        }
        // Where those of each node begin, which moves on to where they end.
        let mut start = 0;
        for at in &mut ends_at {
            (*at, start) = (start, start + *at);
        }
        let mut all = vec![0; joined.len()];
        for (from, to) in joined {
            let at = &mut ends_at[to as usize];
            all[*at as usize] = from;
            *at += 1;
        }
        let ends = is_followed.into_iter().filter(|followed| !followed).count();
        Self { positions, ends_at, all, ends }
    }

    /// Those of a node, in the order in which the driver lists the edges of the graph.
    fn of_node(&self, position: usize) -> &[u32] {
        let start = if position == 0 { 0 } else { self.ends_at[position - 1] };
        &self.all[start as usize..self.ends_at[position] as usize]
    }

    /// The positions from which edges lead.
    fn positions_of(&self, edges: &[RawEdge]) -> Vec<u32> {
        edges.iter().filter_map(|edge| self.positions.get(&edge.from.addr()).copied()).collect()
    }
}
