//! Things that go at the same time, while others may join them.

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use parking_lot::{Mutex, MutexGuard};

/// What goes together; nothing once it went.
pub(crate) struct Together<T>(Mutex<Option<T>>);

impl<T> Together<T> {
    pub(crate) fn of(first: T) -> Self {
        Self(Mutex::new(Some(first)))
    }

    #[cfg(not(loom))]
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock()
    }

    #[cfg(loom)]
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().expect("nobody panics with it")
    }

    /// It goes: whoever calls this first has all of it.
    pub(crate) fn take(&self) -> Option<T> {
        self.lock().take()
    }

    /// Whether it went.
    pub(crate) fn is_gone(&self) -> bool {
        self.lock().is_none()
    }

    /// Has more go with it; gives that back if all went before.
    pub(crate) fn add(&self, more: T, append: impl FnOnce(&mut T, T)) -> Option<T> {
        match &mut *self.lock() {
            Some(all) => append(all, more),
            None => return Some(more),
        }
        None
    }
}
