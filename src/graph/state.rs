//! What is known of the graphs and nodes of one definition.

use super::by_node::ByNode;
use super::contents::Contents;
use super::definition::{
    ConditionState, GraphObject, GraphState, NodeState, Pages, Removal, Removals, State, Unasked,
};
use super::ids::{GraphId, NodeId};
use super::names::Names;
use super::outline::Outline;
use super::record::{Loose, Record};
use super::recorder::Recorder;
use super::within::Within;
use crate::context::Context;
use crate::driver::sys::CUgraphNode;
use crate::object::error::{Error, Status};
#[cfg(feature = "capi")]
use crate::object::handle::Token;
use crate::op::attachment::Attachment;
use crate::op::node::{KeptArguments, NodeType, Parameters};
use std::collections::HashMap;
use std::sync::Arc;

impl GraphState {
    /// What captures into it.
    pub(super) fn capture(&self) -> Option<Arc<dyn Recorder>> {
        self.captured_by.as_ref()?.upgrade().filter(|capture| !capture.is_over())
    }
}

/// How much of what was removed is remembered, so that a program which edits a graph for ever does not grow.
const REMOVED: usize = 4096;

impl State {
    pub(super) fn new(names: &Arc<Names>) -> Self {
        Self {
            graphs: Vec::new(),
            nodes: ByNode::default(),
            contents: Contents::default(),
            numbers: 0,
            free: Vec::new(),
            made: 0,
            edges_edited: 0,
            edits: 0,
            removals: 0,
            outline: None,
            by_native: None,
            conditions: Vec::new(),
            contexts: Vec::new(),
            parameters: HashMap::new(),
            pages: Pages::new(names),
            removed: Removals::default(),
            execs: Vec::new(),
            allocating: 0,
            has_relatives: false,
            last: None,
            is_shared: false,
            unasked: Unasked::default(),
            is_new: false,
            is_lost: false,
        }
    }

    /// All that is known, taken apart.
    #[allow(clippy::type_complexity)]
    pub(super) fn into_parts(
        self,
    ) -> (Vec<(GraphId, GraphState)>, Vec<(NodeId, NodeState)>, Vec<ConditionState>, Contents) {
        let graphs = self.graphs.into_iter().enumerate();
        (
            graphs.filter_map(|(id, graph)| Some((GraphId(id as u32), graph?))).collect(),
            self.nodes.into_all().collect(),
            self.conditions,
            self.contents,
        )
    }

    /// The number that the next graph has.
    pub(super) fn next_graph(&self) -> GraphId {
        GraphId(self.graphs.len() as u32)
    }

    /// Lists a graph, which has the number that [`next_graph`](Self::next_graph) told.
    pub(super) fn list_graph(&mut self, graph: GraphState) -> GraphId {
        let id = self.next_graph();
        self.graphs.push(Some(graph));
        id
    }

    /// Lists a node of a graph, with its parameters, which were checked.
    pub(super) fn list_node(
        &mut self,
        graph: GraphId,
        native: CUgraphNode,
        node: impl Into<Loose>,
    ) -> NodeId {
        let Loose { record, context, attachment } = node.into();
        self.list_made(graph, native, (context, attachment), || record)
    }

