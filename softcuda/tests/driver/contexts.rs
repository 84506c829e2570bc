//! Contexts: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::{
    DESTROYED, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, Library, NOT_INITIALIZED, OUT_OF_MEMORY,
    alone, at, with_context,
};

fn initialised() -> Library {
    let cu = Library::core();
    assert_eq!(cu.call("cuInit", &[0]), 0);
    cu
}

fn create(cu: &Library, flags: u64) -> (i32, u64) {
    let mut context = 0;
    (cu.call("cuCtxCreate_v2", &[at(&mut context), flags, 0]), context)
}

fn current(cu: &Library) -> u64 {
    let mut context = 5;
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    context
}

fn allocate(cu: &Library) -> (i32, u64) {
    let mut pointer = 0;
    (cu.call("cuMemAlloc_v2", &[at(&mut pointer), 4096]), pointer)
}

fn state(cu: &Library) -> (u32, i32) {
    let (mut flags, mut active) = (9, 9);
    assert_eq!(cu.call("cuDevicePrimaryCtxGetState", &[0, at(&mut flags), at(&mut active)]), 0);
    (flags, active)
}

fn retain(cu: &Library) -> u64 {
    let mut context = 0;
    assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), 0);
    context
}

fn id(cu: &Library, context: u64) -> (i32, u64) {
    let mut id = 0;
    (cu.call("cuCtxGetId", &[context, at(&mut id)]), id)
}

/// The context is looked for before anything else.
#[test]
fn without_a_context() {
    alone("without_a_context", &[], || {
        let cu = initialised();
        let mut out = [0u64; 8];
        let place = at(&mut out);
        let need_one: &[(&str, &[u64])] = &[
            ("cuMemAlloc_v2", &[0, 64]),
            ("cuMemAlloc_v2", &[place, 0]),
            ("cuMemHostAlloc", &[0, 64, 0]),
            ("cuMemsetD8_v2", &[0, 0, 0]),
            ("cuMemcpyHtoD_v2", &[0, place, 0]),
        ];
        for (name, arguments) in need_one {
            assert_eq!(cu.call(name, arguments), INVALID_CONTEXT, "{name} {arguments:x?}");
        }
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
    });
}

#[test]
fn creation() {
    alone("creation", &[], || {
        let cu = initialised();
        let (result, context) = create(&cu, 0);
        assert_eq!((result, current(&cu)), (0, context));
        let mut version = 0u32;
        assert_eq!(cu.call("cuCtxGetApiVersion", &[context, at(&mut version)]), 0);
        assert_eq!(version, 3020);
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxCreate", &[at(&mut other), 0, 0]), OUT_OF_MEMORY);
        assert_eq!(cu.call("cuCtxCreate_v3", &[at(&mut other), 0, 0, 0, 0]), 0);
        assert_eq!(current(&cu), other);
        assert_eq!(cu.call("cuCtxCreate_v3", &[at(&mut other), 0, 1, 0, 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuCtxCreate_v4", &[at(&mut other), 0, 0, 0]), 0);
        assert_eq!(cu.call("cuCtxCreate_v4", &[at(&mut other), at(&mut [0u64; 4]), 0, 0]), 0);
        for good in [1, 2, 4, 8, 16, 32, 64, 128] {
            assert_eq!(create(&cu, good).0, 0, "flags {good}");
        }
        for bad in [3, 5, 7, 256] {
            assert_eq!(create(&cu, bad), (INVALID_VALUE, 0), "flags {bad}");
        }
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 9]), INVALID_DEVICE);
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, -1i64 as u64]), INVALID_DEVICE);
        assert_eq!(cu.call("cuCtxCreate_v2", &[0, 0, 0]), INVALID_VALUE);
        let (_, context) = create(&cu, 4);
        let mut flags = 0u32;
        assert_eq!(cu.call("cuCtxGetFlags", &[at(&mut flags)]), 0);
        assert_eq!(flags, 4);
        assert_ne!(id(&cu, context), id(&cu, other));
        assert_eq!(id(&cu, 0), id(&cu, context));
        assert_eq!(state(&cu), (0, 0), "the primary context has nothing to do with it");
    });
}

/// The flags about core dumps came with 12.1.
#[test]
fn flags_of_12_0() {
    alone("flags_of_12_0", &[("SOFTCUDA_VERSION", "12.0")], || {
        let cu = initialised();
        assert_eq!(create(&cu, 16).0, 0);
        assert_eq!(create(&cu, 32).0, INVALID_VALUE);
        assert_eq!(create(&cu, 128).0, INVALID_VALUE);
    });
}

