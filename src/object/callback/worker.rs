//! The worker: one thread, started when there is first something for it, that runs what may run neither inside a
//! function that the driver called nor under a lock.
//!
//! It sleeps when there is nothing to do. What it drops may call the driver, and so may its questions, and functions of the program that it
//! calls. So the thread is in the relaxed capture mode: others may capture streams without a word of it here, and in any other mode a question
//! or a free of this thread would invalidate a capture in the mode GLOBAL.
//!
//! If a function of the program ends the thread, another one takes its place; not more than eight times, after which nothing is released
//! any more.

use super::caught::caught;
use super::parking::unless_parked;
use super::signals;
#[cfg(target_os = "linux")]
use super::termination;
use crate::driver::CallError;
use crate::driver::calls::capture_mode::RelaxedThread;
use crate::driver::sys::CUDA_ERROR_OUT_OF_MEMORY;
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, Status};
use crate::object::handle::{self, forked};
use crate::object::thread;
#[cfg(target_os = "linux")]
use crate::object::thread_end;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
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
    /// How many of its threads the program's functions have ended.
    ended: u32,
    /// How many tasks were leaked since there is no thread any more.
    leaked: u64,
}

/// How many threads take the place of those that were ended: a program whose functions end each of them gets no more.
const MOST_REPLACED: u32 = 8;

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    tasks: VecDeque::new(),
    questions: Vec::new(),
    handed_over: 0,
    by_worker: 0,
    done: 0,
    running: false,
    resting: false,
    asking: false,
    ended: 0,
    leaked: 0,
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
    if queue.is_over() {
        queue.leaked += 1;
        return std::mem::forget(task);
    }
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
    if queue.is_over() {
        queue.leaked += 1;
        return std::mem::forget(is_done);
    }
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
    #[cfg(target_os = "linux")]
    thread_end::after_each(termination::look);
    let _blocked = signals::Blocked::new();
    if !thread::start(work) {
        QUEUE.lock().running = false;
    }
}

fn work() -> ! {
    IS_WORKER.set(true);
    let round = Round::default();
    unless_parked(|| round.serve(), || round.leave_to_another())
}

/// What the thread has taken on.
#[derive(Default)]
struct Round {
    tasks: RefCell<VecDeque<Task>>,
    /// Those that it has not asked in this round, and those whose answer was no.
    questions: RefCell<VecDeque<Question>>,
    open: RefCell<VecDeque<Question>>,
    /// How many tasks it has done in this round, the one that it is in included.
    done: Cell<u64>,
    mode: RefCell<RelaxedThread>,
}

impl Round {
    fn serve(&self) -> ! {
        let mut pause = SHORTEST_PAUSE;
        loop {
            uncancelled();
            self.wait_for(pause);
            self.mode.borrow_mut().relax();
            let asked = self.questions.borrow().len();
            while let Some(task) = next(&self.tasks) {
                self.done.set(self.done.get() + 1);
                caught("a release function", task);
                uncancelled();
            }
            while let Some(mut is_done) = next(&self.questions) {
                let mut answer = true;
                caught("a release function", || answer = is_done());
                uncancelled();
                if !answer {
                    self.open.borrow_mut().push_back(is_done);
                }
            }
            std::mem::swap(&mut *self.questions.borrow_mut(), &mut *self.open.borrow_mut());
            let still = self.questions.borrow().len();
            let is_waiting = self.done.get() == 0 && still == asked;
            pause = if is_waiting { LONGEST_PAUSE.min(2 * pause) } else { SHORTEST_PAUSE };
            let mut queue = QUEUE.lock();
            queue.done += self.done.take();
            queue.asking = still > 0 || !queue.questions.is_empty();
            drop(queue);
            DONE.notify_all();
        }
    }

    /// Takes all tasks, in exchange for the empty queue, and all new questions; comes back without any when there is something to ask
    /// again.
    fn wait_for(&self, pause: Duration) {
        let mut questions = self.questions.borrow_mut();
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
        std::mem::swap(&mut queue.tasks, &mut *self.tasks.borrow_mut());
        questions.extend(queue.questions.drain(..));
    }

