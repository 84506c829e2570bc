//! Streams: every expectation was measured on driver 580, but for the lines that say otherwise.
#![cfg(target_os = "linux")]

mod common;

use common::streams::{
    Gate, INVALID_HANDLE, LEGACY, LONG, Log, NOT_READY, PER_THREAD, event, free_stream, nop, pinned, query,
    record, stream, synchronize,
};
use common::{DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Library, alone, at, with_context};
use std::time::{Duration, Instant};

#[test]
fn creation() {
    alone("creation", &[], || {
        let cu = with_context();
        let mut s = 7u64;
        assert_eq!(cu.call("cuStreamCreate", &[at(&mut s), 2]), INVALID_VALUE);
        assert_eq!(cu.call("cuStreamCreate", &[0, 0]), INVALID_VALUE);
        assert_eq!(s, 7);
        for (asked, given) in [(5i32, 0), (-99, -5), (0, 0), (-5, -5), (-3, -3), (99, 0)] {
            let mut priority = 9i32;
            assert_eq!(cu.call("cuStreamCreateWithPriority", &[at(&mut s), 1, asked as u64]), 0);
            assert_eq!(cu.call("cuStreamGetPriority", &[s, at(&mut priority)]), 0);
            assert_eq!(priority, given, "asked for {asked}");
        }
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0);
        // Not measured: a real driver may crash.
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), INVALID_HANDLE);
        for bad in [s, 3, 0x1234_5678, event(&cu)] {
            assert_eq!(query(&cu, bad), INVALID_HANDLE, "{bad:#x}");
        }
    });
}

#[test]
fn default_streams() {
    alone("default_streams", &[], || {
        let cu = with_context();
        for default in [0, LEGACY, PER_THREAD] {
            let (mut flags, mut priority) = (9u32, 9i32);
            assert_eq!(cu.call("cuStreamGetFlags", &[default, at(&mut flags)]), 0);
            assert_eq!(cu.call("cuStreamGetPriority", &[default, at(&mut priority)]), 0);
            assert_eq!((flags, priority), (0, 0));
            assert_eq!(cu.call("cuStreamDestroy_v2", &[default]), INVALID_HANDLE);
            assert_eq!((query(&cu, default), synchronize(&cu, default)), (0, 0));
        }
        let mut flags = 9u32;
        assert_eq!(cu.call("cuStreamGetFlags", &[free_stream(&cu), at(&mut flags)]), 0);
        assert_eq!(flags, 1);
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
        for default in [0, LEGACY, PER_THREAD] {
            assert_eq!(synchronize(&cu, default), INVALID_CONTEXT, "{default}");
        }
    });
}

fn id(cu: &Library, function: &str, stream: u64) -> u64 {
    let mut id = 0;
    assert_eq!(cu.call(function, &[stream, at(&mut id)]), 0);
    id
}

#[test]
fn identity() {
    alone("identity", &[], || {
        let cu = with_context();
        let (a, b) = (stream(&cu), stream(&cu));
        let legacy = id(&cu, "cuStreamGetId", LEGACY);
        let own = id(&cu, "cuStreamGetId", PER_THREAD);
        let mut ids = vec![id(&cu, "cuStreamGetId", a), id(&cu, "cuStreamGetId", b), legacy, own];
        assert_eq!(id(&cu, "cuStreamGetId", 0), legacy);
        assert_eq!(id(&cu, "cuStreamGetId_ptsz", 0), own, "NULL of a per-thread name");
        assert_eq!(id(&cu, "cuStreamGetId_ptsz", LEGACY), legacy);
        assert_eq!(id(&cu, "cuStreamGetId", 0), legacy, "the per-thread name is forgotten");
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                id(&cu, "cuStreamGetId", PER_THREAD)
            });
            ids.push(other.join().expect("the thread ends"));
        });
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), 0);
        ids.extend([id(&cu, "cuStreamGetId", LEGACY), id(&cu, "cuStreamGetId", PER_THREAD)]);
        let number = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), number, "all are different");

        let (mut of, mut green, mut device) = (0u64, 9u64, 9i32);
        assert_eq!(cu.call("cuStreamGetCtx", &[a, at(&mut of)]), 0);
        assert_eq!(of, context, "a stream knows its context");
        assert_eq!(cu.call("cuStreamGetCtx", &[0, at(&mut of)]), 0);
        assert_eq!(of, other, "a default stream is the current context's");
        assert_eq!(cu.call("cuStreamGetCtx_v2", &[a, at(&mut of), at(&mut green)]), 0);
        assert_eq!((of, green), (context, 0));
        assert_eq!(cu.call("cuStreamGetDevice", &[a, at(&mut device)]), 0);
        assert_eq!(device, 0);
    });
}

