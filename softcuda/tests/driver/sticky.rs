//! Sticky errors: every expectation was measured on driver 580, but for the lines that say otherwise. Where the
//! measurement had a kernel that goes wrong, these tests have a fill whose memory is not allocated yet.

use crate::common::streams::{Gate, ILLEGAL_ADDRESS, Log, NOT_READY, free_stream, query};
use crate::common::{Library, alone, at, with_context};
use std::sync::Mutex;

/// Loses the current context. The gate holds up a stream of it.
fn lose(cu: &Library) -> &'static Gate {
    let (s, other, mut p) = (free_stream(cu), free_stream(cu), 0u64);
    let gate = Gate::in_stream(cu, s);
    assert!(gate.wait_until_reached());
    assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut p), 64, s]), 0);
    assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, other]), 0, "the call succeeds");
    while query(cu, other) == NOT_READY {
        std::thread::yield_now();
    }
    assert_eq!(query(cu, other), ILLEGAL_ADDRESS);
    gate
}

#[test]
fn host_functions_and_callbacks() {
    alone("host_functions_and_callbacks", &[], || {
        static TOLD: Mutex<Vec<i32>> = Mutex::new(Vec::new());
        extern "C" fn callback(_stream: u64, status: i32, _data: u64) {
            TOLD.lock().expect("no test panics there").push(status);
        }
        let told = || TOLD.lock().expect("no test panics there").clone();
        let cu = with_context();
        let (s, behind, log) = (free_stream(&cu), free_stream(&cu), Log::new());
        let before = Gate::in_stream(&cu, behind);
        log.note(&cu, behind, 1);
        let call = [behind, callback as *const () as u64, 0, 0];
        assert_eq!(cu.call("cuStreamAddCallback", &call), 0);
        let gate = lose(&cu);
        let call = [s, callback as *const () as u64, 0, 0];
        assert_eq!(cu.call("cuStreamAddCallback", &call), ILLEGAL_ADDRESS);
        before.open();
        while told().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(told(), [ILLEGAL_ADDRESS]);
        assert!(log.numbers().is_empty(), "a host function does not run");
        gate.open();
    });
}

/// Not measured: who waits when the error happens gets it, though a host function has not come back.
#[test]
fn a_wait_ends() {
    alone("a_wait_ends", &[], || {
        let cu = with_context();
        let (held, mut context) = (free_stream(&cu), 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let gate = Gate::in_stream(&cu, held);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cu.call("cuStreamSynchronize", &[held]));
            assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
            std::thread::sleep(std::time::Duration::from_millis(5));
            lose(&cu).open();
            assert_eq!(waiting.join().expect("the thread ends"), ILLEGAL_ADDRESS);
        });
        gate.open();
    });
}

/// The first error stays, and a context under the lazy schedule is lost like any other.
#[test]
fn lost_lazily() {
    alone("lost_lazily", &[("SOFTCUDA_SCHEDULE", "lazy")], || {
        let cu = with_context();
        let (s, other, log, mut p) = (free_stream(&cu), free_stream(&cu), Log::new(), 0u64);
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut p), 64, s]), 0);
        log.note(&cu, s, 1);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, other]), 0);
        assert_eq!(cu.call("cuStreamSynchronize", &[other]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuStreamSynchronize", &[s]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert!(log.numbers().is_empty());
    });
}
