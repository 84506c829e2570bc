//! Events: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::streams::{
    Gate, INVALID_HANDLE, Log, NOT_READY, event, event_with, free_stream, record, synchronize,
};
use crate::common::{Library, alone, at, with_context};
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
        for (flags, expected) in [(5, 1), (8, 1), (7, 0), (3, 0)] {
            assert_eq!(cu.call("cuEventCreate", &[at(&mut 0u64), flags]), expected, "flags {flags}");
        }
        let mut handle = [0u8; 64];
        assert_eq!(cu.call("cuIpcGetEventHandle", &[at(&mut handle), event_with(&cu, 6)]), 0);
        assert_eq!(cu.call("cuIpcGetEventHandle", &[at(&mut handle), event_with(&cu, 2)]), INVALID_HANDLE);
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
