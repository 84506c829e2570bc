//! What is in a graph.

use super::{Edge, Node, Work};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUresult};
use crate::driver::condition::Condition;
use crate::driver::graph::edge::EdgeData;
use crate::driver::graph::leaf::Leaf;
use crate::driver::memory::table::Allocation;
use crate::driver::user_object::references::References;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Nodes, edges, and what they need.
#[derive(Default)]
pub(super) struct Content {
    /// By their handles, which rise.
    pub(super) nodes: BTreeMap<usize, Arc<Node>>,
    /// By the handles of the earlier and the later node.
    edges: BTreeMap<(usize, usize), Link>,
    /// The same pairs, the later node first.
    reverse: BTreeSet<(usize, usize)>,
    /// The nodes that follow none, and those that none follows.
    first: Latest,
    last: Latest,
    /// What the program wants to be kept with it.
    pub(super) objects: References,
    /// Its conditions.
    pub(super) conditions: Vec<Arc<Condition>>,
    /// Whether it has one or a graph in it has, or had once.
    pub(super) had_condition: bool,
    /// Of a copy: its nodes by the handles of those that they are copies of.
    pub(super) copies: HashMap<usize, usize>,
    /// How many of them allocate or free memory, which allocations they allocate, and which nodes free which ones, by their numbers.
    memory_nodes: usize,
    allocated: BTreeSet<u64>,
    freed: BTreeMap<u64, usize>,
    /// Allocations that a node, by its handle, frees in the graph that has them, and whose addresses no other has yet.
    resting: BTreeMap<usize, Arc<Allocation>>,
    added: u32,
    connected: u64,
}

struct Link {
    data: EdgeData,
    /// Rises from edge to edge.
    number: u64,
}

/// Nodes by the time at which they came.
#[derive(Default)]
struct Latest {
    nodes: BTreeMap<u64, usize>,
    times: HashMap<usize, u64>,
    time: u64,
}

impl Latest {
    fn insert(&mut self, node: usize) {
        self.time += 1;
        self.times.insert(node, self.time);
        self.nodes.insert(self.time, node);
    }

    fn remove(&mut self, node: usize) {
        if let Some(time) = self.times.remove(&node) {
            self.nodes.remove(&time);
        }
    }

    /// The last one first.
    fn in_order(&self) -> impl Iterator<Item = usize> {
        self.nodes.values().rev().copied()
    }
}

impl Content {
    pub(super) fn next_number(&mut self) -> u32 {
        self.added += 1;
        self.added - 1
    }

    /// How many nodes there ever were.
    pub(super) fn made(&self) -> u32 {
        self.added
    }

    /// A copy's numbers go on where those of its source do.
    pub(super) fn continue_numbers(&mut self, source: &Self) {
        self.added = source.added;
    }

    pub(super) fn has(&self, node: usize) -> bool {
        self.nodes.contains_key(&node)
    }

    pub(super) fn node(&self, handle: usize) -> Option<Arc<Node>> {
        self.nodes.get(&handle).cloned()
    }

    pub(super) fn has_edge(&self, from: usize, to: usize) -> bool {
        self.edges.contains_key(&(from, to))
    }

    /// Adds a node without edges.
    pub(super) fn insert(&mut self, node: Arc<Node>) {
        self.first.insert(node.handle);
        self.last.insert(node.handle);
        self.nodes.insert(node.handle, node);
    }

    pub(super) fn connect(&mut self, from: usize, to: usize, data: EdgeData) {
        self.last.remove(from);
        self.first.remove(to);
        self.connected += 1;
        self.edges.insert((from, to), Link { data, number: self.connected });
        self.reverse.insert((to, from));
    }

    pub(super) fn disconnect(&mut self, from: usize, to: usize) {
        self.edges.remove(&(from, to));
        self.reverse.remove(&(to, from));
        if self.has(to) && self.reverse.range((to, 0)..=(to, usize::MAX)).next().is_none() {
            self.first.insert(to);
        }
        if self.has(from) && self.edges.range((from, 0)..=(from, usize::MAX)).next().is_none() {
            self.last.insert(from);
        }
    }

    /// Takes a node out, with its edges.
    pub(super) fn remove(&mut self, node: usize) -> Option<Arc<Node>> {
        let removed = self.nodes.remove(&node)?;
        self.first.remove(node);
        self.last.remove(node);
        let before: Vec<_> = self.before(node).into_iter().map(|(from, _)| (from, node)).collect();
        let after = self.after(node).into_iter().map(|(to, _)| (node, to));
        for (from, to) in before.into_iter().chain(after) {
            self.disconnect(from, to);
        }
        Some(removed)
    }

