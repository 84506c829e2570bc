//! Several devices: what one may do with another's memory. Measured on driver 580 with two devices; see `two_devices` in the
//! conformance suite.
#![cfg(target_os = "linux")]

mod common;

use common::{DESTROYED, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, Library, alone, at};

const ALREADY_ENABLED: i32 = 704;
const NOT_ENABLED: i32 = 705;
const UNSUPPORTED: i32 = 217;
const NOT_FOUND: i32 = 500;
const NOT_SUPPORTED: i32 = 801;
const LAUNCH_FAILED: i32 = 719;
const THREE: [(&str, &str); 1] = [("SOFTCUDA_DEVICES", "3")];

/// The core with a context on each of two devices; that of the first is current.
fn two_contexts() -> (Library, u64, u64) {
    let cu = Library::core();
    assert_eq!(cu.call("cuInit", &[0]), 0);
    let (mut first, mut second) = (0u64, 0u64);
    assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut second), 0, 1]), 0);
    assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut first), 0, 0]), 0);
    (cu, first, second)
}

#[test]
fn what_devices_can() {
    alone("what_devices_can", &THREE, || {
        let cu = Library::core();
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let can = |from: i64, to: i64| {
            let mut can = 9;
            (cu.call("cuDeviceCanAccessPeer", &[at(&mut can), from as u64, to as u64]), can)
        };
        assert_eq!((can(0, 1), can(2, 0), can(1, 1)), ((0, 1), (0, 1), (0, 0)));
        assert_eq!((can(0, 3), can(-1, 0)), ((INVALID_DEVICE, 9), (INVALID_DEVICE, 9)));
        assert_eq!(cu.call("cuDeviceCanAccessPeer", &[0, 0, 1]), INVALID_VALUE);

        let attribute = |attribute: u64, from: u64, to: u64| {
            let mut value = 9;
            (cu.call("cuDeviceGetP2PAttribute", &[at(&mut value), attribute, from, to]), value)
        };
        let values: Vec<_> = (1..=5).map(|number| attribute(number, 0, 2)).collect();
        assert_eq!(values, [(0, 0), (0, 1), (0, 1), (0, 1), (0, 0)]);
        assert_eq!((attribute(0, 0, 1), attribute(6, 0, 1)), ((INVALID_VALUE, 9), (INVALID_VALUE, 9)));
        assert_eq!((attribute(2, 1, 1), attribute(2, 0, 3)), ((INVALID_DEVICE, 9), (INVALID_DEVICE, 9)));
        assert_eq!(cu.call("cuDeviceGetP2PAttribute", &[0, 2, 0, 1]), INVALID_VALUE);
    });
}

#[test]
fn enable_and_disable() {
    alone("enable_and_disable", &THREE, || {
        let (cu, first, second) = two_contexts();
        let enable = |peer, flags| cu.call("cuCtxEnablePeerAccess", &[peer, flags]);
        let disable = |peer| cu.call("cuCtxDisablePeerAccess", &[peer]);
        assert_eq!(disable(second), NOT_ENABLED);
        assert_eq!(enable(second, 1), INVALID_VALUE);
        assert_eq!((enable(second, 0), enable(second, 0)), (0, ALREADY_ENABLED));
        // One way only.
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        assert_eq!((disable(first), enable(first, 0)), (NOT_ENABLED, 0));
        assert_eq!(cu.call("cuCtxSetCurrent", &[first]), 0);
        assert_eq!((disable(second), disable(second)), (0, NOT_ENABLED));

        assert_eq!((enable(first, 0), disable(first)), (UNSUPPORTED, NOT_ENABLED), "measured on driver 580");
        assert_eq!((enable(0, 0), enable(12345, 0)), (INVALID_CONTEXT, INVALID_CONTEXT));
        let mut beside = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut beside), 0, 0]), 0);
        assert_eq!(enable(first, 0), UNSUPPORTED, "the same device");
        assert_eq!(cu.call("cuCtxDestroy_v2", &[second]), 0);
        assert_eq!((enable(second, 0), disable(second)), (DESTROYED, DESTROYED));
        std::thread::scope(|scope| {
            let without_context = || (enable(first, 0), disable(first));
            let answers = scope.spawn(without_context).join().expect("it ends");
            assert_eq!(answers, (INVALID_CONTEXT, INVALID_CONTEXT));
        });
    });
}

