//! Pages: the records of up to 32 nodes, and the operands that are kept for them, each once.
//!
//! What a node keeps is listed by the numbers that operands have in its page, which counts how often each is listed. So the neighbours that run one kernel
//! on one buffer keep both once, and a page is copied, or let go of, at the cost of its operands and not of its records.

use super::ids::PLACES;
use super::kept::{Kept, KeptLists};
use super::record::{Loose, Record};
use crate::context::Context;
use crate::op::attachment::{Attachment, let_go_of};
use crate::op::node::{For, Hold, Holds};
use std::sync::Arc;

pub(super) struct Page {
    records: [Option<Record>; PLACES],
    kept: KeptLists,
    operands: Operands,
    rare: Rare,
}

/// What few nodes have, by their places.
#[derive(Clone, Default)]
struct Rare {
    /// What the driver's graphs keep for them.
    given: Vec<(usize, Attachment)>,
    /// The contexts in which they run, where those are not that of the definition.
    contexts: Vec<(usize, Context)>,
}

impl Rare {
    #[inline]
    fn context(&self, place: usize) -> Option<&Context> {
        self.contexts.iter().find(|(of, _)| *of == place).map(|(_, context)| context)
    }
}

impl Page {
    pub(super) fn new() -> Arc<Self> {
        Self::of(|_| None, KeptLists::default(), Operands::default(), Rare::default())
    }

    /// Made place by place where it stays: where nothing is optimised, the whole of it would take 5 KiB of the caller's stack, which may be small.
    #[inline]
    fn of(
        mut make: impl FnMut(usize) -> Option<Record>,
        kept: KeptLists,
        operands: Operands,
        rare: Rare,
    ) -> Arc<Self> {
        let mut page = Arc::<Self>::new_uninit();
        let new = Arc::get_mut(&mut page).expect("nobody else has it yet").as_mut_ptr();
        // SAFETY: each field, and each record, is written once, where it stands.
        unsafe {
            let first = (&raw mut (*new).records).cast::<Option<Record>>();
            (0..PLACES).for_each(|place| first.add(place).write(make(place)));
            (&raw mut (*new).kept).write(kept);
            (&raw mut (*new).operands).write(operands);
            (&raw mut (*new).rare).write(rare);
            page.assume_init()
        }
    }

    /// Another one with the same.
    pub(super) fn copy(&self) -> Arc<Self> {
        Self::of(
            |place| self.records[place].clone(),
            self.kept.clone(),
            self.operands.clone(),
            self.rare.clone(),
        )
    }

