//! How the next piece of work is chosen, under the schedules under which one runs after the other.
//!
//! The seeded schedule: at every call that gives work or asks about it, a few tasks of those that can run do run, one
//! after the other; which and how many is drawn.
//!
//! A program that makes the same calls in the same order sees the same draws, so a seed repeats what happened. Paced work
//! runs a slice at a time, and is drawn again for the next. A host function that takes long is taken for one that waits for
//! something, and the rest goes on beside it.

use super::random::Random;
use super::ready::{Bag, Line, Ready};
use super::task::Task;
use crate::instruments::schedule::Schedule;
use std::sync::Arc;
use std::time::Duration;

/// A host function that takes longer is left alone.
pub(super) const GRACE: Duration = Duration::from_millis(100);

/// So long the next draw waits for those that were left alone: what they waited for may have just happened.
pub(super) const SECOND_GRACE: Duration = Duration::from_millis(5);

/// Eagerness is drawn in parts of this.
const PARTS: usize = 8;

/// What can run, and what it is chosen by.
pub(super) struct Draw {
    random: Random,
    /// How many parts of the draws run another task, from none (only what is waited for runs) to nearly all.
    eagerness: usize,
    pub(super) ready: Ready,
    /// Host functions that were left alone.
    pub(super) slow: Vec<Arc<Task>>,
}

impl Draw {
    pub(super) fn new(schedule: Schedule) -> Self {
        let seed = if let Schedule::Seeded(seed) = schedule { seed } else { 0 };
        let mut random = Random::new(seed);
        let eagerness = random.below(PARTS);
        let ready = match schedule {
            Schedule::InOrder => Ready::First(Line::default()),
            Schedule::Eager | Schedule::Lazy | Schedule::Seeded(_) => Ready::Drawn(Bag::default()),
        };
        Self { random, eagerness, ready, slow: Vec::new() }
    }

    /// Whether another task is to run before the call returns.
    pub(super) fn goes_on(&mut self) -> bool {
        self.random.below(PARTS) < self.eagerness
    }

    /// One of those that can run.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.ready.next(|count| self.random.below(count))
    }

    /// Whether a host function that was left alone is still at it.
    pub(super) fn has_slow_ones(&mut self) -> bool {
        self.slow.retain(|task| !task.is_finished());
        !self.slow.is_empty()
    }
}
