//! Spare memory, for when the process has none left: what a call begins it can end, and say what went wrong.
//!
//! Where the system gives no memory, Rust ends the process. Here an allocation of up to 64 KiB is then made in 512 KiB that were put
//! aside for that, so the call goes on. Afterwards no handle is given out until there is memory again, so what is put aside lasts for the calls under
//! way. The feature `spare-memory` turns it on, which needs the program's allocator: a Rust program has one of its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The unit in which spare memory is given, and the strictest alignment.
const BLOCK: usize = 128;
const BLOCKS: usize = 4096;
/// The most bytes of one allocation.
const MOST: usize = 64 * 1024;
/// How much the system must be able to give before there is memory again.
const ENOUGH: usize = 64 * 1024;

#[cfg(all(feature = "spare-memory", not(loom)))]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

static SPARE: Spare = Spare::new();

/// Whether spare memory was needed since the system last had enough.
static SHORT: AtomicBool = AtomicBool::new(false);

/// Whether the process has no memory for what a call would make.
#[inline]
pub(crate) fn is_short() -> bool {
    SHORT.load(Relaxed) && still_short()
}

#[cold]
fn still_short() -> bool {
    let Ok(layout) = Layout::from_size_align(ENOUGH, BLOCK) else { return false };
    // SAFETY: the size is not 0, and what was given is given back.
    let given = unsafe { System.alloc(layout) };
    if given.is_null() {
        return true;
    }
    // SAFETY: as above.
    unsafe { System.dealloc(given, layout) };
    SHORT.store(false, Relaxed);
    false
}

/// The system's allocator, and the spare memory where that has none.
struct Allocator;

// SAFETY: each method keeps the contract as the system's allocator does, or as `Spare` does for what lies in it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller vouches.
        let given = unsafe { System.alloc(layout) };
        if given.is_null() { SPARE.take(layout) } else { given }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller vouches.
        let given = unsafe { System.alloc_zeroed(layout) };
        if given.is_null() { SPARE.take_zeroed(layout) } else { given }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if SPARE.has(place) {
            return SPARE.give_back(place, layout);
        }
        // SAFETY: as the caller vouches; it is not of the spare memory.
        unsafe { System.dealloc(place, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !SPARE.has(place) {
            // SAFETY: as the caller vouches; it is not of the spare memory.
            let given = unsafe { System.realloc(place, layout, size) };
            if !given.is_null() {
                return given;
            }
        }
        // SAFETY: as the caller vouches.
        unsafe { self.move_to_new(place, layout, size) }
    }
}

impl Allocator {
    /// # Safety
    /// As for `realloc`.
    #[cold]
    unsafe fn move_to_new(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches that the size fits the alignment; the new memory has the smaller of both sizes, and the
        // old one is given back once.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                place.copy_to_nonoverlapping(new, size.min(layout.size()));
                self.dealloc(place, layout);
            }
            new
        }
    }
}

#[repr(C, align(128))]
struct Memory(UnsafeCell<[u8; BLOCK * BLOCKS]>);

struct Spare {
    memory: Memory,
    /// Which blocks are given.
    used: UnsafeCell<[bool; BLOCKS]>,
    /// Held for a moment: a lock that waits would allocate.
    locked: AtomicBool,
}

// SAFETY: who has the lock alone looks at `used`; each byte of the memory is given to one owner at a time.
unsafe impl Sync for Spare {}

impl Spare {
    const fn new() -> Self {
        Self {
            memory: Memory(UnsafeCell::new([0; BLOCK * BLOCKS])),
            used: UnsafeCell::new([false; BLOCKS]),
            locked: AtomicBool::new(false),
        }
    }

    fn start(&self) -> *mut u8 {
        self.memory.0.get().cast()
    }

    #[inline]
    fn has(&self, place: *mut u8) -> bool {
        place.addr().wrapping_sub(self.start().addr()) < BLOCK * BLOCKS
    }

    /// Memory of this layout, or null.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        SHORT.store(true, Relaxed);
        if layout.size() > MOST || layout.align() > BLOCK {
            return null_mut();
        }
        let count = layout.size().div_ceil(BLOCK);
        let first = self.with_used(|used| {
            let first = used.windows(count).position(|run| !run.contains(&true))?;
            used[first..first + count].fill(true);
            Some(first)
        });
        // SAFETY: the block is within the memory.
        first.map_or(null_mut(), |first| unsafe { self.start().add(first * BLOCK) })
    }

    #[cold]
    fn take_zeroed(&self, layout: Layout) -> *mut u8 {
        let place = self.take(layout);
        if !place.is_null() {
            // SAFETY: so many bytes were just given.
            unsafe { place.write_bytes(0, layout.size()) };
        }
        place
    }

    #[cold]
    fn give_back(&self, place: *mut u8, layout: Layout) {
        let first = (place.addr() - self.start().addr()) / BLOCK;
        self.with_used(|used| used[first..first + layout.size().div_ceil(BLOCK)].fill(false));
    }

    fn with_used<R>(&self, body: impl FnOnce(&mut [bool]) -> R) -> R {
        while self.locked.swap(true, Acquire) {
            spin_loop();
        }
        // SAFETY: this thread has the lock.
        let result = body(unsafe { &mut *self.used.get() });
        self.locked.store(false, Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TRIED: Spare = Spare::new();

    #[test]
    fn what_is_given_does_not_overlap_and_comes_back() {
        let (spare, layout) = (&TRIED, Layout::from_size_align(MOST, 16).unwrap());
        for _ in 0..2 {
            let given: Vec<_> =
                std::iter::from_fn(|| Some(spare.take(layout)).filter(|it| !it.is_null())).collect();
            assert_eq!(given.len(), BLOCK * BLOCKS / MOST);
            assert!(given.iter().all(|place| spare.has(*place)));
            assert!(given.windows(2).all(|two| two[1].addr() - two[0].addr() >= MOST));
            given.into_iter().for_each(|place| spare.give_back(place, layout));
        }
        SHORT.store(false, Relaxed);
    }

    #[test]
    fn what_is_too_large_is_not_given() {
        let spare = &TRIED;
        assert!(spare.take(Layout::from_size_align(MOST + 1, 1).unwrap()).is_null());
        assert!(spare.take(Layout::from_size_align(1, 2 * BLOCK).unwrap()).is_null());
        assert!(!spare.has(std::ptr::null_mut()) && !spare.has((&raw const SHORT).cast_mut().cast()));
        SHORT.store(false, Relaxed);
    }
}
