//! The executor: it keeps every operation that is not finished (`order`) and runs each when it can run and the schedule
//! says so. Nothing else holds an operation back: streams that are independent stay so, whatever their operations wait
//! for.
//!
//! One lock guards all of it. No work runs under it, and none of the caller's code.

mod crew;
mod order;
mod patience;
mod random;
pub(crate) mod schedule;
mod seeded;
mod work;

use crate::context::Activation;
use crate::error::Answer;
use crate::host_function;
use crate::settings::settings;
use crate::stream::{Kind, Stream};
use crate::sys::CUDA_ERROR_NOT_PERMITTED;
use crew::Crew;
pub(crate) use crew::stop;
use order::Order;
use parking_lot::{Condvar, Mutex, MutexGuard};
use schedule::Schedule;
use seeded::{Draw, GRACE, SECOND_GRACE};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
pub(crate) use work::{Duty, Operation, Work};

static EXECUTOR: LazyLock<Executor> = LazyLock::new(Executor::new);

struct Executor {
    schedule: Schedule,
    state: Mutex<State>,
    /// Notified when something is submitted.
    given: Condvar,
    /// Notified when something is finished or can run: for those who draw.
    moved: Condvar,
    /// Never notified.
    silence: Condvar,
    device: Crew,
    host: Crew,
}

struct State {
    order: Order,
    draw: Draw,
    /// Calls that have given work or asked about it.
    calls: u64,
}

/// How long work that may free memory is waited for.
const MOMENT: Duration = Duration::from_secs(1);

type Guard<'a> = MutexGuard<'a, State>;

/// What is to run on this thread when the lock is free.
#[derive(Default)]
struct Here {
    instant: Vec<Arc<Operation>>,
    /// What this thread is there for, if it is one of the driver's: such an operation that can run when the one before it
    /// has, and for which no other waits, needs no other thread.
    duty: Option<Duty>,
    next: Option<Arc<Operation>>,
}

impl Here {
    /// Nothing that takes time goes before what takes none.
    fn pop(&mut self) -> Option<Arc<Operation>> {
        self.instant.pop().or_else(|| self.next.take())
    }
}

/// Puts work into a stream, behind what the stream's order demands and behind the operations `after`.
pub(crate) fn submit(stream: &Arc<Stream>, work: Arc<dyn Work>, after: &[Arc<Operation>]) -> Arc<Operation> {
    EXECUTOR.submit(stream, work, after)
}

/// Waits until the operations are finished; not longer than until their context is lost. Refuses to let a host function
/// wait for what comes after it.
pub(crate) fn wait_for(operations: &[Arc<Operation>]) -> Answer {
    if let Some(own) = Operation::of_this_thread()
        && EXECUTOR.state.lock().order.any_follows(own, operations)
    {
        return Err(CUDA_ERROR_NOT_PERMITTED);
    }
    EXECUTOR.wait_for(operations, None);
    Ok(())
}

/// Gives all work under way a moment to end.
pub(crate) fn wait_a_moment() {
    let all = EXECUTOR.state.lock().order.operations(None);
    EXECUTOR.wait_for(&all, Some(Instant::now() + MOMENT));
}

/// Whether the operations are finished. Asking again and again comes to an end under every schedule.
pub(crate) fn poll(operations: &[Arc<Operation>]) -> bool {
    EXECUTOR.poll(operations)
}

/// What must be finished for a context to have nothing to do.
pub(crate) fn unfinished(context: u64) -> Vec<Arc<Operation>> {
    EXECUTOR.state.lock().order.tails(context)
}

/// What must be finished for a stream to have nothing to do. The legacy stream stands for all that wait for it.
pub(crate) fn unfinished_on(stream: &Stream) -> Vec<Arc<Operation>> {
    EXECUTOR.state.lock().order.tails_where(stream, |other| match stream.kind {
        Kind::Legacy => other.kind != Kind::NonBlocking,
        _ => other.id == stream.id,
    })
}

/// Whether the next operation of a stream will come after this one, which is not finished.
pub(crate) fn is_followed(operation: &Operation, stream: &Stream) -> bool {
    let state = EXECUTOR.state.lock();
    let next_to = state.order.predecessors(stream);
    state.order.any_follows(operation.number, &next_to)
}

/// Lets what a lost context has still to do end without being done.
pub(crate) fn abandon(context: &Activation) {
    EXECUTOR.abandon(context.id());
}

