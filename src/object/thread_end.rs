//! What is done when a thread ends, without the standard library's destructors of thread-local values.
//!
//! The C library lists each of those in memory of its own, and under the loader's lock: where there is no memory it ends the process,
//! and in the child of a bare clone the lock may be held for ever. A key of the C library's takes neither. Its destructor is called
//! when a thread returns or calls `pthread_exit`; not when the process exits.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};

/// How many hooks a thread can have: one for each thread-local value that needs one.
const MOST: usize = 4;

type Hooks = [Cell<Option<fn()>>; MOST];

thread_local! {
    static HOOKS: Hooks = const { [const { Cell::new(None) }; MOST] };
    /// Whether the thread has called them.
    static ENDED: Cell<bool> = const { Cell::new(false) };
}

/// Has the hook called, once, when the thread ends; false if it ends already, or if the C library has no memory for that.
pub(crate) fn at_end(hook: fn()) -> bool {
    if ENDED.get() || !imp::watch() {
        return false;
    }
    let place = |hooks: &Hooks| {
        let is_there =
            |place: &&Cell<Option<fn()>>| place.get().is_none_or(|known| std::ptr::fn_addr_eq(known, hook));
        hooks.iter().find(is_there).map(|place| place.set(Some(hook))).is_some()
    };
    let is_listed = HOOKS.with(place);
    debug_assert!(is_listed, "more hooks than places");
    is_listed
}

/// Whether the thread has called its hooks.
pub(crate) fn has_ended() -> bool {
    ENDED.get()
}

fn run() {
    ENDED.set(true);
    HOOKS.with(|hooks| hooks.iter().for_each(|place| place.take().into_iter().for_each(|hook| hook())));
    // SAFETY: what is stored there are such functions, or nothing.
    let last = unsafe { std::mem::transmute::<*mut (), Option<fn()>>(LAST.load(Acquire)) };
    last.into_iter().for_each(|last| last());
}

/// Called after the hooks of each thread that has some.
static LAST: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has the function called whenever a thread has ended that has hooks.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) fn after_each(function: fn()) {
    LAST.store(function as *mut (), Release);
}

#[cfg(unix)]
mod imp {
    use parking_lot::Once;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

    const NO_KEY: i64 = -1;
    static KEY: AtomicI64 = AtomicI64::new(NO_KEY);

    extern "C" fn ends(_: *mut c_void) {
        super::run();
    }

    /// Has the C library call `ends` when this thread ends.
    pub(super) fn watch() -> bool {
        static MADE: Once = Once::new();
        MADE.call_once(|| {
            let mut key = 0;
            // SAFETY: the place is valid; the function's code is never unloaded.
            if unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) } == 0 {
                KEY.store(key.into(), Relaxed);
            }
        });
        let Ok(key) = libc::pthread_key_t::try_from(KEY.load(Relaxed)) else { return false };
        // SAFETY: the key was made above and is never deleted. The value only has to be something.
        unsafe { libc::pthread_setspecific(key, (&raw const KEY).cast()) == 0 }
    }
}

#[cfg(not(unix))]
mod imp {
    struct AtEnd;

    impl Drop for AtEnd {
        fn drop(&mut self) {
            super::run();
        }
    }

    thread_local!(static AT_END: AtEnd = const { AtEnd });

    /// Has the standard library run the hooks when this thread ends.
    pub(super) fn watch() -> bool {
        AT_END.try_with(|_| ()).is_ok()
    }
}
