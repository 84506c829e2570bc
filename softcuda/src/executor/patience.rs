//! Under the lazy and the seeded schedule, work waits until something asks for it. A program may never ask, and wait in
//! another way for what a host function does: a real device would have done it long ago. So when a while has passed
//! without a call, everything runs.

use super::engine::Executor;
use super::workers::{rest_if_stopped, spawn};
use crate::instruments::complain::complain;
use std::time::Duration;

/// So long without a call.
const PATIENCE: Duration = Duration::from_secs(1);

impl Executor {
    /// Starts to watch, once.
    pub(super) fn watch_for_silence(&'static self) {
        self.watch.call_once(|| {
            if !spawn("softcuda-late", || self.watch()) {
                complain(
                    "the system gives no thread to watch for forgotten work; what nobody asks for may never run",
                );
            }
        });
    }

    fn watch(&'static self) {
        loop {
            let mut state = self.state.lock();
            while state.order.is_empty() {
                self.given.wait(&mut state);
            }
            let calls = state.calls;
            self.silence.wait_for(&mut state, PATIENCE);
            if state.calls == calls {
                drop(state);
                rest_if_stopped();
                self.run_everything();
            }
        }
    }
}
