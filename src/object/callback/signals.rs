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

/// Signals that ask the process to end, and wait for a thread that does not block them.
#[cfg(target_os = "linux")]
pub(super) struct Waiting([bool; Waiting::KINDS.len()]);

#[cfg(target_os = "linux")]
impl Waiting {
    const KINDS: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

    pub(super) fn none() -> Self {
        Self([false; Self::KINDS.len()])
    }

    /// Those that wait now.
    pub(super) fn to_end() -> Self {
        // SAFETY: a set of zeros is a value of the type; the calls read and write a set that is ours.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigpending(&raw mut set);
            Self(Self::KINDS.map(|signal| libc::sigismember(&raw const set, signal) == 1))
        }
    }

    /// Those that are in both.
    pub(super) fn both(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] && other.0[index]))
    }

    /// Lets this thread take them: what the program wants done of each is done before this returns, if the process still goes on.
    pub(super) fn take(&self) {
        if !self.0.contains(&true) {
            return;
        }
        // SAFETY: as above; the mask is then what it was.
        unsafe {
            let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut set);
            for (signal, _) in Self::KINDS.iter().zip(self.0).filter(|(_, waits)| *waits) {
                libc::sigaddset(&raw mut set, *signal);
            }
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, &raw mut before);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        }
    }
}
