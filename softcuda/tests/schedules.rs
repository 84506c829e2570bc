//! The three schedules (`SOFTCUDA_SCHEDULE`), which are softcuda's own: each is legal for a device.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr)] // how a child tells its parent what happened

mod common;

use common::streams::{
    Gate, ILLEGAL_ADDRESS, LONG, Log, NOT_READY, event, free_stream, pinned, query, record, stream,
    synchronize,
};
use common::{Library, alone, at, with_context};
use std::ffi::c_void;
use std::time::{Duration, Instant};

const LAZY: &[(&str, &str)] = &[("SOFTCUDA_SCHEDULE", "lazy")];
const ALL: [&str; 3] = ["eager", "lazy", "seeded"];

fn allocate(cu: &Library, size: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), size]), 0);
    pointer
}

/// Puts a fill and a copy to page-locked memory into a stream.
fn fill_and_fetch(cu: &Library, device: u64, host: &mut [u8], value: u64, stream: u64) {
    let size = host.len() as u64;
    assert_eq!(cu.call("cuMemsetD8Async", &[device, value, size, stream]), 0);
    assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[host.as_mut_ptr() as u64, device, size, stream]), 0);
}

/// Under `eager` work runs although nothing asks for it.
#[test]
fn eager_work_runs_by_itself() {
    alone("eager_work_runs_by_itself", &[("SOFTCUDA_SCHEDULE", "eager")], || {
        let cu = with_context();
        let gate = Gate::in_stream(&cu, stream(&cu));
        assert!(gate.wait_until_reached());
        gate.open();
    });
}

#[test]
fn lazy_work_waits_until_it_is_asked_for() {
    alone("lazy_work_waits_until_it_is_asked_for", LAZY, || {
        let cu = with_context();
        let (a, b) = (free_stream(&cu), free_stream(&cu));
        let (host, other) = (pinned(&cu, 64), pinned(&cu, 64));
        fill_and_fetch(&cu, allocate(&cu, 64), host, 1, a);
        fill_and_fetch(&cu, allocate(&cu, 64), other, 2, b);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!((host[0], other[0]), (0, 0), "unsynchronised reads see old data");
        assert_eq!(synchronize(&cu, a), 0);
        assert_eq!((host[63], other[63]), (1, 0), "nobody has waited for the other stream");
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(other, [2; 64]);
    });
}

#[test]
fn lazy_waits_pull_what_they_follow() {
    alone("lazy_waits_pull_what_they_follow", LAZY, || {
        let cu = with_context();
        let (a, b, blocking, e, log) =
            (free_stream(&cu), free_stream(&cu), stream(&cu), event(&cu), Log::new());
        log.note(&cu, a, 1);
        record(&cu, e, a);
        log.note(&cu, a, 9);
        assert_eq!(cu.call("cuStreamWaitEvent", &[b, e, 0]), 0);
        log.note(&cu, b, 2);
        assert_eq!(synchronize(&cu, b), 0);
        assert_eq!(log.numbers(), [1, 2], "what comes after the event is not wanted");
        log.note(&cu, blocking, 3);
        let byte = 7u8;
        assert_eq!(cu.call("cuMemcpyHtoD_v2", &[allocate(&cu, 1), std::ptr::from_ref(&byte) as u64, 1]), 0);
        assert_eq!(log.numbers(), [1, 2, 3], "a synchronous copy follows the blocking streams");
        assert_eq!(cu.call("cuMemFree_v2", &[allocate(&cu, 1)]), 0);
        assert_eq!(log.numbers(), [1, 2, 3, 9], "a free waits for the whole context");
    });
}

