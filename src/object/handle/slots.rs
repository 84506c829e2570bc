//! Where slots live, and which are free.
//!
//! Slots lie in chunks that never move and are never freed. Each thread keeps a queue of free slots at hand, so that
//! making and destroying a handle takes no lock most of the time. A queue, not a stack: a slot rests before it is used
//! again, and with it what is known of the token that it had.

use super::Exhausted;
use super::object::Operations;
use super::sync::{AtomicPtr, AtomicU32, AtomicU64, Mutex, const_fn};
use super::token::SLOTS;
use crate::object::spare;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How many slots a run has, which begins at a multiple of that: all of a run lie in one chunk.
pub(super) const RUN: usize = if cfg!(loom) { 2 } else { 32 };
const CHUNK: usize = if cfg!(loom) { 2 } else { 1024 };
const CHUNKS: usize = if cfg!(loom) { 2 } else { SLOTS / CHUNK };
/// How many slots move between a thread's queue and the common pool at a time.
const BATCH: u32 = if cfg!(loom) { 1 } else { 64 };
/// A longer queue gives slots back to the pool.
const LONGEST: u32 = 4 * BATCH;

/// What one token stands for.
pub(super) struct Slot {
    /// The token in force, or the last one as [destroyed](super::Token::destroyed), or 0.
    pub(super) word: AtomicU64,
    /// Of an owning token, what `Arc::into_raw` gave; of a borrowed token, what `Weak::into_raw` gave.
    pub(super) object: AtomicPtr<()>,
    pub(super) operations: AtomicPtr<Operations>,
    /// Of a borrowed token, the owning token of the object that was made last, or 0; of a run's slot, what stands in the place that it
    /// names; of a free slot, the next in its queue.
    pub(super) link: AtomicU64,
}

#[cfg(loom)]
impl Slot {
    fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            object: AtomicPtr::new(std::ptr::null_mut()),
            operations: AtomicPtr::new(std::ptr::null_mut()),
            link: AtomicU64::new(0),
        }
    }
}

/// A slot that was taken out of a queue.
pub(super) struct Free {
    pub(super) index: u32,
    pub(super) slot: &'static Slot,
}

/// All slots.
pub(super) struct Slots {
    chunks: [AtomicPtr<Slot>; CHUNKS],
    pool: Mutex<Pool>,
}

struct Pool {
    free: Vec<u32>,
    /// Runs of which no slot has a token, by their first slots. A queue, too.
    runs: VecDeque<u32>,
    /// How many runs there are. There is room for all of them in the queue, so that giving one back takes no memory.
    made: usize,
    /// Slots from this index on were never in a queue.
    fresh: u32,
}

impl Slots {
    const_fn! {
        pub(super) fn new() -> Self {
            Self { chunks: no_chunks(), pool: Mutex::new(Pool { free: Vec::new(), runs: VecDeque::new(), made: 0, fresh: 0 }) }
        }
    }

    /// The slot with this index, if the table has grown that far.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&'static Slot> {
        let chunk = self.chunks.get(index / CHUNK)?.load(Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk that is not null is leaked memory of `CHUNK` slots.
        Some(unsafe { &*chunk.add(index % CHUNK) })
    }