/// Access ends with either context, and a primary context that comes back has none.
#[test]
fn access_ends_with_a_context() {
    alone("access_ends_with_a_context", &THREE, || {
        let (cu, ..) = two_contexts();
        let mut peer = 0u64;
        let mut retain = || {
            assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut peer), 2]), 0);
            peer
        };
        let before = retain();
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[before, 0]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[2]), 0);
        let after = retain();
        assert_eq!(after, before);
        assert_eq!(cu.call("cuCtxDisablePeerAccess", &[after]), NOT_ENABLED);
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[after, 0]), 0);
    });
}

/// An address means nothing where the memory is out of reach; `CU_POINTER_ATTRIBUTE_ACCESS_FLAGS` does not say so.
#[test]
fn what_is_told_of_memory_out_of_reach() {
    alone("what_is_told_of_memory_out_of_reach", &THREE, || {
        let (cu, first, second) = two_contexts();
        let (_, own) = cu.allocate(64);
        let mut pinned = 0u64;
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pinned), 64, 0]), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        let told = |pointer| {
            let (mut flags, mut address, mut base, mut size) = (9, 9u64, 9u64, 9u64);
            assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut flags), 16, pointer]), 0);
            assert_eq!(flags, 3);
            let found = cu.call("cuPointerGetAttribute", &[at(&mut address), 3, pointer]);
            (found, cu.call("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), pointer + 8]))
        };
        assert_eq!((told(own), told(pinned)), ((INVALID_VALUE, NOT_FOUND), (0, 0)));
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[first, 0]), 0);
        assert_eq!(told(own), (0, 0));
        assert_eq!(cu.call("cuCtxSetCurrent", &[first]), 0);
        assert_eq!(told(own), (0, 0));
    });
}

/// A pool has its own list, which access between contexts does not change. Work on a pool's memory is refused to those who
/// are not on it, and so are copies where one of them is current, whatever stream they are in.
#[test]
fn access_to_a_pool() {
    alone("access_to_a_pool", &THREE, || {
        let (cu, first, second) = two_contexts();
        let (mut pool, mut pointer, mut stream) = (0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuStreamCreate", &[at(&mut stream), 1]), 0);
        assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut pool), 0]), 0);
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut pointer), 64, stream]), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        let (_, there) = cu.allocate(64);
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[first, 0]), 0);
        let work = || {
            let mut host = [0u8; 64];
            [
                cu.call("cuMemsetD8_v2", &[pointer, 1, 64]),
                cu.call("cuMemcpyDtoDAsync_v2", &[there, pointer, 64, stream]),
                cu.call("cuMemcpyDtoH_v2", &[at(&mut host), pointer, 64]),
                cu.call("cuMemsetD8Async", &[pointer, 1, 64, stream]),
                cu.call("cuMemcpyPeer", &[there, second, pointer, first, 64]),
            ]
        };
        assert_eq!(work(), [INVALID_VALUE, INVALID_VALUE, INVALID_VALUE, 0, 0]);
        // Location of kind device, device 1, and the access.
        let allow = |access: u32| cu.call("cuMemPoolSetAccess", &[pool, at(&mut [1u32, 1, access]), 1]);
        assert_eq!((allow(3), work()), (0, [0; 5]));
        assert_eq!((allow(1), allow(2)), (NOT_SUPPORTED, INVALID_VALUE));
        assert_eq!(allow(0), 0);
        assert_eq!(work(), [INVALID_VALUE, INVALID_VALUE, INVALID_VALUE, 0, 0]);
        let mut own = [1u32, 0, 0];
        assert_eq!(
            cu.call("cuMemPoolSetAccess", &[pool, at(&mut own), 1]),
            INVALID_DEVICE,
            "its own device keeps it"
        );
    });
}

/// A pool's memory is its device's, whichever stream it is allocated in.
#[test]
fn memory_of_another_devices_pool() {
    alone("memory_of_another_devices_pool", &THREE, || {
        let (cu, ..) = two_contexts();
        let (mut pool, mut pointer, mut ordinal) = (0u64, 0u64, 9);
        assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut pool), 1]), 0);
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut pointer), 64, pool, 0]), 0);
        assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut ordinal), 9, pointer]), 0);
        assert_eq!(ordinal, 1);
        assert_eq!(cu.call("cuMemsetD8Async", &[pointer, 1, 64, 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemFreeAsync", &[pointer, 0]), 0);
    });
}

