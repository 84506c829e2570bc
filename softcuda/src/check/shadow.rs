//! The shadow of memory: who has used which bytes last, as far as later work can conflict with that.

use super::access::{Kind, Memory, Op, Sites};
use super::bits::{Bits, PAGE};
use super::order::{Order, Relation};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that the shadow takes at most.
const MOST: usize = 512 << 20;

/// One use of some bytes of a page.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) op: Arc<Op>,
    pub(super) kind: Kind,
    bits: Bits,
    /// Where, if it is a kernel's.
    pub(super) sites: Option<Arc<dyn Sites>>,
}

/// Two uses without order.
pub(super) struct Race {
    pub(super) first: Use,
    pub(super) second: Use,
    /// The bytes of both, as far as they lie without a gap in one page.
    pub(super) address: u64,
    pub(super) size: usize,
    /// The allocation, if it is known.
    pub(super) memory: Option<Memory>,
}

#[derive(Default)]
pub(super) struct Shadow {
    pages: HashMap<u64, Vec<Use>>,
    /// About how many bytes it takes.
    weight: usize,
    /// Whether it was full once.
    pub(super) was_full: bool,
}

impl Use {
    pub(super) fn new(op: &Arc<Op>, kind: Kind, bits: Bits, sites: Option<Arc<dyn Sites>>) -> Self {
        Self { op: Arc::clone(op), kind, bits, sites }
    }

    fn weight(&self) -> usize {
        let sites = if self.sites.is_some() { PAGE } else { 0 };
        size_of::<Self>() + self.bits.weight() + sites
    }

    /// Whether the order of two pieces of work is said by nothing.
    fn is_unordered(&self, later: &Self, order: &Order) -> bool {
        let (first, second) = (&self.op.stamp, &later.op.stamp);
        let before = |one: &Op, other: &Op| order.relation(one.stamp.epoch, &other.stamp);
        first.epoch != second.epoch
            && before(&self.op, &later.op) == Relation::Unordered
            // Submitted earlier, and after a value that was written later.
            && before(&later.op, &self.op) == Relation::Unordered
    }
}

/// The pages of a range.
fn pages(range: &Range<u64>) -> Range<u64> {
    let page = PAGE as u64;
    if range.is_empty() { 0..0 } else { range.start / page..(range.end - 1) / page + 1 }
}

impl Shadow {
    /// A piece of work uses a range of bytes.
    pub(super) fn touch_range(
        &mut self,
        op: &Arc<Op>,
        kind: Kind,
        range: Range<u64>,
        order: &Order,
        found: &mut dyn FnMut(Race),
    ) {
        if kind == Kind::Allocate {
            self.forget(range.clone());
        }
        for page in pages(&range) {
            let bits = Bits::of(page, range.start, range.end);
            self.touch(page, Use::new(op, kind, bits, None), order, found);
        }
    }

    /// A piece of work uses bytes of a page.
    pub(super) fn touch(&mut self, page: u64, new: Use, order: &Order, found: &mut dyn FnMut(Race)) {
        let uses = match self.pages.entry(page) {
            Entry::Occupied(uses) => uses.into_mut(),
            Entry::Vacant(place) => place.insert(Vec::new()),
        };
        let before: usize = uses.iter().map(Use::weight).sum();
        uses.retain_mut(|old| {
            // The host had waited for it: nothing that comes now can conflict with it.
            if new.op.stamp.host.has(old.op.stamp.epoch) {
                return false;
            }
            let Some((byte, size)) = old.bits.common(&new.bits) else { return true };
            if new.op.stamp.clock.has(old.op.stamp.epoch) && new.kind.stands_for(old.kind) {
                let left = old.bits.without(&new.bits);
                return left.map(|left| old.bits = left).is_some();
            }
            if old.kind.conflicts(new.kind) && old.is_unordered(&new, order) {
                let address = page * PAGE as u64 + byte as u64;
                found(Race { first: old.clone(), second: new.clone(), address, size, memory: None });
            }
            true
        });
        uses.push(new);
        let after: usize = uses.iter().map(Use::weight).sum();
        self.weight = (self.weight + after).saturating_sub(before);
        if self.weight > MOST {
            self.was_full = true;
            (self.pages, self.weight) = (HashMap::new(), 0);
        }
    }

    /// What was there before is of no interest.
    pub(super) fn forget(&mut self, range: Range<u64>) {
        let all = pages(&range);
        // A range of addresses may have more pages than there is memory.
        let known: Vec<u64> = if all.end - all.start > self.pages.len() as u64 {
            self.pages.keys().copied().filter(|page| all.contains(page)).collect()
        } else {
            all.collect()
        };
        for page in known {
            let Entry::Occupied(mut uses) = self.pages.entry(page) else { continue };
            let bits = Bits::of(page, range.start, range.end);
            let before: usize = uses.get().iter().map(Use::weight).sum();
            uses.get_mut().retain_mut(|old| old.bits.without(&bits).map(|left| old.bits = left).is_some());
            let after: usize = uses.get().iter().map(Use::weight).sum();
            // What is left of a range may take more than the range.
            self.weight = (self.weight + after).saturating_sub(before);
            if uses.get().is_empty() {
                uses.remove();
            }
        }
    }
}
