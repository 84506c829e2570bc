//! What is kept alive for nodes: by an object of the driver's, or for one.

use super::node::{For, Hold, Holds};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::sync::Arc;

/// Among how many objects one is looked for that was listed already.
const LATEST: usize = 8;

/// What is kept for one node, or for the nodes of a graph that the driver copied.
#[derive(Default)]
pub(crate) struct Bundle {
    /// By the number of the node, in ascending order.
    named: Vec<OfNode>,
    /// What stays as long as the driver's object; of one node without an allocation.
    rest: SmallVec<[Holds; 1]>,
    /// What was added since.
    added: Vec<Box<dyn Any + Send>>,
}

struct OfNode {
    node: u32,
    /// Whether it is still told apart; what is not stays as long as the driver's object.
    is_known: bool,
    holds: Holds,
}

impl Bundle {
    /// What is kept for one node.
    pub(crate) fn of_one(holds: Holds) -> Self {
        Self { rest: smallvec![holds], ..Self::default() }
    }

    /// What is kept for many nodes, of which none is told apart. Neighbours keep much of the same: that is listed once, and what the others
    /// had of it goes here and now, which ends nothing.
    pub(crate) fn of_all(all: impl Iterator<Item = Holds>) -> Self {
        let (mut listed, mut latest, mut count) = (Holds::default(), [0; LATEST], 0);
        let mut list = |object: Hold| {
            let address = Arc::as_ptr(&object).addr();
            if !latest.contains(&address) {
                latest[count % LATEST] = address;
                count += 1;
                listed.keep(For::Inner, object);
            }
        };
        all.for_each(|holds| holds.into_objects().for_each(&mut list));
        Self::of_one(listed)
    }

    /// What is kept for the nodes of these numbers, and what for none of them.
    pub(crate) fn of_nodes<'a>(
        nodes: impl Iterator<Item = (u32, &'a Holds)>,
        rest: impl Iterator<Item = &'a Holds>,
    ) -> Self {
        let nodes = nodes.filter(|(_, holds)| !holds.is_empty());
        let named = nodes.map(|(node, holds)| OfNode { node, is_known: true, holds: holds.clone() });
        let mut bundle = Self { named: named.collect(), rest: rest.cloned().collect(), added: Vec::new() };
        bundle.sort();
        bundle
    }

    fn sort(&mut self) {
        self.named.sort_unstable_by_key(|named| named.node);
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        let is_kept = |holds: &Holds| !holds.is_empty();
        !self.named.iter().any(|named| is_kept(&named.holds))
            && !self.rest.iter().any(is_kept)
            && self.added.is_empty()
    }

    /// What is kept, for whichever node; what was added goes at once.
    pub(crate) fn into_holds(self) -> impl Iterator<Item = Holds> {
        self.named.into_iter().map(|named| named.holds).chain(self.rest)
    }

    /// What of the things that are kept for nodes answers something, if one does.
    pub(crate) fn find<T>(&self, ask: impl Fn(&Hold) -> Option<T>) -> Option<T> {
        let named = self.named.iter().map(|named| &named.holds);
        named.chain(&self.rest).find_map(|holds| holds.find(&ask))
    }

    /// Keeps something more.
    pub(crate) fn add(&mut self, more: Box<dyn Any + Send>) {
        self.added.push(more);
    }

    /// What was added last, taken out again.
    pub(crate) fn take_added(&mut self) -> Option<Box<dyn Any + Send>> {
        self.added.pop()
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
    pub(crate) fn rename(&mut self, number: impl Fn(u32) -> Option<u32>) {
        let Self { named, rest, .. } = self;
        let has_none = |named: &mut OfNode| {
            let number = number(named.node).filter(|_| named.is_known);
            number.inspect(|number| named.node = *number).is_none()
        };
        rest.extend(named.extract_if(.., has_none).map(|named| named.holds));
        self.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_keep_is_listed_once() {
        let shared: Hold = Arc::new(1_u8);
        let own: Vec<Hold> = (0..20_u8).map(|number| Arc::new(number) as Hold).collect();
        let nodes = own.iter().map(|own| {
            let mut holds = Holds::of_inner(Arc::clone(&shared));
            holds.keep(For::Argument(0), Arc::clone(own));
            holds
        });
        let bundle = Bundle::of_all(nodes.collect::<Vec<_>>().into_iter());
        let count =
            |object: &Hold| bundle.holds().into_objects().filter(|kept| Arc::ptr_eq(kept, object)).count();
        assert!(own.iter().all(|own| count(own) == 1));
        assert_eq!(count(&shared), 3, "it is found among the latest {LATEST}");
        drop(bundle);
        assert!(own.iter().chain([&shared]).all(|object| Arc::strong_count(object) == 1));
    }
}
