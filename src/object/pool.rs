//! Values of one type that are made in great numbers, and mostly end together: what the nodes of a graph do and keep. Many share one
//! allocation, which is freed with the last of them; so each costs a few instructions where an allocation of its own takes hundreds.

use parking_lot::Mutex;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::LocalKey;

/// How many values share an allocation.
const PLACES: usize = 32;

/// How many bytes of a type's allocations are kept for later, at most: what graphs that are built again and again need would otherwise be
/// given back to the system, whose new pages take longer than all the rest.
const SPARE: usize = 4 << 20;

/// An allocation.
struct Chunk<T> {
    /// How many places are not given up yet: those with a value, and those that are to get one.
    left: AtomicUsize,
    places: [MaybeUninit<Place<T>>; PLACES],
}

/// A value in an allocation.
struct Place<T> {
    chunk: NonNull<Chunk<T>>,
    /// How many have the value, if several may.
    owners: AtomicUsize,
    value: T,
}

/// Allocations that are kept for later.
pub(crate) struct Spare<T>(Mutex<Vec<NonNull<Chunk<T>>>>);

// SAFETY: nobody has a place in them.
unsafe impl<T> Sync for Spare<T> {}

impl<T> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One of them. Nobody waits for that: another thread may have been there when this process was forked.
    fn take(&self) -> Option<NonNull<Chunk<T>>> {
        self.0.try_lock()?.pop()
    }

    /// Keeps one, unless there are enough.
    fn keep(&self, chunk: NonNull<Chunk<T>>) -> bool {
        let Some(mut kept) =
            self.0.try_lock().filter(|kept| kept.len() < const { SPARE / size_of::<Chunk<T>>() })
        else {
            return false;
        };
        kept.push(chunk);
        true
    }
}

impl<T: Pool> Chunk<T> {
    fn allocate() -> NonNull<Self> {
        if let Some(spare) = T::spare().take() {
            // SAFETY: nobody has a place in it.
            unsafe { spare.as_ref() }.left.store(PLACES, Ordering::Relaxed);
            return spare;
        }
        let mut new = Box::<Self>::new_uninit();
        // SAFETY: the field is there; the places need no value.
        unsafe {
            (&raw mut (*new.as_mut_ptr()).left).write(AtomicUsize::new(PLACES));
            NonNull::from(Box::leak(new.assume_init()))
        }
    }

    /// Gives places up.
    ///
    /// # Safety
    /// There are so many, which nobody uses any more.
    #[inline]
    unsafe fn give_up(chunk: NonNull<Self>, places: usize) {
        // SAFETY: as the caller vouches.
        let left = unsafe { &chunk.as_ref().left };
        if left.fetch_sub(places, Ordering::Release) == places {
            left.load(Ordering::Acquire);
            Self::end(chunk);
        }
    }

    /// Nobody has a place in it any more.
    #[cold]
    fn end(chunk: NonNull<Self>) {
        if !T::spare().keep(chunk) {
            // SAFETY: the values are dropped, and nobody else has it.
            drop(unsafe { Box::from_raw(chunk.as_ptr()) });
        }
    }
}

/// The allocation in which a thread's next value has its place, and how many places of it are taken.
pub(crate) struct Current<T: Pool> {
    chunk: Cell<Option<NonNull<Chunk<T>>>>,
    taken: Cell<usize>,
}

impl<T: Pool> Current<T> {
    pub(crate) const fn new() -> Self {
        Self { chunk: Cell::new(None), taken: Cell::new(PLACES) }
    }

    /// A place that nobody else has.
    #[inline]
    fn take(&self) -> NonNull<Place<T>> {
        let (chunk, taken) = match (self.chunk.get(), self.taken.get()) {
            (Some(chunk), taken) if taken < PLACES => (chunk, taken),
            _ => (self.next(), 0),
        };
        self.taken.set(taken + 1);
        place(chunk, taken)
    }

    #[cold]
    fn next(&self) -> NonNull<Chunk<T>> {
        let chunk = Chunk::allocate();
        self.chunk.set(Some(chunk));
        chunk
    }
}

impl<T: Pool> Drop for Current<T> {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.get().filter(|_| self.taken.get() < PLACES) {
            // SAFETY: the thread ends, and takes none of them any more.
            unsafe { Chunk::give_up(chunk, PLACES - self.taken.get()) };
        }
    }
}

fn place<T>(chunk: NonNull<Chunk<T>>, index: usize) -> NonNull<Place<T>> {
    // SAFETY: the index is one of a place; its chunk is noted before anybody has it.
    unsafe {
        let place: *mut Place<T> = (&raw mut (*chunk.as_ptr()).places[index]).cast();
        (&raw mut (*place).chunk).write(chunk);
        NonNull::new_unchecked(place)
    }
}

/// A type whose values share allocations.
pub(crate) trait Pool: Sized + 'static {
    /// Where this thread's next value has its place.
    fn current() -> &'static LocalKey<Current<Self>>;

    /// The type's allocations that are kept for later.
    fn spare() -> &'static Spare<Self>;
}

