//! The executor without a driver: work that counts, waits, and spins.

use super::engine::Executor;
use super::{Bundle, Coupling, Group, Outcome, Piece, Queue, Sequence, Task, Turn, Work, WorkKind};
use crate::instruments::schedule::Schedule;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SCHEDULES: [Schedule; 5] =
    [Schedule::Eager, Schedule::Lazy, Schedule::Seeded(1), Schedule::Seeded(5), Schedule::InOrder];

fn executor(schedule: Schedule) -> &'static Executor {
    let executor: &'static Executor = Box::leak(Box::new(Executor::new(schedule)));
    assert!(executor.start_in_order());
    executor
}

/// Work that a closure does.
struct Closure<F>(WorkKind, F);

impl<F: FnOnce(&Turn<'_>) + Send> Work for Closure<F> {
    fn kind(&self) -> WorkKind {
        self.0
    }

    fn run(self: Box<Self>, turn: &Turn<'_>) -> Outcome {
        (self.1)(turn);
        Outcome::Finished
    }
}

fn submit(
    executor: &'static Executor,
    queue: &Arc<Queue>,
    kind: WorkKind,
    body: impl FnOnce(&Turn<'_>) + Send + 'static,
) -> Arc<Task> {
    executor.submit(queue, Box::new(Closure(kind, body)), &[])
}

/// Reads a flag until it is set, as a kernel does.
fn spin(flag: &AtomicBool, turn: &Turn<'_>) {
    while !flag.load(Ordering::Acquire) && turn.spend(1024) {
        std::hint::spin_loop();
    }
}

fn queue(group: &Arc<Group>) -> Arc<Queue> {
    Queue::new(group, Coupling::Free, 0)
}

fn wait(executor: &'static Executor, tasks: &[Arc<Task>]) {
    assert!(executor.wait_for(tasks).is_ok());
    assert!(tasks.iter().all(|task| task.is_finished()));
}

#[test]
fn queues_keep_their_order_and_coupled_ones_that_of_the_main_one() {
    for schedule in SCHEDULES {
        let (executor, group, log) = (executor(schedule), Group::new(), Arc::new(Mutex::new(Vec::new())));
        let main = Queue::new(&group, Coupling::Main, 0);
        let coupled = [(); 2].map(|()| Queue::new(&group, Coupling::Coupled, 0));
        for round in 0..20 {
            let in_order = [&coupled[0], &main, &coupled[1], &main];
            for (at, queue) in in_order.into_iter().enumerate() {
                let (log, kind) = (Arc::clone(&log), [WorkKind::Device, WorkKind::Host][round % 2]);
                submit(executor, queue, kind, move |_| log.lock().push(round * 4 + at));
            }
        }
        wait(executor, &executor.unfinished(&group));
        assert_eq!(*log.lock(), (0..80).collect::<Vec<_>>());
    }
}

/// The host sets the flag when the submission has returned.
#[test]
fn work_that_spins_does_not_keep_the_host_from_going_on() {
    for schedule in SCHEDULES {
        let (executor, queue, flag) =
            (executor(schedule), queue(&Group::new()), Arc::new(AtomicBool::new(false)));
        for _ in 0..8 {
            let own = Arc::clone(&flag);
            let task = submit(executor, &queue, WorkKind::Paced, move |turn| spin(&own, turn));
            assert!(!executor.poll(std::slice::from_ref(&task)));
            flag.store(true, Ordering::Release);
            wait(executor, &[task]);
            flag.store(false, Ordering::Release);
        }
    }
}

/// More of them than there are workers, each waits for what comes after all of them, which nobody asks for.
#[test]
fn work_that_spins_does_not_keep_other_work_from_running() {
    for schedule in SCHEDULES {
        let (executor, group, flag) = (executor(schedule), Group::new(), Arc::new(AtomicBool::new(false)));
        let spinning: Vec<_> = (0..12)
            .map(|_| {
                let flag = Arc::clone(&flag);
                submit(executor, &queue(&group), WorkKind::Paced, move |turn| spin(&flag, turn))
            })
            .collect();
        submit(executor, &queue(&group), WorkKind::Device, move |_| flag.store(true, Ordering::Release));
        wait(executor, &spinning);
    }
}

/// As above, for a program that asks again and again instead of waiting.
#[test]
fn asking_for_work_that_spins_comes_to_an_end() {
    for schedule in SCHEDULES {
        let (executor, group, flag) = (executor(schedule), Group::new(), Arc::new(AtomicBool::new(false)));
        let own = Arc::clone(&flag);
        let spinning = [submit(executor, &queue(&group), WorkKind::Paced, move |turn| spin(&own, turn))];
        submit(executor, &queue(&group), WorkKind::Device, move |_| flag.store(true, Ordering::Release));
        let begin = Instant::now();
        while !executor.poll(&spinning) {
            assert!(begin.elapsed() < Duration::from_secs(20), "polling ends");
            std::thread::yield_now();
        }
    }
}

/// Work that nobody waits for any more ends, whether it runs or pauses.
#[test]
fn abandoned_work_ends() {
    for schedule in SCHEDULES {
        let (executor, group) = (executor(schedule), Group::new());
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                submit(executor, &queue(&group), WorkKind::Paced, |turn| spin(&AtomicBool::new(false), turn))
            })
            .collect();
        executor.poll(&tasks);
        executor.abandon(&group);
        let begin = Instant::now();
        while !tasks.iter().all(|task| task.is_finished()) {
            assert!(begin.elapsed() < Duration::from_secs(20), "it ends");
            std::thread::yield_now();
        }
    }
}

