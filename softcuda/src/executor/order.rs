//! The order of work: a graph of the operations that are not finished.
//!
//! An operation follows the one before it in its stream, those that its stream's kind demands (`predecessors`), and those
//! that it is given (an event's record). When the last of them is finished, it can run.

use super::work::{Operation, Work};
use crate::stream::{Kind, Stream};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Order {
    added: u64,
    /// Every operation that is not finished, by number.
    pending: HashMap<u64, Node>,
    /// The last operation of each stream that has unfinished ones: by context, then by stream.
    tails: HashMap<u64, BTreeMap<u64, Arc<Operation>>>,
}

/// An unfinished operation.
pub(super) struct Node {
    pub(super) operation: Arc<Operation>,
    /// Unfinished operations that it was put behind, some of them finished since.
    before: Vec<u64>,
    /// How many of them are unfinished.
    unmet: usize,
    /// Operations that must follow it.
    after: Vec<u64>,
    /// Whether it is to run as soon as it can.
    pub(super) wanted: bool,
    pub(super) started: bool,
}

impl Node {
    pub(super) fn can_run(&self) -> bool {
        self.unmet == 0 && !self.started
    }
}

impl Order {
    /// Puts work into a stream, behind what the stream's order demands and behind `after`.
    pub(super) fn add(
        &mut self,
        stream: &Arc<Stream>,
        work: Arc<dyn Work>,
        after: &[Arc<Operation>],
    ) -> &mut Node {
        let number = self.added;
        self.added += 1;
        let predecessors = self.predecessors(stream);
        let mut before: Vec<u64> =
            predecessors.iter().chain(after).map(|operation| operation.number).collect();
        before.sort_unstable();
        before.dedup();
        before.retain(|number| self.pending.contains_key(number));
        for earlier in &before {
            self.pending.entry(*earlier).and_modify(|node| node.after.push(number));
        }
        let operation = Operation::new(number, Arc::clone(stream), work);
        self.tails.entry(stream.context.id()).or_default().insert(stream.id, Arc::clone(&operation));
        let unmet = before.len();
        let node = Node { operation, before, unmet, after: Vec::new(), wanted: false, started: false };
        self.pending.entry(number).or_insert(node)
    }

    /// An operation is finished; answers those that can run now.
    pub(super) fn finish(&mut self, operation: &Operation) -> Vec<u64> {
        operation.set_finished();
        self.remove_tail(operation);
        let Some(mut node) = self.pending.remove(&operation.number) else { return Vec::new() };
        node.after.retain(|number| match self.pending.get_mut(number) {
            Some(next) => {
                next.unmet -= 1;
                next.unmet == 0
            }
            None => false,
        });
        node.after
    }

    /// Forgets that a finished operation was its stream's last.
    fn remove_tail(&mut self, operation: &Operation) {
        let (context, stream) = (operation.stream.context.id(), operation.stream.id);
        let Some(tails) = self.tails.get_mut(&context) else { return };
        if tails.get(&stream).is_some_and(|tail| tail.number == operation.number) {
            tails.remove(&stream);
        }
        if tails.is_empty() {
            self.tails.remove(&context);
        }
    }

    pub(super) fn node(&mut self, number: u64) -> Option<&mut Node> {
        self.pending.get_mut(&number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Marks operations, and all that they must follow, as wanted; answers those that can run now.
    pub(super) fn want(&mut self, mut numbers: Vec<u64>) -> Vec<u64> {
        let mut can_run = Vec::new();
        while let Some(number) = numbers.pop() {
            let Some(node) = self.pending.get_mut(&number).filter(|node| !node.wanted) else { continue };
            node.wanted = true;
            numbers.extend(&node.before);
            if node.can_run() {
                can_run.push(number);
            }
        }
        can_run
    }

    /// All unfinished operations, of one context or of every one.
    pub(super) fn operations(&self, context: Option<u64>) -> Vec<Arc<Operation>> {
        let all = self.pending.values().map(|node| &node.operation);
        all.filter(|operation| context.is_none_or(|id| operation.stream.context.id() == id))
            .cloned()
            .collect()
    }

    /// The last operation of every stream of a context.
    pub(super) fn tails(&self, context: u64) -> Vec<Arc<Operation>> {
        self.tails.get(&context).map_or(Vec::new(), |tails| tails.values().cloned().collect())
    }

    /// The last operations of those streams in the same context that satisfy the condition.
    pub(super) fn tails_where(
        &self,
        stream: &Stream,
        condition: impl Fn(&Stream) -> bool,
    ) -> Vec<Arc<Operation>> {
        let Some(tails) = self.tails.get(&stream.context.id()) else { return Vec::new() };
        tails.values().filter(|tail| condition(&tail.stream)).cloned().collect()
    }

    /// What the next operation of a stream must follow: the legacy stream and the blocking ones wait for each other.
    pub(super) fn predecessors(&self, stream: &Stream) -> Vec<Arc<Operation>> {
        self.tails_where(stream, |other| match stream.kind {
            Kind::Legacy => other.kind != Kind::NonBlocking,
            Kind::Blocking | Kind::PerThread => other.id == stream.id || other.kind == Kind::Legacy,
            Kind::NonBlocking => other.id == stream.id,
        })
    }

    /// Whether one of the operations is the one of this number, which is not finished, or must follow it.
    pub(super) fn any_follows(&self, first: u64, operations: &[Arc<Operation>]) -> bool {
        let mut numbers: Vec<u64> = operations.iter().map(|operation| operation.number).collect();
        let mut seen = HashSet::new();
        while let Some(number) = numbers.pop() {
            if number == first {
                return true;
            }
            // What comes after it has a larger number.
            if number > first && seen.insert(number) {
                numbers.extend(self.pending.get(&number).iter().flat_map(|node| &node.before));
            }
        }
        false
    }
}
