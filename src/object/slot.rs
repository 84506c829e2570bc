//! A place in an object for what a later floor keeps with it, of a type that the object does not know.

use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::sync::Arc;

/// Holds at most one value. Whoever uses a slot agrees on the type of what it holds.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

/// What stands in a slot and has to know when others get the native handle of the object whose slot that is.
pub(crate) trait Exposed: Any + Send + Sync {
    /// Others can have the native handle from now on.
    fn is_known_to_others(&self);
}

/// A slot for what has to know that.
#[derive(Default)]
pub(crate) struct ExposedSlot(Mutex<Option<Arc<dyn Exposed>>>);

impl ExposedSlot {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What the slot holds.
    pub(crate) fn get<T: Exposed>(&self) -> Option<Arc<T>> {
        let value: Arc<dyn Any + Send + Sync> = self.any()?;
        value.downcast().ok()
    }

    /// The same, of whatever type it is.
    pub(crate) fn any(&self) -> Option<Arc<dyn Exposed>> {
        self.0.lock().clone()
    }

    /// Puts a value in, or none; the one before comes out, to be dropped when the lock is not held any more.
    pub(crate) fn replace(&self, value: Option<Arc<dyn Exposed>>) -> Option<Arc<dyn Exposed>> {
        std::mem::replace(&mut *self.0.lock(), value)
    }
}

impl Slot {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What the slot holds.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.lock().get()
    }

    /// Keeps others from looking or changing it meanwhile.
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked(self.0.lock())
    }
}

/// A slot that nobody else can look into.
pub(crate) struct Locked<'a>(MutexGuard<'a, Option<Arc<dyn Any + Send + Sync>>>);

impl Locked<'_> {
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.as_ref().and_then(|value| Arc::clone(value).downcast().ok())
    }

    /// Puts a value in, or none; the one before comes out, to be dropped when the lock is not held any more.
    pub(crate) fn replace<T: Any + Send + Sync>(&mut self, value: Option<Arc<T>>) -> impl Drop + use<T> {
        Replaced(std::mem::replace(&mut *self.0, value.map(|value| value as Arc<dyn Any + Send + Sync>)))
    }
}

/// Dropping it may run anything.
struct Replaced(Option<Arc<dyn Any + Send + Sync>>);

impl Drop for Replaced {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}
