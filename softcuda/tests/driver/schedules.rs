//! The schedules (`SOFTCUDA_SCHEDULE`), which are softcuda's own: each is legal for a device.
#![allow(clippy::print_stderr)] // how a child tells its parent what happened

use crate::common::streams::{
    Gate, ILLEGAL_ADDRESS, LONG, Log, NOT_READY, event, free_stream, pinned, query, record, stream,
    synchronize,
};
use crate::common::{Library, alone, at, with_context};
use std::ffi::c_void;
use std::time::{Duration, Instant};

const LAZY: &[(&str, &str)] = &[("SOFTCUDA_SCHEDULE", "lazy")];
const ALL: [&str; 4] = ["eager", "lazy", "seeded", "in-order"];

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

/// In order, work of streams that do not wait for each other is done as it was given, and nobody has to ask for it.
#[test]
fn in_order_is_the_order_of_the_calls() {
    alone("in_order_is_the_order_of_the_calls", &[("SOFTCUDA_SCHEDULE", "in-order")], || {
        let cu = with_context();
        let streams: Vec<u64> = (0..4).map(|_| free_stream(&cu)).collect();
        let (log, host, device) = (Log::new(), pinned(&cu, 1 << 20), allocate(&cu, 1 << 20));
        for round in 0..50 {
            for (i, &s) in streams.iter().enumerate() {
                log.note(&cu, s, round * 4 + i as i32);
            }
            // A large one is not overtaken by a small one that reads what it has written, in another stream.
            let value = u64::from(round as u8) + 1;
            assert_eq!(cu.call("cuMemsetD8Async", &[device, value, 1 << 20, streams[0]]), 0);
            let host_at = host.as_mut_ptr() as u64;
            assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[host_at + 7, device + 7, 1, streams[1]]), 0);
            if round % 10 == 9 {
                assert_eq!(synchronize(&cu, streams[1]), 0);
                assert_eq!(u64::from(host[7]), value, "without an event between the streams");
            }
        }
        let gate = Gate::in_stream(&cu, streams[2]);
        assert!(gate.wait_until_reached(), "nobody asks");
        assert_eq!(log.numbers(), (0..200).collect::<Vec<_>>());
        assert_eq!(query(&cu, streams[2]), NOT_READY, "the caller goes on");
        // What takes long is left alone.
        log.note(&cu, streams[3], 200);
        assert_eq!(synchronize(&cu, streams[3]), 0);
        gate.open();
        assert_eq!(synchronize(&cu, streams[2]), 0);
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

/// A kernel that reads the word at `flag` until it is not 0, and writes 1 to the one at `reached` before.
const SPIN: &[u8] = b".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry spin(.param .u64 flag, .param .u64 reached) {\n\
    .reg .u64 %f, %r;\n.reg .u32 %x;\n.reg .pred %p;\n\
    ld.param.u64 %f, [flag];\nld.param.u64 %r, [reached];\nmov.u32 %x, 1;\nst.volatile.global.u32 [%r], %x;\n\
    again:\nld.volatile.global.u32 %x, [%f];\nsetp.eq.u32 %p, %x, 0;\n@%p bra again;\nret;\n}\n\0";

fn spin_kernel(cu: &Library) -> u64 {
    let (mut module, mut function) = (0u64, 0u64);
    assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), SPIN.as_ptr() as u64]), 0);
    let name = c"spin".as_ptr() as u64;
    assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut function), module, name]), 0);
    function
}

/// Launches one thread; the arguments are addresses.
fn launch(cu: &Library, function: u64, arguments: [u64; 2], stream: u64) {
    let each = arguments.each_ref().map(std::ptr::from_ref);
    let ones = 1 | 1 << 32;
    // Grid and block; no shared memory; the stream; no attributes.
    let mut config = [ones, ones, ones, 0, stream, 0, 0];
    assert_eq!(cu.call("cuLaunchKernelEx", &[at(&mut config), function, each.as_ptr() as u64, 0]), 0);
}

/// Every schedule, the seeded one with several seeds.
fn each_schedule(test: &str, body: impl Fn()) {
    for schedule in ALL {
        for seed in if schedule == "seeded" { &["0", "1", "2", "3", "4", "5"][..] } else { &["0"] } {
            alone(test, &[("SOFTCUDA_SCHEDULE", schedule), ("SOFTCUDA_SEED", seed)], &body);
        }
    }
}

