//! The worker: one thread, started when there is first something for it, that runs what may run neither inside a
//! function that the driver called nor under a lock.
//!
//! It sleeps when there is nothing to do, and keeps no process alive. What it asks of drivers, creates and destroys there it does in the
//! relaxed capture mode: others may capture streams without a word of it here, and in any other mode a question or a free of this thread
//! would invalidate a capture in the mode GLOBAL.

use super::due;
use super::inside::is_inside;
use super::signals;
use crate::driver::calls::capture_mode::relax_thread;
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, Status};
use crate::object::handle::{self, forked};
use crate::object::thread;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Something that the worker asks until the answer is yes.
type Question = Box<dyn FnMut() -> bool + Send>;

/// How long it rests after its work before it sleeps: what comes meanwhile waits, so that many releases one after the other do not wake
/// it each.
const REST: Duration = Duration::from_millis(1);

/// How long it waits before it asks again: longer and longer, as long as there is nothing new and the answer is no.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Something for the worker to do.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

struct Queue {
    tasks: VecDeque<Task>,
    /// What it asks again and again.
    questions: Vec<Question>,
    /// How many tasks were ever handed over, which was the last that the worker handed over itself, and how many are done.
    handed_over: u64,
    by_worker: u64,
    done: u64,
    /// Whether the thread exists.
    running: bool,
    /// Whether it looks here soon by itself.
    resting: bool,
    /// Whether it has questions to ask.
    asking: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    tasks: VecDeque::new(),
    questions: Vec::new(),
    handed_over: 0,
    by_worker: 0,
    done: 0,
    running: false,
    resting: false,
    asking: false,
});
/// Wakes the worker.
static WORK: Condvar = Condvar::new();
/// Wakes those who wait for the worker.
static DONE: Condvar = Condvar::new();

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Has the worker run the task. In the child of a fork, which has no worker, the task is leaked: what it would release
/// belongs to the parent.
pub(crate) fn hand_over(task: Task) {
    if forked() {
        return std::mem::forget(task);
    }
    let mut queue = QUEUE.lock();
    queue.tasks.push_back(task);
    queue.handed_over += 1;
    if IS_WORKER.get() {
        queue.by_worker = queue.handed_over;
    }
    let (running, resting) = (std::mem::replace(&mut queue.running, true), queue.resting);
    drop(queue);
    if !running {
        start();
    } else if !resting {
        WORK.notify_one();
    }
}

/// Whether this thread is the worker.
pub(crate) fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Has the worker ask, every now and then, until the answer is yes.
pub(crate) fn ask_until(is_done: impl FnMut() -> bool + Send + 'static) {
    if forked() {
        return std::mem::forget(is_done);
    }
    let mut queue = QUEUE.lock();
    queue.questions.push(Box::new(is_done));
    queue.asking = true;
    drop(queue);
    // Wakes it, or starts it.
    hand_over(Box::new(|| ()));
}

/// Has the worker drop the value.
pub(crate) fn later(value: impl Send + 'static) {
    hand_over(Box::new(move || drop(value)));
}

/// Starts the thread. Where the system refuses, the tasks wait, and the next one tries again.
#[cold]
fn start() {
    handle::watch_forks();
    let _blocked = signals::Blocked::new();
    if !thread::start(work) {
        QUEUE.lock().running = false;
    }
}

fn work() -> ! {
    IS_WORKER.set(true);
    // For good: a release function may cancel the thread that it runs on, which others need.
    std::mem::forget(Deferred::new());
    let (mut tasks, mut questions) = (VecDeque::new(), Vec::new());
    let mut pause = SHORTEST_PAUSE;
    loop {
        wait_for(&mut tasks, &mut questions, pause);
        let (count, asked) = (tasks.len() as u64, questions.len());
        // Again and again: a driver may have been opened since.
        relax_thread();
        for task in tasks.drain(..) {
            caught("a release function", task);
        }
        questions.retain_mut(|is_done: &mut Question| {
            let mut answer = true;
            caught("a release function", || answer = is_done());
            !answer
        });
        let is_waiting = count == 0 && questions.len() == asked;
        pause = if is_waiting { LONGEST_PAUSE.min(2 * pause) } else { SHORTEST_PAUSE };
        let mut queue = QUEUE.lock();
        queue.done += count;
        queue.asking = !questions.is_empty() || !queue.questions.is_empty();
        drop(queue);
        DONE.notify_all();
    }
}

