//! Finds the object of a native handle that the driver, or a caller, hands back.

use crate::driver::Driver;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{Arc, Weak};

/// How many locks the objects of a type share, a power of two: threads that create and destroy rarely meet in one.
const BUCKETS: usize = 1024;

/// The living objects of one type, by driver and native handle. Objects leave before the driver is told to destroy their
/// handle: an address that the driver uses again then names the new object.
///
/// Creating and destroying are frequent and finding is rare, so the objects lie unordered in buckets, each with its lock.
pub(crate) struct Registry<T>([Mutex<Bucket<T>>; BUCKETS]);

/// Most hold one object at a time, for which they need no memory of their own.
type Bucket<T> = SmallVec<[Entry<T>; 1]>;

struct Entry<T> {
    key: Key,
    object: Weak<T>,
}

/// The address of the driver's table, and that of the native handle.
type Key = (usize, usize);

fn key(driver: &Driver, native: usize) -> Key {
    (std::ptr::from_ref(driver.object_table()).addr(), native)
}

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self([const { Mutex::new(SmallVec::new_const()) }; BUCKETS])
    }

    /// Handles are addresses with some low bits zero: a multiplication spreads the others (Fibonacci hashing, Knuth,
    /// The Art of Computer Programming, volume 3, section 6.4).
    fn bucket(&self, (_, native): Key) -> &Mutex<Bucket<T>> {
        let spread = (native as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2());
        &self.0[spread as usize]
    }

    /// Lists an object, in place of one that had the same native handle before.
    pub(crate) fn add(&self, driver: &Driver, native: usize, object: &Arc<T>) {
        let (key, object) = (key(driver, native), Arc::downgrade(object));
        let mut bucket = self.bucket(key).lock();
        match bucket.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.object = object,
            None => bucket.push(Entry { key, object }),
        }
    }

    /// The object that has the native handle; `None` if none does, or not any more.
    pub(crate) fn find(&self, driver: &Driver, native: usize) -> Option<Arc<T>> {
        let key = key(driver, native);
        let bucket = self.bucket(key).lock();
        bucket.iter().find(|entry| entry.key == key)?.object.upgrade()
    }

    /// Takes an object off the list, unless another one has its native handle by now.
    pub(crate) fn remove(&self, driver: &Driver, native: usize, object: &T) {
        let key = key(driver, native);
        let mut bucket = self.bucket(key).lock();
        let is_this = |entry: &Entry<T>| entry.key == key && std::ptr::eq(entry.object.as_ptr(), object);
        if let Some(index) = bucket.iter().position(is_this) {
            let entry = bucket.swap_remove(index);
            // One that had several objects once keeps no memory for that.
            let emptied = if bucket.is_empty() { std::mem::take(&mut *bucket) } else { Bucket::new_const() };
            drop(bucket);
            drop((entry, emptied));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Choice, OpenOptions};

    static REGISTRY: Registry<i32> = Registry::new();

    #[test]
    fn the_newest_object_has_the_address() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let native = 0x1000;
        let (old, new) = (Arc::new(1), Arc::new(2));
        assert_eq!(REGISTRY.find(&driver, native), None);
        REGISTRY.add(&driver, native, &old);
        REGISTRY.add(&driver, native, &new);
        REGISTRY.remove(&driver, native, &old);
        assert_eq!(REGISTRY.find(&driver, native), Some(Arc::clone(&new)));
        drop(new);
        assert_eq!(REGISTRY.find(&driver, native), None);
    }

    #[test]
    fn many_objects_are_found_and_leave_nothing() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let objects: Vec<_> = (0..5000).map(Arc::new).collect();
        let native = |object: &Arc<i32>| 0x7f00_0000_0000 + **object as usize * 64;
        objects.iter().for_each(|object| REGISTRY.add(&driver, native(object), object));
        for object in &objects {
            assert!(REGISTRY.find(&driver, native(object)).is_some_and(|found| Arc::ptr_eq(&found, object)));
        }
        objects.iter().for_each(|object| REGISTRY.remove(&driver, native(object), object));
        assert!(objects.iter().all(|object| REGISTRY.find(&driver, native(object)).is_none()));
        assert!(objects.iter().all(|object| Arc::weak_count(object) == 0));
    }
}
