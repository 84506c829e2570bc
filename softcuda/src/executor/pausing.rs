//! Work that takes long, and may be waiting for what others do: a kernel that reads a flag again and again, which the host
//! or other work will write. It must not keep them from it.

use super::engine::Executor;
use super::task::Task;
use super::workers::{Shift, rest_if_stopped};
use crate::instruments::schedule::Schedule;
use std::sync::atomic::{AtomicU32, Ordering};

/// So many slices make a piece of work one that takes long: four million steps.
const LONG: u32 = 64;

impl Executor {
    /// A piece of work has used its slice. False if nobody waits for it any more.
    ///
    /// Under the seeded schedule it goes on when it is drawn again. Under the others it goes on beside the rest; from time
    /// to time it sees to it that there is something beside it.
    pub(super) fn pause(&'static self, task: &Task, shift: Option<&Shift>, slices: &AtomicU32) -> bool {
        rest_if_stopped();
        if self.is_seeded() {
            self.wait_to_be_drawn(task);
        } else if slices.fetch_add(1, Ordering::Relaxed) % LONG == LONG - 1 {
            self.make_way(task, shift);
        }
        !task.is_abandoned()
    }

    fn wait_to_be_drawn(&self, task: &Task) {
        let mut state = self.state.lock();
        if task.is_abandoned() {
            return;
        }
        state.pause(task.number);
        task.moved.notify_all();
        self.moved.notify_all();
        while state.has_paused(task.number) {
            task.moved.wait(&mut state);
        }
        drop(state);
        rest_if_stopped();
    }

    /// What is behind it finds another thread; all other work runs that nobody has asked for, or, in order, what comes next.
    fn make_way(&'static self, task: &Task, shift: Option<&Shift>) {
        if let Some(shift) = shift {
            self.device.excuse(shift, |task, shift| self.run_on(&self.device, task, shift));
        }
        match self.schedule {
            Schedule::Lazy => self.run_everything(),
            Schedule::InOrder => self.leave_alone(task),
            Schedule::Eager | Schedule::Seeded(_) => {}
        }
    }
}
