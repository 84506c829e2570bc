//! The executor: it keeps every operation that is not finished and runs each after those that it must follow.
//!
//! The order is a graph. An operation follows the one before it in its stream, those that its stream's kind demands
//! (`predecessors`), and those that it is given (an event's record). When the last of them is finished, it *can* run; when
//! it does is the schedule's choice. Nothing else holds an operation back: streams that are independent stay so, whatever
//! their operations wait for.
//!
//! One lock guards all of it. No work runs under it, and none of the caller's code.

mod crew;
pub(crate) mod schedule;
pub(crate) mod work;

use crate::context::Activation;
use crate::settings::settings;
use crate::stream::{Kind, Stream};
use crew::Crew;
pub(crate) use crew::stop;
use parking_lot::Mutex;
use schedule::Schedule;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};
pub(crate) use work::{Duty, Operation, Work};

static EXECUTOR: LazyLock<Executor> = LazyLock::new(Executor::new);

struct Executor {
    schedule: Schedule,
    state: Mutex<State>,
    device: Crew,
    host: Crew,
}

#[derive(Default)]
struct State {
    submitted: u64,
    /// Every operation that is not finished, by number.
    pending: HashMap<u64, Node>,
    /// The last operation of each stream that has unfinished ones: by context, then by stream.
    tails: HashMap<u64, BTreeMap<u64, Arc<Operation>>>,
}

/// An unfinished operation.
struct Node {
    operation: Arc<Operation>,
    /// Operations that it must follow, and how many of them are unfinished.
    before: Vec<u64>,
    unmet: usize,
    /// Operations that must follow it.
    after: Vec<u64>,
    /// Whether it is to run as soon as it can.
    wanted: bool,
    started: bool,
}

/// Operations that are to run on this thread when the lock is free.
type Here = Vec<Arc<Operation>>;

/// Puts work into a stream, behind what the stream's order demands and behind the operations `after`.
pub(crate) fn submit(stream: &Arc<Stream>, work: Arc<dyn Work>, after: &[Arc<Operation>]) -> Arc<Operation> {
    EXECUTOR.submit(stream, work, after)
}

/// Waits until the operations are finished; not longer than until their context is lost.
pub(crate) fn wait_for(operations: &[Arc<Operation>]) {
    for operation in operations {
        EXECUTOR.wait(operation);
    }
}

/// Whether the operations are finished.
pub(crate) fn poll(operations: &[Arc<Operation>]) -> bool {
    operations.iter().all(|operation| operation.is_finished())
}

/// What must be finished for a context to have nothing to do.
pub(crate) fn unfinished(context: u64) -> Vec<Arc<Operation>> {
    let state = EXECUTOR.state.lock();
    state.tails.get(&context).map_or(Vec::new(), |tails| tails.values().cloned().collect())
}

/// What must be finished for a stream to have nothing to do. The legacy stream stands for all blocking ones, but not for
/// the per-thread ones.
pub(crate) fn unfinished_on(stream: &Stream) -> Vec<Arc<Operation>> {
    EXECUTOR.state.lock().tails_where(stream, |other| match stream.kind {
        Kind::Legacy => matches!(other.kind, Kind::Legacy | Kind::Blocking),
        _ => other.id == stream.id,
    })
}

/// Whether the next operation of a stream will come after this one.
pub(crate) fn is_followed(operation: &Operation, stream: &Stream) -> bool {
    let state = EXECUTOR.state.lock();
    let mut numbers: Vec<u64> = state.predecessors(stream).iter().map(|tail| tail.number).collect();
    let mut seen = HashSet::new();
    while let Some(number) = numbers.pop() {
        if number == operation.number {
            return true;
        }
        // What comes after it has a larger number.
        if number > operation.number && seen.insert(number) {
            numbers.extend(state.pending.get(&number).iter().flat_map(|node| &node.before));
        }
    }
    false
}

/// Lets what a lost context has still to do end without being done.
pub(crate) fn abandon(context: &Activation) {
    EXECUTOR.abandon(context.id());
}

impl State {
    /// The last operations of those streams in the same context that satisfy the condition.
    fn tails_where(&self, stream: &Stream, condition: impl Fn(&Stream) -> bool) -> Vec<Arc<Operation>> {
        let Some(tails) = self.tails.get(&stream.context.id()) else { return Vec::new() };
        tails.values().filter(|tail| condition(&tail.stream)).cloned().collect()
    }

    /// What the next operation of a stream must follow: the legacy stream and the blocking ones wait for each other.
    fn predecessors(&self, stream: &Stream) -> Vec<Arc<Operation>> {
        self.tails_where(stream, |other| match stream.kind {
            Kind::Legacy => other.kind != Kind::NonBlocking,
            Kind::Blocking | Kind::PerThread => other.id == stream.id || other.kind == Kind::Legacy,
            Kind::NonBlocking => other.id == stream.id,
        })
    }

