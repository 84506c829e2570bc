//! The seeded schedule: at every call that gives work or asks about it, a few operations of those that can run do run, one
//! after the other; which and how many is drawn.
//!
//! A program that makes the same calls in the same order sees the same draws, so a seed repeats what happened. A host
//! function that takes long is taken for one that waits for something, and the rest goes on beside it.

use super::random::Random;
use super::work::Operation;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A host function that takes longer is left alone.
pub(super) const GRACE: Duration = Duration::from_millis(100);

/// So long the next draw waits for those that were left alone: what they waited for may have just happened.
pub(super) const SECOND_GRACE: Duration = Duration::from_millis(5);

/// Eagerness is drawn in parts of this.
const PARTS: usize = 8;

/// What can run, and what is drawn from.
pub(super) struct Draw {
    random: Random,
    /// How many parts of the draws run another operation, from none (only what is waited for runs) to nearly all.
    eagerness: usize,
    pub(super) ready: BTreeSet<u64>,
    /// Host functions that were left alone.
    pub(super) slow: Vec<Arc<Operation>>,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let eagerness = random.below(PARTS);
        Self { random, eagerness, ready: BTreeSet::new(), slow: Vec::new() }
    }

    /// Whether another operation is to run before the call returns.
    pub(super) fn goes_on(&mut self) -> bool {
        self.random.below(PARTS) < self.eagerness
    }

    /// One of those that can run.
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.ready.is_empty() {
            return None;
        }
        let drawn = self.random.below(self.ready.len());
        let number = self.ready.iter().nth(drawn).copied()?;
        self.ready.remove(&number);
        Some(number)
    }

    /// Whether a host function that was left alone is still at it.
    pub(super) fn has_slow_ones(&mut self) -> bool {
        self.slow.retain(|operation| !operation.is_finished());
        !self.slow.is_empty()
    }
}
