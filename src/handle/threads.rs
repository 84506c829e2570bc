//! Which threads are inside a call, so that a destroy knows whom it has to wait for.
//!
//! Every thread that calls has a record. Records are linked into a list that only grows; a thread that ends leaves its
//! record to a later one.

use super::fork::{self, forked};
use super::slots::Queue;
use super::sync::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, SEEN, barrier, const_fn, publish, spin_loop, table, thread_local,
};
use super::{Forked, Kind};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
// What only its own thread uses takes no part in what loom explores.
use std::sync::atomic::{AtomicI64, AtomicU32};

/// A destroy found this thread inside a call and left it the release.
const WANTED: u8 = 1;
/// The thread is past its thread-local destructors: it gives the record back at the end of each call.
const TRANSIENT: u8 = 2;

/// What the library knows of one thread. Two cache lines to itself, since its thread writes to it in every call.
#[repr(align(128))]
pub(super) struct Record {
    /// Odd while the thread is inside a call; one more at each entry and each leave.
    call: AtomicU64,
    /// Calls within calls; used by the record's thread only.
    depth: AtomicU32,
    /// What to do on leaving: `WANTED`, `TRANSIENT`.
    errands: AtomicU8,
    /// Whether a thread has the record.
    taken: AtomicBool,
    /// The record made before this one.
    next: AtomicPtr<Record>,
    /// Free slots at hand; used by the record's thread only.
    pub(super) free: Queue,
    /// By kind, objects that this record's threads made, less those that they dropped; the sum over all records counts.
    objects: [AtomicI64; Kind::END],
}

thread_local! {
    static CURRENT: Cell<Option<&'static Record>> = const { Cell::new(None) };
    static AT_EXIT: AtExit = const { AtExit(Cell::new(None)) };
    static HOLDS: Cell<u32> = const { Cell::new(0) };
}

/// Gives the thread's record back when the thread ends.
struct AtExit(Cell<Option<&'static Record>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| current.set(None));
        // A guard that was never dropped: the call never ends, and nobody else may continue it.
        if let Some(record) = self.0.take().filter(|record| record.depth.load(Relaxed) == 0) {
            record.taken.store(false, Release);
        }
    }
}

/// Begins a call, or a call within one.
#[inline]
pub(super) fn enter() -> Result<&'static Record, Forked> {
    if forked() {
        return Err(Forked);
    }
    let record = current();
    let depth = record.depth.load(Relaxed);
    record.depth.store(depth + 1, Relaxed);
    if depth == 0 {
        publish(&record.call, record.call.load(Relaxed) + 1);
    }
    Ok(record)
}

/// Runs `body` with the thread's record, in a call or not. It must neither enter a call nor run code of others.
pub(super) fn with<R>(body: impl FnOnce(&'static Record) -> R) -> R {
    let record = current();
    let result = body(record);
    if record.errands.load(Relaxed) & TRANSIENT != 0 && record.depth.load(Relaxed) == 0 {
        give_back(record);
    }
    result
}

#[inline]
fn current() -> &'static Record {
    CURRENT.with(Cell::get).unwrap_or_else(first)
}

/// The record of a thread that has none yet.
#[cold]
fn first() -> &'static Record {
    fork::watch();
    let record = table().threads.take_record();
    CURRENT.with(|current| current.set(Some(record)));
    if AT_EXIT.try_with(|at_exit| at_exit.0.set(Some(record))).is_err() {
        record.errands.fetch_or(TRANSIENT, Relaxed);
    }
    record
}

fn give_back(record: &'static Record) {
    CURRENT.with(|current| current.set(None));
    record.errands.fetch_and(!TRANSIENT, Relaxed);
    record.taken.store(false, Release);
}

/// Does what was left to the thread while it was inside a call.
#[cold]
pub(super) fn run_errands(record: &'static Record) {
    if forked() {
        return;
    }
    let errands = record.errands.load(Relaxed);
    let collect = errands & WANTED != 0 && may_collect();
    if collect {
        record.errands.fetch_and(!WANTED, Relaxed);
    }
    if errands & TRANSIENT != 0 {
        give_back(record);
    }
    if collect {
        table().collect();
    }
}

