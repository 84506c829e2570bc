//! All work that uses memory, in the order in which it was submitted. It is looked at in this order when it has run, whatever ran first:
//! so a verdict does not depend on the schedule.

use super::access::{Described, Kind, Memory, Misuse, Moved, Op, Touch, Touched};
use super::bits::PAGE;
use super::clock::Stamp;
use super::inside::{self, Inside};
use super::misuse::{self, Freed, Grave, Graves};
use super::order::Order;
use super::shadow::{Race, Shadow, Use};
use super::streams;
use super::unwritten::{self, Read, Unwritten};
use crate::instruments::checks::Checks;
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
    /// What a copy takes from where to where: these bytes are not among the ranges that are read and written.
    pub(crate) moves: Vec<Moved>,
    /// The allocations that these are in.
    pub(crate) memory: Vec<Memory>,
    /// What went wrong.
    pub(crate) misuse: Option<Misuse>,
    /// What threads of a kernel have done against each other.
    pub(crate) inside: Vec<Inside>,
    /// Whether a kernel was larger than what is remembered of one.
    pub(crate) was_full: bool,
    /// Whether it may have written anywhere, which nobody sees.
    pub(crate) is_unseen: bool,
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
    /// Memory begins: what was at these addresses before is of no interest.
    New(Memory),
    /// It ends at once, by a driver function, behind so many operations.
    Gone(Memory, &'static str, u64),
    /// Somebody may write there who is not seen.
    Shared(Range<u64>),
}

/// What was found.
pub(super) enum Finding {
    Race(Race),
    Misuse(misuse::Found),
    Unwritten(unwritten::Found),
    Inside(inside::Found),
}

#[derive(Default)]
pub(super) struct Journal {
    items: VecDeque<Item>,
    numbers: u64,
    /// What parts have been given, by their numbers.
    parts: HashMap<u64, PartWork>,
    shadow: Shadow,
    graves: Graves,
    unwritten: Unwritten,
    /// Pieces of work that were passed over.
    pub(super) passed: u64,
    /// Whether a kernel was larger than what is remembered of one.
    was_full: bool,
}

impl Used {
    /// Memory ends.
    pub(super) fn freeing(memory: Memory) -> Self {
        let Memory { start, size, .. } = memory;
        Self {
            ranges: vec![Touch { start, size, kind: Kind::Free }],
            memory: vec![memory],
            ..Self::default()
        }
    }

    /// The memory that ends here and has this address.
    fn freed(&self, address: u64) -> Option<&Memory> {
        let frees =
            |one: &&Memory| self.ranges.iter().any(|it| it.kind == Kind::Free && it.start == one.start);
        self.memory.iter().filter(frees).find(|one| one.contains(address))
    }
}

impl Entry {
    /// How memory ended here.
    fn freed(&self) -> Freed {
        match self.op.described.stream {
            streams::HOST => Freed::Call(self.op.call, self.op.number - 1),
            _ => Freed::Work(Arc::clone(&self.op)),
        }
    }

    /// It has run, and used this beside what was known.
    pub(super) fn finish(&self, more: Used) {
        let mut used = self.used.lock();
        used.ranges.extend(more.ranges);
        used.pages.extend(more.pages);
        used.memory.extend(more.memory);
        used.misuse = more.misuse;
        used.inside = more.inside;
        used.was_full = more.was_full;
        used.is_unseen = more.is_unseen;
        self.ran.store(true, Ordering::Release);
    }
}

