//! What the driver releases on a thread of its own, some time after the last use: who waits for releases waits for these, too.

use crate::object::handle::forked;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Something that the driver is about to release, or will.
pub(crate) trait Due: Send {
    /// Whether the driver has released it, and the worker knows.
    fn is_over(&self) -> bool;

    /// Whether nothing keeps the driver from releasing it, as far as can be known.
    fn is_now(&self) -> bool;
}

struct List {
    all: Vec<Box<dyn Due>>,
    /// With as many it is looked through for what is over, so that a program which never waits keeps no long list.
    full: usize,
}

const SHORTEST: usize = 16;

static LIST: Mutex<List> = Mutex::new(List { all: Vec::new(), full: SHORTEST });

/// How long to wait before looking again, at first and at most.
const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Lists what the driver is to release.
pub(crate) fn expect(due: impl Due + 'static) {
    if forked() || due.is_over() {
        return;
    }
    let mut list = LIST.lock();
    if list.all.len() >= list.full {
        list.all.retain(|due| !due.is_over());
        list.full = SHORTEST.max(2 * list.all.len());
    }
    list.all.push(Box::new(due));
}

/// Waits until the driver has released all that is due now; false if the time is over first. What comes meanwhile is not waited for.
pub(super) fn wait(deadline: Option<Instant>) -> bool {
    let mut waiting = std::mem::take(&mut LIST.lock().all);
    // What is asked here may be answered by the driver, so no lock is held.
    let mut later = Vec::new();
    let mut pause = SHORTEST_PAUSE;
    let is_done = loop {
        waiting.retain(|due| !due.is_over());
        later.extend(waiting.extract_if(.., |due| !due.is_now()));
        if waiting.is_empty() {
            break true;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break false;
        }
        std::thread::sleep(pause.min(left.unwrap_or(pause)));
        pause = LONGEST_PAUSE.min(2 * pause);
    };
    later.append(&mut waiting);
    LIST.lock().all.append(&mut later);
    is_done
}
