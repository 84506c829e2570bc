//! What the table promises, one promise a test.
//!
//! Whether a release is prompt depends on every thread of the process, so these tests run each in a process of its own.

use super::labels::REMEMBERED;
use super::token::LAST_USE;
use super::*;
use crate::object::error::{Error, Status};
use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const ALIVE: u64 = 0x00a1_1be5;
const DEAD: u64 = 0xdead;

/// An object that knows whether it was dropped, and how many were.
pub(crate) struct Probe {
    header: Header,
    state: AtomicU64,
    drops: Arc<AtomicUsize>,
    on_drop: Option<Box<dyn Fn() + Send + Sync>>,
}

object!(Probe: Probe, header);

impl Probe {
    fn new(drops: &Arc<AtomicUsize>) -> Arc<Self> {
        Self::with(drops, None)
    }

    fn with(drops: &Arc<AtomicUsize>, on_drop: Option<Box<dyn Fn() + Send + Sync>>) -> Arc<Self> {
        let (header, state, drops) = (Header::new::<Self>(), AtomicU64::new(ALIVE), Arc::clone(drops));
        Arc::new(Self { header, state, drops, on_drop })
    }

    fn check(&self) {
        assert_eq!(self.state.load(Relaxed), ALIVE, "an object is in use after its end");
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        assert_eq!(self.state.swap(DEAD, Relaxed), ALIVE, "an object is dropped twice");
        self.drops.fetch_add(1, SeqCst);
        if let Some(on_drop) = &self.on_drop {
            on_drop();
        }
    }
}

/// An object of another kind.
pub(crate) struct Other {
    header: Header,
}

object!(Other: Other, header);

impl Other {
    fn new() -> Arc<Self> {
        Arc::new(Self { header: Header::new::<Self>() })
    }
}

fn alone(test: &str, body: impl FnOnce()) {
    alone_in(module_path!(), test, body);
}