    /// The nodes that follow none; the one that has become so last is the first (measured).
    pub(super) fn first(&self) -> impl Iterator<Item = usize> {
        self.first.in_order()
    }

    /// The nodes that none follows, in the same order.
    pub(super) fn last(&self) -> impl Iterator<Item = usize> {
        self.last.in_order()
    }

    /// In a copy, what none follows has the same order as in its source (measured).
    pub(super) fn order_last_as(&mut self, source: &Self, copies: &HashMap<usize, usize>) {
        self.last = Latest::default();
        for copy in source.last.nodes.values().filter_map(|original| copies.get(original)) {
            self.last.insert(*copy);
        }
    }

    /// The nodes that one follows, in the order in which the edges were made.
    pub(super) fn before(&self, node: usize) -> Vec<(usize, EdgeData)> {
        let pairs = self.reverse.range((node, 0)..=(node, usize::MAX));
        in_order(pairs.filter_map(|(to, from)| Some((*from, self.edges.get(&(*from, *to))?))))
    }

    /// The nodes that follow one, in the order in which the edges were made.
    pub(super) fn after(&self, node: usize) -> Vec<(usize, EdgeData)> {
        in_order(self.edges.range((node, 0)..=(node, usize::MAX)).map(|((_, to), link)| (*to, link)))
    }

    /// All edges: node by node, those from a node in the order in which they were made (measured).
    pub(super) fn edges(&self) -> Vec<(usize, usize, EdgeData)> {
        let mut links: Vec<_> =
            self.edges.iter().map(|((from, to), link)| (*from, link.number, *to, link.data)).collect();
        links.sort_unstable_by_key(|(from, number, ..)| (*from, *number));
        links.into_iter().map(|(from, _, to, data)| (from, to, data)).collect()
    }

    /// Edges with their nodes.
    pub(super) fn resolve(&self, edges: Vec<(usize, usize, EdgeData)>) -> Vec<Edge> {
        let resolved = |(from, to, data)| Some(Edge { from: self.node(from)?, to: self.node(to)?, data });
        edges.into_iter().filter_map(resolved).collect()
    }

    /// Refuses the removal of nodes and edges beside nodes that allocate or free memory (documented; measured of nodes).
    pub(super) fn check_removal(&self) -> Result<(), CUresult> {
        if self.memory_nodes == 0 { Ok(()) } else { Err(CUDA_ERROR_NOT_SUPPORTED) }
    }

    /// Whether it has nodes that allocate or free memory.
    pub(super) fn has_memory_nodes(&self) -> bool {
        self.memory_nodes > 0
    }

    /// The node that frees an allocation, by its number.
    pub(super) fn free_node(&self, allocation: u64) -> Option<usize> {
        self.freed.get(&allocation).copied()
    }

    /// What has been freed, by the nodes that free it, as far as addresses can be had of it.
    pub(super) fn resting(&self) -> impl Iterator<Item = (usize, &Arc<Allocation>)> {
        self.resting.iter().map(|(node, allocation)| (*node, allocation))
    }

    /// Notes a node that allocates or frees memory, or has a graph with such nodes; refuses to free the same twice, or here and in another graph.
    pub(super) fn note_memory(&mut self, node: usize, work: &Work) -> Result<(), CUresult> {
        let fits = match work {
            Work::Leaf(leaf) => match &**leaf {
                Leaf::Alloc(alloc) => {
                    if let Some(former) = alloc.former() {
                        self.resting.retain(|_, resting| resting.id != former);
                    }
                    self.allocated.insert(alloc.allocation().id)
                }
                Leaf::Free(free) => {
                    let (id, is_own) = (free.allocation.id, self.allocated.contains(&free.allocation.id));
                    let fits = !self.freed.contains_key(&id) && free.begin(is_own);
                    if fits {
                        self.freed.insert(id, node);
                    }
                    if fits && is_own {
                        self.resting.insert(node, Arc::clone(&free.allocation));
                    }
                    fits
                }
                _ => return Ok(()),
            },
            Work::Child(graph) if graph.content.lock().has_memory_nodes() => true,
            Work::Child(_) | Work::Conditional(_) => return Ok(()),
        };
        self.memory_nodes += usize::from(fits);
        if fits { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }
}

fn in_order<'a, T>(links: impl Iterator<Item = (T, &'a Link)>) -> Vec<(T, EdgeData)> {
    let mut links: Vec<_> = links.collect();
    links.sort_unstable_by_key(|(_, link)| link.number);
    links.into_iter().map(|(what, link)| (what, link.data)).collect()
}
