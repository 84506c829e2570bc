//! The table: issue, look up, destroy, let go.
//!
//! A slot goes through these states: free → (issue) in force → (destroy, or the object's end) ended → (nobody inside a
//! call that began before) free, or retired if its generations are used up. An ended slot keeps its pointer, so that a
//! call which read the token in force may read the pointer afterwards and use it until it leaves.

use super::Released;
use super::Shared;
use super::error::{Exhausted, Fault, HandleError, InWords};
use super::kind::{Kind, Listed};
use super::labels::Labels;
use super::object::{Named, Object, Operations, Owned, Ref, kind_of};
use super::record::{ALL_LEFT, Call, Deferred, Record};
use super::records::Records;
use super::runs::{self, Page, Part};
use super::slots::{Free, Slot, Slots};
use super::sync::{AtomicUsize, Mutex, SEEN, barrier, const_fn, fence};
use super::threads;
use super::token::{Brand, LAST_USE, Token};
#[cfg(feature = "capi")]
use crate::object::spare;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Arc, Weak};

/// How often a destroy looks whether the others have left: about as long as a release takes.
const PATIENCE: u32 = if cfg!(loom) { 0 } else { 16 };

/// All handles of this copy of the library.
pub(super) struct Table {
    pub(super) records: Records,
    slots: Slots,
    /// The labels of destroyed tokens.
    labels: Mutex<Labels>,
    /// How many releases are deferred.
    waiting: AtomicUsize,
    /// See [`Brand`]; 0 until it is needed. Loom need not explore it.
    brand: AtomicU64,
}

/// What a value turns out to be.
enum State {
    Null,
    NotAHandle,
    Foreign,
    InForce,
    Ended,
}

/// What a token is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Use,
    Destroy,
}

impl Table {
    const_fn! {
        pub(super) fn new() -> Self {
            Self {
                records: Records::new(),
                slots: Slots::new(),
                labels: Mutex::new(Labels::new()),
                waiting: AtomicUsize::new(0),
                brand: AtomicU64::new(0),
            }
        }
    }

    #[inline]
    fn brand(&self) -> Brand {
        Brand::from_bits(self.brand.load(Relaxed)).unwrap_or_else(|| self.first_brand())
    }

    #[cold]
    fn first_brand(&self) -> Brand {
        let new = Brand::from_random(RandomState::new().build_hasher().finish());
        let first = self.brand.compare_exchange(0, new.bits(), Relaxed, Relaxed);
        first.err().and_then(Brand::from_bits).unwrap_or(new)
    }
}

/// Issuing tokens.
impl Table {
    pub(super) fn reserve<T: Object>(&self) -> Result<Token, Exhausted> {
        let free = threads::with(|record| self.slots.take_for_new(&record.free))?;
        Ok(self.token_in(&free, kind_of::<T>(), false))
    }

    /// The same on the thread of the record.
    #[cfg(feature = "capi")]
    #[inline]
    pub(super) fn reserve_of<T: Object>(&self, own: &Record) -> Result<Token, Exhausted> {
        let free = self.slots.take_for_new(&own.free)?;
        Ok(self.token_in(&free, kind_of::<T>(), false))
    }

    /// Sees to it that this thread can issue so many tokens.
    #[cfg(feature = "capi")]
    pub(super) fn stock(&self, count: usize) -> Result<(), Exhausted> {
        let count = u32::try_from(count).map_err(|_| Exhausted::Handles)?;
        threads::with(|record| self.slots.stock(&record.free, count))
    }

    /// Gives back a token that was reserved and is not needed.
    pub(super) fn give_back(&self, token: Token) {
        threads::with(|record| self.slots.give(&record.free, token.index() as u32));
    }

    /// Makes a reserved token an owning one of the object.
    pub(super) fn owning<T: Object>(&self, token: Token, object: Arc<T>) {
        let slot = self.slots.known(token.index() as u32);
        object.was_claimed();
        let header = object.header();
        header.owning.store(token.0, Relaxed);
        let borrowed = Token(header.borrowed.load(Acquire));
        if let Some(slot) = self.slot_in_force(borrowed) {
            slot.link.store(token.0, Release);
        }
        put_in_force::<T>(slot, token, Arc::into_raw(object));
    }

