//! Checks of what a program's calls say: `SOFTCUDA_CHECK`.
//!
//! `races` finds pieces of work that use the same bytes, at least one of which changes them, and that nothing orders. The order is that of
//! the calls (`order`, `clock`), never that in which something ran. Who has used which bytes is in the `shadow`. `memory` finds work that
//! uses what it may not (`misuse`), `uninitialised` what reads memory that nothing has written (`unwritten`), and `leaks` what is never
//! released. Work is looked at in the order in which it was submitted, once it has run (`journal`). What is found goes to the standard error
//! stream, to a file, and to whoever asks (`reports`). Modules above tell of their work by numbers; nothing here knows them.

pub(crate) mod access;
pub(crate) mod bits;
mod clock;
pub(crate) mod inside;
mod journal;
mod json;
mod leaks;
mod misuse;
mod order;
mod race;
mod report;
pub(crate) mod reports;
mod shadow;
mod side;
pub(crate) mod streams;
mod unwritten;

use crate::instruments::checks::is_of_this_process;
use crate::instruments::live;
use crate::instruments::settings::checks;
use access::{Described, Memory};
pub(crate) use clock::Stamp;
pub(crate) use journal::{Entry, Part, Used};
use journal::{Finding, Journal};
use order::Order;
pub(crate) use order::UNKNOWN;
use parking_lot::Mutex;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

/// The lock of the journal is taken before that of the order.
static JOURNAL: LazyLock<Mutex<Journal>> = LazyLock::new(Mutex::default);
static ORDER: LazyLock<Mutex<Order>> = LazyLock::new(Mutex::default);

/// How many pieces of work that are checked run just now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// The driver function that the thread is in.
    static CALL: Cell<&'static str> = const { Cell::new("") };
}

/// Whether it is noted what work does, and in which order.
pub(crate) fn follows() -> bool {
    checks().follow_work()
}

/// The driver function that the thread is in; "" where nobody checks.
pub(crate) fn current_call() -> &'static str {
    CALL.try_with(Cell::get).unwrap_or("")
}

/// The driver function that the thread is in has made an object, or memory, that callers know by this.
pub(crate) fn note_made(name: usize) {
    if checks().leaks {
        leaks::made(name, current_call());
    }
}

/// Runs the body of a driver function.
pub(crate) fn call<T>(name: &'static str, body: impl FnOnce() -> T) -> T {
    let outer = CALL.replace(name);
    let answer = body();
    CALL.set(outer);
    answer
}

/// Work is put into a queue, behind other work, and behind whatever writes these values.
pub(crate) fn stamp<'s>(
    queue: u64,
    after: impl Iterator<Item = &'s Arc<Stamp>>,
    awaits: &[u64],
) -> Arc<Stamp> {
    Arc::new(ORDER.lock().in_queue(queue, after, awaits))
}

/// Work is submitted that has its place only behind other work.
pub(crate) fn stamp_aside<'s>(after: impl Iterator<Item = &'s Arc<Stamp>>, awaits: &[u64]) -> Arc<Stamp> {
    Arc::new(ORDER.lock().aside(after, awaits))
}

/// A queue gets nothing any more.
pub(crate) fn close(queue: u64) {
    if follows() {
        ORDER.lock().close(queue);
        streams::forget(queue);
    }
}

/// The host has waited for work, or has heard that it is done.
pub(crate) fn host_waited<'s>(stamps: impl Iterator<Item = &'s Arc<Stamp>>) {
    let mut order = ORDER.lock();
    stamps.for_each(|stamp| order.host_waited(stamp));
}

/// Whether the host has waited for work.
pub(crate) fn has_host_waited(stamp: &Stamp) -> bool {
    ORDER.lock().has_host_waited(stamp)
}

/// Work writes a value for which others may wait.
pub(crate) fn writes_value(address: u64, stamp: &Stamp) {
    ORDER.lock().writes(address, stamp);
}

