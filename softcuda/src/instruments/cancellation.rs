//! Cancelled threads (`pthread_cancel`): a call comes back first, for the C library cannot unwind a function in Rust, and would end the
//! process.

use std::ffi::c_int;

/// `PTHREAD_CANCEL_DISABLE`, of glibc and musl.
const DISABLED: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// While it lives the thread is not cancelled, but at its next cancellation point afterwards.
pub(crate) struct Deferred(c_int);

impl Deferred {
    pub(crate) fn new() -> Self {
        let mut before = 0;
        // SAFETY: the state is one of those that there are, and the place is valid.
        unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
        Self(before)
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        // SAFETY: the state is the one that was in force.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}
