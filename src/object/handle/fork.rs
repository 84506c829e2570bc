//! The child of a fork is told so: CUDA does not work there, and locks may be held by threads that it does not have.

use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether this process is the child of a fork that happened after the library was used.
#[inline]
pub(crate) fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Sees to it that children of later forks know what they are.
#[cfg(all(unix, not(loom)))]
pub(crate) fn watch() {
    static WATCHED: parking_lot::Once = parking_lot::Once::new();

    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }

    WATCHED.call_once(|| {
        // SAFETY: the hook touches an atomic only, and its code is never unloaded. It can be refused for want of memory
        // alone; children would then behave as they do without the library.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

#[cfg(not(all(unix, not(loom))))]
pub(crate) fn watch() {}
