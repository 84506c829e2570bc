//! A lifetime that a caller lends.

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
pub struct Owner(Option<Release>);

// SAFETY: a shared reference to an owner gives no access to what it holds.
unsafe impl Sync for Owner {}

/// What becomes of the thing.
enum Release {
    /// The worker calls this.
    Call(Task),
    /// The worker calls this with it.
    #[cfg(feature = "capi")]
    CallC(super::pull::Data, unsafe extern "C" fn(*mut std::ffi::c_void)),
    /// The program finds it when it drains.
    #[cfg(feature = "capi")]
    Pull(super::pull::Data),
}

impl Owner {
    /// An owner for which the worker calls `release`.
    pub fn new(release: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Release::Call(Box::new(release))))
    }

    /// An owner for which the worker drops `value`.
    pub fn keeping(value: impl Send + 'static) -> Self {
        Self::new(move || drop(value))
    }

    /// The owner of a C caller: the worker calls `release`, or, where that is NULL, the program drains `data`.
    ///
    /// # Safety
    /// `release` may be called with `data`, once, from any thread.
    #[cfg(feature = "capi")]
    pub(crate) unsafe fn from_c(
        data: *mut std::ffi::c_void,
        release: Option<unsafe extern "C" fn(*mut std::ffi::c_void)>,
    ) -> Self {
        let data = super::pull::Data(data);
        match release {
            Some(release) => Self(Some(Release::CallC(data, release))),
            None => Self(Some(Release::Pull(data))),
        }
    }

    /// What a C caller lent; NULL if it was not one.
    #[cfg(feature = "capi")]
    pub(crate) fn data(&self) -> *mut std::ffi::c_void {
        match &self.0 {
            Some(Release::CallC(data, _) | Release::Pull(data)) => data.0,
            _ => std::ptr::null_mut(),
        }
    }

    /// Gives the thing back to a caller whose call failed: nothing is released.
    #[cfg(feature = "capi")]
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Release::Call(release)) => worker::hand_over(release),
            #[cfg(feature = "capi")]
            Some(Release::CallC(data, release)) => {
                // SAFETY: the caller vouched for the function, and this is the only time that it is called.
                worker::hand_over(Box::new(move || unsafe { release(data.get()) }));
            }
            #[cfg(feature = "capi")]
            Some(Release::Pull(data)) => super::pull::push(super::pull::Item::Release(data)),
            None => {}
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").finish_non_exhaustive()
    }
}