/// Runs the body of a test of a module in a process in which no other test runs.
pub(super) fn alone_in(module: &str, test: &str, body: impl FnOnce()) {
    const MARK: &str = "CUSHIM_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let name = format!("{}::{test}", module.split_once("::").unwrap().1);
    let mut tests = Command::new(std::env::current_exe().unwrap());
    let output = tests.args(["--exact", &name, "--nocapture"]).env(MARK, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let ran = output.status.success() && text.contains("1 passed");
    assert!(ran, "{name} failed:\n{text}{}", String::from_utf8_lossy(&output.stderr));
}

fn no_drops() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

fn is_now<T: Object>(released: Result<Released<T>, HandleError>) -> bool {
    matches!(released.unwrap(), Released::Now(_))
}

fn fault<T>(result: Result<T, HandleError>) -> Fault {
    result.err().expect("the token is refused").fault
}

/// A thread that is inside a call until it is told to leave.
struct Inside {
    leave: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Inside {
    /// Enters, runs `work` under the guard, and stays.
    fn with(work: impl FnOnce(&Guard) + Send + 'static) -> Self {
        let (leave, told) = mpsc::channel();
        let (say, entered) = mpsc::channel();
        let thread = thread::spawn(move || {
            let guard = enter().unwrap();
            work(&guard);
            say.send(()).unwrap();
            told.recv().unwrap();
        });
        entered.recv().unwrap();
        Self { leave, thread }
    }

    fn leave(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

#[test]
fn an_owning_token_is_looked_up_and_destroyed_on_the_spot() {
    alone("an_owning_token_is_looked_up_and_destroyed_on_the_spot", || {
        let drops = no_drops();
        let token = owning(Probe::new(&drops)).unwrap();
        let mut guard = enter().unwrap();
        guard.get::<Probe>(token).unwrap().check();
        let Released::Now(object) = guard.destroy::<Probe>(token).unwrap() else {
            panic!("nobody else is inside")
        };
        assert_eq!((object.0.as_ref().map_or(0, Arc::strong_count), drops.load(SeqCst)), (1, 0));
        drop(object);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn null_and_garbage_are_told_apart_from_handles() {
    alone("null_and_garbage_are_told_apart_from_handles", || {
        let mut guard = enter().unwrap();
        let null = guard.get::<Probe>(Token(0)).err().unwrap();
        assert_eq!(null.to_string(), "a probe is needed, not NULL; pass a handle that this library returned");
        assert_eq!(fault(guard.destroy::<Probe>(Token(0))), Fault::Null);
        let local = 0_u32;
        for value in [1, 2, 0x7f, u64::MAX, 1 << 63, 1 << 63 | 1 << 55, (&raw const local).addr() as u64] {
            let error = guard.get::<Probe>(Token(value)).err().unwrap();
            assert_eq!(error.fault, Fault::NotAHandle, "{value:#x}");
            assert!(error.to_string().contains(&format!("{value:#x} is not a handle")), "{error}");
            assert_eq!(fault(guard.destroy::<Probe>(Token(value))), Fault::NotAHandle);
            assert_eq!(guard.describe(Token(value)), format!("not a handle ({value:#x})"));
        }
        assert_eq!(guard.describe(Token(0)), "NULL");
    });
}

#[test]
fn a_handle_with_a_changed_bit_is_refused() {
    alone("a_handle_with_a_changed_bit_is_refused", || {
        let token = owning(Probe::new(&no_drops())).unwrap();
        let mut guard = enter().unwrap();
        for bit in 0..64 {
            let changed = Token(token.0 ^ 1 << bit);
            let error =
                guard.get::<Probe>(changed).err().unwrap_or_else(|| panic!("bit {bit} does not matter"));
            match bit {
                0 | 55 | 63 => assert_eq!(error.fault, Fault::NotAHandle, "bit {bit}"),
                56..=62 => assert_eq!(error.fault, Fault::Foreign, "bit {bit}"),
                _ => assert_ne!(error.fault, Fault::Foreign, "bit {bit}"),
            }
            assert!(guard.destroy::<Probe>(changed).is_err(), "bit {bit}");
        }
        let foreign = guard.get::<Probe>(Token(token.0 ^ 1 << 60)).err().unwrap().to_string();
        assert!(foreign.contains("a probe of another copy of the library"), "{foreign}");
        assert!(is_now(guard.destroy::<Probe>(token)));
    });
}

#[test]
fn a_handle_of_another_kind_is_refused_by_both_names() {
    alone("a_handle_of_another_kind_is_refused_by_both_names", || {
        let object = Other::new();
        object.header().set_label(Some("copied"));
        let token = owning(object).unwrap();
        let mut guard = enter().unwrap();
        let error = guard.get::<Probe>(token).err().unwrap();
        assert_eq!(
            (error.fault, error.needed, error.token.kind()),
            (Fault::WrongKind, Some(Kind::Probe), Some(Kind::Other))
        );
        let text = error.to_string();
        assert!(
            text.contains(r#"a probe is needed, but this is the handle of an other "copied";"#),
            "{text}"
        );
        assert_eq!(fault(guard.destroy::<Probe>(token)), Fault::WrongKind);
        assert!(is_now(guard.destroy::<Other>(token)), "the refusal destroyed nothing");
    });
}

#[test]
fn a_destroyed_handle_tells_kind_and_label() {
    alone("a_destroyed_handle_tells_kind_and_label", || {
        let object = Probe::new(&no_drops());
        object.header().set_label(Some("copy"));
        let token = owning(object).unwrap();
        let mut guard = enter().unwrap();
        assert_eq!(guard.describe(token), r#"probe "copy""#);
        assert!(is_now(guard.destroy::<Probe>(token)));

        let stale = guard.get::<Probe>(token).err().unwrap();
        assert_eq!((stale.fault, stale.label.as_deref()), (Fault::Destroyed, Some("copy")));
        assert!(stale.to_string().contains(r#"this handle of a probe "copy" was destroyed"#), "{stale}");
        let twice = guard.destroy::<Probe>(token).err().unwrap();
        assert_eq!((twice.fault, twice.label.as_deref()), (Fault::AlreadyDestroyed, Some("copy")));
        assert_eq!(fault(guard.destroy::<Other>(token)), Fault::Destroyed, "a mistake of kind comes first");
        let (stale, twice) = (Error::from(stale), Error::from(twice));
        assert_eq!((stale.status, twice.status), (Status::INVALID_HANDLE, Status::ALREADY_DESTROYED));
        assert_eq!((stale.object.as_str(), stale.label.as_str()), (r#"probe "copy""#, "copy"));
        assert_eq!(guard.describe(token), r#"destroyed probe "copy""#);

        let again = loop {
            let next = owning(Probe::new(&no_drops())).unwrap();
            assert!(is_now(guard.destroy::<Probe>(next)));
            if next.index() == token.index() {
                break next;
            }
        };
        assert_ne!(again, token);
        assert_eq!(fault(guard.destroy::<Probe>(token)), Fault::AlreadyDestroyed);
        assert_eq!(guard.describe(again), "destroyed probe", "a label is not inherited");
        assert_eq!(guard.describe(token), r#"destroyed probe "copy""#, "and outlives the use of its slot");
    });
}

#[test]
fn only_the_last_labels_of_destroyed_handles_are_kept() {
    alone("only_the_last_labels_of_destroyed_handles_are_kept", || {
        let mut guard = enter().unwrap();
        let ended: Vec<Token> = (0..=REMEMBERED)
            .map(|number| {
                let object = Probe::new(&no_drops());
                object.header().set_label(Some(&number.to_string()));
                let token = owning(object).unwrap();
                assert!(is_now(guard.destroy::<Probe>(token)));
                token
            })
            .collect();
        assert_eq!(guard.describe(ended[0]), "destroyed probe");
        assert_eq!(guard.describe(ended[1]), r#"destroyed probe "1""#);
        assert_eq!(guard.describe(ended[REMEMBERED]), format!(r#"destroyed probe "{REMEMBERED}""#));
    });
}

#[test]
fn owning_tokens_are_independent() {
    alone("owning_tokens_are_independent", || {
        let drops = no_drops();
        let object = Probe::new(&drops);
        let first = owning(Arc::clone(&object)).unwrap();
        let second = owning(object).unwrap();
        let mut guard = enter().unwrap();
        assert_ne!(first, second);
        assert!(guard.same(first, second).unwrap());
        assert!(is_now(guard.destroy::<Probe>(first)));
        assert_eq!(fault(guard.destroy::<Probe>(first)), Fault::AlreadyDestroyed);
        assert_eq!(fault(guard.same(first, second)), Fault::Destroyed);
        guard.get::<Probe>(second).unwrap().check();
        assert_eq!(drops.load(SeqCst), 0);
        assert!(is_now(guard.destroy::<Probe>(second)));
        assert_eq!(drops.load(SeqCst), 1);
        let (a, b) = (owning(Other::new()).unwrap(), owning(Other::new()).unwrap());
        assert!(!guard.same(a, b).unwrap());
    });
}

#[test]
fn the_borrowed_token_stays_the_same_and_ends_with_the_object() {
    alone("the_borrowed_token_stays_the_same_and_ends_with_the_object", || {
        let drops = no_drops();
        let object = Probe::new(&drops);
        object.header().set_label(Some("lent"));
        let token = borrowed(&object).unwrap();
        let mut guard = enter().unwrap();
        guard.get::<Probe>(token).unwrap().check();
        let owning = owning(Arc::clone(&object)).unwrap();
        assert_eq!(borrowed(&object).unwrap(), token);
        assert!(guard.same(owning, token).unwrap());
        assert_eq!(fault(guard.destroy::<Probe>(token)), Fault::Borrowed);
        assert_eq!(guard.describe(token), r#"probe "lent" (borrowed)"#);
        assert_eq!(
            Arc::strong_count(&guard.get::<Probe>(token).unwrap()),
            2,
            "a living owning token's count is enough"
        );

        assert!(is_now(guard.destroy::<Probe>(owning)));
        let found = guard.get::<Probe>(token).unwrap();
        assert_eq!(Arc::strong_count(&found), 2, "without an owning token the look-up counts");
        drop(object);
        found.check();
        drop(found);
        assert_eq!(drops.load(SeqCst), 1);
        let gone = guard.get::<Probe>(token).err().unwrap();
        assert_eq!((gone.fault, gone.label.as_deref()), (Fault::Destroyed, Some("lent")));
        assert!(gone.to_string().contains("borrowed handle is of a probe \"lent\" that is gone"), "{gone}");
        assert_eq!(fault(guard.destroy::<Probe>(token)), Fault::Borrowed);
    });
}

#[test]
fn a_release_waits_for_a_call_that_began_before() {
    alone("a_release_waits_for_a_call_that_began_before", || {
        let drops = no_drops();
        let (used, unused) = (owning(Probe::new(&drops)).unwrap(), owning(Probe::new(&drops)).unwrap());
        let inside = Inside::with(move |guard| guard.get::<Probe>(used).unwrap().check());
        let mut guard = enter().unwrap();
        assert!(!is_now(guard.destroy::<Probe>(used)));
        assert!(!is_now(guard.destroy::<Probe>(unused)), "nobody knows what the other looked up");
        assert_eq!(fault(guard.get::<Probe>(used)), Fault::Destroyed, "the owning token ends at once");
        drop(guard);
        assert_eq!((collect(), drops.load(SeqCst)), (2, 0));
        inside.leave();
        assert_eq!(drops.load(SeqCst), 2, "the last to leave lets go");
        assert_eq!(collect(), 0);
    });
}

#[test]
fn calls_of_others_are_waited_for_until_they_leave_or_patience_ends() {
    alone("calls_of_others_are_waited_for_until_they_leave_or_patience_ends", || {
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(60));
        let own = enter().unwrap();
        let begun = Instant::now();
        let_others_leave(long);
        assert!(begun.elapsed() < long, "of its own call nobody waits for the end");
        let inside = Inside::with(|_| ());
        let begun = Instant::now();
        let_others_leave(short);
        assert!(begun.elapsed() >= short, "the other is still inside");
        let leaves = thread::spawn(move || {
            thread::sleep(short);
            LEAVES.store(true, SeqCst);
            inside.leave();
        });
        let_others_leave(long);
        assert!(LEAVES.load(SeqCst), "it is waited for");
        leaves.join().unwrap();
        drop(own);
    });
}

/// Set before the other thread of the test above leaves its call.
static LEAVES: AtomicBool = AtomicBool::new(false);

#[test]
fn a_call_that_began_later_delays_nothing() {
    alone("a_call_that_began_later_delays_nothing", || {
        let drops = no_drops();
        let token = owning(Probe::new(&drops)).unwrap();
        let before = Inside::with(|_| ());
        let mut guard = enter().unwrap();
        assert!(!is_now(guard.destroy::<Probe>(token)));
        drop(guard);
        let later = Inside::with(|_| ());
        before.leave();
        assert_eq!(drops.load(SeqCst), 1);
        later.leave();
    });
}

#[test]
fn a_call_that_keeps_the_object_may_leave_and_block() {
    alone("a_call_that_keeps_the_object_may_leave_and_block", || {
        let drops = no_drops();
        let token = owning(Probe::new(&drops)).unwrap();
        let guard = enter().unwrap();
        let kept = Arc::clone(&guard.get::<Probe>(token).unwrap());
        drop(guard);
        let elsewhere = thread::spawn(move || is_now(enter().unwrap().destroy::<Probe>(token)));
        assert!(elsewhere.join().unwrap());
        kept.check();
        drop(kept);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn a_call_within_a_call_releases_when_the_outer_one_leaves() {
    alone("a_call_within_a_call_releases_when_the_outer_one_leaves", || {
        let drops = no_drops();
        let token = owning(Probe::new(&drops)).unwrap();
        let outer = enter().unwrap();
        let object = outer.get::<Probe>(token).unwrap();
        let mut inner = enter().unwrap();
        assert!(!is_now(inner.destroy::<Probe>(token)));
        drop(inner);
        object.check();
        drop(object);
        drop(outer);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn an_object_may_use_the_table_while_it_is_dropped() {
    alone("an_object_may_use_the_table_while_it_is_dropped", || {
        let drops = no_drops();
        let inner = Probe::new(&drops);
        inner.header().set_label(Some("inner"));
        borrowed(&inner).unwrap();
        let inner = owning(inner).unwrap();
        let work = move || assert!(is_now(enter().unwrap().destroy::<Probe>(inner)));
        let outer = owning(Probe::with(&drops, Some(Box::new(work)))).unwrap();
        let inside = Inside::with(|_| ());
        assert!(!is_now(enter().unwrap().destroy::<Probe>(outer)));
        inside.leave();
        assert_eq!(drops.load(SeqCst), 2);
    });
}

#[test]
fn held_releases_wait_for_a_collect() {
    alone("held_releases_wait_for_a_collect", || {
        let drops = no_drops();
        let token = owning(Probe::new(&drops)).unwrap();
        let outer = enter().unwrap();
        assert!(!is_now(enter().unwrap().destroy::<Probe>(token)));
        let hold = hold_releases();
        drop(outer);
        assert_eq!(drops.load(SeqCst), 0, "a release inside the hold");
        drop(hold);
        assert_eq!((collect(), drops.load(SeqCst)), (0, 1));
    });
}

#[test]
fn a_destroy_with_nobody_inside_collects_what_waits() {
    alone("a_destroy_with_nobody_inside_collects_what_waits", || {
        let drops = no_drops();
        let (first, second) = (owning(Probe::new(&drops)).unwrap(), owning(Probe::new(&drops)).unwrap());
        let outer = enter().unwrap();
        assert!(!is_now(enter().unwrap().destroy::<Probe>(first)));
        let hold = hold_releases();
        drop(outer);
        drop(hold);
        assert!(is_now(enter().unwrap().destroy::<Probe>(second)));
        assert_eq!(drops.load(SeqCst), 2);
    });
}

#[test]
fn no_token_is_issued_twice_and_a_worn_slot_is_retired() {
    alone("no_token_is_issued_twice_and_a_worn_slot_is_retired", || {
        let mut uses: HashMap<usize, Vec<Token>> = HashMap::new();
        let mut guard = enter().unwrap();
        let object = Other::new();
        for _ in 0..100_000 {
            let token = owning(Arc::clone(&object)).unwrap();
            uses.entry(token.index()).or_default().push(token);
            assert!(is_now(guard.destroy::<Other>(token)));
        }
        let last = LAST_USE as usize + 1;
        let worn = uses.values().filter(|tokens| tokens.len() == last).count();
        assert!(worn > 100, "{worn} slots are worn");
        for tokens in uses.values_mut() {
            assert!(tokens.len() <= last);
            tokens.sort_by_key(|token| token.0);
            assert!(tokens.windows(2).all(|pair| pair[0] != pair[1]));
            for token in tokens {
                assert_eq!(fault(guard.destroy::<Other>(*token)), Fault::AlreadyDestroyed);
            }
        }
    });
}

#[test]
fn live_objects_and_owning_tokens_are_listed() {
    alone("live_objects_and_owning_tokens_are_listed", || {
        let (a, b) = (Other::new(), Other::new());
        borrowed(&a).unwrap();
        let tokens = [owning(Arc::clone(&a)).unwrap(), owning(a).unwrap()];
        assert_eq!(live_objects(), [(Kind::Other, 2)]);
        assert_eq!(owning_tokens(), tokens);
        thread::spawn(move || drop(b)).join().unwrap();
        assert_eq!(live_objects(), [(Kind::Other, 1)]);
        let mut guard = enter().unwrap();
        assert!(tokens.into_iter().all(|token| is_now(guard.destroy::<Other>(token))));
        assert_eq!((live_objects(), owning_tokens()), (vec![], vec![]));
    });
}

/// Uses the table when its thread is past its thread-local destructors, or nearly.
struct Late(Token);

impl Drop for Late {
    fn drop(&mut self) {
        let guard = enter().unwrap();
        let nested = enter().unwrap();
        nested.get::<Other>(self.0).unwrap();
        drop(nested);
        drop(guard);
        drop(Other::new());
    }
}

#[test]
fn records_of_ended_threads_are_used_again() {
    alone("records_of_ended_threads_are_used_again", || {
        thread_local!(static LATE: std::cell::Cell<Option<Late>> = const { std::cell::Cell::new(None) });
        let token = owning(Other::new()).unwrap();
        for turn in 0..200 {
            let work = move || {
                // Destructors run in reverse order of registration: half the time before the record's, half after it.
                let early = (turn % 2 == 0).then(|| enter().unwrap());
                LATE.set(Some(Late(token)));
                drop(early);
                drop(enter().unwrap());
            };
            thread::spawn(work).join().unwrap();
        }
        let ever = sync::table().records.all().filter(|record| record.was_used()).count();
        assert!(ever <= 3, "{ever} records for two threads at a time");
        assert!(is_now(enter().unwrap().destroy::<Other>(token)), "all of them have left");
    });
}

/// Destroys look at none of them, and their slots are others'.
#[test]
fn threads_that_ended_cost_nothing() {
    alone("threads_that_ended_cost_nothing", || {
        const THREADS: usize = 1000;
        let (made, all_there) = (no_drops(), Barrier::new(THREADS));
        thread::scope(|threads| {
            let work = || {
                let token = owning(Probe::new(&made)).unwrap();
                all_there.wait();
                destroy(token);
            };
            let started: Vec<_> = (0..THREADS).map(|_| threads.spawn(work)).collect();
            // Only then are they gone: a scope waits for their work alone.
            started.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let _here = enter().unwrap();
        let table = sync::table();
        assert_eq!(table.records.taken().count(), 1, "this thread's");
        assert!(table.records.all().filter(|record| record.was_used()).count() >= THREADS);
        assert_eq!(collect(), 0);
        let slots = table.slots_ever();
        (0..slots).for_each(|_| assert!(owning(Probe::new(&made)).is_ok()));
        assert_eq!(table.slots_ever(), slots, "those of the threads are used again");
    });
}

#[test]
#[cfg(unix)]
fn the_child_of_a_fork_is_told_so() {
    alone("the_child_of_a_fork_is_told_so", || {
        let (drops, lent) = (no_drops(), Other::new());
        let (token, waiting) = (borrowed(&lent).unwrap(), owning(Probe::new(&drops)).unwrap());
        let guard = enter().unwrap();
        assert!(!is_now(enter().unwrap().destroy::<Probe>(waiting)));
        let inside = Inside::with(|_| ());
        // SAFETY: the child uses the table, which is what is tested, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let told = enter().is_err_and(|Forked| forked());
            // Neither the end of the call that the fork happened in nor that of an object does anything: the locks may be
            // held and the calls be unfinished for ever.
            drop(guard);
            let nothing = collect() == 0 && drops.load(SeqCst) == 0;
            drop(lent);
            // What waited for this thread only could go now, and nothing was added that waits for the other one.
            let still = sync::table().collect() == 0 && drops.load(SeqCst) == 1;
            // SAFETY: ends the process.
            unsafe { libc::_exit(if told && nothing && still { 17 } else { 1 }) };
        }
        assert!(child > 0);
        let mut status = 0;
        // SAFETY: the child is ours and `status` is a place for an integer.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 17));
        assert!(!forked() && guard.get::<Other>(token).is_ok(), "the parent goes on");
        drop(guard);
        inside.leave();
        assert_eq!(drops.load(SeqCst), 1);
    });
}

/// Threads that create, use, lend and destroy on shared handles, for a second.
#[test]
fn races_on_shared_handles_end_well() {
    alone("races_on_shared_handles_end_well", || {
        const PLACES: usize = 16;
        let places: [AtomicU64; PLACES] = std::array::from_fn(|_| AtomicU64::new(0));
        let (drops, created, found) = (no_drops(), AtomicUsize::new(0), AtomicUsize::new(0));
        let end = Instant::now() + Duration::from_secs(1);
        let race = |seed: u64| {
            let mut random = seed;
            while Instant::now() < end {
                for _ in 0..100 {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let place = &places[(random >> 33) as usize % PLACES];
                    match random >> 60 {
                        0..=2 => {
                            created.fetch_add(1, Relaxed);
                            let object = Probe::new(&drops);
                            object.header().set_label((random >> 40 & 1 == 0).then_some("raced"));
                            // Half the places hold owning tokens; in others, the borrowed token outlives its owning token.
                            let lent = (random >> 41 & 1 == 0).then(|| borrowed(&object).unwrap());
                            let token = owning(object).unwrap();
                            destroy(Token(place.swap(lent.unwrap_or(token).0, Relaxed)));
                            if lent.is_some() {
                                destroy(token);
                            }
                        }
                        3..=4 => destroy(Token(place.swap(0, Relaxed))),
                        5 => destroy(Token(place.load(Relaxed))),
                        6 => drop(enter().unwrap().describe(Token(place.load(Relaxed)))),
                        _ => {
                            let guard = enter().unwrap();
                            let kept =
                                guard.get::<Probe>(Token(place.load(Relaxed))).ok().and_then(|object| {
                                    object.check();
                                    found.fetch_add(1, Relaxed);
                                    (random >> 42 & 7 == 0).then(|| Arc::clone(&object))
                                });
                            drop(guard);
                            drop(kept.inspect(|object| object.check()));
                        }
                    }
                }
            }
        };
        thread::scope(|threads| (1..=6).for_each(|seed| drop(threads.spawn(move || race(seed)))));
        places.iter().for_each(|place| destroy(Token(place.load(Relaxed))));
        assert_eq!(
            (collect(), drops.load(SeqCst)),
            (0, created.load(Relaxed)),
            "each object is dropped once"
        );
        assert_eq!((owning_tokens(), live_objects()), (vec![], vec![]));
        assert!(created.load(Relaxed) > 1000 && found.load(Relaxed) > 1000);
    });
}

/// Destroys the owning token if the token still is one.
fn destroy(token: Token) {
    match enter().unwrap().destroy::<Probe>(token) {
        Ok(Released::Now(object)) => object.0.iter().for_each(|object| object.check()),
        Ok(Released::Later) => (),
        Err(error) => {
            let ends = [Fault::Null, Fault::AlreadyDestroyed, Fault::Borrowed];
            assert!(ends.contains(&error.fault), "{error}");
        }
    }
}
