//! What one call of a C program lends to the library: the library's once the call has succeeded, and until then, and after any
//! failure, the caller's.
//!
//! An owner may be anywhere when a call fails: still in the operation, on another thread, or, after a panic, in an object that goes
//! on living. So nobody gives owners back one by one. All owners of a call share a lease, which the boundary of the C ABI settles
//! when the result is known; an owner that is dropped before waits for that.

use super::owner::{Owner, Release};
use super::pull::Data;
use crate::object::owning::{Ownership, Settle, Taking, Undecided};
use parking_lot::Mutex;
use std::cell::OnceCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release as Publish};

const UNDECIDED: u8 = 0;
const TAKEN: u8 = 1;
const GIVEN_BACK: u8 = 2;

/// What the owners of one call share.
pub(super) struct Lease {
    state: AtomicU8,
    /// What was dropped before the call was over.
    waiting: Mutex<Vec<Release>>,
    /// What else is settled when the call is over.
    claims: Mutex<Vec<Settle>>,
}

impl Lease {
    fn new() -> Self {
        Self { state: AtomicU8::new(UNDECIDED), waiting: Mutex::default(), claims: Mutex::default() }
    }

    /// An owner is dropped: what it releases is released, now or when the call has succeeded, or stays the caller's.
    pub(super) fn drop_owner(&self, release: Release) {
        if let Some(release) = self.undecided(release) {
            release.hand_over();
        }
    }

    /// What is to be released now.
    fn undecided(&self, release: Release) -> Option<Release> {
        if self.state.load(Acquire) == UNDECIDED {
            let mut waiting = self.waiting.lock();
            if self.state.load(Acquire) == UNDECIDED {
                waiting.push(release);
                return None;
            }
        }
        (self.state.load(Acquire) == TAKEN).then_some(release)
    }

    fn settle(&self, is_taken: bool) {
        let waiting = {
            let mut waiting = self.waiting.lock();
            self.state.store(if is_taken { TAKEN } else { GIVEN_BACK }, Publish);
            std::mem::take(&mut *waiting)
        };
        if is_taken {
            waiting.into_iter().for_each(Release::hand_over);
        }
        let claims = std::mem::take(&mut *self.claims.lock());
        claims.into_iter().for_each(|claim| claim(is_taken));
    }
}

/// The owners that one call takes. The call's boundary makes it, and settles it; if that never happens, nothing is ever released.
pub(crate) struct Lending(OnceCell<Arc<Lease>>);

impl Lending {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// An owner that calls `release` with `data`, or, where that is NULL, has the program drain `data`.
    ///
    /// # Safety
    /// `release` may be called with `data`, once, from any thread, unless the call fails.
    pub(crate) unsafe fn lend(
        &self,
        data: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Owner {
        let data = Data(data);
        Owner::leased(release.map_or(Release::Pull(data), |call| Release::CallC(data, call)), self.lease())
    }

    /// An owner for which the worker calls `release`, unless the call fails.
    pub(crate) fn lend_to(&self, release: impl FnOnce() + Send + 'static) -> Owner {
        Owner::leased(Release::Call(Box::new(release)), self.lease())
    }

    /// A native handle of the caller's, which is the library's once the call has succeeded, if it is to be owned.
    pub(crate) fn taking(&self, ownership: Ownership) -> Taking<'_> {
        match ownership {
            Ownership::Borrowed => Taking::Borrow,
            Ownership::Owned => Taking::OwnAfter(self),
        }
    }

    #[cold]
    fn lease(&self) -> Arc<Lease> {
        Arc::clone(self.0.get_or_init(|| Arc::new(Lease::new())))
    }

    /// The call is over.
    #[inline(always)]
    pub(crate) fn settle(self, has_succeeded: bool) {
        if let Some(lease) = self.0.get() {
            settle(lease, has_succeeded);
        }
    }
}

impl Undecided for Lending {
    fn when_over(&self, settle: Settle) {
        self.lease().claims.lock().push(settle);
    }
}

#[cold]
fn settle(lease: &Lease, has_succeeded: bool) {
    lease.settle(has_succeeded);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::callback::flush_callbacks;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::Duration;

    fn counting(lending: &Lending, count: &Arc<AtomicU32>) -> Owner {
        let count = Arc::clone(count);
        lending.lend_to(move || _ = count.fetch_add(1, Relaxed))
    }

    fn released(count: &AtomicU32) -> u32 {
        assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
        count.load(Relaxed)
    }

    #[test]
    fn an_owner_is_released_once_the_call_has_succeeded_and_not_before() {
        let (count, lending) = (Arc::default(), Lending::new());
        let (early, late) = (counting(&lending, &count), counting(&lending, &count));
        std::thread::spawn(move || drop(early)).join().expect("it only drops");
        assert_eq!(released(&count), 0);
        lending.settle(true);
        assert_eq!(released(&count), 1);
        drop(late);
        assert_eq!(released(&count), 2);
    }

    #[test]
    fn after_a_failure_nothing_is_released_wherever_the_owner_is() {
        let (count, lending) = (Arc::default(), Lending::new());
        let (early, late) = (counting(&lending, &count), counting(&lending, &count));
        drop(early);
        lending.settle(false);
        drop(late);
        assert_eq!(released(&count), 0);
    }
}
