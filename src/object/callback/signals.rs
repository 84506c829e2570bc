//! Keeps the process's signals away from the worker.

/// While it lives, the thread takes no signals except those that tell of its own faults; threads that it starts
/// inherit that. Those few stay open because a fault whose signal is blocked ends the process past every handler, and
/// runtimes such as Java's handle faults in the course of things.
#[cfg(unix)]
pub(super) struct Blocked(libc::sigset_t);

#[cfg(unix)]
impl Blocked {
    pub(super) fn new() -> Self {
        Self::except(&[libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS])
    }

    /// Those that tell of its own faults, too.
    #[cfg(framed)]
    pub(super) fn all() -> Self {
        Self::except(&[])
    }

    fn except(open: &[libc::c_int]) -> Self {
        // SAFETY: a set of zeros is a value of the type; the calls write sets that are ours, and with these arguments
        // none of them fails.
        unsafe {
            let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut set);
            for signal in open {
                libc::sigdelset(&raw mut set, *signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, &raw mut before);
            Self(before)
        }
    }
}

#[cfg(unix)]
impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is the one that was in force.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// There are no signals here.
#[cfg(not(unix))]
pub(super) struct Blocked;

#[cfg(not(unix))]
impl Blocked {
    pub(super) fn new() -> Self {
        Self
    }
}
