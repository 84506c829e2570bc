//! Cancelled threads (`pthread_cancel`): nothing of ours is cut off in the middle, for the C library cannot unwind a function
//! in Rust; it would end the process.

/// While it lives the thread is not cancelled, but at its next cancellation point afterwards.
#[cfg(target_os = "linux")]
pub(crate) struct Deferred(libc::c_int);

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
}

#[cfg(target_os = "linux")]
impl Deferred {
    pub(crate) fn new() -> Self {
        /// `PTHREAD_CANCEL_DISABLE`, of glibc and musl.
        const DISABLED: libc::c_int = 1;
        let mut before = 0;
        // SAFETY: the state is one of those that there are, and the place is valid.
        unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
        Self(before)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Deferred {
    fn drop(&mut self) {
        // SAFETY: the state is the one that was in force.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}

/// Elsewhere nobody cancels threads so.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Deferred;

#[cfg(not(target_os = "linux"))]
impl Deferred {
    pub(crate) fn new() -> Self {
        Self
    }
}
