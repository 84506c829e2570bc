//! Drawing tasks, under the seeded schedule; running them one after the other, under it and in order.

use super::draw::{GRACE, SECOND_GRACE};
use super::engine::{Executor, Guard, Here};
use super::task::Task;
use super::work::WorkKind;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::time::Instant;

impl Executor {
    /// Runs as many tasks as are drawn; none for the host's work, which would run others inside of itself.
    pub(super) fn draw_some(&'static self, state: &mut Guard<'static>) {
        while Task::of_this_thread().is_none() && state.draw.goes_on() && self.draw_one(state) {}
    }

    /// Runs a task at least, so that asking comes to an end.
    pub(super) fn draw_for_a_question(&'static self, state: &mut Guard<'static>) {
        if Task::of_this_thread().is_none() {
            self.draw_one(state);
        }
        self.draw_some(state);
    }

    /// Runs a task of those that can run, or a slice of it; false if there is none.
    pub(super) fn draw_one(&'static self, state: &mut Guard<'static>) -> bool {
        if state.draw.ready.is_empty() {
            return false;
        }
        let deadline = Instant::now() + SECOND_GRACE;
        while state.draw.has_slow_ones() && !self.moved.wait_until(state, deadline).timed_out() {}
        let Some(number) = state.draw.next() else { return false };
        let Some(node) = state.order.node(number) else { return true };
        node.started = true;
        let task = Arc::clone(&node.task);
        match task.kind {
            WorkKind::Instant => MutexGuard::unlocked(state, || self.run_here(Here::only(task))),
            // Its native kernels may end their thread, which is not to be the one that all else runs on.
            WorkKind::Device | WorkKind::Paced if !self.is_seeded() => self.run_unless_long(state, task),
            WorkKind::Device => MutexGuard::unlocked(state, || self.run_here(Here::only(task))),
            WorkKind::Paced => self.run_a_slice(state, &task),
            WorkKind::Host => self.run_for_a_while(state, task),
        }
        true
    }

    /// Runs a slice of paced work.
    fn run_a_slice(&'static self, state: &mut Guard<'static>, task: &Arc<Task>) {
        if state.resume(task.number) {
            task.moved.notify_all();
        } else {
            self.give(&self.paced, Arc::clone(task));
        }
        while !task.is_finished() && !state.has_paused(task.number) {
            task.moved.wait(state);
        }
    }

    /// Starts a host's piece of work, and leaves it alone if it takes long.
    fn run_for_a_while(&'static self, state: &mut Guard<'static>, task: Arc<Task>) {
        self.give(&self.host, Arc::clone(&task));
        let deadline = Instant::now() + GRACE;
        while !task.is_finished() {
            if task.moved.wait_until(state, deadline).timed_out() {
                return state.draw.slow.push(task);
            }
        }
    }
}
