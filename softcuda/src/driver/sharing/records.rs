//! The records of an event of several processes: each has a number, and the last one counts. Who waits looks again and again. If the
//! process that recorded last has ended before its work got there, nobody ever gets there, as with a real driver (measured).

use super::board::{Entry, Subject};
use super::handle::Handle;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The words of an event's entry.
const GIVEN: usize = 0;
const REACHED: usize = 1;

/// How long a wait rests between two looks: at first, and at most.
const FIRST_REST: Duration = Duration::from_micros(10);
const LONGEST_REST: Duration = Duration::from_millis(1);

/// The records of one event.
pub(crate) struct Records(Entry);

impl Records {
    /// Those of a new event.
    pub(crate) fn new() -> Option<Self> {
        Entry::new(Subject::Event, [0; 4]).map(Self)
    }

    /// Those of another process's.
    pub(crate) fn open(handle: &Handle) -> Option<Self> {
        Entry::open(handle, Subject::Event).map(Self)
    }

    /// Whether this process has created the event.
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_own()
    }

    /// How other processes find them.
    pub(crate) fn handle(&self) -> Handle {
        self.0.handle()
    }

    /// A new record is given to a stream; its number.
    pub(crate) fn give(&self) -> u64 {
        self.0.slot().words[GIVEN].fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The stream has reached it.
    pub(crate) fn reach(&self, record: u64) {
        self.0.slot().words[REACHED].fetch_max(record, Ordering::AcqRel);
    }

    /// The last record; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.0.word(GIVEN)
    }

    /// Whether a record, or a later one, was reached.
    pub(crate) fn is_reached(&self, record: u64) -> bool {
        self.0.word(REACHED) >= record
    }

    /// Waits until a record is reached, as long as `goes_on`.
    pub(crate) fn wait_for(&self, record: u64, goes_on: impl Fn() -> bool) {
        let mut rest = FIRST_REST;
        while !self.is_reached(record) && goes_on() {
            std::thread::sleep(rest);
            rest = (rest * 2).min(LONGEST_REST);
        }
    }
}