fn word(bytes: &mut [u8]) -> &std::sync::atomic::AtomicU32 {
    // SAFETY: page-locked memory begins at a page, and is longer.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(bytes.as_mut_ptr().cast()) }
}

/// A kernel that spins on page-locked memory, which the host writes when the launch has returned, lets the program go on.
#[test]
fn a_kernel_may_wait_for_the_host() {
    each_schedule("a_kernel_may_wait_for_the_host", || {
        let cu = with_context();
        let (s, other, spin) = (free_stream(&cu), free_stream(&cu), spin_kernel(&cu));
        let (flag, reached, host) = (pinned(&cu, 64), pinned(&cu, 64), pinned(&cu, 64));
        let (flag_at, reached_at) = (flag.as_ptr() as u64, reached.as_ptr() as u64);
        let (flag, reached) = (word(flag), word(reached));
        for round in 1..4 {
            launch(&cu, spin, [flag_at, reached_at], s);
            // What is independent of it is done meanwhile, also by calls that wait.
            fill_and_fetch(&cu, allocate(&cu, 64), host, round, other);
            assert_eq!(synchronize(&cu, other), 0);
            assert_eq!(host, [round as u8; 64]);
            assert_eq!(query(&cu, s), NOT_READY);
            flag.store(1, std::sync::atomic::Ordering::Release);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(reached.load(std::sync::atomic::Ordering::Acquire), 1);
            flag.store(0, std::sync::atomic::Ordering::Release);
        }
    });
}

/// A program may wait, without a call, for what a kernel writes that waits for the program.
#[test]
fn a_program_and_a_kernel_may_wait_for_each_other() {
    each_schedule("a_program_and_a_kernel_may_wait_for_each_other", || {
        let cu = with_context();
        let (s, spin) = (free_stream(&cu), spin_kernel(&cu));
        let (flag, reached) = (pinned(&cu, 64), pinned(&cu, 64));
        launch(&cu, spin, [flag.as_ptr() as u64, reached.as_ptr() as u64], s);
        let begin = Instant::now();
        while word(reached).load(std::sync::atomic::Ordering::Acquire) == 0 {
            assert!(begin.elapsed() < LONG, "the kernel begins");
            std::thread::yield_now();
        }
        word(flag).store(1, std::sync::atomic::Ordering::Release);
        assert_eq!(synchronize(&cu, s), 0);
    });
}

/// More kernels than the driver has threads for, and each waits for other work, which comes after them all.
#[test]
fn kernels_may_wait_for_other_work() {
    each_schedule("kernels_may_wait_for_other_work", || {
        let cu = with_context();
        let (spin, flag, reached) = (spin_kernel(&cu), allocate(&cu, 4), allocate(&cu, 4));
        assert_eq!(cu.call("cuMemsetD32_v2", &[flag, 0, 1]), 0);
        // Nothing below is ordered behind it, and the call does not wait.
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        let streams: Vec<u64> = (0..10).map(|_| free_stream(&cu)).collect();
        for &s in &streams {
            launch(&cu, spin, [flag, reached], s);
        }
        assert_eq!(cu.call("cuMemsetD32Async", &[flag, 1, 1, free_stream(&cu)]), 0);
        let begin = Instant::now();
        while query(&cu, streams[0]) == NOT_READY {
            assert!(begin.elapsed() < LONG, "asking comes to an end");
            std::thread::yield_now();
        }
        for s in streams {
            assert_eq!(synchronize(&cu, s), 0);
        }
    });
}

/// What a context has lost does not go on for ever.
#[test]
fn a_kernel_that_waits_ends_with_its_context() {
    each_schedule("a_kernel_that_waits_ends_with_its_context", || {
        let cu = with_context();
        let (s, spin) = (free_stream(&cu), spin_kernel(&cu));
        let (flag, reached) = (pinned(&cu, 64), pinned(&cu, 64));
        launch(&cu, spin, [flag.as_ptr() as u64, reached.as_ptr() as u64], s);
        assert_eq!(cu.call("softcuda_poison", &[ILLEGAL_ADDRESS as u64]), 0);
        assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0, "it waits for all work of the context");
    });
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