/// Measured: only the status is written.
#[test]
fn nothing_captures() {
    alone("nothing_captures", &[], || {
        let cu = with_context();
        let (s, mut status, mut out) = (stream(&cu), 9i32, [7u64; 4]);
        let [id, graph, nodes, number] = std::array::from_fn(|i| at(&mut out[i]));
        let asked: [(&str, Vec<u64>); 4] = [
            ("cuStreamIsCapturing", vec![s, at(&mut status)]),
            ("cuStreamGetCaptureInfo", vec![s, at(&mut status), id]),
            ("cuStreamGetCaptureInfo_v2", vec![s, at(&mut status), id, graph, nodes, number]),
            ("cuStreamGetCaptureInfo_v3", vec![s, at(&mut status), id, graph, nodes, 0, number]),
        ];
        for (name, arguments) in asked {
            status = 9;
            assert_eq!(cu.call(name, &arguments), 0, "{name}");
            assert_eq!((status, out), (0, [7; 4]), "{name}");
        }
        assert_eq!(cu.call("cuStreamGetCaptureInfo_v2", &[s, 0, 0, 0, 0, 0]), INVALID_VALUE, "not measured");
    });
}

/// The child of a fork has no driver, whatever the parent's threads were at.
#[test]
fn a_fork_with_work_under_way() {
    alone("a_fork_with_work_under_way", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let gate = Gate::in_stream(&cu, s);
        assert!(gate.wait_until_reached());
        // SAFETY: the child makes calls that answer before any lock, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let refused = [query(&cu, s), synchronize(&cu, s), cu.call("cuCtxSynchronize", &[])];
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(refused != [common::NOT_INITIALIZED; 3])) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
    });
}

#[test]
fn a_busy_stream() {
    alone("a_busy_stream", &[], || {
        let cu = with_context();
        let s = free_stream(&cu);
        let log = Log::new();
        let gate = Gate::in_stream(&cu, s);
        log.note(&cu, s, 1);
        assert!(gate.wait_until_reached());
        assert_eq!(query(&cu, s), NOT_READY);
        let start = Instant::now();
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0);
        assert!(start.elapsed() < LONG, "a stream with pending work is destroyed at once");
        assert!(log.numbers().is_empty());
        gate.open();
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(log.numbers(), [1], "its work is done all the same");
    });
}

/// No stream is held up by what another one waits for.
#[test]
fn independent_streams_run_side_by_side() {
    alone("independent_streams_run_side_by_side", &[], || {
        let cu = with_context();
        let gates: Vec<_> = (0..40).map(|_| Gate::in_stream(&cu, free_stream(&cu))).collect();
        for gate in &gates {
            assert!(gate.wait_until_reached(), "every stream has started");
        }
        gates.iter().for_each(|gate| gate.open());
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
    });
}

#[test]
fn order_within_and_between_streams() {
    alone("order_within_and_between_streams", &[], || {
        let cu = with_context();
        let (a, b) = (free_stream(&cu), free_stream(&cu));
        let log = Log::new();
        let gate = Gate::in_stream(&cu, a);
        log.note(&cu, a, 1);
        let e = event(&cu);
        record(&cu, e, a);
        assert_eq!(cu.call("cuStreamWaitEvent", &[b, e, 0]), 0);
        log.note(&cu, b, 2);
        record(&cu, e, b);
        assert_eq!(cu.call("cuStreamWaitEvent", &[a, e, 0]), 0);
        log.note(&cu, a, 3);
        assert_eq!((query(&cu, a), query(&cu, b)), (NOT_READY, NOT_READY));
        gate.open();
        assert_eq!(synchronize(&cu, a), 0);
        assert_eq!(log.numbers(), [1, 2, 3]);
    });
}

