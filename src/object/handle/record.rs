//! What the library knows of one thread: the call that it is inside, and what others left it to do when it leaves that.

#[cfg(test)]
use super::Kind;
use super::slots::Queue;
use super::sync::{AtomicU8, AtomicU64, Mutex, SEEN, barrier};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Release, SeqCst};
// What only its own thread uses takes no part in what loom explores.
#[cfg(test)]
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// An errand: others left releases to this thread.
pub(super) const LEFT: u8 = 1;
/// An errand: releases wait for threads that may have left without seeing them.
pub(super) const ALL_LEFT: u8 = 2;
/// The thread is past its thread-local destructors: it gives the record back at the end of each call.
pub(super) const TRANSIENT: u8 = 4;

/// What the library knows of one thread. Two cache lines to itself, since its thread writes to it in every call.
#[repr(align(128))]
pub(super) struct Record {
    /// Odd while the thread is inside a call; one more at each entry and each leave.
    pub(super) call: AtomicU64,
    /// Calls within the call; used by the record's thread only.
    pub(super) nested: AtomicU32,
    /// What to do on leaving.
    pub(super) errands: AtomicU8,
    /// Free slots at hand; used by the record's thread only.
    pub(super) free: Queue,
    /// The same of a run: one more than its first slot, or 0.
    pub(super) run: AtomicU32,
    /// Releases that wait for the thread to leave its call.
    left: Mutex<Vec<Deferred>>,
    /// Which records of its group are taken, and its bit there.
    taken: &'static AtomicU64,
    bit: u64,
    /// By kind, objects that this record's threads made, less those that they dropped; the sum over all records counts. For
    /// the tests.
    #[cfg(test)]
    objects: [AtomicI64; Kind::END],
}

impl Record {
    pub(super) fn new(taken: &'static AtomicU64, bit: u64) -> Self {
        Self {
            call: AtomicU64::new(0),
            nested: AtomicU32::new(0),
            errands: AtomicU8::new(0),
            free: Queue::new(),
            run: AtomicU32::new(0),
            left: Mutex::new(Vec::new()),
            taken,
            bit,
            #[cfg(test)]
            objects: [const { AtomicI64::new(0) }; Kind::END],
        }
    }

    /// Takes the record for a thread, unless another one has it.
    pub(super) fn is_taken_now(&self) -> bool {
        // A destroy that does not see the bit yet ended its handle before: this thread will find it ended.
        self.taken.fetch_or(self.bit, SeqCst) & self.bit == 0
    }

    /// Leaves the record, outside of a call, to another thread.
    pub(super) fn give_back(&self) {
        self.taken.fetch_and(!self.bit, Release);
    }

    /// Takes what was left to the thread.
    pub(super) fn take_left(&self) -> Vec<Deferred> {
        std::mem::take(&mut *self.left.lock())
    }

    /// Whether a thread ever had it.
    #[cfg(test)]
    pub(super) fn was_used(&self) -> bool {
        self.call.load(Relaxed) > 0
    }

    #[cfg(test)]
    pub(super) fn count(&self, kind: Kind, change: i64) {
        let count = &self.objects[kind as usize];
        count.store(count.load(Relaxed) + change, Relaxed);
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn objects(&self, kind: Kind) -> i64 {
        self.objects[kind as usize].load(Relaxed)
    }
}

/// A thread inside a call, by its record, and which call.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) record: &'static Record,
    pub(super) number: u64,
}

impl Call {
    /// The call that the thread of the record is inside.
    pub(super) fn of(record: &'static Record) -> Option<Self> {
        let number = record.call.load(SEEN);
        is_inside(number).then_some(Self { record, number })
    }

    /// Whether the thread is still inside that call.
    pub(super) fn goes_on(&self) -> bool {
        self.record.call.load(SEEN) == self.number
    }

    /// Gives the thread an errand for when it leaves.
    pub(super) fn ask(&self, errand: u8) {
        self.record.errands.fetch_or(errand, SeqCst);
        barrier();
    }

    /// Leaves the thread a release, unless the call is over.
    fn take_on(self, deferred: Deferred) -> Result<(), Deferred> {
        // Whoever takes what was left waits for this one.
        let mut left = self.record.left.lock();
        self.ask(LEFT);
        if !self.goes_on() {
            return Err(deferred);
        }
        left.push(deferred);
        Ok(())
    }

    /// Takes a release back from the thread, if that was leaving already, perhaps before it could see that it was asked. What was left to
    /// it in a later call, of the same slot even, does not wait for this one.
    fn give_up(self, index: u32) -> Option<Deferred> {
        if self.goes_on() {
            return None;
        }
        let mut left = self.record.left.lock();
        let is_this = |deferred: &Deferred| {
            deferred.index == index && deferred.blockers.iter().any(|call| call.is(&self))
        };
        let place = left.iter().position(is_this)?;
        Some(left.swap_remove(place))
    }

    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.record, other.record) && self.number == other.number
    }
}

/// Whether a record's `call` says that its thread is inside one.
#[inline]
pub(super) fn is_inside(call: u64) -> bool {
    call % 2 == 1
}

/// An ended slot that threads may still be reading. It waits with one of them at a time, so that many threads that destroy
/// at the same time meet at no list that all share.
pub(super) struct Deferred {
    pub(super) index: u32,
    pub(super) blockers: Vec<Call>,
}

impl Deferred {
    /// Leaves it to one of those who may be reading the slot; gives it back if nobody may any more.
    pub(super) fn wait(mut self) -> Result<(), Self> {
        loop {
            self.blockers.retain(Call::goes_on);
            if self.blockers.is_empty() {
                return Err(self);
            }
            // Not the same one for all that wait.
            let one = self.blockers[self.index as usize % self.blockers.len()];
            let index = self.index;
            match one.take_on(self).map(|()| one.give_up(index)) {
                Err(back) | Ok(Some(back)) => self = back,
                Ok(None) => return Ok(()),
            }
        }
    }
}
