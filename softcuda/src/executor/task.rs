//! A piece of work in a queue.

use super::queue::Queue;
use super::work::{Earlier, Work, WorkKind};
use crate::check::Stamp;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

thread_local! {
    /// The number of the host's work that the thread is in.
    static RUNNING: Cell<Option<u64>> = const { Cell::new(None) };
    /// The same of any work.
    static INSIDE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A piece of work in a queue.
pub(crate) struct Task {
    /// In the order in which the process submitted them.
    pub(super) number: u64,
    /// The number of the task whose work it is a part of; its own if it was submitted by itself.
    origin: u64,
    /// Whether it takes so long that what was submitted later goes first.
    is_long: AtomicBool,
    pub(super) queue: Arc<Queue>,
    pub(super) kind: WorkKind,
    /// In place of the queue's.
    priority: Option<i32>,
    /// Taken when it runs, so that what it holds is free before it counts as finished.
    work: Mutex<Option<Box<dyn Work>>>,
    finished: AtomicBool,
    /// Its place in the order, where somebody checks.
    stamp: Option<Arc<Stamp>>,
    /// The time that the work has noted.
    pub(super) mark: OnceLock<Instant>,
    /// Notified when it is finished, pauses or goes on, or its group is abandoned; goes with the executor's lock.
    pub(super) moved: Condvar,
}

impl Task {
    pub(super) fn new(
        number: u64,
        origin: u64,
        queue: &Arc<Queue>,
        priority: Option<i32>,
        work: Box<dyn Work>,
        stamp: Option<Arc<Stamp>>,
    ) -> Arc<Self> {
        let (kind, queue, work) = (work.kind(), Arc::clone(queue), Mutex::new(Some(work)));
        let (is_long, finished) = (AtomicBool::new(false), AtomicBool::new(false));
        let (mark, moved) = (OnceLock::new(), Condvar::new());
        Arc::new(Self { number, origin, is_long, queue, kind, priority, work, finished, stamp, mark, moved })
    }

    /// Falls as the urgency rises.
    pub(super) fn priority(&self) -> i32 {
        self.priority.unwrap_or_else(|| self.queue.priority())
    }

    /// Its place in the order of submission: a part of another one's work comes with that.
    pub(super) fn place(&self) -> (u64, u64) {
        (if self.is_long.load(Ordering::Relaxed) { u64::MAX } else { self.origin }, self.number)
    }

    /// What was submitted later goes first from now on. Not while it waits to be chosen by its place.
    pub(super) fn set_long(&self) {
        self.is_long.store(true, Ordering::Relaxed);
    }

    /// The number of the task whose work it is a part of.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// Its place in the order, where somebody checks.
    pub(super) fn stamp(&self) -> Option<&Arc<Stamp>> {
        self.stamp.as_ref()
    }

    /// It, as what a piece of a bundle follows.
    pub(crate) fn as_earlier(&self) -> Earlier {
        Earlier::Task(self.number, self.stamp.clone())
    }

    /// The number of the queue that it is in.
    pub(crate) fn queue_id(&self) -> u64 {
        self.queue.id()
    }

    /// The number of the group that its queue is in.
    pub(crate) fn group_id(&self) -> u64 {
        self.queue.group().id()
    }

    /// Whether it was the work of a queue that gets none any more.
    pub(crate) fn is_of_closed_queue(&self) -> bool {
        self.queue.is_closed()
    }

    /// Whether it was submitted before the other one.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        self.number < other.number
    }

    /// Whether it was submitted before the other one, to the same queue.
    pub(crate) fn is_earlier_in_queue(&self, other: &Self) -> bool {
        self.queue_id() == other.queue_id() && self.is_before(other)
    }

    /// Whether it has run, and everything before it.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// The time that the work has noted.
    pub(crate) fn marked_at(&self) -> Option<Instant> {
        self.mark.get().copied()
    }

    pub(super) fn set_finished(&self) {
        self.finished.store(true, Ordering::Release);
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.queue.group().is_abandoned()
    }

    /// The number of the host's work that the calling thread is in.
    pub(super) fn of_this_thread() -> Option<u64> {
        RUNNING.get()
    }

    /// Takes the work, which is to run, out of it.
    pub(super) fn take(&self) -> Option<Box<dyn Work>> {
        self.work.lock().take()
    }

    /// Gives it the rest of its work.
    pub(super) fn put(&self, rest: Box<dyn Work>) {
        *self.work.lock() = Some(rest);
    }

    /// Runs the body as this task's.
    pub(super) fn enter<T>(&self, body: impl FnOnce() -> T) -> T {
        let inside = INSIDE.replace(Some(self.number));
        let own = if self.kind == WorkKind::Host { Some(self.number) } else { RUNNING.get() };
        let running = RUNNING.replace(own);
        let answer = body();
        RUNNING.set(running);
        INSIDE.set(inside);
        answer
    }

    /// The number of the work that the calling thread is in.
    pub(super) fn inside() -> Option<u64> {
        INSIDE.get()
    }
}