/// The lines E0 to E8 of the probe, and the section `legacy_sync`.
#[test]
fn the_legacy_stream_and_the_others() {
    alone("the_legacy_stream_and_the_others", &[], || {
        let cu = with_context();
        let (blocking, other, free) = (stream(&cu), stream(&cu), free_stream(&cu));
        let all = |streams: &[u64]| streams.iter().map(|s| query(&cu, *s)).collect::<Vec<_>>();

        let gate = Gate::in_stream(&cu, blocking);
        let now = all(&[blocking, LEGACY, free, other, PER_THREAD]);
        assert_eq!(now, [NOT_READY, NOT_READY, 0, 0, 0], "E0: a blocking stream is busy");
        nop(&cu, LEGACY);
        assert_eq!(all(&[LEGACY, other]), [NOT_READY, 0], "E1: work on legacy");
        nop(&cu, other);
        nop(&cu, free);
        assert_eq!(synchronize(&cu, free), 0);
        assert_eq!(all(&[other, free]), [NOT_READY, 0], "E2: work on another blocking one and a free one");
        nop(&cu, PER_THREAD);
        assert_eq!(all(&[PER_THREAD]), [NOT_READY], "E3: per-thread work behind legacy work");
        gate.open();
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(all(&[blocking, other, free, LEGACY, PER_THREAD]), [0; 5]);

        let gate = Gate::in_stream(&cu, free);
        nop(&cu, LEGACY);
        assert_eq!(synchronize(&cu, LEGACY), 0, "E5: a non-blocking stream does not matter");
        gate.open();

        let gate = Gate::in_stream(&cu, blocking);
        nop(&cu, PER_THREAD);
        assert_eq!(synchronize(&cu, PER_THREAD), 0, "E6: per-thread and blocking do not see each other");
        let e = event(&cu);
        record(&cu, e, LEGACY);
        assert_eq!(cu.call("cuEventQuery", &[e]), NOT_READY, "E7: an event on legacy");
        gate.open();
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);

        let gate = Gate::in_stream(&cu, LEGACY);
        nop(&cu, PER_THREAD);
        nop(&cu, blocking);
        nop(&cu, free);
        assert_eq!(synchronize(&cu, free), 0);
        assert_eq!(all(&[PER_THREAD, blocking, free]), [NOT_READY, NOT_READY, 0], "E8: legacy is busy");
        gate.open();
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
    });
}

#[test]
fn legacy_work_follows_per_thread_work() {
    alone("legacy_work_follows_per_thread_work", &[], || {
        let cu = with_context();
        let gate = Gate::in_stream(&cu, PER_THREAD);
        assert_eq!(query(&cu, LEGACY), NOT_READY);
        let e = event(&cu);
        record(&cu, e, LEGACY);
        assert_eq!(cu.call("cuEventQuery", &[e]), NOT_READY);
        gate.open();
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
    });
}

#[test]
fn each_thread_has_its_own_stream() {
    alone("each_thread_has_its_own_stream", &[], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let gate = Gate::in_stream(&cu, PER_THREAD);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                nop(&cu, PER_THREAD);
                assert_eq!(synchronize(&cu, PER_THREAD), 0);
            });
        });
        assert_eq!(query(&cu, PER_THREAD), NOT_READY);
        assert_eq!(cu.call("cuStreamQuery_ptsz", &[0]), NOT_READY);
        assert_eq!(query(&cu, stream(&cu)), 0);
        gate.open();
        assert_eq!(cu.call("cuStreamSynchronize_ptsz", &[0]), 0);
    });
}