/// Slices of paced work take turns with other work, in an order that the seed repeats.
#[test]
fn a_seed_repeats_the_turns_of_paced_work() {
    let turns = |seed| {
        let (executor, group) = (executor(Schedule::Seeded(seed)), Group::new());
        let log = Arc::new(Mutex::new(Vec::new()));
        for number in 0..3 {
            let log = Arc::clone(&log);
            submit(executor, &queue(&group), WorkKind::Paced, move |turn| {
                (0..4).for_each(|_| {
                    log.lock().push(number);
                    turn.spend(1 << 16);
                });
            });
        }
        wait(executor, &executor.unfinished(&group));
        Arc::into_inner(log).expect("nobody has it any more").into_inner()
    };
    let all: Vec<_> = (0..16).map(turns).collect();
    assert_eq!(all, (0..16).map(turns).collect::<Vec<_>>());
    assert!(all.iter().any(|one| *one != all[0]), "{all:?}");
    assert!(all.iter().any(|one| !one.is_sorted()), "they take turns: {all:?}");
}

/// A bundle of pieces, of which each follows those that `before` says.
fn bundle(queue: &Arc<Queue>, before: &[&[u32]], work: impl Fn(u32) -> Box<dyn Work>) -> Bundle {
    let mut sequence = Sequence::default();
    let pieces = before.iter().map(|before| {
        let number = sequence.add(before.iter().copied());
        Piece { work: work(number), queue: Arc::clone(queue), priority: None }
    });
    let pieces = pieces.collect();
    Bundle { sequence: Arc::new(sequence), pieces, after: Vec::new() }
}

