//! The schedule `in-order`: a thread of the driver's runs one piece of work after the other, in the order in which they were submitted,
//! whatever stream they are in. So work that lacks a wait between streams is still done in the order in which it was written down, as it
//! mostly is on a GPU that has little to do.
//!
//! A piece that takes long is taken for one that waits for something, and the rest goes on beside it, as a GPU's would.

use super::engine::{Executor, Guard};
use super::task::Task;
use super::workers::{rest_if_stopped, spawn};
use crate::instruments::schedule::Schedule;
use std::sync::Arc;

impl Executor {
    /// Sees to it that somebody runs the work, if the schedule is this one; false if the system gives no thread for that.
    pub(super) fn start_in_order(&'static self) -> bool {
        let begin = || spawn("softcuda-order", || self.run_in_order());
        self.schedule != Schedule::InOrder || *self.in_order.get_or_init(begin)
    }

    fn run_in_order(&'static self) {
        loop {
            let mut state = self.state.lock();
            while !self.draw_one(&mut state) {
                self.moved.wait(&mut state);
            }
            drop(state);
            rest_if_stopped();
        }
    }

    /// Runs a piece of work of the device's on a worker, and leaves it alone if it takes long.
    pub(super) fn run_unless_long(&'static self, state: &mut Guard<'static>, task: Arc<Task>) {
        self.give(&self.device, Arc::clone(&task));
        while state.order.is_under_way(task.number) && !task.is_abandoned() {
            if state.has_paused(task.number) {
                return state.draw.slow.push(task);
            }
            task.moved.wait(state);
        }
    }

    /// A piece of work takes long: what comes next need not wait for it.
    pub(super) fn leave_alone(&self, task: &Task) {
        let mut state = self.state.lock();
        if let Some(node) = state.order.node(task.number) {
            node.paused = true;
            task.moved.notify_all();
        }
    }
}
