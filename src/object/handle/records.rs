//! Where the [records](super::record) of threads live, and which of them threads have.
//!
//! Records lie in groups that never move and are never freed. A destroy asks each group once which of its records are
//! taken, so threads that have ended cost it next to nothing. A thread takes the first free record there is.

use super::record::Record;
use super::sync::{AtomicPtr, AtomicU64, SEEN, const_fn};
use std::sync::atomic::Ordering::SeqCst;

/// Records of a group, one for each bit of a word.
const GROUP: usize = if cfg!(loom) { 4 } else { u64::BITS as usize };

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
        self.those(free).find(|record| record.is_taken_now())
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
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Record> {
        self.groups().flat_map(|group| &group.records)
    }
}
