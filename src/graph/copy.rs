//! Copies of graphs: clones, and what is embedded in another graph.
//!
//! The driver copies its graph, and has the copy refer to everything that the original keeps alive. What is known here of the
//! nodes is copied after it: the copy lists its nodes in the order of the original (measured on driver 580).

use super::below::list_below;
use super::definition::{State, Tree};
use super::foreign;
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use super::record::Loose;
use super::within::Within;
use super::{Graph, Node, refusal, relations, setters, updatable};
use crate::context::Context;
use crate::driver::calls::graph::query;
use crate::object::error::{Error, Status};
use crate::object::owning::Ownership;
use crate::op::attachment::Attachment;
use crate::op::node::NodeType;
use std::sync::Arc;

impl Graph {
    /// A clone of the graph, which keeps what the original keeps, on its own account. (`clone` itself gives another hold on the same
    /// graph.) While it exists, a graph that has conditional nodes and is the original, or holds it, is not instantiated.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; [`Status::INVALID_ARGUMENT`] if one of its kernels sets a condition of a graph
    /// around it; the driver's, for a graph that allocates memory or has conditional nodes.
    pub fn clone_graph(&self) -> Result<Self, Error> {
        let tree = &self.definition.tree;
        let mut state = self.lock()?;
        tree.check_contexts(&state, self.object.as_ref())?;
        setters::check_alone(&state, self, "cloned")?;
        let original = &state.graph(self.object.id);
        let relatives = relations::changed();
        let made = original.native.duplicate();
        drop(relatives);
        let native = made.map_err(|error| {
            let failure = tree.failed(error, self.object.as_ref());
            match updatable::find(tree, &state) {
                None => refusal::of_copying(failure, &state),
                name => refusal::of_updatable(
                    failure,
                    name,
                    "such a graph can be moved into another one (12.9), and not cloned",
                ),
            }
        })?;
        let copy = Self::new(tree.context(), native, Ownership::Owned);
        state.has_relatives = true;
        let mut there = copy.definition.tree.lock();
        state.graph_mut(self.object.id).derived.has_clone(&mut there.graph_mut(GraphId::ROOT).derived);
        there.has_relatives = true;
        let known = Known::for_clone(tree, &mut state, self.object.id, &mut there);
        drop(state);
        known?.list(&copy.definition.tree, &mut there, GraphId::ROOT)?;
        drop(there);
        Ok(copy)
    }
}

impl Node {
    /// The node of a copy ([`Graph::clone_graph`]) that stands for this one; `None` if there is none.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node, or the copy, was removed; the driver's, if the graph is no copy of the node's.
    pub fn find_in(&self, copy: &Graph) -> Result<Self, Error> {
        let tree = &copy.definition.tree;
        // Both stay locked: a node that another thread removed meanwhile would be none to the driver.
        let (mut own, mut other) = Tree::lock_two(&self.tree, tree);
        let native = own.node(self.name().check_there(&own)?).native;
        copy.check_usable()?;
        let state = other.as_deref_mut().unwrap_or(&mut own);
        let related = relations::kept(state);
        let found = state.graph(copy.object.id).native.find_copy(native);
        drop(related);
        let found = found.map_err(|error| {
            let mut failure = tree.failed(error, &self.name());
            failure.message.push_str(&format!(
                ". {} is perhaps no copy of the graph of {}, or lost it",
                copy.object, self
            ));
            failure
        })?;
        let id = foreign::known(tree, state, copy.object.id, found)?;
        Ok(Self::of(tree, state, id))
    }
}

/// What is known of the nodes of a graph, in the driver's order, to be copied.
pub(super) struct Known {
    /// The context in which they run, unless they name another.
    context: Context,
    nodes: Vec<KnownNode>,
    /// What is kept for nodes that nobody can tell.
    unplaced: Vec<Attachment>,
    is_ordered: bool,
    is_cut: bool,
    /// Its number in its definition.
    graph: GraphId,
}

struct KnownNode {
    /// What it does; of nodes whose contents are shared their place.
    record: Result<Loose, NodeId>,
    label: Option<Arc<str>>,
    child: Option<Known>,
}

impl Known {
    /// Of a graph that is copied into a definition with other contents.
    pub(super) fn of(tree: &Tree, state: &mut State, graph: GraphId) -> Result<Self, Error> {
        Self::with(tree, state, graph, &|state, id| Ok(state.loose(id)))
    }