    /// The same nodes, for which nothing is kept but by the driver's graphs.
    pub(super) fn bare(&self, is_known: impl Fn(&Record) -> bool) -> Arc<Self> {
        let bare = |record: &Record| Record { is_known: is_known(record), ..record.clone() };
        let record = |place: usize| self.records[place].as_ref().map(bare);
        Self::of(record, KeptLists::default(), Operands::default(), self.rare.clone())
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Record> {
        self.records[place].as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Record> {
        self.records[place].as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.records.iter().enumerate().filter_map(|(place, record)| Some((place, record.as_ref()?)))
    }

    /// Writes a record, made where it stays: it is large. Answers with what stood there.
    #[inline(always)]
    pub(super) fn put(&mut self, place: usize, make: impl FnOnce() -> Record) -> Option<Loose> {
        let before = if self.records[place].is_some() { self.remove(place) } else { None };
        // SAFETY: nothing stands there that would have to be dropped.
        unsafe { std::ptr::from_mut(&mut self.records[place]).write(Some(make())) };
        before
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, place: usize) -> Option<Loose> {
        let (context, attachment) = (self.set_context(place, None), self.detach(place));
        self.records[place].take().map(|record| Loose { record, context, attachment })
    }

    /// The context in which a node runs; `None` for that of the definition.
    #[inline]
    pub(super) fn context(&self, place: usize) -> Option<&Context> {
        self.rare.context(place)
    }

    /// A record, to be edited, and the context in which its node runs.
    #[inline]
    pub(super) fn edit(&mut self, place: usize) -> Option<(&mut Record, Option<&Context>)> {
        Some((self.records[place].as_mut()?, self.rare.context(place)))
    }

    /// A node runs in this context from now on, or in that of the definition. Answers with the one before.
    #[inline]
    pub(super) fn set_context(&mut self, place: usize, context: Option<Context>) -> Option<Context> {
        let contexts = &mut self.rare.contexts;
        let before = contexts.iter().position(|(of, _)| *of == place).map(|at| contexts.swap_remove(at).1);
        contexts.extend(context.map(|context| (place, context)));
        before
    }

    /// Keeps more for a node, here.
    #[inline]
    pub(super) fn keep(&mut self, place: usize, holds: Holds) {
        self.is_kept_here(place);
        if self.records[place].is_none() {
            return;
        }
        for (whose, hold) in holds.into_each() {
            self.kept.add(place, Kept::new(whose, self.operands.keep(hold)));
        }
    }

    /// What is kept here for a node, and by the driver's graph.
    pub(super) fn holds(&self, place: usize) -> Holds {
        if let Some(given) = self.given(place) {
            return given.holds();
        }
        let kept = self.kept.of(place);
        kept.map(|kept| (kept.whose(), Hold::clone(self.operands.get(kept.operand)))).collect()
    }

    /// What is kept here for a node, taken out.
    pub(super) fn take_holds(&mut self, place: usize) -> Option<Holds> {
        let kept = self.kept.take(place);
        if kept.is_empty() {
            return None;
        }
        Some(kept.into_iter().map(|kept| (kept.whose(), self.operands.take(kept.operand))).collect())
    }

    /// Whether an owner is kept here that came with a value among the arguments of a kernel.
    #[inline]
    pub(super) fn keeps_for_value(&self, place: usize) -> bool {
        let is_value =
            |index| self.records[place].as_ref().is_some_and(|record| record.parameters.is_value(index));
        self.kept.is_any_such(place, |whose| matches!(whose, For::Argument(index) if is_value(index)))
    }

    /// Whether something is kept here for a node.
    pub(super) fn keeps(&self, place: usize) -> bool {
        self.kept.is_any(place)
    }

    /// Keeps one object in place of all that was kept for this. What no node of the page needs any more is given to `gone`.
    #[inline]
    pub(super) fn exchange(&mut self, place: usize, whose: For, to: &Hold, mut gone: impl FnMut(Hold)) {
        debug_assert!(self.records[place].is_some(), "whoever exchanges has looked at the record");
        self.is_kept_here(place);
        let now = self.operands.keep_one_more(to);
        let operands = &mut self.operands;
        let mut release = |before| {
            if let Some(last) = operands.release(before) {
                gone(last);
            }
        };
        match self.kept.exchange(place, whose, now, &mut release) {
            // The driver's graph keeps it, and nobody here.
            0 => self.kept.add(place, Kept::new(whose, now)),
            times => self.operands.count_again(now, times - 1),
        }
    }

    /// What is kept for a node is kept here, and not by the driver's graph: an exec that inherits that may exchange what its nodes use.
    #[inline]
    fn is_kept_here(&mut self, place: usize) {
        if !self.rare.given.is_empty() {
            self.rare.given.retain(|(of, _)| *of != place);
        }
    }

    fn given(&self, place: usize) -> Option<&Attachment> {
        self.rare.given.iter().find(|(of, _)| *of == place).map(|(_, given)| given)
    }

    /// Has something kept for a node, for which nothing is.
    #[inline]
    pub(super) fn attach(&mut self, place: usize, mut attachment: Attachment) {
        match attachment.take_own() {
            Some(holds) => self.keep(place, holds),
            None => self.rare.given.extend((!attachment.is_of_definition()).then_some((place, attachment))),
        }
    }

    /// What is kept for a node, taken out.
    pub(super) fn detach(&mut self, place: usize) -> Option<Attachment> {
        if let Some(at) = self.rare.given.iter().position(|(of, _)| *of == place) {
            return Some(self.rare.given.swap_remove(at).1);
        }
        self.take_holds(place).map(|holds| Attachment::of_definition(|| holds))
    }

    /// What is kept for a node, for a copy of it.
    pub(super) fn attachment(&self, place: usize) -> Option<Attachment> {
        if let Some(given) = self.given(place) {
            return Some(given.clone());
        }
        self.keeps(place).then(|| Attachment::of_definition(|| self.holds(place)))
    }

    /// What the driver's graphs keep for its nodes.
    pub(super) fn all_given(&self) -> impl Iterator<Item = &Attachment> {
        self.rare.given.iter().map(|(_, given)| given)
    }

    /// What is kept here.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Hold> {
        self.operands.all.iter().filter_map(|operand| operand.hold.as_ref())
    }

    /// Whether anything is kept for its nodes, by whomever.
    pub(super) fn is_attached(&self) -> bool {
        !self.rare.given.is_empty() || self.objects().next().is_some()
    }

    /// What is kept here, taken out.
    pub(super) fn take_objects(&mut self) -> impl Iterator<Item = Hold> + use<> {
        self.kept = KeptLists::default();
        std::mem::take(&mut self.operands).into_objects()
    }

    /// The same of a page that goes: its records are not looked at.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Hold> + use<> {
        std::mem::take(&mut self.operands).into_objects()
    }
}

