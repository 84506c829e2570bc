//! Places in the order of work, and what comes before one.
//!
//! Work stands in *chains*: a stream is one, and so is a path through a graph. What comes before a piece of work is known by how much of
//! each chain does: a vector clock.

use std::sync::{Arc, OnceLock};

/// A place: the chain, and the number of the piece in it, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch {
    pub(super) chain: u32,
    pub(super) count: u32,
}

/// What comes before a place.
#[derive(Clone, Default, Debug)]
pub(super) struct Clock {
    /// Of each chain, so many pieces.
    counts: Vec<u32>,
    /// Addresses of values that were waited for: what comes before the writes of these comes before, too, whenever they are submitted.
    values: Vec<u64>,
    /// Of each chain, so many pieces may come before, but nobody knows: an unknown piece does that the host has waited for.
    doubts: Vec<u32>,
}

impl Clock {
    pub(super) fn has(&self, epoch: Epoch) -> bool {
        self.count(epoch.chain) >= epoch.count
    }

    /// How much of a chain.
    pub(super) fn count(&self, chain: u32) -> u32 {
        self.counts.get(chain as usize).copied().unwrap_or(0)
    }

    /// Everything up to a place of this chain.
    pub(super) fn reach(&mut self, epoch: Epoch) {
        let at = epoch.chain as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].max(epoch.count);
    }

    /// Everything that comes before the other one, too.
    pub(super) fn join(&mut self, other: &Self) {
        self.join_known(other);
        other.values.iter().for_each(|address| self.wait_for(*address));
    }

    /// The same but for the values that the other one has waited for.
    pub(super) fn join_known(&mut self, other: &Self) {
        raise(&mut self.counts, &other.counts);
        raise(&mut self.doubts, &other.doubts);
    }

    /// Of each chain, so much may come before.
    pub(super) fn doubt(&mut self, counts: &[u32]) {
        raise(&mut self.doubts, counts);
    }

    pub(super) fn doubts(&self, epoch: Epoch) -> bool {
        self.doubts.get(epoch.chain as usize).is_some_and(|count| *count >= epoch.count)
    }

    pub(super) fn wait_for(&mut self, address: u64) {
        if let Err(at) = self.values.binary_search(&address) {
            self.values.insert(at, address);
        }
    }

    pub(super) fn values(&self) -> &[u64] {
        &self.values
    }
}

fn raise(counts: &mut Vec<u32>, others: &[u32]) {
    if counts.len() < others.len() {
        counts.resize(others.len(), 0);
    }
    counts.iter_mut().zip(others).for_each(|(own, other)| *own = (*own).max(*other));
}

/// What a piece of work has of the order.
#[derive(Debug)]
pub(crate) struct Stamp {
    pub(super) epoch: Epoch,
    /// What comes before it, itself included.
    pub(super) clock: Clock,
    /// What the host had waited for when it was submitted: comes before all that is submitted later, too.
    pub(super) host: Arc<Clock>,
    /// The number under which the journal has the work that is submitted while it runs, as a part of it; if there will be such work.
    pub(super) part: OnceLock<u64>,
}

impl Stamp {
    pub(super) fn new(epoch: Epoch, clock: Clock, host: Arc<Clock>) -> Self {
        Self { epoch, clock, host, part: OnceLock::new() }
    }
}