#[test]
fn the_stack() {
    alone("the_stack", &[], || {
        let cu = initialised();
        let mut popped = 7;
        assert_eq!(cu.call("cuCtxPopCurrent_v2", &[at(&mut popped)]), INVALID_CONTEXT);
        assert_eq!(popped, 7, "unwritten");
        let (_, a) = create(&cu, 0);
        assert_eq!(cu.call("cuCtxPushCurrent_v2", &[a]), 0);
        assert_eq!(cu.call("cuCtxPopCurrent_v2", &[0]), 0);
        assert_eq!(current(&cu), a, "it was there twice");
        // Not measured: the real driver follows a garbage handle and crashes.
        assert_eq!(cu.call("cuCtxSetCurrent", &[0x1234]), INVALID_CONTEXT);
        assert_eq!(current(&cu), a);
    });
}

#[test]
fn destruction() {
    alone("destruction", &[], || {
        let cu = initialised();
        let (_, a) = create(&cu, 0);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[a]), 0);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[a]), DESTROYED);
        assert_eq!(cu.call("cuCtxSetCurrent", &[a]), 0);
        assert_eq!(allocate(&cu).0, DESTROYED);
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);

        let (_, below) = create(&cu, 0);
        let (_, top) = create(&cu, 0);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[below]), 0);
        assert_eq!(current(&cu), top);
        assert_eq!(cu.call("cuCtxPopCurrent_v2", &[0]), 0);
        assert_eq!(current(&cu), below, "deeper down it stays, dead");
        assert_eq!(allocate(&cu).0, DESTROYED);
    });
}

#[test]
fn destroyed_by_another_thread() {
    alone("destroyed_by_another_thread", &[], || {
        let cu = initialised();
        let (_, a) = create(&cu, 0);
        let (_, pointer) = allocate(&cu);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(cu.call("cuCtxDestroy_v2", &[a]), 0));
        });
        assert_eq!(current(&cu), a);
        assert_eq!(allocate(&cu), (DESTROYED, 0));
        assert_eq!(cu.call("cuCtxSynchronize", &[]), DESTROYED);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), DESTROYED);
        let mut device = 5;
        assert_eq!(cu.call("cuCtxGetDevice", &[at(&mut device)]), 0);
        assert_eq!(device, 0);
        assert_eq!(cu.call("cuCtxPopCurrent_v2", &[0]), 0);
    });
}

#[test]
fn attaching() {
    alone("attaching", &[], || {
        let cu = initialised();
        let (_, a) = create(&cu, 0);
        let mut same = 0;
        assert_eq!(cu.call("cuCtxAttach", &[at(&mut same), 0]), 0);
        assert_eq!(same, a);
        assert_eq!(cu.call("cuCtxAttach", &[at(&mut same), 1]), INVALID_VALUE);
        assert_eq!(cu.call("cuCtxDetach", &[a]), 0);
        assert_eq!(current(&cu), a);
        assert_eq!(cu.call("cuCtxDetach", &[a]), 0);
        assert_eq!(current(&cu), 0);
    });
}

#[test]
fn primary_claims() {
    alone("primary_claims", &[], || {
        let cu = initialised();
        let a = retain(&cu);
        retain(&cu);
        assert_eq!(cu.call("cuDevicePrimaryCtxGetState", &[0, 0, at(&mut 0)]), INVALID_VALUE);
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
        assert_eq!(state(&cu), (0, 1));
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease", &[0]), 0);
        assert_eq!(state(&cu), (0, 0));
        assert_eq!(cu.call("cuCtxSetCurrent", &[a]), 0, "an inactive primary context may be set");
        assert_eq!(allocate(&cu).0, DESTROYED);
        assert_eq!(retain(&cu), a, "the handle is always the same");
        assert_eq!(allocate(&cu).0, 0);
    });
}