/// A query answers that the work is not done, and sees to it that it gets done.
#[test]
fn lazy_polling_ends() {
    alone("lazy_polling_ends", LAZY, || {
        let cu = with_context();
        let (s, e, start) = (free_stream(&cu), event(&cu), event(&cu));
        let mut time = 0f32;
        let poll = |ask: &mut dyn FnMut() -> i32| {
            let begin = Instant::now();
            assert_eq!(ask(), NOT_READY, "the first answer");
            while ask() == NOT_READY {
                assert!(begin.elapsed() < LONG, "polling ends");
                std::thread::yield_now();
            }
            assert_eq!(ask(), 0);
        };
        for _ in 0..3 {
            Log::new().note(&cu, s, 1);
            poll(&mut || query(&cu, s));
            record(&cu, start, s);
            Log::new().note(&cu, s, 1);
            record(&cu, e, s);
            poll(&mut || cu.call("cuEventQuery", &[e]));
            record(&cu, e, s);
            poll(&mut || cu.call("cuEventElapsedTime", &[at(&mut time), start, e]));
        }
    });
}

/// Under `lazy`, memory that is used in a stream that does not wait for its allocation is always found out.
#[test]
fn lazy_finds_memory_used_too_early() {
    alone("lazy_finds_memory_used_too_early", LAZY, || {
        let cu = with_context();
        let (a, b) = (free_stream(&cu), free_stream(&cu));
        let mut p = 0u64;
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut p), 64, a]), 0);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 1, 64, b]), 0);
        assert_eq!(synchronize(&cu, b), ILLEGAL_ADDRESS);
    });
}

/// A program may wait for a host function without asking the driver, and a host function for one that nobody asks for:
/// what ends on a device ends under every schedule.
#[test]
fn what_ends_on_a_device_ends() {
    for schedule in ALL {
        alone("what_ends_on_a_device_ends", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            extern "C" fn open(gate: *mut c_void) {
                // SAFETY: the gate below, which lives for ever.
                unsafe { &*gate.cast::<Gate>() }.open();
            }
            let cu = with_context();
            let (a, b) = (free_stream(&cu), free_stream(&cu));
            let gate = Gate::in_stream(&cu, a);
            assert!(gate.wait_until_reached(), "without a call");
            gate.open();
            let gate = Gate::in_stream(&cu, a);
            let data = std::ptr::from_ref(gate) as u64;
            assert_eq!(cu.call("cuLaunchHostFunc", &[b, open as *const () as u64, data]), 0);
            assert_eq!(synchronize(&cu, a), 0, "the stream waits for the other one's host function");
            let gate = Gate::in_stream(&cu, a);
            let host = pinned(&cu, 64);
            fill_and_fetch(&cu, allocate(&cu, 64), host, 3, b);
            fill_and_fetch(&cu, allocate(&cu, 64), host, 4, a);
            assert_eq!(synchronize(&cu, b), 0, "a stream that is held up does not hold up others");
            assert_eq!(host, [3; 64]);
            gate.open();
            assert_eq!(synchronize(&cu, a), 0);
            assert_eq!(host, [4; 64]);
        });
    }
}

/// Order is kept under every schedule: a long chain through several streams, and threads that do all sorts of things.
#[test]
fn every_schedule_keeps_the_order() {
    for schedule in ALL {
        for seed in ["0", "1", "2"] {
            let variables = [("SOFTCUDA_SCHEDULE", schedule), ("SOFTCUDA_SEED", seed)];
            alone("every_schedule_keeps_the_order", &variables, || {
                let cu = with_context();
                let streams: Vec<u64> = (0..5).map(|_| free_stream(&cu)).collect();
                let log = Log::new();
                for i in 0..100 {
                    let (s, next) = (streams[i % 5], streams[(i + 1) % 5]);
                    log.note(&cu, s, i as i32);
                    let e = event(&cu);
                    record(&cu, e, s);
                    assert_eq!(cu.call("cuStreamWaitEvent", &[next, e, 0]), 0);
                    assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0);
                }
                assert_eq!(synchronize(&cu, streams[0]), 0);
                assert_eq!(log.numbers(), (0..100).collect::<Vec<_>>());
            });
        }
    }
}