impl Executor {
    fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let schedule = settings().map_or(Schedule::Eager, |s| s.schedule);
        let seed = if let Schedule::Seeded(seed) = schedule { seed } else { 0 };
        Self {
            schedule,
            state: Mutex::new(State { order: Order::default(), draw: Draw::new(seed), calls: 0 }),
            given: Condvar::new(),
            moved: Condvar::new(),
            silence: Condvar::new(),
            device: Crew::new("softcuda-device", cores.clamp(2, 8), 2, run),
            // The caller's functions may wait for each other, so each finds a thread.
            host: Crew::new("softcuda-host", usize::MAX, 2, run),
        }
    }

    fn is_seeded(&self) -> bool {
        matches!(self.schedule, Schedule::Seeded(_))
    }

    fn submit(
        &'static self,
        stream: &Arc<Stream>,
        work: Arc<dyn Work>,
        after: &[Arc<Operation>],
    ) -> Arc<Operation> {
        let mut state = self.state.lock();
        let node = state.order.add(stream, work, after);
        let operation = Arc::clone(&node.operation);
        node.wanted = self.schedule == Schedule::Eager || operation.is_lost();
        let can_run = node.can_run();
        let mut here = Here::default();
        if can_run {
            self.may_run(&mut state, operation.number, &mut here);
        }
        if self.schedule != Schedule::Eager {
            self.note_call(&mut state);
        }
        drop(state);
        self.run_here(here);
        if self.is_seeded() {
            self.draw_some(&mut self.state.lock());
        }
        operation
    }

    fn note_call(&self, state: &mut State) {
        state.calls += 1;
        patience::begin();
        self.given.notify_all();
    }

    /// An operation can run now. It is started if it is wanted, and may be drawn if it is not.
    fn may_run(&'static self, state: &mut State, number: u64, here: &mut Here) {
        let Some(node) = state.order.node(number).filter(|node| node.can_run()) else { return };
        if !node.wanted {
            state.draw.ready.insert(number);
            return;
        }
        node.started = true;
        let operation = Arc::clone(&node.operation);
        state.draw.ready.remove(&number);
        let crew = match operation.duty {
            Duty::Instant => return here.instant.push(operation),
            Duty::Device => &self.device,
            Duty::Host => &self.host,
        };
        if here.duty == Some(operation.duty) && here.next.is_none() && crew.has_time() {
            here.next = Some(operation);
        } else {
            crew.give(operation);
        }
    }

    /// Runs operations, and those of this thread that can run then.
    fn run_here(&'static self, mut here: Here) {
        while let Some(operation) = here.pop() {
            operation.run();
            let mut state = self.state.lock();
            for number in state.order.finish(&operation) {
                self.may_run(&mut state, number, &mut here);
            }
            drop(state);
            operation.done.notify_all();
            self.moved.notify_all();
        }
    }

    /// Wants operations, and all that they must follow.
    fn want(&'static self, operations: &[Arc<Operation>]) {
        let mut here = Here::default();
        let mut state = self.state.lock();
        let numbers = operations.iter().map(|operation| operation.number).collect();
        for number in state.order.want(numbers) {
            self.may_run(&mut state, number, &mut here);
        }
        drop(state);
        self.run_here(here);
    }

    fn poll(&'static self, operations: &[Arc<Operation>]) -> bool {
        let finished = || operations.iter().all(|operation| operation.is_finished());
        if finished() {
            return true;
        }
        match self.schedule {
            Schedule::Eager => false,
            Schedule::Lazy => {
                self.note_call(&mut self.state.lock());
                self.want(operations);
                false
            }
            Schedule::Seeded(_) => {
                let mut state = self.state.lock();
                self.note_call(&mut state);
                if !host_function::running() {
                    self.draw_one(&mut state);
                }
                self.draw_some(&mut state);
                finished()
            }
        }
    }

    /// Waits until the operations are finished or lost, or the deadline has passed.
    fn wait_for(&'static self, operations: &[Arc<Operation>], deadline: Option<Instant>) {
        if operations.iter().all(|operation| operation.is_finished()) {
            return;
        }
        if self.schedule != Schedule::Eager {
            self.note_call(&mut self.state.lock());
        }
        if self.schedule == Schedule::Lazy {
            self.want(operations);
        }
        let mut state = self.state.lock();
        for operation in operations {
            while !operation.is_finished() && !operation.is_lost() {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return;
                }
                if !self.is_seeded() {
                    rest(&operation.done, &mut state, deadline);
                } else if !self.draw_one(&mut state) {
                    rest(&self.moved, &mut state, deadline);
                }
            }
        }
    }

    /// Runs as many operations as are drawn; none for a host function, which would run others inside of itself.
    fn draw_some(&'static self, state: &mut Guard<'static>) {
        while !host_function::running() && state.draw.goes_on() && self.draw_one(state) {}
    }

    /// Runs an operation of those that can run; false if there is none.
    fn draw_one(&'static self, state: &mut Guard<'static>) -> bool {
        if state.draw.ready.is_empty() {
            return false;
        }
        let deadline = Instant::now() + SECOND_GRACE;
        while state.draw.has_slow_ones() && !self.moved.wait_until(state, deadline).timed_out() {}
        let Some(number) = state.draw.next() else { return false };
        let Some(node) = state.order.node(number) else { return true };
        node.started = true;
        let operation = Arc::clone(&node.operation);
        if operation.duty != Duty::Host {
            MutexGuard::unlocked(state, || self.run_here(Here { next: Some(operation), ..Here::default() }));
            return true;
        }
        self.host.give(Arc::clone(&operation));
        let deadline = Instant::now() + GRACE;
        while !operation.is_finished() {
            if operation.done.wait_until(state, deadline).timed_out() {
                state.draw.slow.push(operation);
                break;
            }
        }
        true
    }

    fn run_everything(&'static self) {
        if self.is_seeded() {
            let mut state = self.state.lock();
            while self.draw_one(&mut state) {}
        } else {
            let all = self.state.lock().order.operations(None);
            self.want(&all);
        }
    }

    fn abandon(&'static self, context: u64) {
        let lost = self.state.lock().order.operations(Some(context));
        self.want(&lost);
        // Under the lock, so that nobody is between looking and waiting.
        let _state = self.state.lock();
        lost.iter().for_each(|operation| {
            operation.done.notify_all();
        });
        self.moved.notify_all();
    }
}

fn rest(condition: &Condvar, state: &mut Guard<'_>, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => drop(condition.wait_until(state, deadline)),
        None => condition.wait(state),
    }
}

fn run(operation: Arc<Operation>) {
    EXECUTOR.run_here(Here { duty: Some(operation.duty), next: Some(operation), ..Here::default() });
}
