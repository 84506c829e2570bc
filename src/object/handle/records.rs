//! Where the records of threads live, and which of them threads have.
//!
//! Records lie in groups that never move and are never freed. A destroy asks each group once which of its records are
//! taken, so threads that have ended cost it next to nothing. A thread takes the first free record there is.

#[cfg(test)]
use super::Kind;
use super::slots::Queue;
use super::sync::{AtomicPtr, AtomicU8, AtomicU64, SEEN, const_fn};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Release, SeqCst};
// What only its own thread uses takes no part in what loom explores.
#[cfg(test)]
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Records of a group, one for each bit of a word.
const GROUP: usize = if cfg!(loom) { 4 } else { u64::BITS as usize };

/// What the library knows of one thread. Two cache lines to itself, since its thread writes to it in every call.
#[repr(align(128))]
pub(super) struct Record {
    /// Odd while the thread is inside a call; one more at each entry and each leave.
    pub(super) call: AtomicU64,
    /// Calls within the call; used by the record's thread only.
    pub(super) nested: AtomicU32,
    /// What to do on leaving.
    pub(super) errands: AtomicU8,
    /// Free slots at hand; used by the record's thread only.
    pub(super) free: Queue,
    /// Which records of its group are taken, and its bit there.
    taken: &'static AtomicU64,
    bit: u64,
    /// By kind, objects that this record's threads made, less those that they dropped; the sum over all records counts. For
    /// the tests.
    #[cfg(test)]
    objects: [AtomicI64; Kind::END],
}

impl Record {
    fn new(taken: &'static AtomicU64, bit: u64) -> Self {
        Self {
            call: AtomicU64::new(0),
            nested: AtomicU32::new(0),
            errands: AtomicU8::new(0),
            free: Queue::new(),
            taken,
            bit,
            #[cfg(test)]
            objects: [const { AtomicI64::new(0) }; Kind::END],
        }
    }

    /// Leaves the record, outside of a call, to another thread.
    pub(super) fn give_back(&self) {
        self.taken.fetch_and(!self.bit, Release);
    }

    /// Whether a thread ever had it.
    #[cfg(test)]
    pub(super) fn was_used(&self) -> bool {
        self.call.load(Relaxed) > 0
    }

    #[cfg(test)]
    pub(super) fn count(&self, kind: Kind, change: i64) {
        let count = &self.objects[kind as usize];
        count.store(count.load(Relaxed) + change, Relaxed);
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn objects(&self, kind: Kind) -> i64 {
        self.objects[kind as usize].load(Relaxed)
    }
}

struct Group {
    records: [Record; GROUP],
    /// A bit for each of them that a thread has.
    taken: AtomicU64,
    next: Link,
}

/// The next group, once there is one.
struct Link(AtomicPtr<Group>);

/// All records.
pub(super) struct Records(Link);

impl Link {
    const_fn! {
        fn new() -> Self {
            Self(AtomicPtr::new(std::ptr::null_mut()))
        }
    }

    fn get(&self) -> Option<&'static Group> {
        // SAFETY: the list holds leaked groups only, which are shared and changed through atomics.
        unsafe { self.0.load(SEEN).cast_const().as_ref() }
    }

    /// The next group, which is made if there is none.
    fn get_or_add(&self) -> &'static Group {
        self.get().unwrap_or_else(|| {
            let new = Group::new();
            match self.0.compare_exchange(std::ptr::null_mut(), new, SeqCst, SeqCst) {
                // SAFETY: the group is leaked, and in the list from now on.
                Ok(_) => unsafe { &*new },
                // SAFETY: nobody has heard of this one, nor uses what its records refer to; another thread put the other into the list.
                Err(other) => unsafe {
                    drop(Box::from_raw(new));
                    &*other
                },
            }
        })
    }
}

impl Group {
    /// Made where it stays, because its records refer to it, and the first calls of threads with small stacks make groups, too.
    fn new() -> *mut Self {
        let place = Box::into_raw(Box::<Self>::new_uninit()).cast::<Self>();
        // SAFETY: each member is written, in memory of a group's size. The group is leaked, or freed with all its records.
        unsafe {
            (&raw mut (*place).taken).write(AtomicU64::new(0));
            (&raw mut (*place).next).write(Link::new());
            let records = (&raw mut (*place).records).cast::<Record>();
            (0..GROUP).for_each(|index| records.add(index).write(Record::new(&(*place).taken, 1 << index)));
        }
        place
    }

    /// The records whose bits are set.
    fn those(&'static self, mut bits: u64) -> impl Iterator<Item = &'static Record> {
        std::iter::from_fn(move || {
            let record = self.records.get(bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(record)
        })
    }

    fn take(&'static self) -> Option<&'static Record> {
        let free = !self.taken.load(SEEN);
        // A destroy that does not see the bit yet ended its handle before: this thread will find it ended.
        self.those(free).find(|record| self.taken.fetch_or(record.bit, SeqCst) & record.bit == 0)
    }
}

impl Records {
    const_fn! {
        pub(super) fn new() -> Self {
            Self(Link::new())
        }
    }

    fn groups(&self) -> impl Iterator<Item = &'static Group> {
        std::iter::successors(self.0.get(), |group| group.next.get())
    }

    /// The records that threads have.
    pub(super) fn taken(&self) -> impl Iterator<Item = &'static Record> {
        self.groups().flat_map(|group| group.those(group.taken.load(SEEN)))
    }

    /// A record for a thread.
    pub(super) fn take(&self) -> &'static Record {
        let mut group = self.0.get_or_add();
        loop {
            match group.take() {
                Some(record) => return record,
                None => group = group.next.get_or_add(),
            }
        }
    }

    /// Those that no thread has, too.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Record> {
        self.groups().flat_map(|group| &group.records)
    }
}
