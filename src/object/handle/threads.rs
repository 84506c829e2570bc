//! Which threads are inside a call, so that a destroy knows whom it has to wait for.
//!
//! Every thread that calls has a [record](super::record), which a thread that ends leaves to a later one.

use super::Forked;
use super::fork::{self, forked};
use super::record::{ALL_LEFT, Call, LEFT, Record, TRANSIENT, is_inside};
use super::records::Records;
#[cfg(not(loom))]
use super::sync::at_end;
use super::sync::{per_thread, publish, spin_loop, table};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// What a thread knows of itself, in one place, since finding that takes as long as all that a look-up does there. It has no
/// destructor, so it is there until the thread is gone.
struct Thread {
    record: Cell<Option<&'static Record>>,
    /// How many [`Hold`]s there are.
    holds: Cell<u32>,
}

per_thread! {
    static THREAD: Thread = const { Thread { record: Cell::new(None), holds: Cell::new(0) } };
}

/// Gives the thread's record back when the thread ends.
fn end(own: Option<&'static Record>) {
    // A guard that was never dropped: the call never ends, and nobody else may continue it.
    if let Some(record) = own.filter(|record| !is_inside(record.call.load(Relaxed))) {
        give_back(record);
    }
}

/// Has the record given back when the thread ends; false if it ends already.
#[cfg(not(loom))]
fn give_back_at_end(_: &'static Record) -> bool {
    at_end(|| end(THREAD.try_with(|thread| thread.record.take()).ok().flatten()))
}

/// The same of a thread of loom's, which has no other values any more when one of them is dropped.
#[cfg(loom)]
fn give_back_at_end(record: &'static Record) -> bool {
    struct AtEnd(Cell<Option<&'static Record>>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let _ = THREAD.try_with(|thread| thread.record.set(None));
            end(self.0.take());
        }
    }

    per_thread! {
        static AT_END: AtEnd = const { AtEnd(Cell::new(None)) };
    }
    AT_END.try_with(|at_end| at_end.0.set(Some(record))).is_ok()
}

/// Begins a call, or one within the call that the thread is in.
#[inline]
pub(super) fn enter() -> Result<Call, Forked> {
    if forked() {
        return Err(Forked);
    }
    Ok(current().begin())
}

/// Why no call begins.
#[cfg(feature = "capi")]
pub(crate) enum Refused {
    Forked,
    /// The thread holds releases back.
    Holding,
}

/// The same, refused while the thread [holds releases back](hold_releases).
#[cfg(feature = "capi")]
#[inline]
pub(super) fn enter_unless_holding() -> Result<Call, Refused> {
    if forked() {
        return Err(Refused::Forked);
    }
    THREAD.with(|thread| {
        if thread.holds.get() > 0 {
            return Err(Refused::Holding);
        }
        Ok(thread.record.get().unwrap_or_else(first).begin())
    })
}

impl Record {
    #[inline]
    fn begin(&'static self) -> Call {
        let last = self.call.load(Relaxed);
        let number = last | 1;
        if is_inside(last) {
            self.nested.store(self.nested.load(Relaxed) + 1, Relaxed);
        } else {
            publish(&self.call, number);
        }
        Call { record: self, number }
    }
}

impl Call {
    /// Ends the call, or the one within; in whichever order guards are dropped, the last ends the call.
    #[inline]
    pub(super) fn leave(self) {
        let record = self.record;
        let nested = record.nested.load(Relaxed);
        if nested > 0 {
            return record.nested.store(nested - 1, Relaxed);
        }
        record.call.store(self.number + 1, Release);
        if record.errands.load(Relaxed) != 0 {
            run_errands(record);
        }
    }

    /// Runs `body` outside the call, which is the thread's outermost and uses nothing any more that it looked up: for the
    /// others it is over, and one of the same thread begins afterwards.
    pub(super) fn outside<R>(&mut self, body: impl FnOnce(&'static Record) -> R) -> R {
        let record = self.record;
        record.call.store(self.number + 1, Release);
        let result = body(record);
        self.number += 2;
        publish(&record.call, self.number);
        result
    }

    /// The thread's record.
    pub(super) fn record(self) -> &'static Record {
        self.record
    }

    /// The thread's record, unless the thread is inside another call around this one.
    pub(super) fn outermost(self) -> Option<&'static Record> {
        (self.record.nested.load(Relaxed) == 0).then_some(self.record)
    }
}