#[test]
fn contexts_are_independent_but_for_events() {
    alone("contexts_are_independent_but_for_events", &[], || {
        let cu = with_context();
        let (s, e) = (stream(&cu), event(&cu));
        let gate = Gate::in_stream(&cu, s);
        record(&cu, e, s);
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), 0);
        assert_eq!((query(&cu, LEGACY), cu.call("cuCtxSynchronize", &[])), (0, 0));
        let t = stream(&cu);
        assert_eq!(cu.call("cuStreamWaitEvent", &[t, e, 0]), 0, "events may come from other contexts");
        assert_eq!(query(&cu, t), NOT_READY);
        assert_eq!(cu.call("cuEventRecord", &[e, t]), INVALID_HANDLE, "not on streams of other contexts");
        gate.open();
        assert_eq!(synchronize(&cu, t), 0);
        let (f, mut time) = (event(&cu), 0f32);
        record(&cu, f, t);
        assert_eq!(synchronize(&cu, t), 0);
        assert_eq!(cu.call("cuEventElapsedTime", &[at(&mut time), e, f]), INVALID_HANDLE);
    });
}

/// The section `needctx`: work on created streams needs no current context.
#[test]
fn without_a_current_context() {
    alone("without_a_current_context", &[], || {
        extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        let cu = with_context();
        let (s, e, f) = (free_stream(&cu), event(&cu), event(&cu));
        let host = pinned(&cu, 64).as_mut_ptr() as u64;
        let (mut a, mut b, mut pool) = (0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut a), 64]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut b), 64]), 0);
        assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut pool), 0]), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
        let (mut time, mut status, mut c, mut d) = (0f32, 9i32, 0u64, 0u64);
        let calls: &[(&str, &[u64])] = &[
            ("cuEventRecord", &[e, s]),
            ("cuEventRecord", &[f, s]),
            ("cuEventSynchronize", &[f]),
            ("cuEventQuery", &[e]),
            ("cuEventElapsedTime", &[at(&mut time), e, f]),
            ("cuStreamWaitEvent", &[s, e, 0]),
            ("cuStreamSynchronize", &[s]),
            ("cuStreamQuery", &[s]),
            ("cuStreamIsCapturing", &[s, at(&mut status)]),
            ("cuLaunchHostFunc", &[s, nothing as *const () as u64, 0]),
            ("cuMemsetD8Async", &[a, 1, 64, s]),
            ("cuMemcpyDtoDAsync_v2", &[a, b, 64, s]),
            ("cuMemcpyHtoDAsync_v2", &[a, host, 64, s]),
            ("cuMemcpyAsync", &[a, b, 64, s]),
            ("cuMemAllocAsync", &[at(&mut c), 64, s]),
            ("cuMemAllocFromPoolAsync", &[at(&mut d), 64, pool, s]),
        ];
        for (name, arguments) in calls {
            assert_eq!(cu.call(name, arguments), 0, "{name}");
        }
        assert_eq!(cu.call("cuMemFreeAsync", &[c, s]), 0);
        for pointer in [a, b, d] {
            assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
        }
        assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0);
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0);
        assert_eq!(cu.call("cuStreamCreate", &[at(&mut a), 0]), INVALID_CONTEXT);
        assert_eq!(cu.call("cuEventCreate", &[at(&mut a), 0]), INVALID_CONTEXT);
    });
}

/// The section `reset`.
#[test]
fn after_a_reset() {
    alone("after_a_reset", &[], || {
        let cu = with_context();
        let (s, e) = (stream(&cu), event(&cu));
        let log = Log::new();
        log.note(&cu, s, 1);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(log.numbers(), [1], "not measured: a reset waits for what was to do");
        for _ in 0..2 {
            assert_eq!(query(&cu, s), DESTROYED);
            assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), DESTROYED);
            // Not measured.
            assert_eq!(cu.call("cuEventQuery", &[e]), DESTROYED);
            assert_eq!(cu.call("cuEventDestroy_v2", &[e]), DESTROYED);
            assert_eq!(cu.call("cuEventRecord", &[e, s]), DESTROYED);
        }
        assert_eq!((query(&cu, LEGACY), query(&cu, PER_THREAD)), (DESTROYED, DESTROYED));
        assert_eq!(cu.call("softcuda_live_objects", &[]), 0);
        let mut context = 0u64;
        assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), 0);
        assert_eq!((query(&cu, LEGACY), query(&cu, s)), (0, DESTROYED));
        assert_eq!(synchronize(&cu, stream(&cu)), 0);
    });
}

