//! Threads, without the memory that the standard library takes for each of them: where there is none, it ends the process.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A thread, which no other equals, also after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId(u64);

impl ThreadId {
    /// The calling thread.
    pub(crate) fn current() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
        if OWN.get() == 0 {
            OWN.set(LAST.fetch_add(1, Relaxed) + 1);
        }
        Self(OWN.get())
    }

    /// The number that no other thread has.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// Starts a thread that nobody waits for; false where the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn start(body: fn() -> !) -> bool {
    /// What the standard library gives a thread.
    const STACK: usize = 2 << 20;
    extern "C" fn run(body: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: a name of at most 15 bytes, which the call copies.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), c"cushim-worker".as_ptr()) };
        // SAFETY: the address of such a function, from below.
        unsafe { std::mem::transmute::<*mut libc::c_void, fn() -> !>(body)() }
    }
    // SAFETY: the attributes are of this function, which begins and ends their life; the new thread uses the function alone.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return false;
        }
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread = std::mem::zeroed();
        let answer =
            libc::pthread_create(&raw mut thread, &raw const attributes, run, body as *mut libc::c_void);
        libc::pthread_attr_destroy(&raw mut attributes);
        answer == 0
    }
}

/// Starts a thread that nobody waits for; false where the system refuses.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start(body: fn() -> !) -> bool {
    std::thread::Builder::new().name("cushim-worker".to_owned()).spawn(move || body()).is_ok()
}
