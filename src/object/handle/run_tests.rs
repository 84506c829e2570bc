//! What the table promises of handles that name places of pages.

use super::tests::alone_in;
use super::token::LAST_USE;
use super::*;
use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::thread;

/// A page whose places have labels of their numbers.
pub(crate) struct Shelf(Arc<AtomicUsize>);

impl kind::Divided for kind::Part {
    type Page = Shelf;
}

impl Page for Shelf {
    type Kind = kind::Part;

    fn has_labels(&self) -> bool {
        true
    }

    fn label(&self, what: u64) -> Option<Arc<str>> {
        (what == 5).then(|| Arc::from("five"))
    }

    fn set_label(&self, _: u64, _: Option<&str>) {}

    #[cfg(feature = "capi")]
    fn identity(&self, what: u64) -> u64 {
        what
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn run(drops: &Arc<AtomicUsize>) -> Run<Shelf> {
    Run::of(Shelf(Arc::clone(drops))).unwrap()
}

fn told(token: Token) -> Option<(usize, u64)> {
    let guard = enter().unwrap();
    guard.find_part::<Shelf>(token).map(|part| (part.place(), part.what()))
}

fn fault(token: Token) -> Fault {
    let guard = enter().unwrap();
    assert!(guard.find_part::<Shelf>(token).is_none());
    guard.part_fault::<Shelf>(token).fault
}

fn alone(test: &str, body: impl FnOnce()) {
    alone_in(module_path!(), test, body);
}

#[test]
fn a_handle_tells_what_stands_in_its_place() {
    alone("a_handle_tells_what_stands_in_its_place", || {
        let drops = Arc::default();
        let run = run(&drops);
        let tokens: Vec<_> = (0..PLACES).map(|place| run.issue(place, place as u64)).collect();
        for (place, token) in tokens.iter().enumerate() {
            assert_eq!((told(*token), run.token(place)), (Some((place, place as u64)), *token));
        }
        let guard = enter().unwrap();
        assert_eq!(guard.describe(tokens[5]), "part \"five\" (borrowed)");
        assert!(guard.same(tokens[5], tokens[5]).unwrap() && !guard.same(tokens[5], tokens[6]).unwrap());
        run.change(6, 60);
        assert_eq!(told(tokens[6]), Some((6, 60)));

        assert!(run.end(5));
        assert_eq!((fault(tokens[5]), told(tokens[4])), (Fault::Destroyed, Some((4, 4))));
        assert_eq!(guard.describe(tokens[5]), "destroyed part \"five\" (borrowed)");
        let again = run.issue(5, 50);
        assert_eq!((told(again), fault(tokens[5])), (Some((5, 50)), Fault::Destroyed));

        drop(run);
        assert_eq!(drops.load(SeqCst), 0, "this thread may be using the page");
        drop(guard);
        assert_eq!(drops.load(SeqCst), 1);
        assert!(tokens.iter().chain([&again]).all(|token| fault(*token) == Fault::Destroyed));
    });
}

#[test]
fn a_page_is_there_for_whoever_looked_it_up() {
    alone("a_page_is_there_for_whoever_looked_it_up", || {
        let drops = Arc::default();
        let run = run(&drops);
        let token = run.issue(0, 7);
        let ((leave, told), (say, entered)) = (mpsc::channel::<()>(), mpsc::channel());
        let reader = thread::spawn(move || {
            let guard = enter().unwrap();
            let part = guard.find_part::<Shelf>(token).unwrap();
            say.send(()).unwrap();
            told.recv().unwrap();
            assert_eq!(part.page().0.load(SeqCst), 0);
        });
        entered.recv().unwrap();
        drop(run);
        assert_eq!((fault(token), drops.load(SeqCst)), (Fault::Destroyed, 0));
        leave.send(()).unwrap();
        reader.join().unwrap();
        assert_eq!((collect(), drops.load(SeqCst)), (0, 1));
    });
}

#[test]
fn runs_are_used_again_until_a_slot_is_worn() {
    alone("runs_are_used_again_until_a_slot_is_worn", || {
        let (drops, mut seen) = (Arc::default(), HashSet::new());
        let mut firsts = HashSet::new();
        for _ in 0..100 {
            let run = run(&drops);
            let tokens = [0, 1].map(|place| run.issue(place, 0));
            firsts.insert(tokens[0].index());
            assert!(tokens.into_iter().all(|token| seen.insert(token)));
        }
        assert_eq!(firsts.len(), 1, "the run is free again");
        let worn = run(&drops);
        let uses = (0..).find(|_| {
            assert!(seen.insert(worn.issue(0, 0)), "no token is issued twice");
            !worn.end(0)
        });
        assert_eq!(uses, Some(LAST_USE - 100));
        drop(worn);
        assert!(!firsts.contains(&run(&drops).issue(0, 0).index()), "the run is retired");
    });
}

#[test]
fn threads_leave_their_runs_to_others() {
    alone("threads_leave_their_runs_to_others", || {
        let drops = Arc::new(AtomicUsize::new(0));
        let use_one = || {
            #[cfg(feature = "capi")]
            enter().unwrap().room_for_run().unwrap();
            let runs = [run(&drops), run(&drops)];
            runs.iter().for_each(|run| _ = run.issue(3, 3));
            #[cfg(feature = "capi")]
            enter().unwrap().room_for_run().unwrap();
        };
        thread::scope(|threads| threads.spawn(use_one).join().unwrap());
        let slots = sync::table().slots_ever();
        for _ in 0..50 {
            thread::scope(|threads| threads.spawn(use_one).join().unwrap());
        }
        assert_eq!((sync::table().slots_ever(), drops.load(SeqCst)), (slots, 102));
    });
}
