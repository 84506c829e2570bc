//! Loom models: two or three threads, in every order with up to a given number of preemptions, and with every value that
//! the memory model lets a load see.
//!
//! Run by `scripts/loom.sh`. Loom does not see into `std::sync::Arc`; where an object's end depends on the count alone,
//! as with a borrowed token, the model checks the order of events only.

use super::*;
use crate::object::error::Status;
use End::{Later, Now, Refused};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32};

/// An object whose use and end loom watches.
pub(crate) struct Probe {
    header: Header,
    number: u32,
    /// Read by who uses the object, written by who makes or drops it.
    memory: Option<UnsafeCell<()>>,
    ended: AtomicBool,
    drops: Arc<AtomicU32>,
}

object!(Probe: Probe, header);

// SAFETY: loom reports each pair of accesses to `memory` that is not ordered.
unsafe impl Sync for Probe {}

impl Probe {
    fn new(number: u32, drops: &Arc<AtomicU32>) -> Arc<Self> {
        Self::make(number, drops, Some(UnsafeCell::new(())))
    }

    fn make(number: u32, drops: &Arc<AtomicU32>, memory: Option<UnsafeCell<()>>) -> Arc<Self> {
        memory.iter().for_each(|memory| memory.with_mut(|_| ()));
        let (header, ended, drops) = (Header::new::<Self>(), AtomicBool::new(false), Arc::clone(drops));
        Arc::new(Self { header, number, memory, ended, drops })
    }

    /// Uses the object.
    fn number(&self) -> u32 {
        if let Some(memory) = &self.memory {
            memory.with(|_| ());
        }
        thread::yield_now();
        assert!(!self.ended.load(Relaxed), "an object is in use after its end");
        self.number
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            memory.with_mut(|_| ());
        }
        assert!(!self.ended.swap(true, Relaxed), "an object is dropped twice");
        self.drops.fetch_add(1, Relaxed);
    }
}

/// A page whose use and end loom watches, and in whose places stand numbers.
pub(crate) struct Shelf {
    memory: UnsafeCell<()>,
    drops: Arc<AtomicU32>,
}

// SAFETY: loom reports each pair of accesses to `memory` that is not ordered.
unsafe impl Send for Shelf {}
// SAFETY: as above.
unsafe impl Sync for Shelf {}

impl kind::Divided for kind::Part {
    type Page = Shelf;
}

impl Page for Shelf {
    type Kind = kind::Part;

    fn has_labels(&self) -> bool {
        false
    }

    fn label(&self, _: u64) -> Option<Arc<str>> {
        None
    }

    fn set_label(&self, _: u64, _: Option<&str>) {}
}

impl Shelf {
    fn run(drops: &Arc<AtomicU32>) -> Run<Self> {
        let memory = UnsafeCell::new(());
        memory.with_mut(|_| ());
        Run::of(Self { memory, drops: Arc::clone(drops) }).expect("there is a run")
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.memory.with_mut(|_| ());
        self.drops.fetch_add(1, Relaxed);
    }
}

/// What a handle tells of the place that it names.
fn told(token: Token) -> Option<u64> {
    let guard = enter().unwrap();
    let part = guard.find_part::<Shelf>(token)?;
    part.page().memory.with(|_| ());
    thread::yield_now();
    Some(part.what())
}

/// As many owning tokens as there can be; the table of the models has few slots.
fn all_owning(drops: &Arc<AtomicU32>) -> Vec<Token> {
    (1..=4)
        .map(|number| owning(Probe::make(number, drops, None)).expect("there is a slot for each"))
        .collect()
}

/// Explores all interleavings with up to that many preemptions, in which the model must come to each of the outcomes.
fn explore<T: Ord + Copy + Debug + Send + 'static>(
    preemptions: usize,
    outcomes: impl IntoIterator<Item = T>,
    model: impl Fn() -> T + Send + Sync + 'static,
) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let see = Arc::clone(&seen);
    let most = if std::env::var_os("CUSHIM_LOOM_SHORT").is_some() { 2 } else { usize::MAX };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions.min(most));
    builder.check(move || {
        let outcome = model();
        see.lock().unwrap().insert(outcome);
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from_iter(outcomes));
}

/// How a destroy went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Now,
    Later,
    Refused,
}

fn number_of(token: Token) -> Option<u32> {
    let guard = enter().unwrap();
    guard.get::<Probe>(token).ok().map(|object| object.number())
}

fn destroy(token: Token) -> End {
    match enter().unwrap().destroy::<Probe>(token) {
        Ok(Released::Now(_)) => End::Now,
        Ok(Released::Later) => End::Later,
        Err(_) => End::Refused,
    }
}

