//! Destructors of user objects: the program's code, in which no call of the driver is permitted.

use std::cell::Cell;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is inside a destructor.
pub(crate) fn running() -> bool {
    RUNNING.get()
}

/// Runs one.
pub(super) fn run(body: impl FnOnce() -> usize) {
    let outer = RUNNING.replace(true);
    body();
    RUNNING.set(outer);
}