#[test]
fn primary_flags() {
    alone("primary_flags", &[], || {
        let cu = initialised();
        let set = |flags: u64| (cu.call("cuDevicePrimaryCtxSetFlags_v2", &[0, flags]), state(&cu).0);
        let measured = [
            (4, (0, 4)),
            (1, (0, 1)),
            (2, (0, 2)),
            (8, (INVALID_VALUE, 2)),
            (16, (0, 16)),
            (32, (0, 32)),
            (64, (0, 64)),
            (128, (0, 128)),
            (256, (INVALID_VALUE, 128)),
            (7, (INVALID_VALUE, 128)),
            (5, (INVALID_VALUE, 128)),
            (0x1000, (INVALID_VALUE, 128)),
            (4, (0, 4)),
        ];
        for (flags, expected) in measured {
            assert_eq!(set(flags), expected, "{flags}");
        }
        let context = retain(&cu);
        assert_eq!(state(&cu), (4, 1));
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxSetFlags_v2", &[0, 1]), 0);
        assert_eq!(state(&cu), (1, 1));
        let get = || {
            let mut flags = 0u32;
            assert_eq!(cu.call("cuCtxGetFlags", &[at(&mut flags)]), 0);
            flags
        };
        assert_eq!(get(), 9);
        let measured = [(0, 8), (1, 9), (4, 12), (8, 8), (16, 24), (32, 8), (64, 8), (128, 136)]
            .map(|(f, g)| (f, 0, g))
            .into_iter();
        for (flags, result, shown) in measured.chain([(256, INVALID_VALUE, 136), (3, INVALID_VALUE, 136)]) {
            assert_eq!((cu.call("cuCtxSetFlags", &[flags]), get()), (result, shown), "{flags}");
        }
        assert_eq!(state(&cu), (129, 1));
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
        assert_eq!(state(&cu), (0, 0), "the last release forgets the flags");
    });
}

#[test]
fn primary_reset() {
    alone("primary_reset", &[], || {
        let cu = initialised();
        assert_eq!(cu.call("cuDevicePrimaryCtxSetFlags_v2", &[0, 4]), 0);
        let context = retain(&cu);
        retain(&cu);
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        let (_, pointer) = allocate(&cu);
        let first = id(&cu, context);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!((state(&cu), current(&cu)), ((0, 0), context));

        let mut out = [9u64; 4];
        let place = at(&mut out);
        let dead: &[(&str, &[u64], i32)] = &[
            ("cuCtxGetDevice", &[place], 0),
            ("cuCtxGetFlags", &[place], 0),
            ("cuCtxGetApiVersion", &[context, place], INVALID_CONTEXT),
            ("cuCtxGetId", &[context, place], DESTROYED),
            ("cuCtxGetLimit", &[place, 0], DESTROYED),
            ("cuCtxGetStreamPriorityRange", &[place, place], DESTROYED),
            ("cuCtxGetCacheConfig", &[place], DESTROYED),
            ("cuMemHostAlloc", &[place, 64, 0], DESTROYED),
            ("cuMemGetInfo_v2", &[place, place], DESTROYED),
            ("cuMemFree_v2", &[0], DESTROYED),
            ("cuMemGetAddressRange_v2", &[place, place, pointer], DESTROYED),
            ("cuMemsetD8_v2", &[pointer, 0, 1], DESTROYED),
            ("cuPointerGetAttribute", &[place, 2, pointer], INVALID_VALUE),
            ("cuCtxPushCurrent_v2", &[context], 0),
            ("cuCtxPopCurrent_v2", &[0], 0),
        ];
        for (name, arguments, expected) in dead {
            assert_eq!(cu.call(name, arguments), *expected, "{name}");
        }
        // The claims of before are still claims.
        assert_eq!(retain(&cu), context);
        assert_eq!(state(&cu), (0, 1));
        assert_eq!(allocate(&cu).0, 0);
        assert_ne!(id(&cu, context), first);
        let releases = [0; 4].map(|_: i32| cu.call("cuDevicePrimaryCtxRelease_v2", &[0]));
        assert_eq!(releases, [0, 0, 0, INVALID_CONTEXT]);
        assert_eq!(allocate(&cu).0, DESTROYED);
        assert_eq!(current(&cu), context);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 0);
    });
}

#[test]
fn limits() {
    alone("limits", &[], || {
        let cu = with_context();
        let get = |limit: u64| {
            let mut value = 0_usize;
            (cu.call("cuCtxGetLimit", &[at(&mut value), limit]), value)
        };
        let initial = [
            (0, 1024),
            (0, 8650752),
            (0, 8388608),
            (215, 0),
            (0, 2048),
            (0, 64),
            (0, 9830400),
            (0, 232448),
            (0, 0),
            (215, 0),
            (1, 0),
            (1, 0),
        ];
        let set = [0, 0, 0, 215, 0, 1, 0, 800, 800, 215, 1, 1];
        let then = [4096, 524288, 4194304, 0, 4096, 64, 3276800, 232448, 0, 0, 0, 0];
        for limit in 0..12 {
            assert_eq!(get(limit), initial[limit as usize], "{limit}");
            assert_eq!(cu.call("cuCtxSetLimit", &[limit, 4096]), set[limit as usize], "{limit}");
            assert_eq!(get(limit).1, then[limit as usize], "{limit}");
        }
        assert_eq!(cu.call("cuCtxGetLimit", &[0, 0]), INVALID_VALUE);
    });
    alone("limits", &[("SOFTCUDA_VERSION", "12.4")], || {
        let cu = with_context();
        assert_eq!(cu.call("cuCtxGetLimit", &[at(&mut 0u64), 7]), INVALID_VALUE, "newer than 12.4");
    });
}