/// What is kept for the nodes of a page. Dropping it leaves it to the worker.
#[derive(Clone, Default)]
struct Operands {
    all: Vec<Operand>,
    /// How many of these are nobody's any more.
    vacant: usize,
    /// Where those stand that were named last: neighbours mostly keep the same.
    recent: [u32; RECENT],
}

#[derive(Clone)]
struct Operand {
    hold: Option<Hold>,
    /// How often nodes list it.
    count: u32,
}

impl Operand {
    fn is(&self, hold: &Hold) -> bool {
        self.hold.as_ref().is_some_and(|own| std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(hold)))
    }
}

/// Among how many operands one is looked for. One that is not found is listed twice, which costs its room and nothing else.
const RECENT: usize = 4;

/// By how many operands the list grows.
const MORE: usize = 8;

impl Operands {
    fn get(&self, operand: u32) -> &Hold {
        self.all[operand as usize].hold.as_ref().expect("a node lists it")
    }

    /// Has a node list this.
    #[inline]
    fn keep(&mut self, hold: Hold) -> u32 {
        self.named_again(&hold).unwrap_or_else(|| self.add(hold))
    }

    #[inline(always)]
    fn keep_one_more(&mut self, hold: &Hold) -> u32 {
        self.named_again(hold).unwrap_or_else(|| self.add(Hold::clone(hold)))
    }

    /// So many more nodes list it.
    #[inline]
    fn count_again(&mut self, operand: u32, times: u32) {
        self.all[operand as usize].count += times;
    }

    #[inline(always)]
    fn named_again(&mut self, hold: &Hold) -> Option<u32> {
        for at in 0..RECENT {
            let named = self.recent[at];
            if let Some(operand) = self.all.get_mut(named as usize)
                && operand.is(hold)
            {
                operand.count += 1;
                self.recent.swap(0, at);
                return Some(named);
            }
        }
        None
    }

    fn add(&mut self, hold: Hold) -> u32 {
        let operand = Operand { hold: Some(hold), count: 1 };
        let vacant = |all: &[Operand]| all.iter().position(|operand| operand.hold.is_none());
        let at = match if self.vacant > 0 { vacant(&self.all) } else { None } {
            Some(at) => {
                self.vacant -= 1;
                self.all[at] = operand;
                at
            }
            None => {
                if self.all.len() == self.all.capacity() {
                    self.all.reserve_exact(MORE);
                }
                self.all.push(operand);
                self.all.len() - 1
            }
        };
        // The one that was named last stays: it may be the kernel of all.
        self.recent[1..].rotate_right(1);
        self.recent[1] = at as u32;
        at as u32
    }

    /// A node lists it no more. Answers with what no node lists any more.
    #[inline(always)]
    fn release(&mut self, operand: u32) -> Option<Hold> {
        let own = &mut self.all[operand as usize];
        own.count -= 1;
        if own.count > 0 {
            return None;
        }
        self.vacant += 1;
        own.hold.take()
    }