/// Takes all tasks, in exchange for the empty queue, and all new questions; comes back without any when there is something to ask again.
fn wait_for(tasks: &mut VecDeque<Task>, questions: &mut Vec<Question>, pause: Duration) {
    let mut queue = QUEUE.lock();
    if queue.tasks.is_empty() {
        queue.resting = true;
        WORK.wait_for(&mut queue, REST);
        queue.resting = false;
    }
    // One pause for all wake-ups without tasks: who flushes again and again must not keep it from asking.
    let ask_again = Instant::now() + pause;
    while queue.tasks.is_empty() {
        if questions.is_empty() {
            WORK.wait(&mut queue);
        } else if WORK.wait_until(&mut queue, ask_again).timed_out() {
            break;
        }
    }
    std::mem::swap(&mut queue.tasks, tasks);
    questions.append(&mut queue.questions);
}

/// Runs code of a caller's, from which no panic escapes.
pub(crate) fn caught(what: &str, body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        log::error!(target: "cushim", "{what} panicked: {}", text.unwrap_or("no message"));
    }
}

/// How far [`flush`] follows releases that lead to others, so that one which always leads to another does not keep it.
const STEPS: u32 = 8;

/// Waits until everything that was due for release before the call has been released, with what that led to in turn, and
/// every log line been given to its callback, at most this long; answers whether it is so.
///
/// What an exec kept is due once the exec was destroyed and its last launch is done. That is known if the stream of that launch
/// had nothing left to do when the exec was destroyed, or when this is called; not if others have the exec's native handle.
///
/// A program need not call it, except to see its owners released before it ends.
///
/// # Errors
/// [`Status::IN_CALLBACK`] inside a release function, a log callback, or a function that the driver called, where it
/// would wait for itself.
pub fn flush(timeout: Duration) -> Result<bool, Error> {
    if forked() {
        return Err(handle::Forked.into());
    }
    if IS_WORKER.get() || is_inside() {
        return Err(Error::new(
            Status::IN_CALLBACK,
            "waiting for callbacks inside a callback would never end; wait for them on a thread of your own",
        ));
    }
    // A time beyond what the clock can express is no limit.
    let deadline = Instant::now().checked_add(timeout);
    if !due::wait(deadline) {
        return Ok(false);
    }
    if QUEUE.lock().asking {
        // After its tasks the worker asks.
        hand_over(Box::new(|| ()));
    }
    let mut queue = QUEUE.lock();
    let mut last = queue.handed_over;
    if queue.done < last && !queue.running {
        queue.running = true;
        drop(queue);
        start();
        queue = QUEUE.lock();
    }
    if queue.resting {
        WORK.notify_one();
    }
    for _ in 0..STEPS {
        if !wait_until_done(&mut queue, last, deadline) {
            return Ok(false);
        }
        last = last.max(queue.by_worker);
    }
    Ok(true)
}

/// Waits until this many tasks are done; false if the time is over first.
fn wait_until_done(queue: &mut MutexGuard<'_, Queue>, count: u64, deadline: Option<Instant>) -> bool {
    while queue.done < count {
        match deadline {
            Some(deadline) if DONE.wait_until(queue, deadline).timed_out() => return queue.done >= count,
            Some(_) => {}
            None => DONE.wait(queue),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn who_waits_for_the_worker_keeps_no_question_from_being_asked() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        ask_until(move || count.fetch_add(1, Relaxed) == 3);
        let deadline = Instant::now() + Duration::from_secs(20);
        while asked.load(Relaxed) < 4 && Instant::now() < deadline {
            assert_eq!(flush(Duration::from_secs(20)), Ok(true));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(asked.load(Relaxed), 4);
    }
}