fn gate() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let gate = Arc::new(AtomicUsize::new(0));
    (Arc::clone(&gate), gate)
}

fn assert_ended(drops: &AtomicU32, count: u32) {
    assert_eq!((collect(), drops.load(Relaxed)), (0, count), "all that was made is dropped");
}

#[test]
fn look_up_against_destroy() {
    let outcomes = [(None, Now), (None, Later), (Some(1), Now), (Some(1), Later)];
    explore(5, outcomes, || {
        let drops = Arc::default();
        let token = owning(Probe::new(1, &drops)).unwrap();
        let reader = thread::spawn(move || number_of(token));
        let end = destroy(token);
        assert_eq!(number_of(token), None);
        let found = reader.join().unwrap();
        assert_ended(&drops, 1);
        (found, end)
    });
}

#[test]
fn look_up_against_destroy_and_reuse_of_the_slot() {
    let outcomes = [(None, true), (None, false), (Some(1), true), (Some(1), false)];
    explore(4, outcomes, || {
        let drops = Arc::default();
        let old = owning(Probe::new(1, &drops)).unwrap();
        let reader = thread::spawn(move || number_of(old));
        destroy(old);
        let new = owning(Probe::new(2, &drops)).unwrap();
        assert_eq!(number_of(new), Some(2));
        let found = reader.join().unwrap();
        destroy(new);
        assert_ended(&drops, 2);
        (found, old.index() == new.index())
    });
}

#[test]
fn a_token_passed_without_order() {
    explore(5, [None, Some(1)], || {
        let drops = Arc::default();
        let place = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let found = Arc::clone(&place);
        let reader = thread::spawn(move || number_of(Token(found.load(Relaxed))));
        let token = owning(Probe::new(1, &drops)).unwrap();
        place.store(token.0, Relaxed);
        let found = reader.join().unwrap();
        destroy(token);
        assert_ended(&drops, 1);
        found
    });
}

#[test]
fn two_look_ups_against_destroy() {
    let outcomes = [None, Some(1)].into_iter().flat_map(|one| [(one, None), (one, Some(1))]);
    explore(3, outcomes, || {
        let drops = Arc::default();
        let token = owning(Probe::new(1, &drops)).unwrap();
        let readers = [(); 2].map(|()| thread::spawn(move || number_of(token)));
        assert_ne!(destroy(token), Refused);
        let [one, other] = readers.map(|reader| reader.join().unwrap());
        assert_ended(&drops, 1);
        (one, other)
    });
}

#[test]
fn one_of_two_destroys_ends_the_owning_token() {
    explore(4, [(Now, Refused), (Later, Refused), (Refused, Now), (Refused, Later)], || {
        let drops = Arc::default();
        let token = owning(Probe::new(1, &drops)).unwrap();
        let other = thread::spawn(move || destroy(token));
        let ends = (destroy(token), other.join().unwrap());
        assert_ended(&drops, 1);
        ends
    });
}

#[test]
fn two_owning_tokens_are_destroyed_by_two_threads() {
    explore(4, [(Now, Now), (Now, Later), (Later, Now), (Later, Later)], || {
        let drops = Arc::default();
        // Loom does not see that the count orders the two drops.
        let object = Probe::make(1, &drops, None);
        let (first, second) = (owning(Arc::clone(&object)).unwrap(), owning(object).unwrap());
        let other = thread::spawn(move || destroy(first));
        let ends = (destroy(second), other.join().unwrap());
        assert_ended(&drops, 1);
        ends
    });
}

#[test]
fn look_up_of_a_borrowed_token_against_the_end_of_the_object() {
    explore(4, [None, Some(1)], || {
        let drops = Arc::default();
        let object = Probe::make(1, &drops, None);
        let token = borrowed(&object).unwrap();
        // Makes loom try both orders of what it cannot see: the reader counting and the last count being given back.
        let (gate, other_gate) = gate();
        let reader = thread::spawn(move || {
            let guard = enter().unwrap();
            let object = guard.get::<Probe>(token).ok();
            gate.fetch_add(1, AcqRel);
            object.map(|object| object.number())
        });
        other_gate.fetch_add(1, AcqRel);
        drop(object);
        let next = owning(Probe::make(2, &drops, None)).unwrap();
        let found = reader.join().unwrap();
        destroy(next);
        assert_ended(&drops, 2);
        found
    });
}

