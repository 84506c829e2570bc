//! A descriptor that is readable while something is set.

#[cfg(target_os = "linux")]
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, Status};

/// An eventfd.
#[cfg(target_os = "linux")]
pub(super) struct EventFd(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl EventFd {
    pub(super) fn new() -> Result<Self, Error> {
        use std::os::fd::FromRawFd;
        // SAFETY: makes a descriptor, or answers -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            let why = std::io::Error::last_os_error();
            return Err(Error::new(
                Status::INTERNAL,
                format!("the system gives no descriptor to wait on: {why}; close some, or raise their limit"),
            ));
        }
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(Self(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) }))
    }

    pub(super) fn number(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.0)
    }

    /// Makes it readable.
    pub(super) fn set(&self) {
        let (one, _uncancelled) = (1_u64, Deferred::new());
        // SAFETY: writes eight bytes. It fails only if it is readable anyway.
        unsafe { libc::write(self.number(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Makes it unreadable.
    pub(super) fn clear(&self) {
        let (mut count, _uncancelled) = (0_u64, Deferred::new());
        // SAFETY: reads eight bytes, or none if it is not readable.
        unsafe { libc::read(self.number(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

/// Not made on this system.
#[cfg(not(target_os = "linux"))]
pub(super) enum EventFd {}

#[cfg(not(target_os = "linux"))]
impl EventFd {
    pub(super) fn new() -> Result<Self, Error> {
        Err(Error::new(
            Status::UNSUPPORTED,
            "this system has no eventfd to wait on; drain at regular times instead",
        ))
    }

    pub(super) fn number(&self) -> i32 {
        match *self {}
    }

    pub(super) fn set(&self) {
        match *self {}
    }

    pub(super) fn clear(&self) {
        match *self {}
    }
}
