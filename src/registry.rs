//! Finds the object of a native handle that the driver, or a caller, hands back.

use crate::driver::Driver;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The living objects of one type, by driver and native handle.
///
/// Only objects that own their native handle are listed, and they leave before the driver is told to destroy it: an
/// address that the driver uses again then names the new object.
pub(crate) struct Registry<T>(Mutex<BTreeMap<Key, Weak<T>>>);

/// The address of the driver's table, and that of the native handle.
type Key = (usize, usize);

fn key<N>(driver: &Driver, native: *mut N) -> Key {
    (std::ptr::from_ref(driver.object_table()).addr(), native.addr())
}

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Lists an object, in place of one that had the same native handle before.
    pub(crate) fn add<N>(&self, driver: &Driver, native: *mut N, object: &Arc<T>) {
        self.0.lock().insert(key(driver, native), Arc::downgrade(object));
    }

    /// The object that owns the native handle; `None` if none does, or not any more.
    pub(crate) fn find<N>(&self, driver: &Driver, native: *mut N) -> Option<Arc<T>> {
        self.0.lock().get(&key(driver, native))?.upgrade()
    }

    /// Strikes an object off, unless another one has its native handle by now.
    pub(crate) fn remove<N>(&self, driver: &Driver, native: *mut N, object: &T) {
        let key = key(driver, native);
        let mut known = self.0.lock();
        if known.get(&key).is_some_and(|listed| std::ptr::eq(listed.as_ptr(), object)) {
            known.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Choice, OpenOptions};

    #[test]
    fn the_newest_object_has_the_address() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let registry = Registry::new();
        let native: *mut u8 = std::ptr::without_provenance_mut(0x1000);
        let (old, new) = (Arc::new(1), Arc::new(2));
        assert_eq!(registry.find(&driver, native), None);
        registry.add(&driver, native, &old);
        registry.add(&driver, native, &new);
        registry.remove(&driver, native, &old);
        assert_eq!(registry.find(&driver, native), Some(Arc::clone(&new)));
        drop(new);
        assert_eq!(registry.find(&driver, native), None);
    }
}