    pub(super) fn borrowed<T: Object>(&self, object: &Arc<T>) -> Result<Token, Exhausted> {
        let header = object.header();
        let known = || Some(Token(header.borrowed.load(Acquire))).filter(|token| !token.is_null());
        if let Some(token) = known() {
            return Ok(token);
        }
        header.locked(|| {
            if let Some(token) = known() {
                return Ok(token);
            }
            let free = threads::with(|record| self.slots.take(&record.free))?;
            let token = self.token_in(&free, kind_of::<T>(), true);
            free.slot.link.store(header.owning.load(Relaxed), Relaxed);
            put_in_force::<T>(free.slot, token, Arc::downgrade(object).into_raw());
            header.borrowed.store(token.0, Release);
            Ok(token)
        })
    }

    /// The next token for a free slot.
    #[inline]
    fn token_in(&self, free: &Free, kind: Kind, borrowed: bool) -> Token {
        let last = Token(free.slot.word.load(Relaxed));
        let brand = self.brand();
        let uses = if last.is_null() { 0 } else { brand.uses(last) + 1 };
        brand.token(free.index as usize, uses, kind, borrowed)
    }
}

fn put_in_force<T: Object>(slot: &Slot, token: Token, object: *const T) {
    slot.object.store(object.cast_mut().cast(), Relaxed);
    slot.operations.store(std::ptr::from_ref(Operations::of::<T>()).cast_mut(), Relaxed);
    slot.word.store(token.0, Release);
}

/// Looking up. All of it runs inside a call: the caller has a guard, though only signatures with a lifetime show it.
impl Table {
    pub(super) fn get<'guard, T: Object>(&self, token: Token) -> Result<Ref<'guard, T::Shared>, HandleError> {
        self.find::<T>(token).ok_or_else(|| self.fault::<T>(token))
    }

    /// Why [`find`](Self::find) found nothing.
    #[cold]
    pub(super) fn fault<T: Object>(&self, token: Token) -> HandleError {
        self.fault_of(token, kind_of::<T>())
    }

    /// The same of a token that was to be of this kind.
    #[cold]
    pub(super) fn fault_of(&self, token: Token, kind: Kind) -> HandleError {
        self.error(token, Some(kind), Purpose::Use)
    }

    #[inline]
    pub(super) fn find<'guard, T: Object>(&self, token: Token) -> Option<Ref<'guard, T::Shared>> {
        let kind = kind_of::<T>();
        if token.is_said_to_be(kind)
            && let Some(slot) = self.slot_in_force(token)
        {
            let object = slot.object.load(Relaxed).cast_const().cast::<T>();
            if !token.is_borrowed() {
                // SAFETY: the token is in force and of the kind whose type is `T`, so the slot holds an `Arc<T>`; whoever
                // ends the owning token sees that this thread is inside a call, and keeps the count until it has left.
                return Some(unsafe { Ref::lent(object) });
            }
            // SAFETY: as above, with a `Weak<T>`.
            return unsafe { self.get_borrowed(slot, object) };
        }
        None
    }

