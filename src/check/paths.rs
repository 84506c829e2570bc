//! What comes before what, of the nodes of a graph and of the graphs in them.

use super::deed::{Deed, Deeds, LookedUp};
use super::memory::{Memory, Past};
use super::sentence::{Party, Reported, of_nodes, tell};
use crate::driver::Driver;
use std::ops::Range;
use std::sync::Arc;

/// How many nodes one graph has at most whose order is known: a bit for each pair of them, 128 MiB.
const MOST_NODES: usize = 1 << 15;

/// Where a node stands: in each graph from the outermost on, the graph's number, and the node's among those of the graph.
pub(crate) type Place = Arc<[(u32, u32)]>;

/// The order of all nodes, graph by graph.
pub(crate) struct GraphOrder {
    name: String,
    /// For each graph and each of its nodes, which nodes come before it.
    before: Vec<Option<Bits>>,
    memory: Memory<Done>,
    /// The nodes that may wait for anything: what comes after them may have any order.
    waiting: Vec<Place>,
    reported: Reported,
    reports: Vec<String>,
}

#[derive(Debug)]
struct Done {
    place: Place,
    party: Party,
}

/// A bit for each pair of nodes.
struct Bits {
    words: usize,
    bits: Vec<u64>,
}

impl Bits {
    fn new(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self { words, bits: vec![0; words * nodes] }
    }

    /// A node, and all that is before it, comes before another.
    fn add(&mut self, from: usize, to: usize) {
        for word in 0..self.words {
            self.bits[to * self.words + word] |= self.bits[from * self.words + word];
        }
        self.bits[to * self.words + from / 64] |= 1 << (from % 64);
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[to * self.words + from / 64] & 1 << (from % 64) != 0
    }
}

impl GraphOrder {
    /// Of a definition that has this name.
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            before: Vec::new(),
            memory: Memory::default(),
            waiting: Vec::new(),
            reported: Reported::default(),
            reports: Vec::new(),
        }
    }

    /// A graph has so many nodes, and these edges. Answers with the nodes in an order in which each comes after those before it; `None` for a
    /// graph that is too large, or has a cycle.
    pub(crate) fn add_graph(&mut self, graph: u32, nodes: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
        if nodes > MOST_NODES {
            let refusal = "is too large for CUSHIM_CHECK=order";
            self.reports.push(format!(
                "{}: a graph of {nodes} nodes {refusal}, which looks at {MOST_NODES}",
                self.name
            ));
            return None;
        }
        let (mut after, mut missing) = (vec![Vec::new(); nodes], vec![0_u32; nodes]);
        for (from, to) in edges {
            after[*from as usize].push(*to);
            missing[*to as usize] += 1;
        }
        let mut ordered: Vec<u32> = (0..nodes as u32).filter(|node| missing[*node as usize] == 0).collect();
        let (mut bits, mut next) = (Bits::new(nodes), 0);
        while let Some(from) = ordered.get(next).copied() {
            next += 1;
            for to in std::mem::take(&mut after[from as usize]) {
                bits.add(from as usize, to as usize);
                missing[to as usize] -= 1;
                if missing[to as usize] == 0 {
                    ordered.push(to);
                }
            }
        }
        if ordered.len() < nodes {
            return None;
        }
        if self.before.len() <= graph as usize {
            self.before.resize_with(graph as usize + 1, || None);
        }
        self.before[graph as usize] = Some(bits);
        Some(ordered)
    }

    /// A node does this. Nodes come in an order in which each comes after those before it.
    pub(crate) fn add_node(&mut self, driver: &Driver, place: &Place, deeds: Deeds) {
        if self.waiting.iter().any(|waiting| is_before(&self.before, waiting, place)) {
            return;
        }
        let LookedUp { what, touches, others } = deeds.look_up(driver);
        if others.iter().any(|deed| matches!(deed, Deed::MayWait | Deed::Waits(_) | Deed::WaitsForOthers)) {
            self.waiting.push(Arc::clone(place));
        }
        let called: Arc<str> = Arc::from(what);
        let Self { name, before, memory, reported, reports, .. } = self;
        for (touch, found) in touches {
            let party = Party {
                what: Arc::clone(&called),
                at: None,
                usage: touch.usage,
                access: touch.access,
                memory: touch.name.as_deref().map(Arc::from),
            };
            let conflict = |old: &Past<Done>, range: Range<u64>| {
                if reported.is_new(&old.place.party, &party) {
                    reports.push(of_nodes(name, &old.place.party, &party, &range));
                }
            };
            let is_before = |old: &Done| is_before(before, &old.place, place);
            let done = Done { place: Arc::clone(place), party: party.clone() };
            memory.touch(&found, touch.access, done, is_before, conflict);
        }
    }

    /// Logs what was found; no lock may be held, for what logs is the program's.
    pub(crate) fn tell(self) {
        tell(self.reports);
    }
}

/// Whether one node comes before another: where their ways part, in one graph, or in two bodies, of which one runs.
fn is_before(before: &[Option<Bits>], old: &[(u32, u32)], new: &[(u32, u32)]) -> bool {
    let Some(((graph, from), (other, to))) = old.iter().zip(new).find(|(old, new)| old != new) else {
        return true;
    };
    let bits = before.get(*graph as usize).and_then(Option::as_ref);
    graph != other || bits.is_none_or(|bits| bits.has(*from as usize, *to as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_other_nodes_and_graphs() {
        let mut order = GraphOrder::new("graph".to_owned());
        // 3 -> 1 -> 0, and 2 beside.
        assert_eq!(order.add_graph(0, 4, &[(3, 1), (1, 0)]), Some(vec![2, 3, 1, 0]));
        assert_eq!(order.add_graph(1, 2, &[]), Some(vec![0, 1]));
        let place = |nodes: &[(u32, u32)]| Place::from(nodes);
        let is_before = |old, new| is_before(&order.before, &place(old), &place(new));
        assert!(is_before(&[(0, 3)], &[(0, 0)]) && is_before(&[(0, 3)], &[(0, 3)]));
        assert!(!is_before(&[(0, 2)], &[(0, 0)]) && !is_before(&[(0, 0)], &[(0, 3)]));
        // Nodes of the graph in node 1.
        assert!(is_before(&[(0, 3)], &[(0, 1), (1, 0)]) && is_before(&[(0, 1), (1, 0)], &[(0, 0)]));
        assert!(!is_before(&[(0, 1), (1, 0)], &[(0, 1), (1, 1)]));
        // Of two bodies one runs.
        assert!(is_before(&[(0, 1), (1, 0)], &[(0, 1), (2, 0)]));
    }

    #[test]
    fn a_cycle_has_no_order() {
        assert_eq!(GraphOrder::new("graph".to_owned()).add_graph(0, 2, &[(0, 1), (1, 0)]), None);
    }
}
