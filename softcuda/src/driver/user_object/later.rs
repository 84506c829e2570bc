//! A thread of the driver's that gives references back for which nobody waits: where work ends no destructor may be called.

use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_OPERATING_SYSTEM;
use crate::executor;
use crate::instruments::live;
use parking_lot::{Condvar, Mutex};

struct Errand {
    /// The work that gave it, if any: that has ended when the destructor is called (measured).
    after: Option<u64>,
    body: Box<dyn FnOnce() + Send>,
    /// Until it is done.
    _due: live::Due,
}

static WAITING: Mutex<Vec<Errand>> = Mutex::new(Vec::new());
static GIVEN: Condvar = Condvar::new();
static BEGUN: Mutex<bool> = Mutex::new(false);

/// Sees to it that the thread is there, before there is anything to give back.
pub(super) fn begin() -> Answer {
    let mut begun = BEGUN.lock();
    *begun = *begun || executor::spawn("softcuda-release", serve);
    if *begun { Ok(()) } else { Err(CUDA_ERROR_OPERATING_SYSTEM) }
}

pub(super) fn run(errand: impl FnOnce() + Send + 'static) {
    WAITING.lock().push(Errand { after: executor::inside(), body: Box::new(errand), _due: live::due() });
    GIVEN.notify_one();
}

fn serve() {
    loop {
        let mut waiting = WAITING.lock();
        while waiting.is_empty() {
            GIVEN.wait(&mut waiting);
        }
        let all = std::mem::take(&mut *waiting);
        drop(waiting);
        for errand in all {
            executor::rest_if_stopped();
            if let Some(work) = errand.after {
                executor::wait_for_end(work);
            }
            (errand.body)();
        }
    }
}