#[test]
fn look_up_of_a_borrowed_token_against_destroy_of_the_owning_token() {
    // Where the release waits for the reader, the object is there for it.
    explore(4, [(None, Now), (Some(1), Now), (Some(1), Later)], || {
        let drops = Arc::default();
        let object = Probe::make(1, &drops, None);
        let token = borrowed(&object).unwrap();
        let owning = owning(object).unwrap();
        let reader = thread::spawn(move || number_of(token));
        let end = destroy(owning);
        let found = reader.join().unwrap();
        assert_ended(&drops, 1);
        (found, end)
    });
}

#[test]
fn one_borrowed_token_for_two_who_ask() {
    explore(4, [true], || {
        let drops = Arc::default();
        let object = Probe::make(1, &drops, None);
        let asked = Arc::clone(&object);
        let other = thread::spawn(move || borrowed(&asked).unwrap());
        let token = borrowed(&object).unwrap();
        let same = other.join().unwrap() == token;
        assert_eq!(number_of(token), Some(1));
        drop(object);
        assert_eq!(number_of(token), None);
        assert_ended(&drops, 1);
        same
    });
}

#[test]
fn a_record_changes_hands_with_its_free_slots() {
    explore(3, [2, 3], || {
        drop(enter()); // whoever comes first makes room for all
        let drops = Arc::default();
        let turn = |number| {
            let drops = Arc::clone(&drops);
            thread::spawn(move || {
                let token = owning(Probe::new(number, &drops)).unwrap();
                assert_eq!(number_of(token), Some(number));
                assert_ne!(destroy(token), Refused);
            })
        };
        [turn(1), turn(2)].into_iter().for_each(|thread| thread.join().unwrap());
        assert_ended(&drops, 2);
        sync::table().records.all().filter(|record| record.was_used()).count()
    });
}

#[test]
fn no_slot_is_left() {
    explore(1, [Status::TOO_MANY_HANDLES.0], || {
        let drops = Arc::default();
        let tokens = all_owning(&drops);
        let refused = crate::Error::from(owning(Probe::make(9, &drops, None)).unwrap_err());
        tokens.into_iter().for_each(|token| assert_ne!(destroy(token), Refused));
        all_owning(&drops).into_iter().for_each(|token| assert_ne!(destroy(token), Refused));
        assert_ended(&drops, 9);
        refused.status.0
    });
}

#[test]
fn look_up_in_a_page_against_its_end() {
    explore(5, [None, Some(7)], || {
        let drops = Arc::default();
        let run = Shelf::run(&drops);
        let token = run.issue(1, 7);
        let reader = thread::spawn(move || told(token));
        drop(run);
        assert_eq!(told(token), None);
        let found = reader.join().unwrap();
        assert_ended(&drops, 1);
        found
    });
}

#[test]
fn look_up_in_a_page_against_reuse_of_the_place() {
    explore(5, [None, Some(7)], || {
        let drops = Arc::default();
        let run = Shelf::run(&drops);
        let old = run.issue(0, 7);
        let reader = thread::spawn(move || told(old));
        assert!(run.end(0));
        let new = run.issue(0, 8);
        assert_eq!((told(old), told(new)), (None, Some(8)));
        let found = reader.join().unwrap();
        drop(run);
        assert_ended(&drops, 1);
        found
    });
}

#[test]
fn look_up_in_a_page_against_another_page_in_its_run() {
    let outcomes = [(None, true), (None, false), (Some(7), true), (Some(7), false)];
    explore(4, outcomes, || {
        let drops = Arc::default();
        let run = Shelf::run(&drops);
        let old = run.issue(0, 7);
        let reader = thread::spawn(move || told(old));
        drop(run);
        let run = Shelf::run(&drops);
        let new = run.issue(0, 7);
        assert_eq!((told(old), told(new)), (None, Some(7)));
        let found = reader.join().unwrap();
        drop(run);
        assert_ended(&drops, 2);
        (found, old.index() == new.index())
    });
}

#[test]
fn two_look_ups_in_pages_that_end_together() {
    let outcomes = [None, Some(1)].into_iter().flat_map(|one| [(one, None), (one, Some(2))]);
    explore(2, outcomes, || {
        let drops = Arc::default();
        let (one, other) = (Shelf::run(&drops), Shelf::run(&drops));
        let tokens = [one.issue(0, 1), other.issue(1, 2)];
        let readers = tokens.map(|token| thread::spawn(move || told(token)));
        Run::end_all(&mut [Some(one), None, Some(other)]);
        let [one, other] = readers.map(|reader| reader.join().unwrap());
        assert_ended(&drops, 2);
        (one, other)
    });
}
