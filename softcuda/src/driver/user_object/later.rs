//! A thread of the driver's that gives references back for which nobody waits: where work ends no destructor may be called.

use crate::executor;
use parking_lot::{Condvar, Mutex};
use std::sync::Once;

type Errand = Box<dyn FnOnce() + Send>;

static WAITING: Mutex<Vec<Errand>> = Mutex::new(Vec::new());
static GIVEN: Condvar = Condvar::new();
static BEGUN: Once = Once::new();

pub(super) fn run(errand: impl FnOnce() + Send + 'static) {
    BEGUN.call_once(|| executor::spawn_or_abort("softcuda-release", serve));
    WAITING.lock().push(Box::new(errand));
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
            errand();
        }
    }
}