/// A value that shares its allocation with others.
pub(crate) struct Pooled<T: Pool>(NonNull<Place<T>>, PhantomData<T>);

// SAFETY: the value is its owner's; the rest of the allocation is counted atomically.
unsafe impl<T: Pool + Send> Send for Pooled<T> {}
// SAFETY: as above.
unsafe impl<T: Pool + Sync> Sync for Pooled<T> {}

impl<T: Pool> Pooled<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        Self(put(value), PhantomData)
    }
}

/// Gives a value its place.
#[inline]
fn put<T: Pool>(value: T) -> NonNull<Place<T>> {
    let place = T::current().try_with(Current::take).unwrap_or_else(|_| alone());
    // SAFETY: nobody else has the place.
    unsafe { (&raw mut (*place.as_ptr()).value).write(value) };
    place
}

/// Drops a value, and gives its place up.
///
/// # Safety
/// Nobody uses the value any more.
#[inline]
unsafe fn end<T: Pool>(place: NonNull<Place<T>>) {
    // SAFETY: as the caller vouches.
    unsafe {
        let chunk = place.as_ref().chunk;
        std::ptr::drop_in_place(&raw mut (*place.as_ptr()).value);
        Chunk::give_up(chunk, 1);
    }
}

/// A place in an allocation that has no others: for a thread that is ending.
#[cold]
fn alone<T: Pool>() -> NonNull<Place<T>> {
    let chunk = Chunk::allocate();
    // SAFETY: nobody has the others.
    unsafe { Chunk::give_up(chunk, PLACES - 1) };
    place(chunk, 0)
}

impl<T: Pool> Deref for Pooled<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the place has its value until this is dropped.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T: Pool> DerefMut for Pooled<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and it is this one's alone.
        unsafe { &mut self.0.as_mut().value }
    }
}

impl<T: Pool + Clone> Clone for Pooled<T> {
    fn clone(&self) -> Self {
        Self::new(T::clone(self))
    }
}

impl<T: Pool + fmt::Debug> fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: Pool> Drop for Pooled<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the value is this one's.
        unsafe { end(self.0) };
    }
}

/// A value that several have, and that shares its allocation with others.
pub(crate) struct Shared<T: Pool>(NonNull<Place<T>>, PhantomData<T>);

// SAFETY: the value is shared, and may be dropped by whichever thread has it last; counts are atomic.
unsafe impl<T: Pool + Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Pool + Send + Sync> Sync for Shared<T> {}

impl<T: Pool> Shared<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        let place = put(value);
        // SAFETY: nobody else has the place.
        unsafe { (&raw mut (*place.as_ptr()).owners).write(AtomicUsize::new(1)) };
        Self(place, PhantomData)
    }

    #[inline]
    fn owners(&self) -> &AtomicUsize {
        // SAFETY: the place has its value as long as there is one of these.
        unsafe { &self.0.as_ref().owners }
    }
}

impl<T: Pool> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: as above.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T: Pool> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        self.owners().fetch_add(1, Ordering::Relaxed);
        Self(self.0, PhantomData)
    }
}

impl<T: Pool> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        let owners = self.owners();
        // Who is alone stays alone.
        if owners.load(Ordering::Acquire) == 1 || owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last.
            unsafe { end(self.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Value {
        #[allow(dead_code, reason = "its count is looked at")]
        counted: Arc<()>,
        number: usize,
    }

    thread_local! {
        static CURRENT: Current<Value> = const { Current::new() };
    }

    impl Pool for Value {
        fn current() -> &'static LocalKey<Current<Self>> {
            &CURRENT
        }

        fn spare() -> &'static Spare<Self> {
            static SPARE: Spare<Value> = Spare::new();
            &SPARE
        }
    }

    #[test]
    fn each_value_is_dropped_once_whichever_thread_and_order() {
        let count = Arc::new(());
        let make = |number| Pooled::new(Value { counted: Arc::clone(&count), number });
        let mut values: Vec<_> = (0..100).map(make).collect();
        assert!(values.iter().enumerate().all(|(index, value)| value.number == index));
        values[7].number = 70;
        drop(values.split_off(50));
        assert_eq!(Arc::strong_count(&count), 51);
        let there = std::thread::scope(|scope| {
            scope.spawn(|| drop(values.split_off(25)));
            scope.spawn(|| (0..40).map(make).collect::<Vec<_>>()).join().expect("it makes values")
        });
        assert_eq!(Arc::strong_count(&count), 25 + 40 + 1);
        assert!(there.iter().enumerate().all(|(index, value)| value.number == index));
        drop((there, values));
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn a_value_of_several_is_dropped_with_the_last() {
        let count = Arc::new(());
        let first = Shared::new(Value { counted: Arc::clone(&count), number: 7 });
        let others: Vec<_> = (0..100).map(|_| first.clone()).collect();
        drop(first);
        std::thread::scope(|scope| {
            for other in others {
                scope.spawn(move || assert_eq!(other.number, 7));
            }
        });
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