/// Chosen: the real driver crashes on streams of a destroyed context.
#[test]
fn streams_of_a_destroyed_context() {
    alone("streams_of_a_destroyed_context", &[], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), 0);
        let (s, e) = (stream(&cu), event(&cu));
        let log = Log::new();
        log.note(&cu, s, 1);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[context]), 0);
        assert_eq!(log.numbers(), [1], "a context ends when its work is done");
        for (name, arguments) in [
            ("cuStreamQuery", vec![s]),
            ("cuStreamSynchronize", vec![s]),
            ("cuStreamDestroy_v2", vec![s]),
            ("cuEventRecord", vec![e, s]),
            ("cuEventQuery", vec![e]),
            ("cuStreamWaitEvent", vec![LEGACY, e, 0]),
        ] {
            assert_eq!(cu.call(name, &arguments), DESTROYED, "{name}");
        }
    });
}

/// Threads use streams and events of their own and each other's at once.
#[test]
fn many_threads() {
    alone("many_threads", &[], || {
        const THREADS: u64 = 8;
        const ROUNDS: u64 = 200;
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let shared = stream(&cu);
        let log = Log::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let cu = &cu;
                scope.spawn(move || {
                    assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                    for round in 0..ROUNDS {
                        let (own, e) = (if round % 2 == 0 { stream(cu) } else { free_stream(cu) }, event(cu));
                        log.note(cu, own, thread as i32);
                        record(cu, e, own);
                        assert_eq!(cu.call("cuStreamWaitEvent", &[shared, e, 0]), 0);
                        log.note(cu, shared, -1);
                        nop(cu, LEGACY);
                        nop(cu, PER_THREAD);
                        match round % 4 {
                            0 => assert_eq!(synchronize(cu, own), 0),
                            1 => assert_eq!(synchronize(cu, PER_THREAD), 0),
                            2 => assert_eq!(cu.call("cuEventSynchronize", &[e]), 0),
                            _ => assert!(matches!(query(cu, shared), 0 | NOT_READY)),
                        }
                        assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0);
                        assert_eq!(cu.call("cuStreamDestroy_v2", &[own]), 0);
                    }
                });
            }
        });
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        let numbers = log.numbers();
        let count = |wanted: i32| numbers.iter().filter(|&&number| number == wanted).count() as u64;
        assert_eq!(count(-1), THREADS * ROUNDS);
        assert!((0..THREADS).all(|thread| count(thread as i32) == ROUNDS));
        assert_eq!(cu.call("softcuda_live_objects", &[]), 2);
    });
}

/// A process may exit while its work waits, and its exit handlers may call the driver.
#[test]
fn exit_with_pending_work() {
    alone("exit_with_pending_work", &[], || {
        static STREAM: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        extern "C" fn late() {
            const DEINITIALIZED: i32 = 4;
            let stream = STREAM.load(std::sync::atomic::Ordering::Relaxed);
            // Documented: from the driver's exit handler on.
            if query(&Library::core(), stream) != DEINITIALIZED {
                std::process::abort();
            }
        }
        // SAFETY: a handler without conditions, registered before the driver's, so that it runs after it.
        assert_eq!(unsafe { libc::atexit(late) }, 0);
        let cu = with_context();
        let s = stream(&cu);
        STREAM.store(s, std::sync::atomic::Ordering::Relaxed);
        let gate = Gate::in_stream(&cu, s);
        nop(&cu, s);
        assert!(gate.wait_until_reached());
        std::thread::sleep(Duration::from_millis(1));
    });
}
