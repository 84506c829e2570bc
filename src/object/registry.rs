//! Finds the object of a native handle that the driver, or a caller, hands back.

use super::handle::{Shared, Weakly};
use crate::driver::Driver;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::Arc;

/// How many locks the objects of a type share, a power of two: threads that create and destroy rarely meet in one.
const BUCKETS: usize = 1024;

/// The living objects of one type, by driver and native handle. Objects leave before the driver is told to destroy their
/// handle: an address that the driver uses again then names the new object.
///
/// Creating and destroying are frequent and finding is rare, so the objects lie unordered in buckets, each with its lock.
pub(crate) struct Registry<H: Shared>([Mutex<Bucket<H>>; BUCKETS]);

/// Most hold one object at a time, for which they need no memory of their own.
type Bucket<H> = SmallVec<[Entry<H>; 1]>;

struct Entry<H: Shared> {
    key: Key,
    object: Weakly<H>,
}

/// The address of the driver's table, and that of the native handle.
type Key = (usize, usize);

fn key(driver: &Driver, native: usize) -> Key {
    (std::ptr::from_ref(driver.object_table()).addr(), native)
}

impl<H: Shared> Registry<H> {
    pub(crate) const fn new() -> Self {
        Self([const { Mutex::new(SmallVec::new_const()) }; BUCKETS])
    }

    /// Handles are addresses with some low bits zero: a multiplication spreads the others (Fibonacci hashing, Knuth,
    /// The Art of Computer Programming, volume 3, section 6.4).
    fn bucket(&self, (_, native): Key) -> &Mutex<Bucket<H>> {
        let spread = (native as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2());
        &self.0[spread as usize]
    }

    /// Lists an object, in place of one that had the same native handle before.
    pub(crate) fn add(&self, driver: &Driver, native: usize, object: &H) {
        let (key, object) = (key(driver, native), object.downgrade());
        let mut bucket = self.bucket(key).lock();
        match bucket.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.object = object,
            None => bucket.push(Entry { key, object }),
        }
    }

    /// Lists an object unless the native handle has a living one already, other than `stale`, which is then the answer. So of several
    /// threads that found none, or the stale one, and made one each, one alone lists its own.
    pub(crate) fn add_unless_known(
        &self,
        driver: &Driver,
        native: usize,
        object: &H,
        stale: Option<&H>,
    ) -> Result<(), H> {
        let key = key(driver, native);
        let mut bucket = self.bucket(key).lock();
        let Some(entry) = bucket.iter_mut().find(|entry| entry.key == key) else {
            bucket.push(Entry { key, object: object.downgrade() });
            return Ok(());
        };
        let is_stale =
            stale.is_some_and(|stale| std::ptr::eq(entry.object.as_ptr(), Arc::as_ptr(stale.object())));
        match entry.object.upgrade().filter(|_| !is_stale) {
            Some(known) => Err(known),
            None => {
                entry.object = object.downgrade();
                Ok(())
            }
        }
    }

    /// The object that has the native handle, or else a new one, which is listed: the same one for all threads that ask at once. What
    /// `is_in_force` refuses is of a handle that the driver has used again. What is made in vain is dropped without having been listed, so
    /// it must not own the handle yet. Neither function is called under a lock.
    pub(crate) fn find_or_add<E>(
        &self,
        driver: &Driver,
        native: usize,
        is_in_force: impl Fn(&H) -> bool,
        make: impl Fn() -> Result<H, E>,
    ) -> Result<H, E> {
        loop {
            let known = self.find(driver, native);
            let stale = match known {
                Some(known) if is_in_force(&known) => return Ok(known),
                stale => stale,
            };
            let made = make()?;
            if self.add_unless_known(driver, native, &made, stale.as_ref()).is_ok() {
                return Ok(made);
            }
        }
    }

    /// The object that has the native handle; `None` if none does, or not any more.
    pub(crate) fn find(&self, driver: &Driver, native: usize) -> Option<H> {
        let key = key(driver, native);
        let bucket = self.bucket(key).lock();
        bucket.iter().find(|entry| entry.key == key)?.object.upgrade()
    }

    /// Takes an object off the list, unless another one has its native handle by now.
    pub(crate) fn remove(&self, driver: &Driver, native: usize, object: &H::Object) {
        let key = key(driver, native);
        let mut bucket = self.bucket(key).lock();
        let is_this = |entry: &Entry<H>| entry.key == key && std::ptr::eq(entry.object.as_ptr(), object);
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

    static REGISTRY: Registry<Arc<i32>> = Registry::new();

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
    fn what_is_added_meanwhile_is_the_object() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let (native, other) = (0x2000, Arc::new(1));
        let find_or_make = |is_in_force: fn(&Arc<i32>) -> bool, meanwhile: &dyn Fn()| {
            let make = || {
                meanwhile();
                Ok::<_, std::convert::Infallible>(Arc::new(2))
            };
            REGISTRY.find_or_add(&driver, native, is_in_force, make).expect("nothing fails")
        };
        let found = find_or_make(|_| true, &|| REGISTRY.add(&driver, native, &other));
        assert!(Arc::ptr_eq(&found, &other), "another thread was faster");
        let made = find_or_make(|known| **known == 2, &|| ());
        assert_eq!(*made, 2, "the other one is stale");
        assert!(Arc::ptr_eq(&find_or_make(|_| true, &|| unreachable!("it is there")), &made));
        drop((found, other));
        let third = find_or_make(|known| **known == 3, &|| REGISTRY.remove(&driver, native, &made));
        assert!(!Arc::ptr_eq(&third, &made));
        assert_eq!(REGISTRY.find(&driver, native), Some(third));
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
