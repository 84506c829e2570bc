//! Whether edges would close a cycle. Driver 580 takes such edges, and says so only when the graph is instantiated (measured).

use crate::driver::calls::graph::definition::RawEdge;
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use std::collections::{HashMap, HashSet};

/// The first of these edges that would close a cycle, with those of the graph and those before it.
pub(super) fn find(table: &Table, edges: &[RawEdge]) -> Result<Option<usize>, CallError> {
    let mut added = Added::default();
    for (index, edge) in edges.iter().enumerate() {
        if leads_to(table, &added, edge.to, edge.from)? {
            return Ok(Some(index));
        }
        added.add(edge);
    }
    Ok(None)
}

/// Edges that the driver does not have yet.
#[derive(Default)]
struct Added {
    forward: HashMap<usize, Vec<CUgraphNode>>,
    backward: HashMap<usize, Vec<CUgraphNode>>,
}

impl Added {
    fn add(&mut self, edge: &RawEdge) {
        self.forward.entry(edge.from.addr()).or_default().push(edge.to);
        self.backward.entry(edge.to.addr()).or_default().push(edge.from);
    }

    fn of(&self, node: CUgraphNode, toward: Toward) -> &[CUgraphNode] {
        let side = match toward {
            Toward::Successors => &self.forward,
            Toward::Predecessors => &self.backward,
        };
        side.get(&node.addr()).map_or(&[], Vec::as_slice)
    }
}

/// Whether a path leads from one node to another. Both ends are followed in turn, so that it takes no longer than the shorter
/// side: a node that nothing comes after, or before, is settled at once.
fn leads_to(table: &Table, added: &Added, from: CUgraphNode, to: CUgraphNode) -> Result<bool, CallError> {
    let mut ahead = Side::new(from, Toward::Successors);
    let mut back = Side::new(to, Toward::Predecessors);
    loop {
        if ahead.step(table, added, &back)? || back.step(table, added, &ahead)? {
            return Ok(true);
        }
        if ahead.frontier.is_empty() || back.frontier.is_empty() {
            return Ok(false);
        }
    }
}

/// What was reached from one end.
struct Side {
    toward: Toward,
    seen: HashSet<usize>,
    frontier: Vec<CUgraphNode>,
}

impl Side {
    fn new(start: CUgraphNode, toward: Toward) -> Self {
        Self { toward, seen: HashSet::from([start.addr()]), frontier: vec![start] }
    }

    /// Goes on from one node; answers whether the other side is met.
    fn step(&mut self, table: &Table, added: &Added, other: &Self) -> Result<bool, CallError> {
        let Some(node) = self.frontier.pop() else { return Ok(false) };
        // SAFETY: the node is one of the graph, which is locked.
        let edges = unsafe { query::edges(table, node, self.toward) }?;
        let neighbour = |edge: &RawEdge| match self.toward {
            Toward::Successors => edge.to,
            Toward::Predecessors => edge.from,
        };
        let next = edges.iter().map(neighbour).chain(added.of(node, self.toward).iter().copied());
        for node in next {
            if other.seen.contains(&node.addr()) {
                return Ok(true);
            }
            if self.seen.insert(node.addr()) {
                self.frontier.push(node);
            }
        }
        Ok(false)
    }
}