    /// Forgets that a finished operation was its stream's last.
    fn remove_tail(&mut self, operation: &Operation) {
        let (context, stream) = (operation.stream.context.id(), operation.stream.id);
        let Some(tails) = self.tails.get_mut(&context) else { return };
        if tails.get(&stream).is_some_and(|tail| tail.number == operation.number) {
            tails.remove(&stream);
        }
        if tails.is_empty() {
            self.tails.remove(&context);
        }
    }
}

impl Executor {
    fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            schedule: settings().map_or(Schedule::Eager, |s| s.schedule),
            state: Mutex::default(),
            device: Crew::new("softcuda-device", cores.clamp(2, 8), 2, run),
            // The caller's functions may wait for each other, so each finds a thread.
            host: Crew::new("softcuda-host", usize::MAX, 2, run),
        }
    }

    fn submit(
        &'static self,
        stream: &Arc<Stream>,
        work: Arc<dyn Work>,
        after: &[Arc<Operation>],
    ) -> Arc<Operation> {
        let mut here = Here::new();
        let mut state = self.state.lock();
        let number = state.submitted;
        state.submitted += 1;
        let operation = Operation::new(number, Arc::clone(stream), work);
        let mut before: Vec<u64> =
            state.predecessors(stream).iter().chain(after).map(|operation| operation.number).collect();
        before.sort_unstable();
        before.dedup();
        before.retain(|number| match state.pending.get_mut(number) {
            Some(node) => {
                node.after.push(operation.number);
                true
            }
            None => false,
        });
        let node = Node {
            operation: Arc::clone(&operation),
            unmet: before.len(),
            before,
            after: Vec::new(),
            wanted: self.schedule == Schedule::Eager || operation.is_lost(),
            started: false,
        };
        let can_run = node.unmet == 0;
        state.pending.insert(number, node);
        state.tails.entry(stream.context.id()).or_default().insert(stream.id, Arc::clone(&operation));
        if can_run {
            self.may_run(&mut state, number, &mut here);
        }
        drop(state);
        self.run_here(here);
        operation
    }

    /// An operation can run now: starts it if it is wanted.
    fn may_run(&'static self, state: &mut State, number: u64, here: &mut Here) {
        let Some(node) = state.pending.get_mut(&number) else { return };
        if !node.wanted || node.started {
            return;
        }
        node.started = true;
        let operation = Arc::clone(&node.operation);
        match operation.duty {
            Duty::Instant => here.push(operation),
            Duty::Device => self.device.give(operation),
            Duty::Host => self.host.give(operation),
        }
    }

    /// Runs operations, and those instant ones that can run then.
    fn run_here(&'static self, mut here: Here) {
        while let Some(operation) = here.pop() {
            operation.run();
            self.finish(&operation, &mut here);
        }
    }

    fn finish(&'static self, operation: &Operation, here: &mut Here) {
        let mut state = self.state.lock();
        let node = state.pending.remove(&operation.number);
        operation.set_finished();
        state.remove_tail(operation);
        for number in node.map_or(Vec::new(), |node| node.after) {
            let Some(next) = state.pending.get_mut(&number) else { continue };
            next.unmet -= 1;
            if next.unmet == 0 {
                self.may_run(&mut state, number, here);
            }
        }
        drop(state);
        operation.done.notify_all();
    }

    /// Wants operations and all that they must follow.
    fn want(&'static self, state: &mut State, mut numbers: Vec<u64>, here: &mut Here) {
        while let Some(number) = numbers.pop() {
            let Some(node) = state.pending.get_mut(&number).filter(|node| !node.wanted) else { continue };
            node.wanted = true;
            numbers.extend(&node.before);
            if node.unmet == 0 {
                self.may_run(state, number, here);
            }
        }
    }

    fn wait(&'static self, operation: &Operation) {
        if operation.is_finished() {
            return;
        }
        let mut state = self.state.lock();
        while !operation.is_finished() && !operation.is_lost() {
            operation.done.wait(&mut state);
        }
    }

    fn abandon(&'static self, context: u64) {
        let mut here = Here::new();
        let mut state = self.state.lock();
        let lost: Vec<Arc<Operation>> = state
            .pending
            .values()
            .map(|node| &node.operation)
            .filter(|operation| operation.stream.context.id() == context)
            .cloned()
            .collect();
        let numbers = lost.iter().map(|operation| operation.number).collect();
        self.want(&mut state, numbers, &mut here);
        drop(state);
        for operation in lost {
            operation.done.notify_all();
        }
        self.run_here(here);
    }
}

fn run(operation: Arc<Operation>) {
    EXECUTOR.run_here(vec![operation]);
}
