//! The executor: it knows queues and pieces of work, and nothing of what they are for. It keeps every piece of work that
//! is not finished (`order`) and runs each when it can run and the schedule says so (`engine`, `drawing`). Nothing else
//! holds one back: queues that are independent stay so, whatever their work waits for (`pausing`).

mod draw;
mod drawing;
mod engine;
mod in_order;
mod numbers;
mod order;
mod patience;
mod pausing;
mod queue;
mod random;
mod ready;
mod sequence;
mod task;
mod termination;
mod turn;
mod work;
mod workers;

use crate::instruments::schedule::Schedule;
use crate::instruments::settings::settings;
use engine::Executor;
pub(crate) use order::Bundled;
pub(crate) use queue::{Coupling, Group, Queue};
pub(crate) use sequence::Sequence;
use std::sync::{Arc, LazyLock};
pub(crate) use task::Task;
pub(crate) use termination::watch_this_thread;
pub(crate) use turn::Turn;
pub(crate) use work::{Bundle, Earlier, Outcome, Piece, Work, WorkKind};
pub(crate) use workers::{rest_if_stopped, spawn, stop};

static EXECUTOR: LazyLock<Executor> =
    LazyLock::new(|| Executor::new(settings().map_or(Schedule::Eager, |settings| settings.schedule)));

/// A host's piece of work would wait for what comes after it.
pub(crate) struct WaitsForItself;

/// Before any work is given: sees to it that there are threads to run it. False if the system has none to give.
pub(crate) fn start() -> bool {
    EXECUTOR.start()
}

/// Puts work into a queue, behind what the queue's order demands and behind the tasks `after`.
pub(crate) fn submit(queue: &Arc<Queue>, work: Box<dyn Work>, after: &[Arc<Task>]) -> Arc<Task> {
    EXECUTOR.submit(queue, work, after)
}

/// Work that only marks a place in the order.
pub(crate) fn nothing() -> Box<dyn Work> {
    Box::new(work::Nothing)
}

/// Puts a bundle into a queue, behind what the queue's order demands and behind the tasks `after`. When all of it is done
/// comes `end`, and then what the queue is given next. Nothing is unfinished in the queues `others` only then, either.
pub(crate) fn submit_bundle(
    queue: &Arc<Queue>,
    bundle: Bundle,
    after: &[Arc<Task>],
    end: Box<dyn Work>,
    others: &[Arc<Queue>],
) -> Bundled {
    EXECUTOR.submit_bundle(queue, bundle, after, end, others)
}

/// Waits until the tasks are finished; not longer than until their group is abandoned. Refuses to let a host's piece of
/// work wait for what comes after it.
pub(crate) fn wait_for(tasks: &[Arc<Task>]) -> Result<(), WaitsForItself> {
    EXECUTOR.wait_for(tasks)
}

/// The number of the work that the calling thread is in.
pub(crate) fn inside() -> Option<u64> {
    Task::inside()
}

/// Waits until work is finished that is about to end.
pub(crate) fn wait_for_end(number: u64) {
    EXECUTOR.wait_for_end(number);
}

/// Gives all work under way a moment to end.
pub(crate) fn wait_a_moment() {
    EXECUTOR.wait_a_moment();
}

/// Whether the tasks are finished. Asking again and again comes to an end under every schedule.
pub(crate) fn poll(tasks: &[Arc<Task>]) -> bool {
    EXECUTOR.poll(tasks)
}

/// What must be finished for a group to have nothing to do.
pub(crate) fn unfinished(group: &Group) -> Vec<Arc<Task>> {
    EXECUTOR.unfinished(group)
}

/// What must be finished for a queue to have nothing to do. The main queue stands for all that wait for it.
pub(crate) fn unfinished_on(queue: &Queue) -> Vec<Arc<Task>> {
    EXECUTOR.unfinished_on(queue)
}

/// Whether the next task of a queue will come after this one, which is not finished.
pub(crate) fn is_followed(task: &Task, queue: &Queue) -> bool {
    EXECUTOR.is_followed(task, queue)
}

/// Lets everything that queues of a group are given from now on come after a task.
pub(crate) fn hold_up(group: &Group, until: &Arc<Task>) {
    EXECUTOR.hold_up(group, until);
}

/// Nobody waits for a group's work any more: what it has still to do runs as soon as it can, to come to its end.
pub(crate) fn abandon(group: &Group) {
    EXECUTOR.abandon(group);
}

#[cfg(test)]
mod tests;