    /// # Safety
    /// `object` is the `Weak<T>` of the slot, whose token was in force during this call.
    unsafe fn get_borrowed<'guard, T: Object>(
        &self,
        slot: &Slot,
        object: *const T,
    ) -> Option<Ref<'guard, T::Shared>> {
        let owning = Token(slot.link.load(Acquire));
        if self.slot_in_force(owning).is_some() {
            // SAFETY: the owning token is of the same object, so both pointers are the same, and as in `get` its count is
            // kept until this thread has left.
            return Some(unsafe { Ref::lent(object) });
        }
        // SAFETY: the caller vouches for the `Weak`; the slot keeps it until this thread has left.
        let weak = ManuallyDrop::new(unsafe { Weak::from_raw(object) });
        weak.upgrade().map(|object| Ref::counted(Shared::of(object)))
    }

    /// The slot of a token that is in force.
    #[inline]
    fn slot_in_force(&self, token: Token) -> Option<&'static Slot> {
        if !token.is_live() {
            return None;
        }
        self.slots.get(token.index()).filter(|slot| slot.word.load(SEEN) == token.0)
    }

    pub(super) fn same(&self, a: Token, b: Token) -> Result<bool, HandleError> {
        let object = |token: Token| match self.slot_in_force(token) {
            // SAFETY: operations are static, and a slot in force has them.
            Some(slot) if unsafe { (*slot.operations.load(Relaxed)).is_run } => {
                Ok(std::ptr::from_ref(slot).cast())
            }
            Some(slot) => Ok(slot.object.load(Relaxed).cast_const()),
            None => Err(self.error(token, None, Purpose::Use)),
        };
        Ok(object(a)? == object(b)?)
    }

    pub(super) fn describe(&self, token: Token) -> String {
        let (state, label) = self.inspect(token);
        let named = InWords { kind: token.kind(), label: label.as_deref() };
        let borrowed = if token.is_borrowed() { " (borrowed)" } else { "" };
        match state {
            State::Null => "NULL".to_owned(),
            State::NotAHandle => format!("not a handle ({:#x})", token.0),
            State::Foreign => format!("{named} of another copy of the library"),
            State::InForce => format!("{named}{borrowed}"),
            State::Ended => format!("destroyed {named}{borrowed}"),
        }
    }

    #[cold]
    fn error(&self, token: Token, needed: Option<Kind>, purpose: Purpose) -> HandleError {
        let (state, label) = self.inspect(token);
        let fits = needed.is_none() || needed == token.kind();
        let destroy = purpose == Purpose::Destroy;
        let fault = match state {
            State::Null => Fault::Null,
            State::NotAHandle => Fault::NotAHandle,
            State::Foreign => Fault::Foreign,
            State::InForce if !fits => Fault::WrongKind,
            State::InForce | State::Ended if destroy && fits && token.is_borrowed() => Fault::Borrowed,
            State::Ended if destroy && fits => Fault::AlreadyDestroyed,
            // Also a borrowed token in the moment between its object's end and its own.
            State::InForce | State::Ended => Fault::Destroyed,
        };
        HandleError { token, needed, fault, label }
    }

    fn inspect(&self, token: Token) -> (State, Option<Arc<str>>) {
        if token.is_null() {
            return (State::Null, None);
        }
        if !token.is_well_formed() {
            return (State::NotAHandle, None);
        }
        if !self.brand().is_on(token) {
            return (State::Foreign, None);
        }
        let Some(slot) = self.slots.get(token.index()) else { return (State::NotAHandle, None) };
        let word = Token(slot.word.load(SEEN));
        if token.is_derived() {
            // Its label is not that of the context, or the builder.
            return (if word == token.in_slot() { State::InForce } else { State::Ended }, None);
        }
        if word == token {
            return (State::InForce, self.label(slot, token));
        }
        if word == token.destroyed() || self.is_older(token, word) {
            return (State::Ended, self.labels.lock().of(token));
        }
        (State::NotAHandle, None)
    }

    /// Whether the token was made before the slot's last one. A made-up value can look so, too.
    fn is_older(&self, token: Token, last: Token) -> bool {
        !last.is_null() && self.brand().uses(token) < self.brand().uses(last)
    }

    /// The label of the object behind a token that was in force during this call.
    fn label(&self, slot: &'static Slot, token: Token) -> Option<Arc<str>> {
        let mut label = None;
        Self::with_named_in(slot, token, &mut |named| label = named.label());
        label
    }

    /// Passes on by what the object is named that the token stands for, whatever its kind.
    pub(super) fn with_named(
        &self,
        token: Token,
        body: &mut dyn FnMut(&dyn Named),
    ) -> Result<(), HandleError> {
        let slot = self.slot_in_force(token).ok_or_else(|| self.error(token, None, Purpose::Use))?;
        Self::with_named_in(slot, token, body);
        Ok(())
    }

    fn with_named_in(slot: &'static Slot, token: Token, body: &mut dyn FnMut(&dyn Named)) {
        let operations = slot.operations.load(Relaxed);
        // SAFETY: the token was in force, so the slot's pointer and operations belong together and to the token, and
        // neither changes until this thread has left; operations are static.
        unsafe { ((*operations).with_named)(slot, token, body) };
    }
}

