//! All work that uses memory, in the order in which it was submitted. It is looked at in this order when it has run, whatever ran first:
//! so a verdict does not depend on the schedule.

use super::access::{Described, Kind, Memory, Op, Touch, Touched};
use super::clock::Stamp;
use super::order::Order;
use super::shadow::{Race, Shadow, Use};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many entries wait for one that has not run; then it is passed over.
const MOST: usize = 1 << 16;

/// A piece of work that uses memory, or will.
pub(crate) struct Entry {
    pub(super) op: Arc<Op>,
    used: Mutex<Used>,
    ran: AtomicBool,
}

/// What a piece of work uses.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) ranges: Vec<Touch>,
    pub(crate) pages: Vec<Touched>,
    /// The allocations that these are in.
    pub(crate) memory: Vec<Memory>,
}

/// Work that will submit parts of itself while it runs: they are in its place.
pub(crate) struct Part {
    number: u64,
    ran: AtomicBool,
}

/// What a part has been given so far, and the driver function that it comes from.
struct PartWork {
    call: &'static str,
    entries: Vec<Arc<Entry>>,
}

enum Item {
    Entry(Arc<Entry>),
    Part(Arc<Part>),
    /// What was at these addresses before is of no interest.
    New(Range<u64>),
}

#[derive(Default)]
pub(super) struct Journal {
    items: VecDeque<Item>,
    numbers: u64,
    /// What parts have been given, by their numbers.
    parts: HashMap<u64, PartWork>,
    shadow: Shadow,
    /// Pieces of work that were passed over.
    pub(super) passed: u64,
}

impl Entry {
    /// It has run, and used this beside what was known.
    pub(super) fn finish(&self, more: Used) {
        let mut used = self.used.lock();
        used.ranges.extend(more.ranges);
        used.pages.extend(more.pages);
        used.memory.extend(more.memory);
        self.ran.store(true, Ordering::Release);
    }
}

impl Item {
    fn is_due(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.ran.load(Ordering::Acquire),
            Self::Part(part) => part.ran.load(Ordering::Acquire),
            Self::New(_) => true,
        }
    }
}

impl Part {
    pub(super) fn finish(&self) {
        self.ran.store(true, Ordering::Release);
    }
}

impl Journal {
    /// Notes a piece of work at its place. A part of other work has the number and the call of that.
    pub(super) fn add(
        &mut self,
        described: Described,
        call: &'static str,
        stamp: &Arc<Stamp>,
        used: Used,
    ) -> Arc<Entry> {
        let part = stamp.part.get().and_then(|number| self.parts.get_mut(number).map(|part| (*number, part)));
        let (number, call) = match &part {
            Some((number, part)) => (*number, part.call),
            None => {
                self.numbers += 1;
                (self.numbers, call)
            }
        };
        let op = Arc::new(Op { number, call, described, stamp: Arc::clone(stamp) });
        let entry = Arc::new(Entry { op, used: Mutex::new(used), ran: AtomicBool::new(false) });
        match part {
            Some((_, part)) => part.entries.push(Arc::clone(&entry)),
            None => self.items.push_back(Item::Entry(Arc::clone(&entry))),
        }
        entry
    }

    /// Notes work that will submit parts of itself; not if it is such a part.
    pub(super) fn add_part(&mut self, call: &'static str, stamp: &Stamp) -> Option<Arc<Part>> {
        if stamp.part.get().is_some() {
            return None;
        }
        self.numbers += 1;
        stamp.part.set(self.numbers).ok()?;
        self.parts.insert(self.numbers, PartWork { call, entries: Vec::new() });
        let part = Arc::new(Part { number: self.numbers, ran: AtomicBool::new(false) });
        self.items.push_back(Item::Part(Arc::clone(&part)));
        Some(part)
    }

    pub(super) fn add_new(&mut self, range: Range<u64>) {
        self.items.push_back(Item::New(range));
    }

    /// Looks at what has run, up to the first piece that has not; at everything if it is the end.
    pub(super) fn settle(&mut self, order: &Order, is_end: bool, found: &mut dyn FnMut(Race)) {
        while let Some(item) = self.items.front() {
            if !item.is_due() && !is_end {
                if self.items.len() < MOST {
                    break;
                }
                self.passed += 1;
            }
            match self.items.pop_front() {
                Some(Item::Entry(entry)) => self.look_at(&entry, order, found),
                Some(Item::Part(part)) => {
                    let entries = self.parts.remove(&part.number).map_or(Vec::new(), |part| part.entries);
                    entries.iter().for_each(|entry| self.look_at(entry, order, found));
                }
                Some(Item::New(range)) => self.shadow.forget(range),
                None => {}
            }
        }
    }

    fn look_at(&mut self, entry: &Entry, order: &Order, found: &mut dyn FnMut(Race)) {
        let Used { ranges, pages, memory } = std::mem::take(&mut *entry.used.lock());
        let mut found = |mut race: Race| {
            race.memory = memory.iter().find(|one| one.contains(race.address)).cloned();
            found(race);
        };
        let shadow = &mut self.shadow;
        for Touch { start, size, kind } in ranges {
            shadow.touch_range(&entry.op, kind, start..start.saturating_add(size), order, &mut found);
        }
        for Touched { page, kind, bits, sites } in pages {
            shadow.touch(page, Use::new(&entry.op, kind, bits, Some(sites)), order, &mut found);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.shadow.was_full
    }
}

impl Touch {
    pub(crate) fn new(start: usize, size: usize, kind: Kind) -> Self {
        Self { start: start as u64, size: size as u64, kind }
    }
}
