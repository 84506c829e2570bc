//! Queues, whose work runs one piece after the other, and groups of them.

use crate::check;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// How a queue is ordered with the others of its group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coupling {
    /// Its work and that of the coupled queues wait for each other.
    Main,
    /// Its work and that of the main queue wait for each other.
    Coupled,
    /// It is on its own.
    Free,
}

/// Queues that belong together. They can be waited for, held up and abandoned at once.
pub(crate) struct Group {
    id: u64,
    abandoned: AtomicBool,
}

impl Group {
    pub(crate) fn new() -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self { id: IDS.fetch_add(1, Ordering::Relaxed), abandoned: AtomicBool::new(false) })
    }

    /// No two groups of a process share it.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether nobody waits for its work any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    pub(super) fn set_abandoned(&self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

/// A queue.
pub(crate) struct Queue {
    id: u64,
    group: Arc<Group>,
    coupling: Coupling,
    /// Falls as the urgency rises.
    priority: AtomicI32,
    closed: AtomicBool,
}

impl Queue {
    pub(crate) fn new(group: &Arc<Group>, coupling: Coupling, priority: i32) -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let (priority, closed) = (AtomicI32::new(priority), AtomicBool::new(false));
        Arc::new(Self { id, group: Arc::clone(group), coupling, priority, closed })
    }

    /// A queue of a group that is on its own.
    pub(crate) fn aside(group: &Arc<Group>) -> Arc<Self> {
        Self::new(group, Coupling::Free, 0)
    }

    /// No two queues of a process share it.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn priority(&self) -> i32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) fn set_priority(&self, priority: i32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// Nobody gives it work any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether work of this queue comes after what another one of its group has been given.
    pub(super) fn follows(&self, other: &Self) -> bool {
        match (self.coupling, other.coupling) {
            (Coupling::Main, Coupling::Main | Coupling::Coupled) | (Coupling::Coupled, Coupling::Main) => {
                true
            }
            _ => self.id == other.id,
        }
    }

    /// Whether this queue is done only when another one of its group is: the main queue stands for all that it is coupled
    /// with.
    pub(super) fn stands_for(&self, other: &Self) -> bool {
        match self.coupling {
            Coupling::Main => other.coupling != Coupling::Free,
            Coupling::Coupled | Coupling::Free => self.id == other.id,
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        check::close(self.id);
    }
}
