//! A lifetime that a caller lends.

#[cfg(feature = "capi")]
use super::frame::Foreign;
use super::worker::{self, Task};
use std::fmt;

/// Keeps something of the caller's alive until the library does not use it any more.
///
/// When the owner is dropped, wherever that is, the library's worker thread releases what it holds: soon, exactly once,
/// outside all locks and outside every function that the driver calls, so that the release may take locks and may use
/// the library. Only the end of the process may come first. [`flush_callbacks`](crate::flush_callbacks) waits for it.
///
/// ```
/// use cushim::Owner;
/// use std::sync::mpsc;
///
/// let (sender, receiver) = mpsc::channel();
/// let owner = Owner::new(move || sender.send(std::thread::current().id()).unwrap());
/// drop(owner);
/// assert_ne!(receiver.recv().unwrap(), std::thread::current().id());
/// ```
pub struct Owner {
    release: Option<Release>,
    /// The call that lent it, if a C program did.
    #[cfg(feature = "capi")]
    lease: Option<std::sync::Arc<super::lending::Lease>>,
}

// SAFETY: a shared reference to an owner gives no access to what it holds.
unsafe impl Sync for Owner {}

/// What becomes of the thing.
pub(super) enum Release {
    /// The worker calls this.
    Call(Task),
    /// The worker calls this with it.
    #[cfg(feature = "capi")]
    CallC(super::pull::Data, unsafe extern "C" fn(*mut std::ffi::c_void)),
    /// The program finds it when it drains.
    #[cfg(feature = "capi")]
    Pull(super::pull::Data),
}

impl Release {
    pub(super) fn hand_over(self) {
        match self {
            Self::Call(release) => worker::hand_over(release),
            #[cfg(feature = "capi")]
            Self::CallC(data, release) => {
                // SAFETY: the caller vouched for the function, and this is the only time that it is called.
                worker::hand_over(Box::new(move || unsafe { release.call((data.get(),)) }));
            }
            #[cfg(feature = "capi")]
            Self::Pull(data) => super::pull::push(super::pull::Item::Release(data)),
        }
    }
}

impl Owner {
    /// An owner for which the worker calls `release`.
    pub fn new(release: impl FnOnce() + Send + 'static) -> Self {
        Self {
            release: Some(Release::Call(Box::new(release))),
            #[cfg(feature = "capi")]
            lease: None,
        }
    }

    /// An owner for which the worker drops `value`.
    pub fn keeping(value: impl Send + 'static) -> Self {
        Self::new(move || drop(value))
    }

    /// The owner of a C caller, which is the library's once the call has succeeded.
    #[cfg(feature = "capi")]
    pub(super) fn leased(release: Release, lease: std::sync::Arc<super::lending::Lease>) -> Self {
        Self { release: Some(release), lease: Some(lease) }
    }

    /// What a C caller lent; NULL if it was not one.
    #[cfg(feature = "capi")]
    pub(crate) fn data(&self) -> *mut std::ffi::c_void {
        match &self.release {
            Some(Release::CallC(data, _) | Release::Pull(data)) => data.0,
            _ => std::ptr::null_mut(),
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(release) = self.release.take() else { return };
        #[cfg(feature = "capi")]
        if let Some(lease) = &self.lease {
            return lease.drop_owner(release);
        }
        release.hand_over();
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").finish_non_exhaustive()
    }
}