    /// The same for a node that takes it along.
    fn take(&mut self, operand: u32) -> Hold {
        let kept = Hold::clone(self.get(operand));
        drop(self.release(operand));
        kept
    }

    fn into_objects(mut self) -> impl Iterator<Item = Hold> + use<> {
        std::mem::take(&mut self.all).into_iter().filter_map(|operand| operand.hold)
    }
}

impl Drop for Operands {
    fn drop(&mut self) {
        if !self.all.is_empty() {
            let_go_of(std::mem::take(&mut self.all).into_iter().filter_map(|operand| operand.hold));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::node::{NodeType, Parameters};

    fn object(number: u32) -> Hold {
        Arc::new(number)
    }

    fn holds(all: &[(For, &Hold)]) -> Holds {
        all.iter().map(|(whose, hold)| (*whose, Hold::clone(hold))).collect()
    }

    /// A page all of whose nodes keep this.
    fn page(all: &[(For, &Hold)]) -> Arc<Page> {
        let mut page = Page::new();
        let own = Arc::get_mut(&mut page).unwrap();
        for place in 0..PLACES {
            own.put(place, || Record::new(Parameters::Plain(NodeType::Empty)));
            own.keep(place, holds(all));
        }
        page
    }

    #[test]
    fn what_all_nodes_keep_is_kept_once() {
        let (kernel, buffer) = (object(1), object(2));
        let mut page = page(&[(For::Object(0), &kernel), (For::Argument(3), &buffer)]);
        assert_eq!([&kernel, &buffer].map(Arc::strong_count), [2, 2]);
        assert_eq!(page.objects().count(), 2);
        let own = Arc::get_mut(&mut page).unwrap();
        for place in 0..PLACES {
            let taken = own.take_holds(place).unwrap();
            assert!([For::Object(0), For::Argument(3)].iter().all(|whose| taken.of(*whose).is_some()));
            assert!(own.take_holds(place).is_none());
        }
        assert!(!own.is_attached());
        assert_eq!([&kernel, &buffer].map(Arc::strong_count), [1, 1]);
    }

    #[test]
    fn the_kernel_of_all_is_found_among_buffers_of_each() {
        let (kernel, mut page) = (object(0), page(&[]));
        let own = Arc::get_mut(&mut page).unwrap();
        for place in 0..PLACES {
            own.keep(place, holds(&[(For::Object(0), &kernel), (For::Argument(0), &object(1))]));
        }
        assert_eq!(Arc::strong_count(&kernel), 2);
        assert_eq!(own.objects().count(), 1 + PLACES);
    }

    #[test]
    fn an_object_goes_with_the_last_node_that_keeps_it() {
        let (old, new) = (object(1), object(2));
        let mut page = page(&[(For::Argument(0), &old)]);
        let own = Arc::get_mut(&mut page).unwrap();
        for round in 0..100 {
            let (from, to) = if round % 2 == 0 { (&old, &new) } else { (&new, &old) };
            let mut gone = Vec::new();
            for place in 0..PLACES {
                assert!(gone.is_empty());
                own.exchange(place, For::Argument(0), to, |hold| gone.push(hold));
            }
            assert!(matches!(&gone[..], [hold] if Arc::ptr_eq(hold, from)));
            drop(gone);
            assert_eq!((Arc::strong_count(from), Arc::strong_count(to)), (1, 2));
            assert!(own.operands.all.len() <= 2, "places are used again");
        }
    }

    #[test]
    fn a_copy_keeps_what_the_other_lets_go_of() {
        let object = object(1);
        let mut page = page(&[(For::Inner, &object)]);
        let copy = page.copy();
        assert_eq!(Arc::strong_count(&object), 3);
        assert_eq!(Arc::get_mut(&mut page).unwrap().take_objects().count(), 1);
        assert!(!page.is_attached() && copy.is_attached());
        assert!((0..PLACES).all(|place| page.holds(place).is_empty() && !copy.holds(place).is_empty()));
        assert!(!copy.bare(|_| true).is_attached());
    }
}
