//! The time by which lanes sleep. It goes on by what is executed, and where all are asleep by what they sleep, so that a launch
//! on one thread does the same each time.

use std::time::{Duration, Instant};

/// The longest that `nanosleep` sleeps, in nanoseconds.
const LONGEST: u32 = 1_000_000;

/// What a round of all warps counts for, in nanoseconds: as long as the shortest takes that is not worth measuring.
const ROUND: u64 = 1_000;

/// The system wakes threads later than they ask for, by about so much.
const LATE: Duration = Duration::from_micros(100);

/// The time of one thread that runs blocks.
#[derive(Default)]
pub(in crate::ptx) struct Clock {
    now: u64,
    /// Nanoseconds that were slept and that the driver has not been told of.
    slept: u32,
}

impl Clock {
    /// When a lane wakes that goes to sleep now.
    pub(super) fn after(&self, nanoseconds: u32) -> u64 {
        self.now + u64::from(nanoseconds.min(LONGEST))
    }

    pub(super) fn has_reached(&self, time: u64) -> bool {
        self.now >= time
    }

    /// All warps that can run have had their turn.
    pub(super) fn count_round(&mut self) {
        self.now += ROUND;
    }

    /// Nobody has anything to do before that time.
    pub(super) fn sleep_until(&mut self, time: u64) {
        let left = time.saturating_sub(self.now);
        sleep(Duration::from_nanos(left));
        self.slept = self.slept.saturating_add(left as u32);
        self.now = self.now.max(time);
    }

    /// What was slept since somebody asked.
    pub(super) fn take_slept(&mut self) -> u32 {
        std::mem::take(&mut self.slept)
    }
}

/// No longer than asked for, as far as the system allows.
fn sleep(wanted: Duration) {
    let begun = Instant::now();
    if let Some(early) = wanted.checked_sub(LATE) {
        std::thread::sleep(early);
    }
    while begun.elapsed() < wanted {
        std::thread::yield_now();
    }
}