#[test]
fn configuration() {
    alone("configuration", &[], || {
        let cu = with_context();
        let mut value = 9;
        assert_eq!(cu.call("cuCtxSetCacheConfig", &[2]), 0);
        assert_eq!(cu.call("cuCtxSetCacheConfig", &[9]), INVALID_VALUE);
        assert_eq!(cu.call("cuCtxGetCacheConfig", &[at(&mut value)]), 0);
        assert_eq!(value, 2);
        assert_eq!(cu.call("cuCtxSetSharedMemConfig", &[2]), 0);
        assert_eq!(cu.call("cuCtxSetSharedMemConfig", &[9]), INVALID_VALUE);
        assert_eq!(cu.call("cuCtxGetSharedMemConfig", &[at(&mut value)]), 0);
        assert_eq!(value, 1);
        assert_eq!(cu.call("cuCtxGetStreamPriorityRange", &[0, 0]), 0);
        assert_eq!(cu.call("cuCtxResetPersistingL2Cache", &[]), 0);
        assert_eq!(cu.call("cuCtxSynchronize_v2", &[0]), 0);
        assert_eq!(cu.call("cuCtxGetDevice_v2", &[at(&mut value), current(&cu)]), 0);
        assert_eq!(value, 0);
    });
}

#[test]
fn a_child_may_initialise_when_the_parent_had_not() {
    alone("a_child_may_initialise_when_the_parent_had_not", &[], || {
        let cu = Library::core();
        // SAFETY: the child calls the driver and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let result = cu.call("cuInit", &[0]);
            // SAFETY: ends the process.
            unsafe { libc::_exit(result) };
        }
        let mut status = 1;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    });
}

#[test]
fn nothing_works_in_a_child_even_if_no_hook_tells_it() {
    alone("nothing_works_in_a_child_even_if_no_hook_tells_it", &[], || {
        let cu = initialised();
        // SAFETY: as fork.
        let bare_clone =
            || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t };
        // SAFETY: the child calls the driver and ends.
        let fork = || unsafe { libc::fork() };
        let ways: [&dyn Fn() -> libc::pid_t; 2] = [&fork, &bare_clone];
        for way in ways {
            let child = way();
            if child == 0 {
                let mut count = 0;
                let results = [cu.call("cuInit", &[0]), cu.call("cuDeviceGetCount", &[at(&mut count)])];
                // SAFETY: ends the process.
                unsafe { libc::_exit(i32::from(results != [NOT_INITIALIZED, NOT_INITIALIZED])) };
            }
            let mut status = 1;
            // SAFETY: waits for the child.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
    });
}

#[test]
fn peers_that_are_no_contexts() {
    alone("peers_that_are_no_contexts", &[("SOFTCUDA_DEVICES", "2")], || {
        let cu = initialised();
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 1]), 0);
        create(&cu, 0);
        let enable = |peer| cu.call("cuCtxEnablePeerAccess", &[peer, 0]);
        let disable = |peer| cu.call("cuCtxDisablePeerAccess", &[peer]);
        assert_eq!(enable(12345), INVALID_CONTEXT);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[other]), 0);
        assert_eq!((enable(other), disable(other)), (DESTROYED, DESTROYED));
    });
}

/// Documented: without a context there is nothing to profile.
#[test]
fn a_profile_begins_and_ends() {
    alone("a_profile_begins_and_ends", &[], || {
        let cu = Library::core();
        assert_eq!(cu.call("cuProfilerStart", &[]), NOT_INITIALIZED);
        assert_eq!(cu.call("cuInit", &[0]), 0);
        assert_eq!(cu.call("cuProfilerStop", &[]), INVALID_CONTEXT);
        let cu = with_context();
        for _ in 0..2 {
            assert_eq!(cu.call("cuProfilerStart", &[]), 0);
            assert_eq!(cu.call("cuProfilerStop", &[]), 0);
        }
    });
}