#[test]
fn every_schedule_bears_many_threads() {
    for schedule in ALL {
        alone("every_schedule_bears_many_threads", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            std::thread::scope(|scope| {
                for thread in 1..=6u64 {
                    let cu = &cu;
                    let (s, t) = (free_stream(cu), free_stream(cu));
                    let (host, device) = (pinned(cu, 64), allocate(cu, 64));
                    scope.spawn(move || {
                        let mut e = 0u64;
                        for round in 0..60 {
                            fill_and_fetch(cu, device, host, thread + round, s);
                            Log::new().note(cu, t, 1);
                            if round == 0 {
                                let context = common_context(cu);
                                assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                                e = event(cu);
                            }
                            record(cu, e, s);
                            assert_eq!(cu.call("cuStreamWaitEvent", &[t, e, 0]), 0);
                            match round % 3 {
                                0 => assert_eq!(synchronize(cu, t), 0),
                                1 => assert_eq!(cu.call("cuEventSynchronize", &[e]), 0),
                                _ => while query(cu, t) == NOT_READY {},
                            }
                            assert_eq!(host[..], [(thread + round) as u8; 64]);
                        }
                    });
                }
            });
        });
    }
}

fn common_context(cu: &Library) -> u64 {
    let mut context = 0;
    assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), 0);
    context
}

/// What happens under a seed: the order of host functions, and what unsynchronised reads and queries see.
fn trace(seed: &str) -> String {
    let variables = [("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)];
    let said = alone("one_seed_is_one_trace_and_many_are_several", &variables, || {
        let cu = with_context();
        let streams: Vec<u64> = (0..4).map(|_| free_stream(&cu)).collect();
        let (log, e, host, device) = (Log::new(), event(&cu), pinned(&cu, 4), allocate(&cu, 4));
        for round in 0..6 {
            for (i, &s) in streams.iter().enumerate() {
                log.note(&cu, s, round * 10 + i as i32);
                fill_and_fetch(&cu, device + i as u64, &mut host[i..=i], 1 + round as u64, s);
            }
            record(&cu, e, streams[0]);
            assert_eq!(cu.call("cuStreamWaitEvent", &[streams[1], e, 0]), 0);
            log.add(1000 + i32::from(host[0]) * 10 + i32::from(host[3]));
            log.add(2000 + query(&cu, streams[2]));
        }
        assert_eq!(synchronize(&cu, streams[1]), 0);
        log.add(3000 + query(&cu, streams[3]));
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        eprintln!("trace {:?}", log.numbers());
    });
    said.lines().find(|line| line.starts_with("trace")).unwrap_or_default().to_owned()
}

#[test]
fn one_seed_is_one_trace_and_many_are_several() {
    let mut traces = Vec::new();
    for seed in 0..16 {
        let seed = seed.to_string();
        let first = trace(&seed);
        for _ in 0..2 {
            assert_eq!(trace(&seed), first, "seed {seed}");
        }
        traces.push(first);
    }
    if std::env::var_os("SOFTCUDA_TEST_CHILD").is_none() {
        assert!(traces.iter().all(|trace| trace.len() > 100), "{traces:?}");
        traces.sort_unstable();
        traces.dedup();
        assert!(traces.len() >= 2, "{traces:?}");
    }
}

/// A host function that waits for the program does not hold up the program's calls.
#[test]
fn a_seed_bears_gates() {
    for seed in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        let variables = [("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)];
        alone("a_seed_bears_gates", &variables, || {
            let cu = with_context();
            let (s, log) = (stream(&cu), Log::new());
            for i in 0..3 {
                let gate = Gate::in_stream(&cu, s);
                log.note(&cu, s, i);
                assert_eq!(query(&cu, s), NOT_READY);
                gate.open();
                while query(&cu, s) == NOT_READY {}
            }
            assert_eq!(log.numbers(), [0, 1, 2]);
        });
    }
}