/// While the result lives, the thread lets go of no object whose release others left to it: for the time inside a
/// callback of the driver, which refuses calls there. What was held back waits for [`collect`](super::collect), or for
/// the next destroy that finds no thread inside a call.
pub(crate) fn hold_releases() -> Hold {
    HOLDS.with(|holds| holds.set(holds.get() + 1));
    Hold(PhantomData)
}

/// Whether the thread may let go of objects whose release others left to it.
pub(super) fn may_collect() -> bool {
    HOLDS.with(Cell::get) == 0
}

/// See [`hold_releases`].
#[must_use = "releases are held back while it lives"]
pub(crate) struct Hold(PhantomData<*const ()>);

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDS.with(|holds| holds.set(holds.get() - 1));
    }
}

impl Record {
    fn new() -> Self {
        Self {
            call: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            errands: AtomicU8::new(0),
            taken: AtomicBool::new(true),
            next: AtomicPtr::new(std::ptr::null_mut()),
            free: Queue::new(),
            objects: [const { AtomicI64::new(0) }; Kind::END],
        }
    }

    /// Ends the call; true if it is the outermost one and errands are waiting.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        let depth = self.depth.load(Relaxed) - 1;
        self.depth.store(depth, Relaxed);
        if depth > 0 {
            return false;
        }
        self.call.store(self.call.load(Relaxed) + 1, Release);
        self.errands.load(Relaxed) != 0
    }

    /// Whether the thread is in one call only, and in none around it.
    pub(super) fn is_outermost(&self) -> bool {
        self.depth.load(Relaxed) == 1
    }

    pub(super) fn count(&self, kind: Kind, change: i64) {
        let count = &self.objects[kind as usize];
        count.store(count.load(Relaxed) + change, Relaxed);
    }

    pub(super) fn objects(&self, kind: Kind) -> i64 {
        self.objects[kind as usize].load(Relaxed)
    }
}

/// A thread that was found inside a call, and which call.
pub(super) struct Blocker {
    record: &'static Record,
    call: u64,
}

impl Blocker {
    fn of(record: &'static Record) -> Option<Self> {
        let call = record.call.load(SEEN);
        (call % 2 == 1).then_some(Self { record, call })
    }

    /// Whether the thread is still inside that call.
    pub(super) fn is_inside(&self) -> bool {
        self.record.call.load(SEEN) == self.call
    }

    /// Asks the thread to collect when it leaves.
    pub(super) fn ask(&self) {
        self.record.errands.fetch_or(WANTED, SeqCst);
        barrier();
    }
}

/// All records.
pub(super) struct Threads {
    newest: AtomicPtr<Record>,
}

impl Threads {
    const_fn! {
        pub(super) fn new() -> Self {
            Self { newest: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// The threads inside a call, other than `exempt`, after up to `patience` looks: most calls take less time than it
    /// takes to defer a release. Must follow a `publish` or a `barrier` after what the calls are not to see any more.
    pub(super) fn inside(&self, exempt: Option<&Record>, patience: u32) -> Vec<Blocker> {
        let others = self.records().filter(|record| exempt.is_none_or(|exempt| !std::ptr::eq(exempt, *record)));
        let mut blockers: Vec<_> = others.filter_map(Blocker::of).collect();
        for _ in 0..patience {
            if blockers.is_empty() {
                break;
            }
            spin_loop();
            blockers.retain(Blocker::is_inside);
        }
        blockers
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &'static Record> {
        let newest = reference(self.newest.load(SEEN));
        std::iter::successors(newest, |record| reference(record.next.load(Relaxed)))
    }

    fn take_record(&self) -> &'static Record {
        let take = |record: &&'static Record| !record.taken.swap(true, Acquire);
        let free = |record: &&'static Record| !record.taken.load(Relaxed);
        self.records().filter(free).find(take).unwrap_or_else(|| self.add_record())
    }

    fn add_record(&self) -> &'static Record {
        let record: &'static Record = Box::leak(Box::new(Record::new()));
        let mut newest = self.newest.load(Relaxed);
        loop {
            record.next.store(newest, Relaxed);
            let pointer = std::ptr::from_ref(record).cast_mut();
            match self.newest.compare_exchange(newest, pointer, SeqCst, Relaxed) {
                Ok(_) => return record,
                Err(other) => newest = other,
            }
        }
    }
}

fn reference(record: *mut Record) -> Option<&'static Record> {
    // SAFETY: the list holds leaked records only, and they are shared and changed through atomics only.
    unsafe { record.cast_const().as_ref() }
}