/// A copy finds its way; a fill, and a value that is written, need access.
#[test]
fn fills_need_access() {
    alone("fills_need_access", &THREE, || {
        let (cu, first, second) = two_contexts();
        let (_, here) = cu.allocate(64);
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        let fill = || {
            [
                cu.call("cuMemsetD8_v2", &[here, 1, 64]),
                cu.call("cuMemsetD8Async", &[here, 1, 64, 0]),
                cu.call("cuMemsetD2D8_v2", &[here, 8, 1, 8, 2]),
                cu.call("cuStreamWriteValue32_v2", &[0, here, 1, 0]),
            ]
        };
        assert_eq!(fill(), [INVALID_VALUE; 4]);
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[first, 0]), 0);
        assert_eq!(fill(), [0; 4]);
    });
}

/// A copy that was submitted with access needs it until it is done.
#[test]
fn access_taken_away_too_early() {
    extern "C" fn wait(gate: *mut std::ffi::c_void) {
        // SAFETY: the flag is never freed.
        let gate = unsafe { &*gate.cast::<std::sync::atomic::AtomicBool>() };
        while !gate.load(std::sync::atomic::Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
    alone("access_taken_away_too_early", &THREE, || {
        let (cu, first, second) = two_contexts();
        let (_, here) = cu.allocate(64);
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        let (_, there) = cu.allocate(64);
        assert_eq!(cu.call("cuCtxEnablePeerAccess", &[first, 0]), 0);
        let mut stream = 0u64;
        assert_eq!(cu.call("cuStreamCreate", &[at(&mut stream), 1]), 0);
        let gate: &_ = Box::leak(Box::new(std::sync::atomic::AtomicBool::new(false)));
        let address = std::ptr::from_ref(gate).expose_provenance() as u64;
        assert_eq!(cu.call("cuLaunchHostFunc", &[stream, wait as *const () as u64, address]), 0);
        assert_eq!(cu.call("cuMemcpyDtoDAsync_v2", &[there, here, 64, stream]), 0);
        assert_eq!(cu.call("cuCtxDisablePeerAccess", &[first]), 0);
        gate.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(cu.call("cuStreamSynchronize", &[stream]), LAUNCH_FAILED);
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxSetCurrent", &[first]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut other), 64]), LAUNCH_FAILED, "of every device");
    });
}

/// With and without access, by every function that takes pointers of two devices.
#[test]
fn copies_between_devices() {
    alone("copies_between_devices", &THREE, || {
        let (cu, first, second) = two_contexts();
        let (_, here) = cu.allocate(64);
        assert_eq!(cu.call("cuCtxSetCurrent", &[second]), 0);
        let (_, there) = cu.allocate(64);
        let mut ordinal = 9;
        assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut ordinal), 9, here]), 0);
        assert_eq!(ordinal, 0);
        let copies: [(&str, &[u64]); 5] = [
            ("cuMemcpyPeer", &[there, second, here, first, 64]),
            ("cuMemcpyPeerAsync", &[there, second, here, first, 64, 0]),
            ("cuMemcpyDtoDAsync_v2", &[there, here, 64, 0]),
            ("cuMemcpyDtoD_v2", &[there, here, 64]),
            ("cuMemcpy", &[there, here, 64]),
        ];
        let mut value = 0u8;
        for access in [false, true] {
            if access {
                assert_eq!(cu.call("cuCtxEnablePeerAccess", &[first, 0]), 0);
            }
            for (name, arguments) in copies {
                value += 1;
                let (from, mut to) = ([value; 64], [0u8; 64]);
                assert_eq!(cu.call("cuMemcpyHtoD_v2", &[here, from.as_ptr() as u64, 64]), 0);
                assert_eq!(cu.call(name, arguments), 0, "{name}");
                assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut to), there, 64]), 0);
                assert_eq!(to, from, "{name}");
            }
        }
        assert_eq!(cu.call("cuMemcpyPeer", &[there, second, here, first, 65]), INVALID_VALUE);
    });
}
