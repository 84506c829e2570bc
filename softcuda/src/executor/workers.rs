//! The driver's threads.

use super::task::Task;
use crate::instruments::cancellation::Deferred;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the process exits: from then on no thread starts anything.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Threads that run the tasks they are given, by priority and then by age; started as they are needed.
pub(super) struct Workers {
    name: &'static str,
    /// Never more threads than this.
    most: usize,
    /// So many may wait for work; others end.
    spare: usize,
    queue: Mutex<Waiting>,
    wake: Condvar,
}

/// A worker's way through a task, and through what it finds behind it.
#[derive(Default)]
pub(super) struct Shift {
    /// Whether the worker does not count.
    excused: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    waiting: BTreeMap<(i32, u64), Arc<Task>>,
    threads: usize,
    idle: usize,
}

impl Workers {
    pub(super) fn new(name: &'static str, most: usize, spare: usize) -> Self {
        Self { name, most, spare, queue: Mutex::default(), wake: Condvar::new() }
    }

    /// Sees to it that there is a thread, if the system has one to give: from then on one always comes back for what waits.
    pub(super) fn begin(&'static self, run: impl Fn(Arc<Task>, &Shift) + Send + 'static) -> bool {
        let mut queue = self.queue.lock();
        if queue.threads == 0 && spawn(self.name, move || self.serve(run)) {
            queue.threads = 1;
        }
        queue.threads > 0
    }

    /// Lets one of them do with the task what `run` says, which is the same for all.
    pub(super) fn give(&'static self, task: Arc<Task>, run: impl Fn(Arc<Task>, &Shift) + Send + 'static) {
        let mut queue = self.queue.lock();
        queue.waiting.insert((task.priority(), task.number), task);
        if queue.waiting.len() <= queue.idle {
            self.wake.notify_one();
        } else if queue.threads < self.most && spawn(self.name, move || self.serve(run)) {
            queue.threads += 1;
        }
    }

    /// Whether nothing waits for a thread.
    pub(super) fn has_time(&self) -> bool {
        self.queue.lock().waiting.is_empty()
    }

    /// A worker's task takes long: others do not wait for it. It counts again when it is done with that.
    pub(super) fn excuse(&'static self, shift: &Shift, run: impl Fn(Arc<Task>, &Shift) + Send + 'static) {
        if shift.excused.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut queue = self.queue.lock();
        queue.threads -= 1;
        if queue.waiting.len() > queue.idle && spawn(self.name, move || self.serve(run)) {
            queue.threads += 1;
        }
    }

    fn serve(&self, run: impl Fn(Arc<Task>, &Shift)) {
        let mut queue = self.queue.lock();
        loop {
            if let Some((_, task)) = queue.waiting.pop_first() {
                drop(queue);
                rest_if_stopped();
                let shift = Shift::default();
                run(task, &shift);
                queue = self.queue.lock();
                if shift.excused.into_inner() {
                    if queue.threads == self.most {
                        return;
                    }
                    queue.threads += 1;
                }
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
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    // Signals are for the program's own threads; a new thread inherits the mask.
    let before = block_signals();
    let body = move || {
        // For good: a function of the program's may cancel the thread that it runs on.
        std::mem::forget(Deferred::new());
        body();
    };
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(body).is_ok();
    // SAFETY: gives back the mask that `block_signals` found.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    started
}

/// What a thread does by itself: blocked, it would end the process past the program's own handler.
const OWN_SIGNALS: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

fn block_signals() -> libc::sigset_t {
    // SAFETY: a signal set is plain data; all calls write what they are given.
    unsafe {
        let mut others = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut others);
        for signal in OWN_SIGNALS {
            libc::sigdelset(&raw mut others, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const others, &raw mut before);
        before
    }
}

/// Lets no driver thread start anything more: the process exits, and what the work refers to goes away.
pub(crate) fn stop() {
    STOPPED.store(true, Ordering::Release);
}

/// Keeps a driver's thread here when the process exits.
pub(crate) fn rest_if_stopped() {
    while STOPPED.load(Ordering::Acquire) {
        std::thread::park();
    }
}
