//! Sticky errors at a test's word. What a context answers afterwards, the conformance suite asks (`faults`).

use crate::common::streams::{Gate, ILLEGAL_ADDRESS, free_stream};
use crate::common::{DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Library, alone, at, with_context};

fn poison(cu: &Library) {
    assert_eq!(cu.call("softcuda_poison", &[ILLEGAL_ADDRESS as u64]), 0);
}

/// As an error of a kernel: the context has it, and nothing was done to what it has.
#[test]
fn the_current_context_is_lost() {
    alone("the_current_context_is_lost", &[], || {
        let cu = with_context();
        let (_, pointer) = cu.allocate(64);
        poison(&cu);
        assert_eq!(cu.allocate(64).0, ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuStreamQuery", &[0]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuDeviceGet", &[at(&mut 0u64), 0]), 0);
        assert_eq!(cu.call("softcuda_is_live", &[pointer]), 1);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(cu.allocate(64).0, DESTROYED);
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
        let mut context = 0u64;
        for _ in 0..3 {
            assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), ILLEGAL_ADDRESS);
        }
    });
}

/// A wait on another thread ends with it.
#[test]
fn who_waits_is_told() {
    alone("who_waits_is_told", &[], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let stream = free_stream(&cu);
        let gate = Gate::in_stream(&cu, stream);
        assert!(gate.wait_until_reached());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cu.call("cuStreamSynchronize", &[stream]));
            poison(&cu);
            assert_eq!(waiting.join().expect("the thread ends"), ILLEGAL_ADDRESS);
        });
        gate.open();
    });
}

/// Chosen: one error is of one context, and of its device; the first one stays.
#[test]
fn other_devices_go_on() {
    alone("other_devices_go_on", &[("SOFTCUDA_DEVICES", "2")], || {
        let cu = with_context();
        let (mut own, mut other) = (0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut own)]), 0);
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 1]), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[own]), 0);
        poison(&cu);
        assert_eq!(cu.call("softcuda_poison", &[719]), 0);
        assert_eq!(cu.allocate(64).0, ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuCtxSetCurrent", &[other]), 0);
        assert_eq!(cu.allocate(64).0, 0);
    });
}

/// What a control function takes for the context, and what it refuses.
#[test]
fn which_context() {
    alone("which_context", &[("SOFTCUDA_DEVICES", "2")], || {
        let cu = Library::core();
        assert_eq!(cu.call("softcuda_poison", &[700]), INVALID_CONTEXT);
        assert!(cu.message().contains("there is no context"), "{}", cu.message());
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let mut contexts = [0u64; 2];
        for (context, device) in contexts.iter_mut().zip(0..) {
            assert_eq!(cu.call("cuCtxCreate_v2", &[at(context), 0, device]), 0);
            assert_eq!(cu.call("cuCtxPopCurrent_v2", &[0]), 0);
        }
        for bad in [0, -1i64 as u64] {
            assert_eq!(cu.call("softcuda_poison", &[bad]), INVALID_VALUE);
            assert!(cu.message().ends_with("is not the number of an error"), "{}", cu.message());
        }
        // None is current: all that are alive.
        poison(&cu);
        for context in contexts {
            assert_eq!(cu.call("cuCtxSynchronize_v2", &[context]), ILLEGAL_ADDRESS);
        }
    });
}