/// Runs `body` with the thread's record, in a call or not. It must neither enter a call nor run code of others.
pub(super) fn with<R>(body: impl FnOnce(&'static Record) -> R) -> R {
    let record = current();
    let result = body(record);
    if record.errands.load(Relaxed) & TRANSIENT != 0 && !is_inside(record.call.load(Relaxed)) {
        give_back_transient(record);
    }
    result
}

#[inline]
fn current() -> &'static Record {
    THREAD.with(|thread| thread.record.get()).unwrap_or_else(first)
}

/// The record of a thread that has none yet.
#[cold]
fn first() -> &'static Record {
    fork::watch();
    let record = table().records.take();
    THREAD.with(|thread| thread.record.set(Some(record)));
    if !give_back_at_end(record) {
        record.errands.fetch_or(TRANSIENT, Relaxed);
    }
    record
}

fn give_back_transient(record: &'static Record) {
    THREAD.with(|thread| thread.record.set(None));
    record.errands.fetch_and(!TRANSIENT, Relaxed);
    give_back(record);
}

/// Leaves the record of a thread that ends to another one.
fn give_back(record: &'static Record) {
    // In the child of a fork the lock may be held for ever. Loom's table goes before the last thread does.
    if !forked() && !cfg!(loom) {
        table().give_slots(record);
    }
    record.give_back();
}

/// Does what was left to the thread while it was inside a call.
#[cold]
fn run_errands(record: &'static Record) {
    if forked() {
        return;
    }
    let errands = record.errands.load(Relaxed);
    let due = if holds_releases() { 0 } else { errands & (LEFT | ALL_LEFT) };
    if due != 0 {
        record.errands.fetch_and(!due, Relaxed);
    }
    if errands & TRANSIENT != 0 {
        give_back_transient(record);
    }
    if due & ALL_LEFT != 0 {
        table().collect();
    } else if due != 0 {
        table().collect_from(record);
    }
}

/// The thread never comes back from the call that it may be inside: for the others it is over. Answers whether releases were left to
/// it, so that somebody has to [`collect`](super::collect) in its stead.
#[cfg(framed)]
pub(crate) fn leave_for_good() -> bool {
    let Some(record) = THREAD.with(|thread| thread.record.get()).filter(|_| !forked()) else { return false };
    let call = record.call.load(Relaxed);
    if is_inside(call) {
        record.call.store(call + 1, Release);
    }
    record.errands.load(Relaxed) & (LEFT | ALL_LEFT) != 0
}

/// While the result lives, the thread lets go of no object whose release others left to it: for the time inside a
/// callback of the driver, which refuses calls there. What was held back waits for [`collect`](super::collect), for the
/// thread's next call outside callbacks, or for the next destroy that finds no thread inside a call.
pub(crate) fn hold_releases() -> Hold {
    THREAD.with(|thread| thread.holds.set(thread.holds.get() + 1));
    Hold(PhantomData)
}

/// Whether others left releases to this thread that were held back, so that somebody has to [`collect`](super::collect)
/// in its stead.
pub(crate) fn owes_releases() -> bool {
    let owes = |record: &Record| record.errands.load(Relaxed) & (LEFT | ALL_LEFT) != 0;
    THREAD.with(|thread| thread.holds.get() == 0 && thread.record.get().is_some_and(owes))
}

/// Whether the thread holds releases back.
#[inline]
pub(crate) fn holds_releases() -> bool {
    THREAD.with(|thread| thread.holds.get() > 0)
}

/// See [`hold_releases`].
#[must_use = "releases are held back while it lives"]
pub(crate) struct Hold(PhantomData<*const ()>);

impl Drop for Hold {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.holds.set(thread.holds.get() - 1));
    }
}

/// Calls of other threads, as a destroy sees them.
impl Records {
    /// The threads inside a call now, other than `exempt`. Must follow as [`inside`](Self::inside) must.
    #[inline]
    pub(super) fn inside_now(&self, exempt: Option<&Record>) -> impl Iterator<Item = Call> {
        let others =
            self.taken().filter(move |record| exempt.is_none_or(|exempt| !std::ptr::eq(exempt, *record)));
        others.filter_map(Call::of)
    }

    /// The threads inside a call, other than `exempt`, after up to `patience` looks: most calls take less time than it
    /// takes to defer a release. Must follow a `publish` or a `barrier` after what the calls are not to see any more.
    pub(super) fn inside(&self, exempt: Option<&Record>, patience: u32) -> Vec<Call> {
        let mut blockers: Vec<_> = self.inside_now(exempt).collect();
        for _ in 0..patience {
            if blockers.is_empty() {
                break;
            }
            spin_loop();
            blockers.retain(Call::goes_on);
        }
        blockers
    }
}