/// Ending tokens.
impl Table {
    /// The call uses nothing any more that it looked up.
    pub(super) fn destroy<T: Object>(
        &self,
        token: Token,
        own: &mut Call,
    ) -> Result<Released<T>, HandleError> {
        let kind = kind_of::<T>();
        let error = || self.error(token, Some(kind), Purpose::Destroy);
        if !token.is_said_to_be(kind) || token.is_borrowed() {
            return Err(error());
        }
        let slot = self.slot_in_force(token).ok_or_else(error)?;
        let ended = slot.word.compare_exchange(token.0, token.destroyed().0, SeqCst, Relaxed);
        ended.map_err(|_| error())?;
        let object = slot.object.load(Relaxed).cast_const().cast::<T>();
        // SAFETY: this call ended the owning token, so nobody else gives back the count that its slot holds.
        let label = unsafe { &*object }.header().label();
        self.keep_label(token, label);

        if !self.is_unread_by_others(token, own) {
            return Ok(Released::Later);
        }
        self.free(token.index() as u32, own.record());
        if self.waiting.load(Relaxed) > 0 {
            // Nobody else is inside, so what waits may go; on leaving, so that this destroy does not answer for it.
            own.ask(ALL_LEFT);
        }
        // SAFETY: no thread is inside a call that began before the owning token ended, so the count is ours alone; the pointer
        // is an `Arc<T>`'s, since the token was in force and of the kind whose type is `T`.
        Ok(Released::Now(Owned::new(unsafe { Arc::from_raw(object) })))
    }

    /// Ends the borrowed token of an object that is being dropped.
    pub(super) fn end_borrowed(&self, token: Token, label: Option<Arc<str>>) {
        let index = token.index() as u32;
        self.slots.known(index).word.swap(token.destroyed().0, SeqCst);
        self.keep_label(token, label);
        // A look-up is over before its thread can drop an object, so the own record blocks nothing.
        if threads::with(|own| self.is_unread(Some(own)) || self.is_unread_soon(index, Some(own), PATIENCE)) {
            self.let_go(index);
        }
    }

    /// Whether no other thread is inside a call that may have read the token in force, which has just ended. If one is, the
    /// slot is deferred, and belongs to whoever collects it.
    #[inline]
    fn is_unread_by_others(&self, token: Token, own: &mut Call) -> bool {
        match own.outermost() {
            Some(record) => self.is_unread(Some(record)) || self.is_unread_outside(token, own),
            // The outer call of this thread may be using the object: to wait for it would be in vain.
            None => self.is_unread(None) || self.is_unread_soon(token.index() as u32, None, 0),
        }
    }

    /// The same after a look at the others in vain. Outside the call, or threads that destroy at the same time would wait
    /// for each other.
    #[cold]
    fn is_unread_outside(&self, token: Token, own: &mut Call) -> bool {
        own.outside(|record| self.is_unread_soon(token.index() as u32, Some(record), PATIENCE))
    }

    /// Whether no thread but `exempt` is inside a call.
    #[inline]
    fn is_unread(&self, exempt: Option<&Record>) -> bool {
        barrier();
        self.records.inside_now(exempt).next().is_none()
    }

    /// Whether those that are inside a call leave it soon, as most do. If not, the slot is deferred.
    #[cold]
    fn is_unread_soon(&self, index: u32, exempt: Option<&Record>, patience: u32) -> bool {
        let blockers = self.records.inside(exempt, patience);
        if blockers.is_empty() {
            return true;
        }
        self.waiting.fetch_add(1, Relaxed);
        let unread = Deferred { index, blockers }.wait().is_err();
        if unread {
            self.waiting.fetch_sub(1, Relaxed);
        }
        unread
    }

