//! The driver's threads.

use super::work::Operation;
use crate::settings::complain;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the process exits: from then on no thread starts anything.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Threads that run the operations they are given, by priority and then by age; started as they are needed.
pub(super) struct Crew {
    name: &'static str,
    /// Never more threads than this.
    most: usize,
    /// So many may wait for work; others end.
    spare: usize,
    run: fn(Arc<Operation>),
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: BTreeMap<(i32, u64), Arc<Operation>>,
    threads: usize,
    idle: usize,
}

impl Crew {
    pub(super) fn new(name: &'static str, most: usize, spare: usize, run: fn(Arc<Operation>)) -> Self {
        Self { name, most, spare, run, queue: Mutex::default(), wake: Condvar::new() }
    }

    pub(super) fn give(&'static self, operation: Arc<Operation>) {
        let mut queue = self.queue.lock();
        queue.waiting.insert((operation.stream.priority(), operation.number), operation);
        if queue.waiting.len() <= queue.idle {
            self.wake.notify_one();
        } else if queue.threads < self.most && spawn(self.name, || self.serve()) {
            queue.threads += 1;
        } else if queue.threads == 0 {
            complain("the system gives no thread to run work on; the process cannot go on");
            std::process::abort();
        }
    }

    /// Whether nothing waits for a thread.
    pub(super) fn has_time(&self) -> bool {
        self.queue.lock().waiting.is_empty()
    }

    fn serve(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some((_, operation)) = queue.waiting.pop_first() {
                drop(queue);
                rest_if_stopped();
                (self.run)(operation);
                queue = self.queue.lock();
            } else if queue.idle < self.spare {
                queue.idle += 1;
                self.wake.wait(&mut queue);
                queue.idle -= 1;
            } else {
                queue.threads -= 1;
                return;
            }
        }
    }
}

/// Starts a thread of the driver; false if the system has none to give.
pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    // Signals are for the program's own threads; a new thread inherits the mask.
    let before = block_signals();
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || no_panic(body)).is_ok();
    // SAFETY: gives back the mask that `block_signals` found.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    started
}

/// A panic in a driver thread ends the process, as one in a call does: whoever waits for the thread would wait for ever.
fn no_panic(body: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err() {
        std::process::abort();
    }
}

fn block_signals() -> libc::sigset_t {
    // SAFETY: a signal set is plain data; both calls write what they are given.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

/// Lets no driver thread start anything more: the process exits, and what the work refers to goes away.
pub(crate) fn stop() {
    STOPPED.store(true, Ordering::Release);
}

pub(super) fn rest_if_stopped() {
    while STOPPED.load(Ordering::Acquire) {
        std::thread::park();
    }
}
