//! What a call says beside its arguments.

use std::cell::Cell;

thread_local! {
    /// Whether the running call came in through a per-thread name, for which stream NULL is the per-thread one.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs the body of a call.
pub(crate) fn run<T>(per_thread: bool, body: impl FnOnce() -> T) -> T {
    // Given back at the end: the body may run a caller's function, which calls the driver again.
    let outer = PER_THREAD.replace(per_thread);
    let answer = body();
    PER_THREAD.set(outer);
    answer
}

/// Whether stream NULL means the per-thread default stream in the running call.
pub(super) fn per_thread() -> bool {
    PER_THREAD.get()
}