impl Item {
    fn is_due(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.ran.load(Ordering::Acquire),
            Self::Part(part) => part.ran.load(Ordering::Acquire),
            Self::New(_) | Self::Gone(..) | Self::Shared(_) => true,
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
        let stream = streams::name(described.stream);
        let op = Arc::new(Op { number, call, described, stream, stamp: Arc::clone(stamp) });
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

    pub(super) fn add_new(&mut self, memory: Memory) {
        self.items.push_back(Item::New(memory));
    }

    pub(super) fn add_gone(&mut self, memory: Memory, call: &'static str) {
        self.items.push_back(Item::Gone(memory, call, self.numbers));
    }

    pub(super) fn add_shared(&mut self, range: Range<u64>) {
        self.items.push_back(Item::Shared(range));
    }

    /// Looks at what has run, up to the first piece that has not; at everything if it is the end.
    pub(super) fn settle(
        &mut self,
        order: &Order,
        checks: Checks,
        is_end: bool,
        found: &mut dyn FnMut(Finding),
    ) {
        while let Some(item) = self.items.front() {
            if !item.is_due() && !is_end {
                if self.items.len() < MOST {
                    break;
                }
                self.passed += 1;
            }
            match self.items.pop_front() {
                Some(Item::Entry(entry)) => self.look_at(&entry, order, checks, found),
                Some(Item::Part(part)) => {
                    let entries = self.parts.remove(&part.number).map_or(Vec::new(), |part| part.entries);
                    entries.iter().for_each(|entry| self.look_at(entry, order, checks, found));
                }
                Some(Item::New(memory)) => self.begin(&memory),
                Some(Item::Gone(memory, call, behind)) => self.end(&memory, Freed::Call(call, behind)),
                Some(Item::Shared(range)) => self.unwritten.end(range),
                None => {}
            }
        }
    }

    /// Memory begins.
    fn begin(&mut self, memory: &Memory) {
        let range = memory.start..memory.start + memory.size;
        self.shadow.forget(range.clone());
        self.graves.remove(range.clone());
        if memory.is_all_seen {
            self.unwritten.begin(range);
        } else {
            self.unwritten.end(range);
        }
    }

    /// Memory ends.
    fn end(&mut self, memory: &Memory, freed: Freed) {
        self.unwritten.end(memory.start..memory.start + memory.size);
        self.graves.add(memory.clone(), freed);
    }

    fn look_at(&mut self, entry: &Entry, order: &Order, checks: Checks, found: &mut dyn FnMut(Finding)) {
        let used = std::mem::take(&mut *entry.used.lock());
        if checks.uninitialised {
            self.look_for_unwritten(&entry.op, &used, found);
        }
        if checks.memory
            && let Some(misuse) = &used.misuse
        {
            let grave = misuse.address.and_then(|address| self.find_grave(address));
            let (op, misuse) = (Arc::clone(&entry.op), misuse.clone());
            found(Finding::Misuse(misuse::Found { op, misuse, grave }));
        }
        for Touch { start, kind, .. } in &used.ranges {
            let memory = used.memory.iter().find(|one| one.start == *start);
            match (kind, memory) {
                (Kind::Allocate, Some(memory)) => self.begin(memory),
                (Kind::Free, Some(memory)) => self.end(memory, entry.freed()),
                _ => {}
            }
        }
        if checks.races {
            self.look_for_races(&entry.op, used, order, found);
        }
    }

    /// What was at an address: also if it ended by what was submitted later than the work that is looked at, and came first.
    fn find_grave(&self, address: u64) -> Option<Grave> {
        let ended = |item: &Item| match item {
            Item::Entry(entry) => {
                let used = entry.used.lock();
                used.freed(address).map(|memory| Grave::new(memory.clone(), entry.freed()))
            }
            Item::Gone(memory, call, behind) if memory.contains(address) => {
                Some(Grave::new(memory.clone(), Freed::Call(call, *behind)))
            }
            _ => None,
        };
        self.graves.find(address).or_else(|| self.items.iter().find_map(ended))
    }

    fn look_for_races(&mut self, op: &Arc<Op>, used: Used, order: &Order, found: &mut dyn FnMut(Finding)) {
        let Used { ranges, pages, moves, memory, inside, was_full, .. } = used;
        self.was_full |= was_full;
        for what in inside {
            let memory = what.address().and_then(|address| memory.iter().find(|one| one.contains(address)));
            let (op, memory) = (Arc::clone(op), memory.cloned());
            found(Finding::Inside(inside::Found { op, what, memory }));
        }
        let mut found = |mut race: Race| {
            // What the host frees before its allocation has its turn is freed all the same.
            if race.first.kind == Kind::Allocate && race.second.op.described.stream == streams::HOST {
                return;
            }
            race.memory = memory.iter().find(|one| one.contains(race.address)).cloned();
            found(Finding::Race(race));
        };
        let shadow = &mut self.shadow;
        let both = |Moved { from, to, size }| [(from, size, Kind::Read), (to, size, Kind::Write)];
        let moved = moves.into_iter().flat_map(both);
        let plain = ranges.into_iter().map(|touch| (touch.start, touch.size, touch.kind));
        for (start, size, kind) in plain.chain(moved) {
            shadow.touch_range(op, kind, start..start.saturating_add(size), order, &mut found);
        }
        for Touched { page, kind, bits, sites, .. } in pages {
            shadow.touch(page, Use::new(op, kind, bits, Some(sites)), order, &mut found);
        }
    }

    fn look_for_unwritten(&mut self, op: &Arc<Op>, used: &Used, found: &mut dyn FnMut(Finding)) {
        if used.is_unseen {
            self.unwritten.forget();
        }
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for Touch { start, size, kind } in &used.ranges {
            let range = *start..start.saturating_add(*size);
            match kind {
                Kind::Read => reads.push(Read { range, sites: None }),
                Kind::Write | Kind::Atomic => writes.push(range),
                _ => {}
            }
        }
        for touched in &used.pages {
            let first = touched.page * PAGE as u64;
            let runs = touched.bits.runs().map(|(from, to)| first + from as u64..first + to as u64);
            match touched.reads {
                true => {
                    reads.extend(runs.map(|range| Read { range, sites: Some(Arc::clone(&touched.sites)) }))
                }
                false => writes.extend(runs),
            }
        }
        let mut shown = None;
        self.unwritten.look(&reads, &writes, &used.moves, &mut |range, sites| shown = Some((range, sites)));
        if let Some((range, sites)) = shown {
            let memory = used.memory.iter().find(|one| one.contains(range.start)).cloned();
            let (start, size) = (range.start, range.end - range.start);
            found(Finding::Unwritten(unwritten::Found { op: Arc::clone(op), start, size, sites, memory }));
        }
        // What an atomic operation has read and computed with is written.
        for touched in used.pages.iter().filter(|touched| touched.reads && touched.kind == Kind::Atomic) {
            let first = touched.page * PAGE as u64;
            let runs = touched.bits.runs().map(|(from, to)| first + from as u64..first + to as u64);
            self.unwritten.look(&[], &runs.collect::<Vec<_>>(), &[], &mut |_, _| {});
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.shadow.was_full || self.unwritten.was_full || self.was_full
    }
}

impl Touch {
    pub(crate) fn new(start: usize, size: usize, kind: Kind) -> Self {
        Self { start: start as u64, size: size as u64, kind }
    }
}
