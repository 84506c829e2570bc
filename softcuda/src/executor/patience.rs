//! Under the lazy and the seeded schedule, work waits until something asks for it. A program may never ask, and wait in
//! another way for what a host function does: a real device would have done it long ago. So when a while has passed
//! without a call, everything runs.

use super::EXECUTOR;
use super::crew::{rest_if_stopped, spawn};
use crate::settings::complain;
use std::sync::Once;
use std::time::Duration;

/// So long without a call.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts to watch, once.
pub(super) fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if !spawn("softcuda-late", watch) {
            complain(
                "the system gives no thread to watch for forgotten work; what nobody asks for may never run",
            );
        }
    });
}

fn watch() {
    loop {
        let mut state = EXECUTOR.state.lock();
        while state.order.is_empty() {
            EXECUTOR.given.wait(&mut state);
        }
        let calls = state.calls;
        EXECUTOR.silence.wait_for(&mut state, PATIENCE);
        if state.calls == calls {
            drop(state);
            rest_if_stopped();
            EXECUTOR.run_everything();
        }
    }
}