    /// Lets go of what was deferred and is not read any more; returns how many still wait.
    pub(super) fn collect(&self) -> usize {
        self.records.all().for_each(|record| self.collect_from(record));
        self.waiting.load(Relaxed)
    }

    /// The same of what waits for the thread of the record. What others may be reading waits for one of them from now on.
    pub(super) fn collect_from(&self, record: &Record) {
        // No lock is held: an object may do anything when it is dropped.
        for ended in record.take_left() {
            if let Err(unread) = ended.wait() {
                self.waiting.fetch_sub(1, Relaxed);
                self.let_go(unread.index);
            }
        }
    }

    /// Frees an ended slot that nobody reads, and gives back what it holds.
    fn let_go(&self, index: u32) {
        let slot = self.slots.known(index);
        let (object, operations) = (slot.object.load(Relaxed), slot.operations.load(Relaxed));
        let borrowed = Token(slot.word.load(Relaxed)).is_borrowed();
        // SAFETY: operations are static.
        match unsafe { (*operations).is_run } {
            true => self.free_run(index),
            false => threads::with(|record| self.free(index, record)),
        }
        // SAFETY: nobody reads the slot, and only the caller of this function lets go of it; pointer and operations were
        // stored together.
        unsafe { ((*operations).let_go)(object, borrowed) };
    }

    /// Makes the slot free for another token, unless it has had its last.
    #[inline]
    fn free(&self, index: u32, own: &Record) {
        let last = Token(self.slots.known(index).word.load(Relaxed));
        if self.brand().uses(last) < LAST_USE {
            self.slots.give(&own.free, index);
        }
    }

    /// Gives others the free slots of a thread that ends.
    pub(super) fn give_slots(&self, own: &Record) {
        self.slots.give_all(&own.free);
        if let Some(first) = own.run.swap(0, Relaxed).checked_sub(1) {
            self.slots.give_run(first);
        }
    }

    /// Makes a run free for another page, unless one of its slots has had its last token.
    fn free_run(&self, first: u32) {
        let has_uses = |slot: &Slot| {
            let last = Token(slot.word.load(Relaxed));
            last.is_null() || self.brand().uses(last) < LAST_USE
        };
        if self.slots.run(first).all(|(_, slot)| has_uses(slot)) {
            self.slots.give_run(first);
        }
    }

    #[inline]
    fn keep_label(&self, token: Token, label: Option<Arc<str>>) {
        if let Some(label) = label {
            self.remember_label(token, label);
        }
    }

    #[cold]
    fn remember_label(&self, token: Token, label: Arc<str>) {
        self.labels.lock().remember(token, label);
    }
}

/// Runs.
impl Table {
    /// Takes a run: the one that this thread has at hand, if it has one.
    pub(super) fn take_run(&self) -> Result<u32, Exhausted> {
        let own = threads::with(|record| record.run.swap(0, Relaxed));
        own.checked_sub(1).map_or_else(|| self.slots.take_run(), Ok)
    }

    /// Sees to it that the thread of the record has a run at hand.
    #[cfg(feature = "capi")]
    #[inline]
    pub(super) fn stock_run(&self, own: &Record) -> Result<(), Exhausted> {
        // What would have a handle needs memory, too.
        if spare::is_short() {
            return Err(Exhausted::Memory);
        }
        if own.run.load(Relaxed) == 0 {
            own.run.store(self.slots.take_run()? + 1, Relaxed);
        }
        Ok(())
    }

    /// The slots of a run are a page's from now on.
    pub(super) fn begin_run<P: Page>(&self, first: u32, page: *mut P) {
        for (_, slot) in self.slots.run(first) {
            slot.object.store(page.cast(), Relaxed);
            slot.operations.store(std::ptr::from_ref(runs::operations::<P>()).cast_mut(), Relaxed);
        }
    }