    /// A function of the program has ended the thread: what it was in counts as done, and another thread does the rest, if there may be
    /// one more.
    fn leave_to_another(&self) {
        let mut queue = QUEUE.lock();
        queue.done += self.done.take();
        queue.ended += 1;
        let (mut tasks, since) = (self.tasks.take(), std::mem::take(&mut queue.tasks));
        tasks.extend(since);
        queue.tasks = tasks;
        queue.questions.extend(self.questions.take().into_iter().chain(self.open.take()));
        let is_over = queue.is_over();
        if is_over {
            queue.leak();
        }
        drop(queue);
        DONE.notify_all();
        if is_over {
            log::error!(
                target: "cushim",
                "functions of the program have ended {} threads that make releases; from now on what is due for release is leaked",
                MOST_REPLACED + 1
            );
        } else {
            start();
        }
    }
}

/// The next one, which is borrowed from nothing.
fn next<T>(all: &RefCell<VecDeque<T>>) -> Option<T> {
    all.borrow_mut().pop_front()
}

/// A release function may cancel the thread that it runs on, or allow that: the thread is needed by others.
fn uncancelled() {
    std::mem::forget(Deferred::new());
}

impl Queue {
    /// Whether there is no thread any more.
    fn is_over(&self) -> bool {
        self.ended > MOST_REPLACED
    }

    /// Leaks what waits: nobody is there to release it, and nobody waits for it.
    fn leak(&mut self) {
        let (tasks, questions) = (std::mem::take(&mut self.tasks), std::mem::take(&mut self.questions));
        self.leaked += (tasks.len() + questions.len()) as u64;
        std::mem::forget((tasks, questions));
        self.done = self.handed_over;
        self.asking = false;
    }
}

/// How many releases were leaked, because functions of the program had ended the thread that makes them, and each of the eight in
/// its place.
#[cfg(feature = "capi")]
pub(crate) fn leaked_releases() -> u64 {
    QUEUE.lock().leaked
}

/// How long a call waits at most for what could be released, before it says that there is no memory.
const PATIENCE: Duration = Duration::from_millis(200);

/// Allocates; where there is no memory, the worker asks at once whether what it keeps for work under way can go, and it is tried once more.
pub(crate) fn allocating<T>(mut allocate: impl FnMut() -> Result<T, CallError>) -> Result<T, CallError> {
    match allocate() {
        Err(error) if error.result() == Some(CUDA_ERROR_OUT_OF_MEMORY) && ask_now() => allocate(),
        answer => answer,
    }
}

/// Has the worker ask at once whether what is kept for work under way can go; answers whether there was anything to ask.
#[cold]
pub(crate) fn ask_now() -> bool {
    let is_asking = !forked() && !IS_WORKER.get() && !handle::holds_releases() && QUEUE.lock().asking;
    is_asking && flush(PATIENCE).is_ok()
}

/// How far [`flush`] follows releases that lead to others, so that one which always leads to another does not keep it.
const STEPS: u32 = 8;

/// Waits until everything that was due for release before the call has been released, with what that led to in turn, and
/// every log line been given to its callback, at most this long; answers whether it is so.
///
/// What an exec kept is due once the exec was destroyed, or changed, and the launches that use it are done: the driver is asked at once. A
/// launch is done when its stream has passed what was in it when the exec was destroyed or changed. What the driver itself keeps, for execs
/// that others can launch and graphs whose native handle was handed out, it releases some time later on a thread of its own, and is not waited for.
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
    if IS_WORKER.get() || handle::holds_releases() {
        return Err(Error::new(
            Status::IN_CALLBACK,
            "waiting for callbacks inside a callback would never end; wait for them on a thread of your own",
        ));
    }
    if QUEUE.lock().is_over() {
        // What is leaked is waited for by nobody.
        return Ok(true);
    }
    // A time beyond what the clock can express is no limit.
    let deadline = Instant::now().checked_add(timeout);
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
