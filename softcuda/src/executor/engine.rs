//! What is under way, and what runs next. One lock guards all of it; no work runs under it, and none of the caller's code.

use super::WaitsForItself;
use super::draw::Draw;
use super::order::{Bundled, Order};
use super::queue::{Group, Queue};
use super::task::Task;
use super::turn::Turn;
use super::work::{Bundle, Outcome, Work, WorkKind};
use super::workers::{Shift, Workers};
use crate::check;
use crate::instruments::foreign;
use crate::instruments::schedule::Schedule;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Once, OnceLock};
use std::time::{Duration, Instant};

pub(super) struct Executor {
    pub(super) schedule: Schedule,
    /// Processors of the host.
    cores: usize,
    pub(super) state: Mutex<State>,
    /// Notified when something is submitted.
    pub(super) given: Condvar,
    /// Notified when something is finished or can run: for those who draw.
    pub(super) moved: Condvar,
    /// Never notified.
    pub(super) silence: Condvar,
    pub(super) watch: Once,
    /// Whether there is a thread that runs work in order; once it was asked for.
    pub(super) in_order: OnceLock<bool>,
    pub(super) device: Workers,
    pub(super) host: Workers,
    /// For paced work that is drawn: each piece finds a thread, on which it can pause.
    pub(super) paced: Workers,
}

pub(super) struct State {
    pub(super) order: Order,
    pub(super) draw: Draw,
    /// Calls that have given work or asked about it.
    pub(super) calls: u64,
}

/// A graph can have any number of the caller's functions that could all run now.
const MOST_HOST_THREADS: usize = 1024;

/// How long work that may free memory is waited for.
const MOMENT: Duration = Duration::from_secs(1);

pub(super) type Guard<'a> = MutexGuard<'a, State>;

/// What is to run on this thread when the lock is free.
#[derive(Default)]
pub(super) struct Here {
    instant: Vec<Arc<Task>>,
    /// Those that this thread is one of, if it is the driver's: a task for them that can run when the one before it has, and
    /// for which no other waits, needs no other thread.
    workers: Option<&'static Workers>,
    next: Option<Arc<Task>>,
}

impl Here {
    pub(super) fn only(task: Arc<Task>) -> Self {
        Self { next: Some(task), ..Self::default() }
    }

    /// Nothing that takes time goes before what takes none.
    fn pop(&mut self) -> Option<Arc<Task>> {
        self.instant.pop().or_else(|| self.next.take())
    }
}

impl State {
    /// A task that is under way waits to be drawn again.
    pub(super) fn pause(&mut self, number: u64) {
        if let Some(node) = self.order.node(number) {
            node.paused = true;
            self.draw.ready.insert(&node.task);
        }
    }

    pub(super) fn has_paused(&mut self, number: u64) -> bool {
        self.order.node(number).is_some_and(|node| node.paused)
    }

    /// Lets a task go on that has paused; false if it has not.
    pub(super) fn resume(&mut self, number: u64) -> bool {
        let Some(node) = self.order.node(number).filter(|node| node.paused) else { return false };
        node.paused = false;
        self.draw.ready.remove(&node.task);
        true
    }
}

