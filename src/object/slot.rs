//! A place in an object for what a later floor keeps with it, of a type that the object does not know.

use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::sync::Arc;

/// Holds at most one value, of which is known that it is a `V`. Whoever uses a slot agrees on the type of what it holds.
pub(crate) struct Slot<V: SlotValue + ?Sized = dyn Any + Send + Sync>(Mutex<Option<Arc<V>>>);

/// A slot that nobody else can look into.
pub(crate) struct Locked<'a, V: SlotValue + ?Sized = dyn Any + Send + Sync>(MutexGuard<'a, Option<Arc<V>>>);

/// What can be known of all values of a slot.
pub(crate) trait SlotValue {
    /// The same, of whatever type it is.
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl SlotValue for dyn Any + Send + Sync {
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// What stands in a slot and has to know when others get the native handle of the object whose slot that is.
pub(crate) trait Exposed: Any + Send + Sync {
    /// Others can have the native handle from now on.
    fn is_known_to_others(&self);

    /// Whether what stands there is over, and means nothing any more.
    fn is_over(&self) -> bool;
}

impl SlotValue for dyn Exposed {
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<V: SlotValue + ?Sized> Default for Slot<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: SlotValue + ?Sized> Slot<V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What the slot holds, if it is a `T`.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.lock().get()
    }

    /// The same, of whatever type it is.
    pub(crate) fn value(&self) -> Option<Arc<V>> {
        self.0.lock().clone()
    }

    /// Puts a value in, or none; the one before comes out, to be dropped when the lock is not held any more.
    pub(crate) fn replace(&self, value: Option<Arc<V>>) -> Option<Arc<V>> {
        self.lock().replace(value)
    }

    /// Keeps others from looking or changing it meanwhile.
    pub(crate) fn lock(&self) -> Locked<'_, V> {
        Locked(self.0.lock())
    }

    /// The same; `None` where others do.
    pub(crate) fn try_lock(&self) -> Option<Locked<'_, V>> {
        self.0.try_lock().map(Locked)
    }
}

impl<V: SlotValue + ?Sized> Locked<'_, V> {
    /// What the slot holds, if it is a `T`.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().and_then(|value| value.any().downcast().ok())
    }

    /// The same, of whatever type it is.
    pub(crate) fn value(&self) -> Option<&V> {
        self.0.as_deref()
    }

    /// The same, to be held on to.
    pub(crate) fn shared(&self) -> Option<Arc<V>> {
        self.0.clone()
    }

    /// Puts a value in, or none, and lets others look again; the one before is dropped after that.
    pub(crate) fn put(mut self, value: Option<Arc<V>>) {
        let before = self.replace(value);
        drop(self);
        drop(before);
    }

    /// Puts a value in, or none; the one before comes out, to be dropped when the lock is not held any more.
    pub(crate) fn replace(&mut self, value: Option<Arc<V>>) -> Option<Arc<V>> {
        std::mem::replace(&mut *self.0, value)
    }
}
