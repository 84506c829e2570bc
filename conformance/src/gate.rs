//! Work on a stream that does not end until it is let go: what a busy GPU is where no kernel can be run.
//!
//! A host function that waits. While it does, nothing may be called that waits for the whole device, such as
//! `cuMemFree`: it would wait for ever.

use crate::driver::{Answer, Cu, Outcome, need};
use cushim::driver::sys::CUstream;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How long a call may take that does not wait.
const AT_ONCE: Duration = Duration::from_millis(500);
/// How long the driver may take when nothing holds it up.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    open: Mutex<bool>,
    changed: Condvar,
}

/// A closed gate on a stream. Dropping it opens it.
pub(crate) struct Gate(Arc<State>);

impl Gate {
    /// Closes the stream: what is submitted to it afterwards waits until the gate is opened.
    pub(crate) fn close(cu: &Cu, stream: CUstream) -> Outcome<Self> {
        extern "C" fn wait(state: *mut c_void) {
            // SAFETY: made by `into_raw` below, and this is the only call with it.
            let state = unsafe { Arc::from_raw(state.cast::<State>().cast_const()) };
            let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
            while !*open {
                open = state.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let state = Arc::new(State::default());
        let user = Arc::into_raw(Arc::clone(&state)).cast_mut().cast();
        need!(cu, cuLaunchHostFunc_10000(stream, Some(wait), user))?;
        Ok(Self(state))
    }

    /// Opens the gate.
    pub(crate) fn open(self) {}

    /// Opens it a while later, whatever its owner does: it may be in a call that waits for the gate.
    pub(crate) fn open_later(&self) {
        const LATER: Duration = Duration::from_secs(3);
        let gate = Self(Arc::clone(&self.0));
        std::thread::spawn(move || {
            std::thread::sleep(LATER);
            gate.open();
        });
    }

    /// Whether a call waits that is made on another thread, which sends its answer: if it does not come soon, the gate is
    /// opened.
    pub(crate) fn holds_up(self, answers: &mpsc::Receiver<Answer>) -> Answer {
        if let Ok(answer) = answers.recv_timeout(AT_ONCE) {
            return answer.then(|| "at once");
        }
        self.open();
        answers.recv_timeout(PATIENCE).map_or("waits for ever".into(), |answer| answer.then(|| "waits"))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}