    /// Of a graph that was cloned, whose contents the clone shares if its graphs get the same numbers there.
    fn for_clone(tree: &Tree, state: &mut State, graph: GraphId, clone: &mut State) -> Result<Self, Error> {
        if graph == GraphId::ROOT {
            let mut known = Self::with(tree, state, graph, &|_, id| Err(id))?;
            let (mut graphs, mut nodes) = (0, 0);
            if known.is_numbered_from(&mut graphs, &mut nodes) && nodes == state.contents.count() {
                clone.share_contents_of(state);
                return Ok(known);
            }
        }
        Self::of(tree, state, graph)
    }

    /// Whether its graphs are numbered from here on, each before those in it. Counts the nodes.
    fn is_numbered_from(&mut self, next: &mut u32, nodes: &mut usize) -> bool {
        let is_next = self.graph.0 == *next;
        *next += 1;
        *nodes += self.nodes.len();
        // The contents have these.
        self.unplaced.clear();
        let mut children = self.nodes.iter_mut().flat_map(|node| &mut node.child);
        is_next && children.all(|child| child.is_numbered_from(next, nodes))
    }

    fn with(
        tree: &Tree,
        state: &mut State,
        graph: GraphId,
        record: &impl Fn(&State, NodeId) -> Result<Loose, NodeId>,
    ) -> Result<Self, Error> {
        let all = foreign::list_all(tree, state, graph)?;
        let (is_ordered, is_cut) = (state.graph(graph).is_ordered, state.graph(graph).is_cut);
        let mut nodes = Vec::with_capacity(all.len());
        for id in all {
            let child = match *state.node(id).inner {
                [child] if state.node_type(id) == NodeType::Child => {
                    Some(Self::with(tree, state, child, record)?)
                }
                _ => None,
            };
            nodes.push(KnownNode { record: record(state, id), label: state.label_of(state.node(id)), child });
        }
        let unplaced = state.contents.unplaced.iter().filter(|(of, _)| *of == graph);
        let unplaced = unplaced.map(|(_, attachment)| attachment.clone()).collect();
        Ok(Self { context: tree.context().clone(), nodes, unplaced, is_ordered, is_cut, graph })
    }

    /// Refuses parameters that have another size in the definition which the copy is to be part of.
    pub(super) fn check_parameters(&self, state: &State) -> Result<(), Error> {
        for node in &self.nodes {
            if let Ok(known) = &node.record {
                state.check_parameters(&known.record.parameters)?;
            }
            if let Some(child) = &node.child {
                child.check_parameters(state)?;
            }
        }
        Ok(())
    }

    /// Lists the nodes of a copy, which the driver made.
    pub(super) fn list(self, tree: &Tree, state: &mut State, copy: GraphId) -> Result<(), Error> {
        let graph = state.graph_mut(copy);
        graph.is_ordered = self.is_ordered;
        // The driver's copy has its ends in the order of the original (measured on driver 580).
        graph.is_cut = self.is_cut;
        let object = Arc::clone(&graph.object);
        let natives = graph.native.nodes().map_err(|error| tree.failed(error, object.as_ref()))?;
        if natives.len() != self.nodes.len() {
            return Err(Error::new(
                Status::INTERNAL,
                format!("the driver's copy, {object}, has not as many nodes"),
            ));
        }
        state.contents.unplaced.extend(self.unplaced.into_iter().map(|attachment| (copy, attachment)));
        for (node, native) in self.nodes.into_iter().zip(natives) {
            let KnownNode { record, label, child } = node;
            let id = match record {
                Ok(record) => state.list_node(copy, native, record.moved(&self.context, tree.context())),
                Err(id) => state.place(copy, id, native),
            };
            if let Some(label) = label {
                tree.names.set_label(state.node(id).number, Some(label));
            }
            let Some(known) = child else { continue };
            // SAFETY: the driver has just named the node.
            let child = unsafe { query::child(tree.table(), native) }
                .map_err(|error| tree.failed(error, object.as_ref()))?;
            let child = list_below(tree, state, id, child, GraphKind::Child);
            state.node_mut(id).inner = Within::child(child);
            known.list(tree, state, child)?;
        }
        Ok(())
    }
}
