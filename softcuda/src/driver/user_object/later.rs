//! A thread of the driver's that gives references back for which nobody waits: where work ends no destructor may be called.

use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_OPERATING_SYSTEM;
use crate::executor;
use crate::instruments::{foreign, live};
use parking_lot::{Condvar, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

struct Errand {
    /// The work that gave it, if any: that has ended when the destructor is called (measured).
    after: Option<u64>,
    body: Box<dyn FnOnce() + Send>,
    /// Until it is done.
    due: live::Due,
}

/// How many threads take the place of those that destructors have ended.
const MOST_REPLACED: u32 = 8;

static WAITING: Mutex<VecDeque<Errand>> = Mutex::new(VecDeque::new());
static GIVEN: Condvar = Condvar::new();
static BEGUN: Mutex<bool> = Mutex::new(false);

/// Sees to it that the thread is there, before there is anything to give back.
pub(super) fn begin() -> Answer {
    let mut begun = BEGUN.lock();
    *begun = *begun || executor::spawn("softcuda-release", serve);
    if *begun { Ok(()) } else { Err(CUDA_ERROR_OPERATING_SYSTEM) }
}

pub(super) fn run(errand: impl FnOnce() + Send + 'static) {
    WAITING.lock().push_back(Errand { after: executor::inside(), body: Box::new(errand), due: live::due() });
    GIVEN.notify_one();
}

fn serve() {
    loop {
        let mut waiting = WAITING.lock();
        while waiting.is_empty() {
            GIVEN.wait(&mut waiting);
        }
        let all = RefCell::new(std::mem::take(&mut *waiting));
        drop(waiting);
        while let Some(errand) = next(&all) {
            executor::rest_if_stopped();
            if let Some(work) = errand.after {
                executor::wait_for_end(work);
            }
            let due = Cell::new(Some(errand.due));
            foreign::unless_parked(errand.body, || {
                drop(due.take());
                leave_to_another(all.take());
            });
        }
    }
}

fn next(all: &RefCell<VecDeque<Errand>>) -> Option<Errand> {
    all.borrow_mut().pop_front()
}

/// A destructor has ended the thread: another one does the rest.
fn leave_to_another(mut rest: VecDeque<Errand>) {
    static REPLACED: AtomicU32 = AtomicU32::new(0);
    let mut waiting = WAITING.lock();
    rest.append(&mut waiting);
    *waiting = rest;
    drop(waiting);
    // A program whose destructors end each of them gets no more; what is not given back then is leaked.
    if REPLACED.fetch_add(1, Relaxed) < MOST_REPLACED {
        *BEGUN.lock() = executor::spawn("softcuda-release", serve);
    }
}