    /// Issues the next token for a slot of a run.
    #[inline]
    pub(super) fn issue_part(&self, index: u32, kind: Kind, what: u64) -> Token {
        let slot = self.slots.known(index);
        let token = self.token_in(&Free { index, slot }, kind, true);
        // Who sees this sees that the token before has ended.
        slot.link.store(what, Release);
        slot.word.store(token.0, Release);
        token
    }

    /// The token that was issued last for a slot of a run.
    #[inline]
    pub(super) fn last_token(&self, index: u32) -> Token {
        Token(self.slots.known(index).word.load(Relaxed))
    }

    /// Another number for the same in a slot of a run.
    pub(super) fn change_part(&self, index: u32, what: u64) {
        self.slots.known(index).link.store(what, Release);
    }

    #[inline]
    pub(super) fn find_part<'guard, P: Page>(&self, token: Token) -> Option<Part<'guard, P>> {
        if !token.is_said_to_be(<P::Kind as Listed>::KIND) {
            return None;
        }
        let slot = self.slot_in_force(token)?;
        // SAFETY: the token was in force and of the kind of the page; whoever ends the run sees that this thread is inside a call.
        unsafe { Part::of(slot, token) }
    }

    /// Ends the token of one slot of a run. Answers whether it can have another one: what a look-up found there is compared with what
    /// stands there, so nobody is waited for.
    pub(super) fn end_part(&self, index: u32, label: impl FnOnce(u64) -> Option<Arc<str>>) -> bool {
        let slot = self.slots.known(index);
        let token = Token(slot.word.load(Relaxed));
        slot.word.store(token.destroyed().0, Release);
        self.keep_label(token, label(slot.link.load(Relaxed)));
        self.brand().uses(token) < LAST_USE
    }

    /// Ends all tokens of a run, which is [let go](Self::let_go_of_runs) of afterwards.
    pub(super) fn end_tokens(&self, first: u32, label: impl Fn(u64) -> Option<Arc<str>>) {
        for (_, slot) in self.slots.run(first) {
            let token = Token(slot.word.load(Relaxed));
            if token.is_live() {
                slot.word.store(token.destroyed().0, Relaxed);
                self.keep_label(token, label(slot.link.load(Relaxed)));
            }
        }
    }

    /// Lets go of runs without tokens, now or when those have left who may be looking one up. A thread that is inside a call may itself
    /// have looked one up.
    pub(super) fn let_go_of_runs(&self, firsts: impl Iterator<Item = u32>) {
        // Who enters a call from here on sees that the tokens have ended; who did before is seen here.
        fence(SeqCst);
        let is_unread = self.records.inside_now(None).next().is_none();
        for first in firsts {
            if is_unread || self.is_run_unread_soon(first) {
                self.let_go(first);
            }
        }
    }

    #[cold]
    fn is_run_unread_soon(&self, first: u32) -> bool {
        let is_inside = threads::with(|own| Call::of(own).is_some());
        self.is_unread_soon(first, None, if is_inside { 0 } else { PATIENCE })
    }
}

/// What is left, for the tests.
#[cfg(all(test, not(loom)))]
impl Table {
    pub(super) fn live_objects(&self) -> Vec<(Kind, usize)> {
        let count = |kind| self.records.all().map(|record| record.objects(kind)).sum::<i64>();
        let kinds = (0..Kind::END as u8).filter_map(Kind::from_number);
        kinds
            .filter_map(|kind| Some((kind, usize::try_from(count(kind)).ok()?)))
            .filter(|(_, n)| *n > 0)
            .collect()
    }

    /// How many slots were ever in use.
    pub(super) fn slots_ever(&self) -> usize {
        self.slots.used().count()
    }

    pub(super) fn owning_tokens(&self) -> Vec<Token> {
        let tokens = self.slots.used().map(|slot| Token(slot.word.load(Acquire)));
        tokens.filter(|token| token.is_live() && !token.is_borrowed()).collect()
    }
}
