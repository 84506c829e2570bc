//! Streams: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::streams::{
    Gate, ILLEGAL_ADDRESS, INVALID_HANDLE, LEGACY, Log, NOT_READY, PER_THREAD, event, free_stream, nop,
    pinned, query, record, stream, synchronize,
};
use crate::common::{DESTROYED, INVALID_VALUE, Library, alone, at, first, with_context};
use std::time::Duration;

/// Not measured: a real driver may crash.
#[test]
fn handles_that_are_none() {
    alone("handles_that_are_none", &[], || {
        let cu = with_context();
        for bad in [3, 0x1234_5678] {
            assert_eq!(query(&cu, bad), INVALID_HANDLE, "{bad:#x}");
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
            let answered = cu.call("cuDriverGetVersion", &[at(&mut 0i32)]) == 0;
            let expected = refused == [crate::common::NOT_INITIALIZED; 3] && answered;
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!expected)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
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
        gate.open();
        assert_eq!(synchronize(&cu, t), 0);
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

/// Not measured.
#[test]
fn a_context_ends_when_its_work_is_done() {
    alone("a_context_ends_when_its_work_is_done", &[], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), 0);
        let log = Log::new();
        log.note(&cu, stream(&cu), 1);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[context]), 0);
        assert_eq!(log.numbers(), [1]);
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

const EQUAL: u64 = 1;
const PRIORITY: u64 = 8;

/// The address of a word of page-locked memory.
fn word(cu: &Library) -> u64 {
    first(pinned(cu, 64))
}

/// Nothing else would end such a wait: it does not outlive its context.
#[test]
fn a_wait_ends_with_its_context() {
    alone("a_wait_ends_with_its_context", &[], || {
        let cu = with_context();
        let (s, at_word) = (free_stream(&cu), word(&cu));
        assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 1, EQUAL]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
    });
    alone("a_wait_ends_with_its_context", &[("SOFTCUDA_DEVICES", "1")], || {
        let cu = with_context();
        let (s, at_word) = (free_stream(&cu), word(&cu));
        assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 1, EQUAL]), 0);
        assert_eq!(cu.call("softcuda_poison", &[ILLEGAL_ADDRESS as u64]), 0);
        assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS);
    });
}

#[test]
fn a_default_stream_keeps_its_priority() {
    alone("a_default_stream_keeps_its_priority", &[], || {
        let cu = with_context();
        let value = [0u32; 16];
        assert_eq!(cu.call("cuStreamSetAttribute", &[LEGACY, PRIORITY, first(&value)]), INVALID_VALUE);
    });
}
