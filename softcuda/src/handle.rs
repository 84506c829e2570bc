//! Handles: the values by which callers know the driver's objects.
//!
//! A handle is a number that is never given out twice and is never an address, so a stale one, or one of another kind,
//! is recognised instead of followed. (The measured drivers follow it, and crash.)

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Between the usual places of heap and mappings, so that nobody takes one for an address that works.
static NEXT: AtomicUsize = AtomicUsize::new(0x50f7_c0da_0000);

/// The live objects of one kind.
pub(crate) struct Table<T>(LazyLock<RwLock<HashMap<usize, Arc<T>>>>);

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(|| RwLock::new(HashMap::new())))
    }

    /// Adds the object that `make` builds for its handle.
    pub(crate) fn add(&self, make: impl FnOnce(usize) -> T) -> Arc<T> {
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        self.0.write().insert(handle, Arc::clone(&object));
        object
    }

    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.0.read().get(&handle).cloned()
    }

    /// Takes the object out; its handle stays unused for ever.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.0.write().remove(&handle)
    }

    /// Shows every object to `look`, which must not touch the table.
    pub(crate) fn each(&self, look: impl FnMut(&T)) {
        self.0.read().values().map(|object| &**object).for_each(look);
    }
}