impl Executor {
    pub(super) fn new(schedule: Schedule) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            schedule,
            cores,
            state: Mutex::new(State { order: Order::default(), draw: Draw::new(schedule), calls: 0 }),
            given: Condvar::new(),
            moved: Condvar::new(),
            silence: Condvar::new(),
            watch: Once::new(),
            in_order: OnceLock::new(),
            device: Workers::new("softcuda-device", cores.clamp(2, 8), 2),
            // The caller's functions may wait for each other, so each finds a thread, as long as there are not too many.
            host: Workers::new("softcuda-host", MOST_HOST_THREADS, 2),
            paced: Workers::new("softcuda-paced", usize::MAX, 2),
        }
    }

    pub(super) fn is_seeded(&self) -> bool {
        matches!(self.schedule, Schedule::Seeded(_))
    }

    /// Whether work runs although nothing asks for it.
    fn runs_by_itself(&self) -> bool {
        matches!(self.schedule, Schedule::Eager | Schedule::InOrder)
    }

    pub(super) fn submit(
        &'static self,
        queue: &Arc<Queue>,
        work: Box<dyn Work>,
        after: &[Arc<Task>],
    ) -> Arc<Task> {
        let mut state = self.state.lock();
        let node = state.order.add(queue, work, after);
        node.wanted = self.wants_now(queue);
        let task = Arc::clone(&node.task);
        self.begin(state, task.number);
        task
    }

    pub(super) fn submit_bundle(
        &'static self,
        queue: &Arc<Queue>,
        bundle: Bundle,
        after: &[Arc<Task>],
        end: Box<dyn Work>,
        others: &[Arc<Queue>],
    ) -> Bundled {
        let mut state = self.state.lock();
        let wanted = self.wants_now(queue);
        let (first, bundled) = state.order.add_bundle(queue, bundle, after, end, others, wanted);
        self.begin(state, first);
        bundled
    }

    /// Whether work of a queue is to run as soon as it can.
    fn wants_now(&self, queue: &Queue) -> bool {
        self.schedule == Schedule::Eager || queue.group().is_abandoned()
    }

    /// Lets a new task run, if it can and it is time.
    fn begin(&'static self, mut state: Guard<'static>, number: u64) {
        let mut here = Here::default();
        self.may_run(&mut state, number, &mut here);
        match self.schedule {
            Schedule::Eager => {}
            Schedule::InOrder => drop(self.moved.notify_all()),
            Schedule::Lazy | Schedule::Seeded(_) => self.note_call(&mut state),
        }
        drop(state);
        self.run_here(here);
        if self.is_seeded() {
            self.draw_some(&mut self.state.lock());
        }
    }

    fn note_call(&'static self, state: &mut State) {
        state.calls += 1;
        self.watch_for_silence();
        self.given.notify_all();
    }

    /// A task can run now. It is started if it is wanted, and may be drawn if it is not.
    fn may_run(&'static self, state: &mut State, number: u64, here: &mut Here) {
        let Some(node) = state.order.node(number).filter(|node| node.can_run()) else { return };
        if !node.wanted {
            state.draw.ready.insert(&node.task);
            return;
        }
        node.started = true;
        let task = Arc::clone(&node.task);
        state.draw.ready.remove(&task);
        let workers = match task.kind {
            WorkKind::Instant => return here.instant.push(task),
            WorkKind::Device | WorkKind::Paced => &self.device,
            WorkKind::Host => &self.host,
        };
        let is_here = here.workers.is_some_and(|own| std::ptr::eq(own, workers));
        if is_here && here.next.is_none() && workers.has_time() {
            here.next = Some(task);
        } else {
            self.give(workers, task);
        }
    }

    /// Lets a worker run a task, and those that can run then.
    pub(super) fn give(&'static self, workers: &'static Workers, task: Arc<Task>) {
        workers.give(task, move |task, shift| self.run_on(workers, task, shift));
    }

    pub(super) fn run_on(&'static self, workers: &'static Workers, task: Arc<Task>, shift: &Shift) {
        self.run_in(Here { workers: Some(workers), ..Here::only(task) }, Some(shift));
    }

    /// Runs tasks, and those of this thread that can run then.
    pub(super) fn run_here(&'static self, here: Here) {
        self.run_in(here, None);
    }

    /// Lets the work of a task have its turn.
    fn run(&'static self, task: &Task, shift: Option<&Shift>) -> Outcome {
        let Some(work) = task.take() else { return Outcome::Finished };
        let (threads, slices) = (if self.is_seeded() { 1 } else { self.cores }, AtomicU32::new(0));
        let pause = || self.pause(task, shift, &slices);
        let turn = Turn::new(threads, &task.mark, &pause);
        // What it was to do is not done; who waits for it goes on all the same.
        task.enter(|| catch_unwind(AssertUnwindSafe(|| work.run(&turn)))).unwrap_or(Outcome::Finished)
    }

    /// Sees to it that there are threads for all kinds of work; false if the system has none to give.
    pub(super) fn start(&'static self) -> bool {
        let begin =
            |workers: &'static Workers| workers.begin(move |task, shift| self.run_on(workers, task, shift));
        [&self.device, &self.host, &self.paced].into_iter().all(begin) && self.start_in_order()
    }

    fn run_in(&'static self, mut here: Here, shift: Option<&Shift>) {
        while let Some(task) = here.pop() {
            let (workers, held) = (here.workers, Cell::new(here));
            let parked = || self.go_on_without(&task, workers, held.take(), shift);
            let outcome = foreign::unless_parked(|| self.run(&task, shift), parked);
            here = held.take();
            self.has_run(&task, outcome, &mut here);
        }
    }

    /// What follows the turn of a task.
    fn has_run(&'static self, task: &Arc<Task>, outcome: Outcome, here: &mut Here) {
        let mut state = self.state.lock();
        let can_run = match outcome {
            Outcome::Finished => state.order.finish(task),
            Outcome::After(bundle, rest) => {
                task.put(rest);
                state.order.put_behind(task, bundle)
            }
        };
        for number in can_run {
            self.may_run(&mut state, number, here);
        }
        drop(state);
        task.moved.notify_all();
        self.moved.notify_all();
    }

    /// A function of the program has ended the thread in a task, which counts as finished. Everything else finds other threads.
    fn go_on_without(
        &'static self,
        task: &Arc<Task>,
        workers: Option<&'static Workers>,
        here: Here,
        shift: Option<&Shift>,
    ) {
        if let (Some(workers), Some(shift)) = (workers, shift) {
            workers.excuse(shift, move |task, shift| self.run_on(workers, task, shift));
        }
        let Here { instant, next, .. } = here;
        if let (Some(next), Some(workers)) = (next, workers) {
            self.give(workers, next);
        }
        let mut here = Here { instant, ..Here::default() };
        self.has_run(task, Outcome::Finished, &mut here);
        self.run_here(here);
    }

    /// Wants tasks, and all that they must follow.
    fn want(&'static self, tasks: &[Arc<Task>]) {
        let mut here = Here::default();
        let mut state = self.state.lock();
        let numbers = tasks.iter().map(|task| task.number).collect();
        for number in state.order.want(numbers) {
            self.may_run(&mut state, number, &mut here);
        }
        drop(state);
        self.run_here(here);
    }

    pub(super) fn poll(&'static self, tasks: &[Arc<Task>]) -> bool {
        let finished = || {
            let finished = tasks.iter().all(|task| task.is_finished());
            if finished {
                host_waited(tasks);
            }
            finished
        };
        if finished() {
            return true;
        }
        match self.schedule {
            Schedule::Eager | Schedule::InOrder => false,
            Schedule::Lazy => {
                self.note_call(&mut self.state.lock());
                self.want(tasks);
                false
            }
            Schedule::Seeded(_) => {
                let mut state = self.state.lock();
                self.note_call(&mut state);
                self.draw_for_a_question(&mut state);
                finished()
            }
        }
    }

    pub(super) fn wait_for(&'static self, tasks: &[Arc<Task>]) -> Result<(), WaitsForItself> {
        if let Some(own) = Task::of_this_thread()
            && self.state.lock().order.any_follows(own, tasks)
        {
            return Err(WaitsForItself);
        }
        self.wait_until(tasks, None);
        host_waited(tasks);
        Ok(())
    }

    pub(super) fn wait_a_moment(&'static self) {
        let all = self.state.lock().order.tasks(None);
        self.wait_until(&all, Some(Instant::now() + MOMENT));
    }

    /// Waits until work is finished that has done what it does; for a moment at most.
    pub(super) fn wait_for_end(&'static self, number: u64) {
        let deadline = Instant::now() + MOMENT;
        let mut state = self.state.lock();
        while state.order.node(number).is_some() && Instant::now() < deadline {
            rest(&self.moved, &mut state, Some(deadline));
        }
    }

    /// Waits until the tasks are finished or abandoned, or the deadline has passed.
    fn wait_until(&'static self, tasks: &[Arc<Task>], deadline: Option<Instant>) {
        if tasks.iter().all(|task| task.is_finished()) {
            return;
        }
        if !self.runs_by_itself() {
            self.note_call(&mut self.state.lock());
        }
        if self.schedule == Schedule::Lazy {
            self.want(tasks);
        }
        let mut state = self.state.lock();
        for task in tasks {
            while !task.is_finished() && !task.is_abandoned() {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return;
                }
                if !self.is_seeded() {
                    rest(&task.moved, &mut state, deadline);
                } else if !self.draw_one(&mut state) {
                    rest(&self.moved, &mut state, deadline);
                }
            }
        }
    }

    pub(super) fn unfinished(&self, group: &Group) -> Vec<Arc<Task>> {
        self.state.lock().order.tails(group)
    }

    pub(super) fn unfinished_on(&self, queue: &Queue) -> Vec<Arc<Task>> {
        self.state.lock().order.last_of(queue)
    }

    pub(super) fn is_followed(&self, task: &Task, queue: &Queue) -> bool {
        let state = self.state.lock();
        let next_to = state.order.predecessors(queue);
        state.order.any_follows(task.number, &next_to)
    }

    pub(super) fn hold_up(&self, group: &Group, until: &Arc<Task>) {
        self.state.lock().order.hold_up(group, until);
    }

    /// Runs everything that there is, in the schedule's way; what is drawn, until there is another call.
    pub(super) fn run_everything(&'static self) {
        if self.is_seeded() {
            let mut state = self.state.lock();
            let calls = state.calls;
            while state.calls == calls && self.draw_one(&mut state) {}
        } else {
            let all = self.state.lock().order.tasks(None);
            self.want(&all);
        }
    }

    pub(super) fn abandon(&'static self, group: &Group) {
        group.set_abandoned();
        let abandoned = self.state.lock().order.tasks(Some(group));
        self.want(&abandoned);
        // Under the lock, so that nobody is between looking and waiting.
        let mut state = self.state.lock();
        abandoned.iter().for_each(|task| {
            state.resume(task.number);
            task.moved.notify_all();
        });
        self.moved.notify_all();
    }
}

/// The host knows that these are done.
fn host_waited(tasks: &[Arc<Task>]) {
    if check::follows() {
        check::host_waited(tasks.iter().filter_map(|task| task.stamp()));
    }
}

fn rest(condition: &Condvar, state: &mut Guard<'_>, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => drop(condition.wait_until(state, deadline)),
        None => condition.wait(state),
    }
}
