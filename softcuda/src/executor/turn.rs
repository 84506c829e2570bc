//! What a piece of work tells the executor while it runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

/// Steps of a piece of work after which others have their turn.
const SLICE: i64 = 1 << 16;

/// The turn of a piece of work.
pub(crate) struct Turn<'t> {
    /// How many threads may work at it.
    threads: usize,
    mark: &'t OnceLock<Instant>,
    /// Steps until the slice is over.
    left: AtomicI64,
    /// Lets others have their turn; false if the work is abandoned.
    pause: &'t (dyn Fn() -> bool + Sync),
}

impl<'t> Turn<'t> {
    pub(super) fn new(
        threads: usize,
        mark: &'t OnceLock<Instant>,
        pause: &'t (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self { threads, mark, left: AtomicI64::new(SLICE), pause }
    }

    /// How many threads may work at it: one where the schedule is to repeat what happens.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Notes the time: `Task::marked_at`.
    pub(crate) fn mark(&self) {
        self.mark.get_or_init(Instant::now);
    }

    /// Says that so many steps are done. Work that takes long does so in between; it may have to wait here while others go
    /// on. False if nobody waits for it any more: then it ends.
    pub(crate) fn spend(&self, steps: u32) -> bool {
        let steps = i64::from(steps);
        if self.left.fetch_sub(steps, Ordering::Relaxed) > steps {
            return true;
        }
        self.left.store(SLICE, Ordering::Relaxed);
        (self.pause)()
    }
}