/// Two queues have work before and after the bundle; only one of them has it in between.
#[test]
fn a_bundle_keeps_its_order_and_its_queues() {
    const BEFORE: [&[u32]; 7] = [&[], &[], &[0], &[0, 1], &[2, 3], &[], &[4]];
    for schedule in SCHEDULES {
        let (executor, group, log) = (executor(schedule), Group::new(), Arc::new(Mutex::new(Vec::new())));
        let queues = [queue(&group), queue(&group)];
        let note = |number: u32| {
            let (log, kind) = (
                Arc::clone(&log),
                [WorkKind::Device, WorkKind::Host, WorkKind::Instant][number as usize % 3],
            );
            Closure(kind, move |_: &Turn<'_>| log.lock().push(number))
        };
        for round in 0..20 {
            executor.submit(&queues[0], Box::new(note(100 + round)), &[]);
            let pieces = bundle(&queues[1], &BEFORE, |number| Box::new(note(number)));
            let end = Box::new(note(200 + round));
            let bundled = executor.submit_bundle(&queues[0], pieces, &[], end, &queues[1..]);
            let next = executor.submit(&queues[0], Box::new(note(300 + round)), &[]);
            let other = executor.submit(&queues[1], Box::new(note(400 + round)), &[]);
            wait(executor, &[next, other]);
            assert!(bundled.end.is_finished() && bundled.pieces.iter().all(|piece| piece.is_finished()));
            let log = std::mem::take(&mut *log.lock());
            let at = |number| log.iter().position(|one| *one == number).expect("it has run");
            assert_eq!(log.len(), BEFORE.len() + 4, "{log:?}");
            for (number, before) in (0..).zip(BEFORE) {
                assert!(before.iter().all(|earlier| at(*earlier) < at(number)), "{log:?}");
                assert!(at(100 + round) < at(number) && at(number) < at(200 + round), "{log:?}");
            }
            assert!(at(200 + round) < at(300 + round) && at(200 + round) < at(400 + round), "{log:?}");
        }
    }
}

/// Each reads a flag until another one has set it.
#[test]
fn pieces_without_order_run_side_by_side() {
    for schedule in SCHEDULES {
        let (executor, queue) = (executor(schedule), queue(&Group::new()));
        let flags: Arc<[AtomicBool; 6]> = Arc::default();
        let pieces = bundle(&queue, &[&[] as &[u32]; 6], |number| {
            let (flags, number) = (Arc::clone(&flags), number as usize);
            Box::new(Closure(WorkKind::Paced, move |turn: &Turn<'_>| {
                flags[number].store(true, Ordering::Release);
                spin(&flags[(number + 1) % 6], turn);
            }))
        });
        let end = Box::new(Closure(WorkKind::Instant, |_: &Turn<'_>| {}));
        wait(executor, &[executor.submit_bundle(&queue, pieces, &[], end, &[]).end]);
    }
}

/// Does bundles until it has done enough of them.
struct Again {
    queue: Arc<Queue>,
    log: Arc<Mutex<Vec<u32>>>,
    left: u32,
}

impl Work for Again {
    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn run(mut self: Box<Self>, _turn: &Turn<'_>) -> Outcome {
        if self.left == 0 {
            self.log.lock().push(99);
            return Outcome::Finished;
        }
        self.left -= 1;
        let pieces = bundle(&self.queue, &[&[] as &[u32], &[0], &[0]][..self.left as usize % 4], |number| {
            let (log, number) = (Arc::clone(&self.log), if number == 0 { 0 } else { 1 });
            Box::new(Closure(WorkKind::Device, move |_: &Turn<'_>| log.lock().push(number)))
        });
        Outcome::After(pieces, self)
    }
}

#[test]
fn work_can_have_bundles_of_its_own_before_it_is_finished() {
    for schedule in SCHEDULES {
        let (executor, queue, log) =
            (executor(schedule), queue(&Group::new()), Arc::new(Mutex::new(Vec::new())));
        let again = Again { queue: Arc::clone(&queue), log: Arc::clone(&log), left: 7 };
        let first = executor.submit(&queue, Box::new(again), &[]);
        let own = Arc::clone(&log);
        let next = submit(executor, &queue, WorkKind::Device, move |_| own.lock().push(100));
        wait(executor, &[first, next]);
        // Of 2, 1, 0, 3, 2, 1 and 0 pieces.
        assert_eq!(*log.lock(), [0, 1, 0, 0, 1, 1, 0, 1, 0, 99, 100]);
    }
}

/// Of work that has bundles of its own, too: they are its own, though they are given when later work waits already.
#[test]
fn in_order_what_was_submitted_first_is_finished_first() {
    let (executor, group, log) =
        (executor(Schedule::InOrder), Group::new(), Arc::new(Mutex::new(Vec::new())));
    let (held, ours, other) = (queue(&group), queue(&group), queue(&group));
    let (start, waits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (opened, begun) = (Arc::clone(&start), Arc::clone(&waits));
    // Short of the time after which it is left alone.
    submit(executor, &held, WorkKind::Device, move |_| {
        begun.store(true, Ordering::Release);
        while !opened.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    let again = Again { queue: Arc::clone(&ours), log: Arc::clone(&log), left: 4 };
    let first = executor.submit(&ours, Box::new(again), &[]);
    let own = Arc::clone(&log);
    let next = submit(executor, &other, WorkKind::Device, move |_| own.lock().push(100));
    while !waits.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    start.store(true, Ordering::Release);
    wait(executor, &[first, next]);
    assert_eq!(*log.lock(), [0, 1, 1, 0, 1, 0, 99, 100]);
}

#[test]
fn a_large_bundle_takes_time_that_grows_with_it() {
    for schedule in SCHEDULES {
        let (executor, queue, count) =
            (executor(schedule), queue(&Group::new()), Arc::new(AtomicU32::new(0)));
        let before: Vec<Vec<u32>> =
            (0..50_000u32).map(|at| at.checked_sub(3).into_iter().collect()).collect();
        let before: Vec<&[u32]> = before.iter().map(Vec::as_slice).collect();
        let pieces = bundle(&queue, &before, |_| {
            let count = Arc::clone(&count);
            Box::new(Closure(WorkKind::Device, move |_: &Turn<'_>| {
                count.fetch_add(1, Ordering::Relaxed);
            }))
        });
        let begin = Instant::now();
        let end = Box::new(Closure(WorkKind::Instant, |_: &Turn<'_>| {}));
        wait(executor, &[executor.submit_bundle(&queue, pieces, &[], end, &[]).end]);
        assert_eq!(count.load(Ordering::Relaxed), 50_000);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