/// Notes work that uses memory.
pub(crate) fn note(described: Described, stamp: &Arc<Stamp>, used: Used) -> Arc<Entry> {
    JOURNAL.lock().add(described, CALL.get(), stamp, used)
}

/// Notes work that will submit parts of itself.
pub(crate) fn note_part(stamp: &Stamp) -> Option<Arc<Part>> {
    JOURNAL.lock().add_part(CALL.get(), stamp)
}

/// Memory begins, whose addresses others may have had.
pub(crate) fn note_new(memory: impl FnOnce() -> Memory) {
    if follows() {
        JOURNAL.lock().add_new(memory());
    }
}

/// Memory ends, by the driver function that the thread is in.
pub(crate) fn note_gone(memory: impl FnOnce() -> Memory) {
    if follows() {
        JOURNAL.lock().add_gone(memory(), current_call());
    }
}

/// Memory of a device ends, by the driver function that the thread is in, which waits for no work that may use it.
pub(crate) fn note_freed(device: usize, memory: impl FnOnce() -> Memory) {
    if follows() {
        let memory = memory();
        let stamp = Arc::new(ORDER.lock().of_host());
        let described =
            Described { what: "a free", kernel: String::new(), stream: streams::HOST, node: None, device };
        let entry = note(described, &stamp, Used::freeing(memory));
        has_run(&entry, Used::default());
    }
}

/// Somebody may use memory who is not seen.
pub(crate) fn note_shared(range: Range<usize>) {
    if follows() {
        JOURNAL.lock().add_shared(range.start as u64..range.end as u64);
    }
}

/// Work has run, and used this.
pub(crate) fn has_run(entry: &Entry, more: Used) {
    entry.finish(more);
    settle(false);
}

/// Work that is checked runs, as long as this lives.
pub(crate) struct Running(());

impl Running {
    pub(crate) fn begin() -> Self {
        RUNNING.fetch_add(1, SeqCst);
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, SeqCst);
    }
}

/// How many reports there are. A wait for work ends when a context is lost, though what has lost it is not looked at yet: so what runs is
/// waited for, but not for ever, since a kernel may wait for the one who asks.
pub(crate) fn count() -> usize {
    let begin = Instant::now();
    while follows() && RUNNING.load(SeqCst) > 0 && begin.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    reports::count()
}

/// Work that has submitted parts of itself is done.
pub(crate) fn part_has_run(part: &Part) {
    part.finish();
    settle(false);
}

/// Looks at what has run and not been looked at; at the end at what has not run, too, as far as it is known.
fn settle(is_end: bool) {
    let mut found = Vec::new();
    let mut journal = JOURNAL.lock();
    journal.settle(&ORDER.lock(), checks(), is_end, &mut |finding| match finding {
        Finding::Race(race) => reports::add(race.places(), |places| race.report(places), &mut found),
        Finding::Misuse(one) => reports::add(one.places(), |places| one.report(places), &mut found),
        Finding::Unwritten(one) => reports::add(one.places(), |places| one.report(places), &mut found),
        Finding::Inside(one) => reports::add(one.places(), |places| one.report(places), &mut found),
    });
    drop(journal);
    found.iter().for_each(|report| reports::tell(report));
}

/// The process ends, and releases can still be made: says what was never released.
pub(crate) fn look_for_leaks() {
    if !checks().leaks || !is_of_this_process() {
        return;
    }
    let mut found = Vec::new();
    for leak in leaks::of(&live::objects_when_settled()) {
        reports::add(leak.places(), |places| leak.report(places), &mut found);
    }
    found.iter().for_each(|report| reports::tell(report));
}

/// The process ends: says what is left to say.
pub(crate) fn end() {
    if !checks().is_any() || !is_of_this_process() {
        return;
    }
    if follows() {
        settle(true);
    }
    let (passed, was_full) = {
        let journal = JOURNAL.lock();
        (journal.passed, journal.is_full())
    };
    reports::end(passed, was_full);
}
