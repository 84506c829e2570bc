//! What an object of the driver's keeps alive for nodes.

use super::node::Holds;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// What is kept for one node, or for the nodes of a graph that the driver copied.
#[derive(Default)]
pub(crate) struct Bundle {
    /// By the number of the node, in ascending order.
    named: Vec<Named>,
    /// What stays as long as the driver's object; of one node without an allocation.
    rest: SmallVec<[Holds; 1]>,
}

struct Named {
    node: u32,
    /// Whether it is still told apart; what is not stays as long as the driver's object.
    is_known: bool,
    holds: Holds,
}

impl Bundle {
    /// What is kept for one node.
    pub(crate) fn of_one(holds: Holds) -> Self {
        Self { named: Vec::new(), rest: smallvec![holds] }
    }

    /// What is kept for many nodes, of which none is told apart.
    pub(crate) fn of_all(all: impl Iterator<Item = Holds>) -> Self {
        Self { named: Vec::new(), rest: all.collect() }
    }

    /// What is kept for the nodes of these numbers, and what for none of them.
    pub(crate) fn of_nodes<'a>(
        nodes: impl Iterator<Item = (u32, &'a Holds)>,
        rest: impl Iterator<Item = &'a Holds>,
    ) -> Self {
        let nodes = nodes.filter(|(_, holds)| !holds.is_empty());
        let named = nodes.map(|(node, holds)| Named { node, is_known: true, holds: holds.clone() });
        let mut bundle = Self { named: named.collect(), rest: rest.cloned().collect() };
        bundle.sort();
        bundle
    }

    fn sort(&mut self) {
        self.named.sort_unstable_by_key(|named| named.node);
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.iter().all(|named| named.holds.is_empty()) && self.rest.iter().all(Holds::is_empty)
    }

    /// All that is kept once more, for whoever keeps it for one node.
    pub(crate) fn holds(&self) -> Holds {
        self.rest.first().cloned().unwrap_or_default()
    }

    /// Where a node stands for which something is kept.
    fn place(&self, node: u32) -> Option<usize> {
        let at = self.named.binary_search_by_key(&node, |named| named.node).ok()?;
        let named = &self.named[at];
        if named.is_known && !named.holds.is_empty() { Some(at) } else { None }
    }

    /// What is kept for a node.
    pub(crate) fn of(&self, node: u32) -> Option<&Holds> {
        self.place(node).map(|at| &self.named[at].holds)
    }

    /// Takes what a node has no more, which keeps this `now`.
    pub(crate) fn exchange(&mut self, node: u32, now: &Holds) -> Option<Holds> {
        let at = self.place(node)?;
        Some(self.named[at].holds.split_off_others(now))
    }

    /// The node is not told apart any more.
    pub(crate) fn forget(&mut self, node: u32) {
        if let Some(at) = self.place(node) {
            self.named[at].is_known = false;
        }
    }

    /// No node is told apart any more.
    pub(crate) fn forget_all(&mut self) {
        self.named.iter_mut().for_each(|named| named.is_known = false);
    }

    /// The nodes have these numbers from now on; those that have none are not told apart any more.
    pub(crate) fn rename(&mut self, numbers: &HashMap<u32, u32>) {
        for named in std::mem::take(&mut self.named) {
            match numbers.get(&named.node).filter(|_| named.is_known) {
                Some(number) => self.named.push(Named { node: *number, ..named }),
                None => self.rest.push(named.holds),
            }
        }
        self.sort();
    }
}
