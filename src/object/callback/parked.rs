//! Where a thread stays that a function of the program has ended.

use super::{parking, signals, worker};
use crate::object::cancellation::Deferred;
use crate::object::handle;

/// Parks the thread, which a function of the program has ended.
pub(super) fn park() -> ! {
    // The signals of its own faults, too: nobody is there to handle them. And nothing cancels it again.
    std::mem::forget((signals::Blocked::all(), Deferred::new()));
    parking::run_due();
    log::warn!(
        target: "cushim",
        "a function of the program ended the thread that called it (pthread_exit, or a cancellation); the thread stays until the \
         process ends"
    );
    if handle::leave_for_good() {
        worker::hand_over(Box::new(|| _ = handle::collect()));
    }
    loop {
        // SAFETY: waits for a signal, of which none comes.
        unsafe { libc::pause() };
    }
}