    /// The same for a node whose record is made where it stays: it is large.
    #[inline(always)]
    pub(super) fn list_made(
        &mut self,
        graph: GraphId,
        native: CUgraphNode,
        (context, attachment): (Option<Context>, Option<Attachment>),
        make: impl FnOnce() -> Record,
    ) -> NodeId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.numbers += 1;
            NodeId(self.numbers - 1)
        });
        let record = self.contents.put(id, make);
        (record.graph, record.number) = (graph, self.made);
        if let Some(arguments) = named_arguments(&record.parameters) {
            list_named(&mut self.parameters, arguments);
        }
        let node_type = record.node_type();
        if context.is_some() {
            self.set_context(id, context);
        }
        self.contents.attach(id, attachment);
        self.made = self.made.wrapping_add(1);
        self.place_made(graph, id, native, (self.made.wrapping_sub(1), node_type));
        id
    }

    /// Shares what the nodes of another definition do: each of them is [placed](Self::place) here afterwards.
    pub(super) fn share_contents_of(&mut self, other: &Self) {
        self.contents = other.contents.clone();
        self.parameters.clone_from(&other.parameters);
        self.contexts.clone_from(&other.contexts);
        (self.numbers, self.made) = (other.numbers, other.made);
        self.free = (0..self.numbers).map(NodeId).filter(|id| self.contents.get(*id).is_none()).collect();
    }

    /// A node whose record is shared becomes one of the graph.
    pub(super) fn place(&mut self, graph: GraphId, id: NodeId, native: CUgraphNode) -> NodeId {
        let Record { number, ref parameters, .. } = *self.record(id);
        let node_type = parameters.node_type();
        self.place_made(graph, id, native, (number, node_type));
        id
    }

    /// The same for one whose record was just made.
    #[inline]
    fn place_made(
        &mut self,
        graph: GraphId,
        id: NodeId,
        native: CUgraphNode,
        (number, node_type): (u32, NodeType),
    ) {
        if let Some(index) = &mut self.by_native
            && !native.is_null()
        {
            index.insert(native.addr(), id);
        }
        self.allocating += u32::from(matches!(node_type, NodeType::Allocation | NodeType::Free));
        let siblings = self.graphs[graph.0 as usize].as_mut().expect("a graph is listed until it is removed");
        let position = siblings.nodes.len() as u32;
        siblings.nodes.push(id);
        let place = self.nodes.place(id);
        debug_assert!(place.is_none(), "the number was free");
        *place = Some(NodeState {
            native,
            graph,
            position,
            number,
            is_named: false,
            has_handle: false,
            inner: Within::default(),
        });
        self.edits += 1;
    }

    /// Takes a node off the list, and gives what was known of it.
    pub(super) fn unlist_node(&mut self, id: NodeId) -> (NodeState, Loose) {
        self.removals += 1;
        self.last.take_if(|last| last.id == id);
        let node = self.nodes.remove(id).expect("a node is listed until it is removed");
        let removed = self.contents.remove(id).expect("a node that is listed has a record");
        if !node.has_handle {
            self.free.push(id);
        }
        self.edits += 1;
        let graph = self.graph_mut(node.graph);
        graph.is_cut = true;
        let siblings = &mut graph.nodes;
        siblings.swap_remove(node.position as usize);
        let moved = siblings.get(node.position as usize).copied();
        if let Some(moved) = moved {
            self.node_mut(moved).position = node.position;
        }
        if let Some(index) = &mut self.by_native {
            index.remove(&node.native.addr());
        }
        self.allocating -=
            u32::from(matches!(removed.record.node_type(), NodeType::Allocation | NodeType::Free));
        (node, removed)
    }

    /// The native handle of a node that was not known before.
    pub(super) fn set_native(&mut self, id: NodeId, native: CUgraphNode) {
        self.node_mut(id).native = native;
        if let Some(index) = &mut self.by_native {
            index.insert(native.addr(), id);
        }
    }

    /// Takes a graph without nodes off the list.
    pub(super) fn unlist_graph(&mut self, id: GraphId) -> GraphState {
        self.graphs[id.0 as usize].take().expect("a graph is listed until it is removed")
    }

    /// Remembers something that was removed for a while.
    pub(super) fn remember(&mut self, removal: Removal) {
        if self.removed.order.len() == REMOVED
            && let Some(Removal::Node { number, place }) = self.removed.order.pop_front()
        {
            self.forget_removed(number, place);
        }
        self.removed.order.push_back(removal);
    }

    /// Remembers what a node did last that was removed, or moved to another definition, if anybody was told of it.
    pub(super) fn remember_node(&mut self, id: NodeId, node: &NodeState, parameters: &Parameters) {
        if !node.is_named {
            return;
        }
        self.removed.nodes.insert(node.number, parameters.clone());
        let place = node.has_handle.then_some(id);
        if place.is_some() {
            self.pages.was_removed(id, node.number, parameters.node_type());
        }
        self.remember(Removal::Node { number: node.number, place });
    }

    /// The handle of a node that was removed, if it had one.
    #[cfg(feature = "capi")]
    pub(super) fn handle_of_removed(&self, number: u32) -> Option<Token> {
        self.removed.order.iter().find_map(|removal| match removal {
            Removal::Node { number: of, place: Some(place) } if *of == number => self.pages.known(*place),
            _ => None,
        })
    }

    /// Nobody tells any more what a node did that was removed; another one can take its place.
    fn forget_removed(&mut self, number: u32, place: Option<NodeId>) {
        self.removed.nodes.remove(&number);
        if let Some(place) = place
            && self.pages.end(place)
        {
            self.free.push(place);
        }
        self.pages.names.forget(number);
    }

    /// The same definition without what it has, which becomes another's: only what handles tell of it stays.
    pub(super) fn emptied(&mut self) -> Self {
        let mut empty = Self::new(&self.pages.names);
        std::mem::swap(&mut self.pages, &mut empty.pages);
        std::mem::swap(&mut self.removed, &mut empty.removed);
        empty
    }

    /// A node runs in this context from now on, or in the definition's own.
    pub(super) fn set_context(&mut self, id: NodeId, context: Option<Context>) {
        if let Some(context) = &context {
            note(&mut self.contexts, context);
        }
        self.contents.set_context(id, context);
    }

    /// The contexts in which nodes ran at any time, apart from the definition's own.
    pub(super) fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The root; `None` once it was given away, or lost.
    pub(super) fn root(&self) -> Option<&GraphState> {
        self.graphs.first()?.as_ref().filter(|_| !self.is_lost)
    }

    /// A recapture ended without the graph.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
        self.last = None;
    }

    /// Whether a recapture ended without the graph: no call of the driver's names a node any more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    #[inline]
    pub(super) fn graph(&self, id: GraphId) -> &GraphState {
        self.graphs[id.0 as usize].as_ref().expect("a graph is listed until it is removed")
    }

    /// What captures into a graph below a node.
    pub(super) fn capture_below(&self, node: NodeId) -> Option<Arc<dyn Recorder>> {
        self.node(node).inner.iter().find_map(|graph| {
            let graph = self.graph(*graph);
            graph.capture().or_else(|| graph.nodes.iter().find_map(|node| self.capture_below(*node)))
        })
    }

    /// The object of a graph that may have been lost.
    pub(super) fn graph_object(&self, id: GraphId) -> Option<Arc<GraphObject>> {
        self.graphs.get(id.0 as usize)?.as_ref().map(|graph| Arc::clone(&graph.object))
    }

    #[inline]
    pub(super) fn graph_mut(&mut self, id: GraphId) -> &mut GraphState {
        self.graphs[id.0 as usize].as_mut().expect("a graph is listed until it is removed")
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &NodeState {
        self.nodes.get(id).expect("a node is listed until it is removed")
    }

    #[inline]
    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut NodeState {
        self.nodes.get_mut(id).expect("a node is listed until it is removed")
    }

    /// What a node does.
    #[inline]
    pub(super) fn record(&self, id: NodeId) -> &Record {
        self.contents.get(id).expect("a node that is listed has a record")
    }

    /// What sort of node it is.
    pub(super) fn node_type(&self, id: NodeId) -> NodeType {
        self.record(id).node_type()
    }

    /// The same, for a copy of the node.
    pub(super) fn loose(&self, id: NodeId) -> Loose {
        self.contents.loose(id).expect("a node that is listed has a record")
    }

    /// The same, to be edited.
    #[inline]
    pub(super) fn record_mut(&mut self, id: NodeId) -> &mut Record {
        self.contents.get_mut(id).expect("a node that is listed has a record")
    }

    /// All graphs.
    pub(super) fn graphs(&self) -> impl Iterator<Item = &GraphState> {
        self.graphs.iter().flatten()
    }

    /// All nodes of all graphs.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeState)> {
        self.nodes.iter()
    }

    /// What a node is called.
    pub(super) fn name_of(&self, id: NodeId) -> String {
        let node = self.node(id);
        name(self.node_type(id), node.number, self.label_of(node).as_deref())
    }

    /// The label of a node.
    pub(super) fn label_of(&self, node: &NodeState) -> Option<Arc<str>> {
        self.pages.names.label(node.number)
    }

    /// Whether a node of the definition allocates the memory at the address.
    pub(super) fn allocates(&self, address: u64) -> bool {
        self.contents.iter().any(|(_, record)| match &record.parameters {
            Parameters::Allocation(own) => address.wrapping_sub(own.pointer().0) < own.bytes() as u64,
            _ => false,
        })
    }

    /// Whether a node that does this uses memory that one of the definition allocates.
    pub(super) fn has_memory_of(&self, parameters: &Parameters) -> bool {
        let mut has = false;
        parameters.each_address(|_, address| has |= self.allocates(address));
        has
    }

    /// How many bytes the value of a parameter has.
    pub(super) fn parameter_size(&self, name: &str) -> Option<u32> {
        self.parameters.get(name).copied()
    }

    /// Refuses parameters of a kernel that have another size elsewhere, in the definition or in the kernel itself.
    #[inline]
    pub(super) fn check_parameters(&self, of: &Parameters) -> Result<(), Error> {
        named_arguments(of).map_or(Ok(()), |arguments| self.check_named(arguments))
    }

    fn check_named(&self, arguments: &KeptArguments) -> Result<(), Error> {
        for (position, (index, name)) in arguments.names().iter().enumerate() {
            let earlier = arguments.names()[..position].iter().find(|(_, other)| other == name);
            let earlier = earlier.map(|(index, _)| arguments.size(*index));
            let size = arguments.size(*index);
            if let Some(known) = self.parameter_size(name).or(earlier).filter(|known| *known != size) {
                let refusal = format!(
                    "argument {index}: the parameter \"{name}\" has {known} bytes elsewhere, and {size} here"
                );
                let mut failure = Error::new(Status::INVALID_ARGUMENT, refusal);
                failure.item = Some(*index as usize);
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Refuses another definition's parameters, if one of them has another size here.
    pub(super) fn check_parameters_of(&self, other: &Self) -> Result<(), Error> {
        for (name, size) in &other.parameters {
            if let Some(known) = self.parameter_size(name).filter(|known| known != size) {
                let refusal = format!("the parameter \"{name}\" has {known} bytes here, and {size} there");
                return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
            }
        }
        Ok(())
    }

    /// Lists the parameters of a kernel, which were checked.
    #[inline]
    pub(super) fn list_parameters(&mut self, of: &Parameters) {
        if let Some(arguments) = named_arguments(of) {
            list_named(&mut self.parameters, arguments);
        }
    }

    /// How many nodes there ever were.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// How often edges of one of the graphs were changed.
    pub(super) fn edges_edited(&self) -> u64 {
        self.edges_edited
    }

    /// The nodes in the driver's order, if nothing was edited since they were listed.
    pub(super) fn known_outline(&self) -> Option<&Arc<Outline>> {
        self.outline
            .as_ref()
            .filter(|(edits, _)| *edits == self.edits && !self.is_shared)
            .map(|(_, outline)| outline)
    }

    /// Remembers the nodes in the driver's order, unless others may edit them unseen.
    pub(super) fn remember_outline(&mut self, outline: &Arc<Outline>) {
        self.outline = (!self.is_shared).then(|| (self.edits, Arc::clone(outline)));
    }

    /// Edges of a graph are about to be changed, perhaps some of them removed. What is instantiated already has those of before.
    pub(super) fn edits_edges(&mut self, graph: GraphId, removes: bool) {
        self.edges_edited += 1;
        self.edits += 1;
        let edited = self.edges_edited;
        let graph = self.graph_mut(graph);
        graph.edges_edited = edited;
        graph.is_cut |= removes;
    }

    /// The node that has this number, if it is still in its place.
    #[inline]
    pub(super) fn find_number(&self, id: NodeId, number: u32) -> Option<&NodeState> {
        self.nodes.get(id).filter(|node| node.number == number && !self.is_lost)
    }

    /// What a node did last that was removed, as long as that is remembered.
    pub(super) fn last_of(&self, id: NodeId, number: u32) -> Option<&Parameters> {
        // What was lost is still listed, for what was instantiated from it.
        let lost = || self.contents.get(id).filter(|record| record.number == number && self.is_lost);
        self.removed.nodes.get(&number).or_else(|| lost().map(|record| &record.parameters))
    }

    /// The node with this native handle, if it is known.
    pub(super) fn find(&mut self, native: CUgraphNode) -> Option<NodeId> {
        let nodes = &self.nodes;
        let all = || nodes.iter().map(|(id, node)| (node.native.addr(), id)).collect();
        self.by_native.get_or_insert_with(all).get(&native.addr()).copied()
    }

    /// Whether there are conditional nodes.
    pub(super) fn has_conditions(&self) -> bool {
        self.conditions.iter().any(|condition| condition.node.is_some())
    }

    /// Whether the driver was ever asked for a condition.
    pub(super) fn had_conditions(&self) -> bool {
        self.has_conditions() || self.conditions.iter().any(|condition| condition.native.is_some())
    }

    /// Whether a graph is another, or stands above it.
    pub(super) fn is_above(&self, above: GraphId, below: GraphId) -> bool {
        self.with_those_above(below).any(|graph| graph == above)
    }

    /// A graph, and those that it is part of.
    fn with_those_above(&self, graph: GraphId) -> impl Iterator<Item = GraphId> {
        let parent = |graph: &GraphId| self.graph(*graph).parent.map(|node| self.node(node).graph);
        std::iter::successors(Some(graph), parent)
    }
}

/// A node in words: by its label, or by its number.
pub(super) fn name(node_type: NodeType, number: u32, label: Option<&str>) -> String {
    match label {
        Some(label) => format!("{node_type} \"{label}\""),
        None => format!("{node_type} {number}"),
    }
}

/// The arguments of a kernel, if some of them have names; most have none.
#[inline]
fn named_arguments(of: &Parameters) -> Option<&KeptArguments> {
    let Parameters::Kernel(kernel) = of else { return None };
    Some(kernel.arguments()).filter(|arguments| !arguments.names().is_empty())
}

#[cold]
fn list_named(parameters: &mut HashMap<Arc<str>, u32>, arguments: &KeptArguments) {
    for (index, name) in arguments.names() {
        parameters.entry(Arc::clone(name)).or_insert_with(|| arguments.size(*index));
    }
}

/// Adds a context to a list, unless it is there.
pub(super) fn note(contexts: &mut Vec<Context>, context: &Context) {
    if !contexts.iter().any(|known| known == context) {
        contexts.push(context.clone());
    }
}
