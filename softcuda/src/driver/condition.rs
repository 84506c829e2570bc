//! Conditions: numbers that kernels set, and that conditional nodes of graphs look at.

use crate::driver::context::Activation;
use parking_lot::RwLock;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Weak};

/// The conditions that a graph or what was made of it has.
static CONDITIONS: LazyLock<RwLock<HashMap<u64, Weak<Condition>>>> = LazyLock::new(RwLock::default);

/// A condition.
pub(crate) struct Condition {
    /// What callers and kernels know it by.
    pub(crate) handle: u64,
    /// The graph that it is a condition of, by its handle.
    graph: AtomicUsize,
    pub(crate) context: Arc<Activation>,
    /// What it is at the beginning of each launch; `None`: what it was at the end of the one before.
    assigned: Option<u32>,
    value: AtomicU32,
    /// The exec that was launched with it last, by its number: only its kernels can set it (measured).
    exec: AtomicU32,
    /// Whether a node looks at it: no more than one may.
    claimed: AtomicBool,
}

impl Condition {
    pub(crate) fn new(graph: usize, context: Arc<Activation>, assigned: Option<u32>) -> Arc<Self> {
        static HANDLES: AtomicU64 = AtomicU64::new(0x50f7_c04d_0000_0001);
        let handle = HANDLES.fetch_add(1, Ordering::Relaxed);
        let (value, exec, claimed) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        let graph = AtomicUsize::new(graph);
        let condition = Arc::new(Self { handle, graph, context, assigned, value, exec, claimed });
        CONDITIONS.write().insert(handle, Arc::downgrade(&condition));
        condition
    }

    /// The condition that a handle means.
    pub(crate) fn of(handle: u64) -> Option<Arc<Self>> {
        CONDITIONS.read().get(&handle)?.upgrade()
    }

    /// The handle of the graph that it is a condition of.
    pub(crate) fn graph(&self) -> usize {
        self.graph.load(Ordering::Acquire)
    }

    /// Its graph is gone, and another one has it now.
    pub(crate) fn pass_to(&self, graph: usize) {
        self.graph.store(graph, Ordering::Release);
    }

    /// Whether no node has looked at it before; one does now.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::AcqRel)
    }

    /// The node is gone.
    pub(crate) fn give_up(&self) {
        self.claimed.store(false, Ordering::Release);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire)
    }

    /// A launch of an exec begins.
    pub(crate) fn begin(&self, exec: u32) {
        self.exec.store(exec, Ordering::Release);
        if let Some(value) = self.assigned {
            self.value.store(value, Ordering::Release);
        }
    }

    /// A kernel sets it; false if it is none of the kernel's exec.
    pub(crate) fn set_from(&self, exec: Option<u32>, value: u32) -> bool {
        let own = exec == Some(self.exec.load(Ordering::Acquire));
        if own {
            self.set(value);
        }
        own
    }

    fn set(&self, value: u32) {
        self.value.store(value, Ordering::Release);
    }

    pub(crate) fn value(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }
}

thread_local! {
    static EXEC: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Runs work of an exec, by its number.
pub(crate) fn within<T>(exec: u32, body: impl FnOnce() -> T) -> T {
    let outer = EXEC.replace(Some(exec));
    let answer = body();
    EXEC.set(outer);
    answer
}

/// The exec whose work this thread runs.
pub(crate) fn exec() -> Option<u32> {
    EXEC.get()
}

impl Drop for Condition {
    fn drop(&mut self) {
        CONDITIONS.write().remove(&self.handle);
    }
}
