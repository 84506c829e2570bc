//! Sticky errors: every expectation was measured on driver 580, but for the lines that say otherwise. Where the
//! measurement had a kernel that goes wrong, these tests have a fill whose memory is not allocated yet.
#![cfg(target_os = "linux")]

mod common;

use common::streams::{Gate, ILLEGAL_ADDRESS, LEGACY, Log, NOT_READY, event, free_stream, pinned, query};
use common::{DESTROYED, Library, alone, at, with_context};
use std::ffi::c_void;
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
fn every_call_answers_it() {
    alone("every_call_answers_it", &[], || {
        let cu = with_context();
        let (s, e, mut out) = (free_stream(&cu), event(&cu), [0u64; 8]);
        let place = at(&mut out);
        let mut plain = 0u64;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), 0);
        let locked = pinned(&cu, 64).as_mut_ptr() as u64;
        extern "C" fn nothing(_: *mut c_void) {}
        lose(&cu);
        let calls: &[(&str, &[u64])] = &[
            ("cuMemAlloc_v2", &[place, 64]),
            ("cuStreamQuery", &[s]),
            ("cuEventQuery", &[e]),
            ("cuEventCreate", &[place, 0]),
            ("cuMemFree_v2", &[plain]),
            ("cuEventDestroy_v2", &[e]),
            ("cuStreamDestroy_v2", &[s]),
            // Not measured.
            ("cuStreamCreate", &[place, 0]),
            ("cuStreamSynchronize", &[s]),
            ("cuStreamSynchronize", &[0]),
            ("cuStreamQuery", &[LEGACY]),
            ("cuStreamWaitEvent", &[s, e, 0]),
            ("cuEventRecord", &[e, s]),
            ("cuEventSynchronize", &[e]),
            ("cuLaunchHostFunc", &[s, nothing as *const () as u64, 0]),
            ("cuCtxSynchronize", &[]),
            ("cuMemcpyDtoH_v2", &[place, plain, 8]),
            ("cuMemsetD8Async", &[plain, 0, 8, s]),
            ("cuMemAllocAsync", &[place, 8, s]),
            ("cuMemFreeAsync", &[plain, s]),
            ("cuMemFreeHost", &[locked]),
            ("cuMemHostAlloc", &[place, 64, 0]),
        ];
        for _ in 0..2 {
            for (name, arguments) in calls {
                assert_eq!(cu.call(name, arguments), ILLEGAL_ADDRESS, "{name} {arguments:x?}");
            }
        }
        assert_eq!(cu.call("cuDeviceGet", &[place, 0]), 0);
        assert_eq!(cu.call("cuDriverGetVersion", &[place]), 0);
        // Not measured.
        assert_eq!(cu.call("cuCtxGetCurrent", &[place]), 0);
        assert_eq!(cu.call("cuCtxGetDevice", &[place]), 0);
        assert_eq!(cu.call("cuCtxCreate_v2", &[place, 0, 0]), ILLEGAL_ADDRESS);
    });
}

#[test]
fn the_process_gets_no_context_any_more() {
    alone("the_process_gets_no_context_any_more", &[], || {
        let cu = with_context();
        let (mut context, mut out) = (0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let gate = lose(&cu);
        gate.open();
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut out), 64]), DESTROYED);
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut out), 64]), DESTROYED);
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut out), 0]), ILLEGAL_ADDRESS);
    });
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

/// The error is the device's: its other contexts are lost as well, and can be destroyed.
#[test]
fn other_contexts_are_lost() {
    alone("other_contexts_are_lost", &[], || {
        let cu = with_context();
        let (mut primary, mut other) = (0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut primary)]), 0);
        let s = free_stream(&cu);
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), 0);
        let gate = lose(&cu);
        assert_eq!(cu.call("cuStreamSynchronize", &[s]), ILLEGAL_ADDRESS);
        gate.open();
        assert_eq!(cu.call("cuCtxDestroy_v2", &[other]), 0, "a lost context can be destroyed");
        assert_eq!(cu.call("cuCtxSetCurrent", &[primary]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), ILLEGAL_ADDRESS);
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