    /// The slot with an index that came out of a queue.
    pub(super) fn known(&self, index: u32) -> &'static Slot {
        self.get(index as usize).expect("slots with an index are there")
    }

    /// Takes a free slot, from the queue if it has one: those that a call has stocked it with are there whatever becomes of memory
    /// meanwhile.
    #[inline]
    pub(super) fn take(&self, queue: &Queue) -> Result<Free, Exhausted> {
        if let Some(free) = queue.pop(self) {
            return Ok(free);
        }
        self.stock(queue, 1)?;
        queue.pop(self).ok_or(Exhausted::Handles)
    }

    /// The same for an object that is yet to be made, which needs memory, too.
    #[inline]
    pub(super) fn take_for_new(&self, queue: &Queue) -> Result<Free, Exhausted> {
        self.stock(queue, 1)?;
        self.take(queue)
    }

    /// Sees to it that the queue has so many, so that as many can be taken.
    #[inline]
    pub(super) fn stock(&self, queue: &Queue, count: u32) -> Result<(), Exhausted> {
        // What would have a slot needs memory, too.
        if spare::is_short() {
            return Err(Exhausted::Memory);
        }
        while queue.length.load(Relaxed) < count {
            let before = queue.length.load(Relaxed);
            self.refill(queue)?;
            if queue.length.load(Relaxed) == before {
                return Err(Exhausted::Handles);
            }
        }
        Ok(())
    }

    /// Puts a free slot into the queue.
    pub(super) fn give(&self, queue: &Queue, index: u32) {
        queue.push(self, index);
        if queue.length.load(Relaxed) > LONGEST {
            self.spill(queue, 2 * BATCH);
        }
    }

    /// All slots that were ever in use.
    #[cfg(all(test, not(loom)))]
    pub(super) fn used(&self) -> impl Iterator<Item = &'static Slot> {
        let fresh = self.pool.lock().fresh;
        (0..fresh).map(|index| self.known(index))
    }

    #[cold]
    fn refill(&self, queue: &Queue) -> Result<(), Exhausted> {
        let mut pool = self.pool.lock();
        for _ in 0..BATCH {
            let free = pool.free.pop().map_or_else(|| self.add_slot(&mut pool), Ok);
            match free.or_else(|exhausted| pool.break_run().ok_or(exhausted)) {
                Ok(index) => queue.push(self, index),
                Err(exhausted) if queue.length.load(Relaxed) == 0 => return Err(exhausted),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Puts all slots of the queue into the pool.
    pub(super) fn give_all(&self, queue: &Queue) {
        self.spill(queue, u32::MAX);
    }

    /// Moves so many slots to the pool.
    #[cold]
    fn spill(&self, queue: &Queue, count: u32) {
        let count = count.min(queue.length.load(Relaxed));
        let mut pool = self.pool.lock();
        // Without memory they stay in the queue.
        if pool.free.try_reserve(count as usize).is_ok() {
            pool.free.extend((0..count).map_while(|_| queue.pop(self)).map(|free| free.index));
        }
    }

    fn add_slot(&self, pool: &mut Pool) -> Result<u32, Exhausted> {
        let index = pool.fresh;
        let chunk = self.chunks.get(index as usize / CHUNK).ok_or(Exhausted::Handles)?;
        if chunk.load(Relaxed).is_null() {
            chunk.store(new_chunk().ok_or(Exhausted::Memory)?, Release);
        }
        pool.fresh += 1;
        Ok(index)
    }
}

/// Runs: slots that are taken and given together.
impl Slots {
    /// Takes a run, by its first slot.
    pub(super) fn take_run(&self) -> Result<u32, Exhausted> {
        if spare::is_short() {
            return Err(Exhausted::Memory);
        }
        let mut pool = self.pool.lock();
        if let Some(first) = pool.runs.pop_front() {
            return Ok(first);
        }
        while !(pool.fresh as usize).is_multiple_of(RUN) {
            let single = self.add_slot(&mut pool)?;
            pool.free.push(single);
        }
        let most = pool.made + 1 - pool.runs.len();
        pool.runs.try_reserve(most).map_err(|_| Exhausted::Memory)?;
        pool.made += 1;
        // They lie in one chunk, so the others are there with the first.
        let first = self.add_slot(&mut pool)?;
        pool.fresh = first + RUN as u32;
        Ok(first)
    }

    /// Gives back a run whose slots all can have another token.
    pub(super) fn give_run(&self, first: u32) {
        self.pool.lock().runs.push_back(first);
    }

    /// The slots of a run.
    #[inline]
    pub(super) fn run(&self, first: u32) -> impl Iterator<Item = (u32, &'static Slot)> {
        let start = std::ptr::from_ref(self.known(first));
        // SAFETY: so many slots stand there in one chunk, which is leaked.
        (0..RUN as u32).map(move |place| (first + place, unsafe { &*start.add(place as usize) }))
    }
}

impl Pool {
    /// One slot of a run that nobody has, when there are no others left.
    fn break_run(&mut self) -> Option<u32> {
        let first = self.runs.pop_front()?;
        self.free.extend(first + 1..first + RUN as u32);
        Some(first)
    }
}

/// A chunk of slots that never had a token. Of its memory only what is used is touched: most programs need few.
#[cfg(not(loom))]
fn new_chunk() -> Option<*mut Slot> {
    let layout = std::alloc::Layout::array::<Slot>(CHUNK).ok()?;
    // SAFETY: the layout is not empty. Null pointers and numbers of zero are those of a new slot.
    let chunk = unsafe { std::alloc::alloc_zeroed(layout) };
    (!chunk.is_null()).then_some(chunk.cast())
}

#[cfg(loom)]
fn new_chunk() -> Option<*mut Slot> {
    Some(Vec::from_iter((0..CHUNK).map(|_| Slot::new())).leak().as_mut_ptr())
}

#[cfg(not(loom))]
const fn no_chunks() -> [AtomicPtr<Slot>; CHUNKS] {
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS]
}

#[cfg(loom)]
fn no_chunks() -> [AtomicPtr<Slot>; CHUNKS] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

/// A thread's free slots, linked through the slots. One thread at a time uses it.
pub(super) struct Queue {
    first: AtomicU32,
    last: AtomicU32,
    length: AtomicU32,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { first: AtomicU32::new(0), last: AtomicU32::new(0), length: AtomicU32::new(0) }
    }

    fn push(&self, slots: &Slots, index: u32) {
        let length = self.length.load(Relaxed);
        if length == 0 {
            self.first.store(index, Relaxed);
        } else {
            slots.known(self.last.load(Relaxed)).link.store(u64::from(index), Relaxed);
        }
        self.last.store(index, Relaxed);
        self.length.store(length + 1, Relaxed);
    }

    #[inline]
    fn pop(&self, slots: &Slots) -> Option<Free> {
        let length = self.length.load(Relaxed);
        if length == 0 {
            return None;
        }
        let index = self.first.load(Relaxed);
        let slot = slots.known(index);
        self.first.store(slot.link.load(Relaxed) as u32, Relaxed);
        self.length.store(length - 1, Relaxed);
        Some(Free { index, slot })
    }
}
