//! Events: every expectation was measured on driver 580, but for the lines that say otherwise.
#![cfg(target_os = "linux")]

mod common;

use common::streams::{
    Gate, ILLEGAL_STATE, INVALID_HANDLE, LEGACY, Log, NOT_READY, PER_THREAD, event, event_with, free_stream,
    record, synchronize,
};
use common::{INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, with_context};
use std::time::Duration;

fn elapsed(cu: &Library, start: u64, end: u64) -> (i32, f32) {
    let mut time = -1f32;
    let first = cu.call("cuEventElapsedTime", &[at(&mut time), start, end]);
    let mut again = -1f32;
    let second = cu.call("cuEventElapsedTime_v2", &[at(&mut again), start, end]);
    assert_eq!((first, time), (second, again), "both versions answer the same");
    (first, time)
}

#[test]
fn creation() {
    alone("creation", &[], || {
        let cu = with_context();
        let mut e = 7u64;
        let create = |e: &mut u64, flags| cu.call("cuEventCreate", &[at(e), flags]);
        for (flags, expected) in
            [(0x10, 1), (4, 1), (5, 1), (8, 1), (6, 0), (7, 0), (0, 0), (1, 0), (2, 0), (3, 0)]
        {
            assert_eq!(create(&mut e, flags), expected, "flags {flags}");
        }
        assert_eq!(cu.call("cuEventCreate", &[0, 0]), INVALID_VALUE);
        let mut handle = [0u8; 64];
        assert_eq!(cu.call("cuIpcGetEventHandle", &[at(&mut handle), e]), INVALID_HANDLE, "a plain event");
        // Chosen: events do not leave the process.
        assert_eq!(cu.call("cuIpcGetEventHandle", &[at(&mut handle), event_with(&cu, 6)]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0);
        let s = free_stream(&cu);
        // NULL; not measured: a stale handle, and one of another kind.
        for bad in [0, e, s] {
            for (name, arguments) in [
                ("cuEventDestroy_v2", vec![bad]),
                ("cuEventQuery", vec![bad]),
                ("cuEventRecord", vec![bad, s]),
                ("cuEventSynchronize", vec![bad]),
                ("cuStreamWaitEvent", vec![s, bad, 0]),
            ] {
                assert_eq!(cu.call(name, &arguments), INVALID_HANDLE, "{name} of {bad:#x}");
            }
        }
    });
}

#[test]
fn never_recorded() {
    alone("never_recorded", &[], || {
        let cu = with_context();
        let (e, other, s) = (event(&cu), event(&cu), free_stream(&cu));
        assert_eq!(cu.call("cuEventQuery", &[e]), 0);
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
        assert_eq!(cu.call("cuStreamWaitEvent", &[s, e, 0]), 0);
        assert_eq!(elapsed(&cu, e, other).0, INVALID_HANDLE);
        record(&cu, e, s);
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!((elapsed(&cu, e, other).0, elapsed(&cu, other, e).0), (INVALID_HANDLE, INVALID_HANDLE));
    });
}

#[test]
fn flags_of_calls() {
    alone("flags_of_calls", &[], || {
        let cu = with_context();
        let (e, s) = (event(&cu), free_stream(&cu));
        for (flags, expected) in [(0, 0), (1, ILLEGAL_STATE), (2, INVALID_VALUE)] {
            assert_eq!(cu.call("cuStreamWaitEvent", &[s, e, flags]), expected, "wait, {flags}");
            assert_eq!(cu.call("cuEventRecordWithFlags", &[e, s, flags]), expected, "record, {flags}");
        }
        for default in [0, LEGACY, PER_THREAD] {
            assert_eq!(cu.call("cuEventRecord", &[e, default]), 0);
        }
    });
}

#[test]
fn time() {
    alone("time", &[], || {
        let cu = with_context();
        let (start, end, s) = (event(&cu), event(&cu), free_stream(&cu));
        record(&cu, start, s);
        assert_eq!(synchronize(&cu, s), 0);
        std::thread::sleep(Duration::from_millis(20));
        record(&cu, end, s);
        assert_eq!(synchronize(&cu, s), 0);
        let (result, time) = elapsed(&cu, start, end);
        assert!(result == 0 && (20.0..20_000.0).contains(&time), "{result} {time}");
        assert_eq!(elapsed(&cu, end, start), (0, -time), "reversed");
        assert_eq!(elapsed(&cu, end, end), (0, 0.0));
        let untimed = event_with(&cu, 2);
        record(&cu, untimed, s);
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!((elapsed(&cu, start, untimed).0, elapsed(&cu, untimed, start).0), (400, 400));
        assert_eq!(cu.call("cuEventElapsedTime", &[0, start, end]), INVALID_HANDLE);
    });
}

#[test]
fn pending() {
    alone("pending", &[], || {
        let cu = with_context();
        let (e, done, s) = (event(&cu), event(&cu), free_stream(&cu));
        record(&cu, done, s);
        let gate = Gate::in_stream(&cu, s);
        record(&cu, e, s);
        assert_eq!(cu.call("cuEventQuery", &[e]), NOT_READY);
        assert_eq!(cu.call("cuEventQuery", &[done]), 0);
        assert_eq!((elapsed(&cu, e, e).0, elapsed(&cu, done, e).0), (NOT_READY, NOT_READY));
        // Time passes while the stream is held up: it is the record's execution that counts.
        std::thread::sleep(Duration::from_millis(20));
        gate.open();
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
        assert!(elapsed(&cu, done, e).1 >= 20.0);
        let gate = Gate::in_stream(&cu, s);
        record(&cu, e, s);
        assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0, "pending");
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
    });
}

/// A wait holds the record that was there when it was issued.
#[test]
fn recording_again() {
    alone("recording_again", &[], || {
        let cu = with_context();
        let (a, b, waiter) = (free_stream(&cu), free_stream(&cu), free_stream(&cu));
        let (e, log) = (event(&cu), Log::new());
        let (first, second) = (Gate::in_stream(&cu, a), Gate::in_stream(&cu, b));
        record(&cu, e, a);
        assert_eq!(cu.call("cuStreamWaitEvent", &[waiter, e, 0]), 0);
        log.note(&cu, waiter, 1);
        record(&cu, e, b);
        first.open();
        assert_eq!(synchronize(&cu, waiter), 0, "waits for the first record");
        assert_eq!(log.numbers(), [1]);
        assert_eq!(cu.call("cuEventQuery", &[e]), NOT_READY, "is the second record");
        second.open();
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
        // A record that was overtaken does not come back.
        let gate = Gate::in_stream(&cu, a);
        record(&cu, e, a);
        record(&cu, e, b);
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
        gate.open();
    });
}

/// An event outlives neither handle nor wait.
#[test]
fn destroyed_while_awaited() {
    alone("destroyed_while_awaited", &[], || {
        let cu = with_context();
        let (a, b, e, log) = (free_stream(&cu), free_stream(&cu), event(&cu), Log::new());
        let gate = Gate::in_stream(&cu, a);
        record(&cu, e, a);
        assert_eq!(cu.call("cuStreamWaitEvent", &[b, e, 0]), 0);
        log.note(&cu, b, 1);
        assert_eq!(cu.call("cuEventDestroy_v2", &[e]), 0);
        assert_eq!(cu.call("cuStreamQuery", &[b]), NOT_READY);
        gate.open();
        assert_eq!(synchronize(&cu, b), 0);
        assert_eq!(log.numbers(), [1]);
    });
}
