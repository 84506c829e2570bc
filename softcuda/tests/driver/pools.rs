//! Memory in a stream's order, and pools: every expectation was measured on driver 580, but for the lines that say
//! otherwise.

use crate::common::graphs::function;
use crate::common::streams::{
    Gate, ILLEGAL_ADDRESS, INVALID_HANDLE, NOT_READY, event, free_stream, query, record, synchronize,
};
use crate::common::{
    INVALID_VALUE, Library, NOT_SUPPORTED, OUT_OF_MEMORY, alone, at, everywhere, first, with_context,
};
use crate::races::Program;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const REUSE_FOLLOW_EVENTS: u64 = 1;
const REUSE_OPPORTUNISTIC: u64 = 2;
const REUSE_INTERNAL: u64 = 3;
const THRESHOLD: u64 = 4;
const RESERVED: u64 = 5;
const RESERVED_HIGH: u64 = 6;
const USED: u64 = 7;
const USED_HIGH: u64 = 8;

fn allocate(cu: &Library, size: u64, stream: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut pointer), size, stream]), 0, "{size} bytes");
    pointer
}

fn free(cu: &Library, pointer: u64, stream: u64) -> i32 {
    cu.call("cuMemFreeAsync", &[pointer, stream])
}

fn default_pool(cu: &Library) -> u64 {
    let mut pool = 0;
    assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut pool), 0]), 0);
    pool
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Props {
    kind: i32,
    handles: i32,
    location: i32,
    id: i32,
    security: u64,
    most: usize,
    rest: [u8; 56],
}

const DEVICE_POOL: Props =
    Props { kind: 1, handles: 0, location: 1, id: 0, security: 0, most: 0, rest: [0; 56] };

fn pool(cu: &Library, mut props: Props) -> u64 {
    let mut pool = 0;
    assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut pool), at(&mut props)]), 0);
    pool
}

fn number(cu: &Library, pool: u64, attribute: u64) -> u64 {
    let mut value = 0u64;
    assert_eq!(cu.call("cuMemPoolGetAttribute", &[pool, attribute, at(&mut value)]), 0);
    value
}

fn set(cu: &Library, pool: u64, attribute: u64, mut value: u64) -> i32 {
    cu.call("cuMemPoolSetAttribute", &[pool, attribute, at(&mut value)])
}

#[test]
fn every_default_stream_has_memory() {
    alone("every_default_stream_has_memory", &[], || {
        let cu = with_context();
        for default in [0, 1, 2] {
            let p = allocate(&cu, 64, default);
            assert_eq!(free(&cu, p, default), 0);
        }
        let mut p = 0u64;
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut p), 64, 0x1234]), INVALID_HANDLE);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 1);
    });
}

#[test]
fn what_the_pointer_is() {
    alone("what_the_pointer_is", &[], || {
        let cu = with_context();
        let p = allocate(&cu, 100, free_stream(&cu));
        let (mut kind, mut pool, mut base, mut size) = (0u32, 0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut kind), 2, p + 9]), 0);
        assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut pool), 17, p]), 0);
        assert_eq!(cu.call("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), p + 9]), 0);
        assert_eq!((kind, pool, base, size), (2, default_pool(&cu), p, 100));
    });
}

/// A free takes effect in the stream's order; work before it still finds the memory.
#[test]
fn a_free_has_its_turn() {
    alone("a_free_has_its_turn", &[], || {
        let cu = with_context();
        let (s, host) = (free_stream(&cu), crate::common::streams::pinned(&cu, 64));
        let mut plain = 0u64;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), 0);
        for p in [allocate(&cu, 64, s), plain] {
            let gate = Gate::in_stream(&cu, s);
            assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, s]), 0);
            assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[host.as_mut_ptr() as u64, p, 64, s]), 0);
            assert_eq!(free(&cu, p, s), 0);
            assert_eq!(query(&cu, s), NOT_READY, "not waited for");
            gate.open();
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(host, [7; 64]);
            host.fill(0);
        }
    });
}

/// Chosen: work that runs before the allocation is an illegal access, which a real driver may miss.
#[test]
fn work_before_the_allocation_is_a_sticky_error() {
    let said = alone("work_before_the_allocation_is_a_sticky_error", &[], || {
        let cu = with_context();
        let (s, other, e) = (free_stream(&cu), free_stream(&cu), event(&cu));
        let gate = Gate::in_stream(&cu, s);
        let p = allocate(&cu, 64, s);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, other]), 0, "the call cannot know");
        while query(&cu, other) == NOT_READY {
            std::thread::yield_now();
        }
        assert_eq!(cu.call("cuEventRecord", &[e, other]), ILLEGAL_ADDRESS);
        assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS, "which does not wait");
        gate.open();
    });
    assert!(said.is_empty() || said.contains("illegal address: a fill on stream"), "{said}");
}

/// Chosen: so is work that runs after the free.
#[test]
fn work_after_the_free_is_a_sticky_error() {
    let said = alone("work_after_the_free_is_a_sticky_error", &[], || {
        let cu = with_context();
        let (s, other) = (free_stream(&cu), free_stream(&cu));
        let gate = Gate::in_stream(&cu, other);
        let p = allocate(&cu, 64, s);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, other]), 0, "the call cannot know");
        assert_eq!(free(&cu, p, s), 0);
        assert_eq!(synchronize(&cu, s), 0);
        gate.open();
        assert_eq!(synchronize(&cu, other), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), ILLEGAL_ADDRESS);
    });
    assert!(said.is_empty() || said.contains("illegal address: a fill on stream"), "{said}");
}

/// A driver's default pool, another one of a device, of the host, and of managed memory.
const KINDS: [Option<Props>; 4] =
    [None, Some(DEVICE_POOL), Some(HOST_POOL), Some(Props { kind: 2, location: 0, ..DEVICE_POOL })];

/// Memory of a pool, which device 0 may use.
fn allocate_from(cu: &Library, kind: Option<Props>, size: u64, stream: u64) -> u64 {
    let Some(props) = kind else { return allocate(cu, size, stream) };
    let (mut p, pool) = (0u64, pool(cu, props));
    if props.kind == 1 && props.location != 1 {
        assert_eq!(cu.call("cuMemPoolSetAccess", &[pool, at(&mut [1, 0, 3]), 1]), 0);
    }
    assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), size, pool, stream]), 0);
    p
}

/// `cuMemFree` of a pool's memory waits for nothing (measured): work that comes to it later finds what is freed.
#[test]
fn a_free_at_once_does_not_wait() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let number = number.to_string();
        for is_used in ["0", "1"] {
            let variables = [("TEST_KIND", &*number), ("TEST_USED", is_used)];
            let said = alone("a_free_at_once_does_not_wait", &variables, || {
                let cu = with_context();
                let (s, mut plain) = (free_stream(&cu), 0u64);
                assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), 0);
                let p = allocate_from(&cu, kind, 64, s);
                assert_eq!(synchronize(&cu, s), 0);
                let gate = Gate::in_stream(&cu, s);
                let used = if is_used == "1" { p } else { plain };
                assert_eq!(cu.call("cuMemsetD8Async", &[used, 7, 64, s]), 0);
                assert_eq!(cu.call("cuMemFree_v2", &[p]), 0);
                assert_eq!(cu.call("cuMemFree_v2", &[p]), INVALID_VALUE, "it is gone");
                assert_eq!(query(&cu, s), NOT_READY, "not waited for");
                gate.open();
                assert_eq!(synchronize(&cu, s), if is_used == "1" { ILLEGAL_ADDRESS } else { 0 });
            });
            let is_said = said.contains("illegal address: a fill on stream");
            assert!(said.is_empty() || is_said == (is_used == "1"), "{said}");
        }
    }
}

/// Nor for the allocation, which may be ahead: the memory goes all the same.
#[test]
fn a_free_at_once_before_the_allocation_has_its_turn() {
    alone("a_free_at_once_before_the_allocation_has_its_turn", &[], || {
        let (cu, mut other) = (with_context(), 0u64);
        let (s, pool) = (free_stream(&cu), default_pool(&cu));
        let gate = Gate::in_stream(&cu, s);
        let p = allocate(&cu, 64, s);
        assert_eq!((cu.call("cuMemFree_v2", &[p]), query(&cu, s)), (0, NOT_READY));
        assert_eq!((number(&cu, pool, USED), number(&cu, pool, RESERVED)), (0, 0));
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, s]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut other), 64]), 0);
    });
}

/// A kernel that has found the host's pages goes on with them, whoever frees them: nothing is unmapped under it.
#[test]
fn pages_of_the_host_stay_for_kernels_that_use_them() {
    const UNTIL: &std::ffi::CStr = c"
.version 7.4
.target sm_80
.address_size 64
.visible .entry until(.param .u64 place, .param .u64 flag)
{
    .reg .u32 %t;
    .reg .u64 %a, %f;
    .reg .pred %p;
    ld.param.u64 %a, [place];
    ld.param.u64 %f, [flag];
LOOP:
    st.volatile.global.u32 [%a], 1;
    ld.volatile.global.u32 %t, [%f];
    setp.eq.u32 %p, %t, 0;
    @%p bra LOOP;
    ret;
}
";
    for (number, kind) in KINDS.into_iter().enumerate().skip(2) {
        let number = number.to_string();
        let variables = [("TEST_KIND", &*number), ("SOFTCUDA_SCHEDULE", "eager")];
        alone("pages_of_the_host_stay_for_kernels_that_use_them", &variables, || {
            let program = Program { cu: with_context(), mended: false };
            let (cu, until) = (&program.cu, function(&program.cu, UNTIL, c"until"));
            let (s, flag) = (free_stream(cu), crate::common::streams::pinned(cu, 64));
            let p = allocate_from(cu, kind, 1 << 20, s);
            assert_eq!(synchronize(cu, s), 0);
            let word = p as *const AtomicU32;
            let mut arguments = [p, flag.as_ptr() as u64];
            let parameters = arguments.each_mut().map(at);
            program.call_launch(&[until, 1, 1, 1, 1, 1, 1, 0, s, first(&parameters)]);
            // SAFETY: memory that the host may use; the kernel has written it when this ends.
            while unsafe { &*word }.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(cu.call("cuMemFree_v2", &[p]), 0);
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: its first byte, which the kernel reads.
            unsafe { flag.as_mut_ptr().write_volatile(1) };
            // As the kernel looks its memory up anew, or not.
            assert!([0, ILLEGAL_ADDRESS].contains(&synchronize(cu, s)));
        });
    }
}

/// An event between the streams makes it right.
#[test]
fn events_order_memory_between_streams() {
    alone("events_order_memory_between_streams", &[], || {
        let cu = with_context();
        let (s, other, e) = (free_stream(&cu), free_stream(&cu), event(&cu));
        let gate = Gate::in_stream(&cu, s);
        let p = allocate(&cu, 64, s);
        record(&cu, e, s);
        assert_eq!(cu.call("cuStreamWaitEvent", &[other, e, 0]), 0);
        assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 64, other]), 0);
        assert_eq!(free(&cu, p, other), 0);
        gate.open();
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
    });
}

/// What a pool holds grows and shrinks; documented: a synchronisation gives back what is above the threshold.
#[test]
fn what_a_pool_holds() {
    alone("what_a_pool_holds", &[], || {
        let cu = with_context();
        let (own, s) = (default_pool(&cu), free_stream(&cu));
        let (mut before, mut after, mut total) = (0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut before), at(&mut total)]), 0);
        let p = allocate(&cu, 1 << 20, s);
        assert_eq!((number(&cu, own, USED), number(&cu, own, RESERVED)), (1 << 20, 1 << 20));
        assert_eq!(free(&cu, p, s), 0);
        assert_eq!((number(&cu, own, USED), number(&cu, own, RESERVED)), (0, 1 << 20));
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!((number(&cu, own, RESERVED), number(&cu, own, RESERVED_HIGH)), (0, 1 << 20));
        assert_eq!((set(&cu, own, RESERVED_HIGH, 0), number(&cu, own, RESERVED_HIGH)), (0, 0));
        assert_eq!(number(&cu, own, USED_HIGH), 1 << 20);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut after), at(&mut total)]), 0);
        assert_eq!(after, before);

        assert_eq!(set(&cu, own, THRESHOLD, u64::MAX), 0);
        let p = allocate(&cu, 1 << 20, s);
        assert_eq!(free(&cu, p, s), 0);
        for call in ["cuStreamSynchronize", "cuCtxSynchronize"] {
            assert_eq!(cu.call(call, &[s]), 0);
            assert_eq!(number(&cu, own, RESERVED), 1 << 20, "kept");
        }
        let kept = allocate(&cu, 1 << 20, s);
        assert_eq!(kept, p, "and used again");
        assert_eq!(cu.call("cuMemPoolTrimTo", &[own, 0]), 0);
        assert_eq!(number(&cu, own, RESERVED), 1 << 20, "what is in use stays");
        assert_eq!(free(&cu, kept, s), 0);
        assert_eq!(cu.call("cuMemPoolTrimTo", &[own, 0]), 0);
        assert_eq!(number(&cu, own, RESERVED), 1 << 20, "nobody waited for the free");
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!(cu.call("cuMemPoolTrimTo", &[own, 1 << 20]), 0);
        assert_eq!(number(&cu, own, RESERVED), 1 << 20);
        assert_eq!(cu.call("cuMemPoolTrimTo", &[own, 0]), 0);
        assert_eq!(number(&cu, own, RESERVED), 0);
    });
}

/// Measured on driver 580: another stream's event says nothing of the free, also if it was recorded after the free was done.
#[test]
fn an_event_of_another_stream_settles_no_free() {
    alone("an_event_of_another_stream_settles_no_free", &[], || {
        let cu = with_context();
        let (own, s, other) = (default_pool(&cu), free_stream(&cu), free_stream(&cu));
        let (beside, behind) = (event(&cu), event(&cu));
        let p = allocate(&cu, 1 << 20, s);
        assert_eq!(free(&cu, p, s), 0);
        while cu.call("cuStreamQuery", &[s]) != 0 {
            std::thread::yield_now();
        }
        record(&cu, beside, other);
        assert_eq!(cu.call("cuEventSynchronize", &[beside]), 0);
        assert_eq!(number(&cu, own, RESERVED), 1 << 20);
        record(&cu, behind, s);
        assert_eq!(cu.call("cuEventSynchronize", &[behind]), 0);
        assert_eq!(number(&cu, own, RESERVED), 0);
    });
}

/// Measured on driver 580: an event of a stream that waited for the free tells of it. An earlier event of that stream does not.
#[test]
fn an_event_of_a_stream_that_waited_settles_a_free() {
    alone("an_event_of_a_stream_that_waited_settles_a_free", &[], || {
        let cu = with_context();
        let (own, s, behind, far) = (default_pool(&cu), free_stream(&cu), free_stream(&cu), free_stream(&cu));
        let (freed, before, after) = (event(&cu), event(&cu), event(&cu));
        let order = |first: u64, e: u64, then: u64| {
            record(&cu, e, first);
            assert_eq!(cu.call("cuStreamWaitEvent", &[then, e, 0]), 0);
        };
        let settles = |e: u64| {
            assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
            number(&cu, own, RESERVED) == 0
        };
        for chain in [false, true] {
            let p = allocate(&cu, 1 << 20, s);
            record(&cu, freed, s);
            assert_eq!(cu.call("cuStreamWaitEvent", &[behind, freed, 0]), 0);
            assert_eq!(free(&cu, p, s), 0);
            record(&cu, before, behind);
            assert!(!settles(before), "it waited for what was before the free");
            order(s, freed, behind);
            if chain {
                order(behind, freed, far);
            }
            record(&cu, after, if chain { far } else { behind });
            assert!(!settles(before), "recorded before the wait");
            assert!(settles(after), "chain: {chain}");
        }
    });
}

/// Documented: when a stream may have what another one freed.
#[test]
fn reuse() {
    alone("reuse", &[], || {
        let cu = with_context();
        let own = default_pool(&cu);
        let (s, other, ordered, e) = (free_stream(&cu), free_stream(&cu), free_stream(&cu), event(&cu));
        let only = |attribute: u64| {
            for each in [REUSE_FOLLOW_EVENTS, REUSE_OPPORTUNISTIC, REUSE_INTERNAL] {
                assert_eq!(set(&cu, own, each, u64::from(each == attribute)), 0);
            }
        };
        assert_eq!(set(&cu, own, THRESHOLD, u64::MAX), 0);

        only(0);
        let gate = Gate::in_stream(&cu, s);
        let p = allocate(&cu, 4096, s);
        assert_eq!(free(&cu, p, s), 0);
        record(&cu, e, s);
        assert_eq!(cu.call("cuStreamWaitEvent", &[ordered, e, 0]), 0);
        assert_ne!(allocate(&cu, 4096, other), p, "nothing allows it");
        assert_ne!(allocate(&cu, 4096, ordered), p, "not even behind an event");
        only(REUSE_FOLLOW_EVENTS);
        assert_ne!(allocate(&cu, 4096, other), p, "not ordered");
        assert_eq!(allocate(&cu, 4096, ordered), p, "ordered by an event");
        assert_eq!(free(&cu, p, ordered), 0);
        only(REUSE_OPPORTUNISTIC);
        assert_ne!(allocate(&cu, 4096, other), p, "not finished");
        only(REUSE_INTERNAL);
        assert_eq!(allocate(&cu, 4096, other), p);
        assert_eq!(query(&cu, other), NOT_READY, "the allocation waits for the free");
        assert_eq!(free(&cu, p, other), 0);
        only(0);
        assert_eq!(allocate(&cu, 4096, other), p, "the stream that freed it always may");
        assert_eq!(free(&cu, p, other), 0);
        gate.open();
        assert_eq!(synchronize(&cu, other), 0);
        only(REUSE_OPPORTUNISTIC);
        assert_eq!(allocate(&cu, 4096, s), p, "finished");
    });
}

/// What pools do not use is used when memory runs out.
#[test]
fn pools_give_way() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        give_way(schedule);
    }
}

fn give_way(schedule: &str) {
    alone("pools_give_way", &[("SOFTCUDA_MEMORY", "1M"), ("SOFTCUDA_SCHEDULE", schedule)], || {
        let cu = with_context();
        let (own, s) = (default_pool(&cu), free_stream(&cu));
        assert_eq!(set(&cu, own, THRESHOLD, u64::MAX), 0);
        let mut p = allocate(&cu, 1 << 20, s);
        assert_eq!(free(&cu, p, s), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut p), 1 << 19]), 0, "chosen");
        assert_eq!(free(&cu, p, s), 0);
        let q = allocate(&cu, 100, s);
        let r = allocate(&cu, 700 << 10, s);
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut p), 400 << 10, s]), OUT_OF_MEMORY);
        assert_eq!((free(&cu, q, s), free(&cu, r, s)), (0, 0));
        let mut plain = 0u64;
        for size in 1..50u64 {
            let p = allocate(&cu, size * 9000, s);
            assert_eq!(free(&cu, p, s), 0, "work that frees is given time");
            assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), size * 10_000]), 0);
            assert_eq!(free(&cu, plain, s), 0);
        }
    });
}

#[test]
fn created_pools() {
    alone("created_pools", &[], || {
        let cu = with_context();
        let s = free_stream(&cu);
        let (own, mine) = (default_pool(&cu), pool(&cu, Props { most: 1 << 20, ..DEVICE_POOL }));
        assert_ne!(own, mine);
        let (mut p, mut current) = (0u64, 0u64);
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), 4096, mine, s]), 0);
        assert_eq!((number(&cu, mine, USED), number(&cu, own, USED)), (4096, 0));
        // The greatest size is rounded up to 32 MiB (measured).
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut current), 32 << 20, mine, s]), OUT_OF_MEMORY);
        assert_eq!(cu.call("cuDeviceGetMemPool", &[at(&mut current), 0]), 0);
        assert_eq!(current, own);
        assert_eq!(cu.call("cuDeviceSetMemPool", &[0, mine]), 0);
        assert_eq!(cu.call("cuDeviceGetMemPool", &[at(&mut current), 0]), 0);
        assert_eq!(current, mine);
        let q = allocate(&cu, 4096, s);
        assert_eq!(number(&cu, mine, USED), 8192);
        // Documented: what is allocated outlives the pool, and the device goes back to its own.
        assert_eq!(cu.call("cuMemPoolDestroy", &[mine]), 0);
        assert_eq!(cu.call("cuMemPoolDestroy", &[mine]), INVALID_VALUE);
        assert_eq!(cu.call("cuDeviceGetMemPool", &[at(&mut current), 0]), 0);
        assert_eq!(current, own);
        assert_eq!(cu.call("cuMemsetD8Async", &[q, 1, 4096, s]), 0);
        assert_eq!((free(&cu, p, s), free(&cu, q, s), synchronize(&cu, s)), (0, 0, 0));
        assert_eq!(cu.call("softcuda_live_objects", &[]), 2);
        let (mut free_bytes, mut total) = (0u64, 1u64);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free_bytes), at(&mut total)]), 0);
        assert_eq!(free_bytes, total, "nothing is lost");
    });
}

/// Not measured.
#[test]
fn what_pools_refuse() {
    alone("what_pools_refuse", &[], || {
        let cu = with_context();
        let mut out = 0u64;
        for (props, expected) in [
            (Props { kind: 3, ..DEVICE_POOL }, INVALID_VALUE),
            (Props { location: 3, id: 1, ..DEVICE_POOL }, INVALID_VALUE),
            (Props { location: 9, ..DEVICE_POOL }, INVALID_VALUE),
            (Props { handles: 8, ..DEVICE_POOL }, NOT_SUPPORTED),
        ] {
            let mut props = props;
            assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut out), at(&mut props)]), expected);
        }
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut out), 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemPoolTrimTo", &[0x1234, 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuDeviceSetMemPool", &[0, 0]), INVALID_VALUE);
        assert_eq!(set(&cu, default_pool(&cu), RESERVED, 0), INVALID_VALUE);
        for bad in [0, 99] {
            assert_eq!(set(&cu, default_pool(&cu), bad, 0), INVALID_VALUE);
        }
    });
}

/// A context's memory ends with it; its pool's device has all of it again.
#[test]
fn a_context_ends() {
    alone("a_context_ends", &[], || {
        let cu = with_context();
        let own = default_pool(&cu);
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), 0);
        let p = allocate(&cu, 4096, free_stream(&cu));
        assert_eq!(cu.call("cuCtxDestroy_v2", &[context]), 0);
        // What a pool gave is no context's.
        assert_eq!(number(&cu, own, USED), 4096);
        assert_eq!(free(&cu, p, free_stream(&cu)), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!((number(&cu, own, USED), number(&cu, own, RESERVED)), (0, 0));
    });
}

/// Threads allocate and free on streams of their own and on a shared one.
#[test]
fn many_threads() {
    alone("many_threads", &[("SOFTCUDA_MEMORY", "64M")], || {
        let cu = with_context();
        let shared = free_stream(&cu);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let (cu, own) = (&cu, free_stream(&cu));
                scope.spawn(move || {
                    for round in 0..300 {
                        let stream = if round % 3 == 0 { shared } else { own };
                        let size = 1 + (round * 37 + thread * 101) % 70_000;
                        let p = allocate(cu, size, stream);
                        assert_eq!(cu.call("cuMemsetD8Async", &[p, thread, size, stream]), 0);
                        assert_eq!(free(cu, p, stream), 0);
                        if round % 50 == 0 {
                            assert_eq!(synchronize(cu, stream), 0);
                        }
                    }
                });
            }
        });
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!((number(&cu, default_pool(&cu), USED), number(&cu, default_pool(&cu), RESERVED)), (0, 0));
    });
}

/// `CUmemPoolProps` of each kind of memory that is not a device's.
const HOST_POOL: Props = Props { location: 2, ..DEVICE_POOL };
const NODE_POOL: Props = Props { location: 3, ..DEVICE_POOL };
const MANAGED_POOL: Props = Props { kind: 2, location: 0, ..DEVICE_POOL };
const PREFERRING_POOL: Props = Props { kind: 2, ..DEVICE_POOL };

fn pointer_attribute(cu: &Library, pointer: u64, attribute: u64) -> u64 {
    let mut value = 0u64;
    assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut value), attribute, pointer]), 0, "{attribute}");
    value
}

/// Documented, but for what is managed.
#[test]
fn pools_of_other_memory() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone("pools_of_other_memory", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let s = free_stream(&cu);
            for (props, kind, managed, place) in [
                (HOST_POOL, "pinned memory", 0, 1),
                (NODE_POOL, "pinned memory", 0, 1),
                (MANAGED_POOL, "managed memory", 1, 2),
                (PREFERRING_POOL, "managed memory", 1, 2),
            ] {
                let (mine, mut p) = (pool(&cu, props), 0u64);
                assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), 5000, mine, s]), 0);
                assert_eq!((number(&cu, mine, USED), number(&cu, mine, RESERVED)), (5000, 8192), "chosen");
                assert_eq!(cu.live(kind), 1);
                assert_eq!((pointer_attribute(&cu, p, 8), pointer_attribute(&cu, p, 2)), (managed, place));
                assert_eq!((pointer_attribute(&cu, p, 4), pointer_attribute(&cu, p, 17)), (p, mine));
                // Of the host's memory a device is to be admitted first (measured).
                let admitted = if managed == 1 { 0 } else { INVALID_VALUE };
                assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 5000, s]), admitted);
                let mut map = [1, 0, 3];
                assert_eq!(cu.call("cuMemPoolSetAccess", &[mine, at(&mut map), 1]), 0);
                assert_eq!(cu.call("cuMemsetD8Async", &[p, 7, 5000, s]), 0);
                assert_eq!(synchronize(&cu, s), 0);
                // SAFETY: memory of that size, which the host may use, after all work.
                let bytes = unsafe { std::slice::from_raw_parts(p as *const u8, 5000) };
                assert!(bytes.iter().all(|byte| *byte == 7));
                assert_eq!((free(&cu, p, s), number(&cu, mine, USED)), (0, 0));
                let mut q = 0u64;
                assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut q), 4000, mine, s]), 0);
                assert_eq!((q, number(&cu, mine, RESERVED)), (p, 8192), "used again");
                assert_eq!(cu.call("cuMemFree_v2", &[q]), 0);
                assert_eq!(cu.call("cuMemPoolTrimTo", &[mine, 0]), 0);
                assert_eq!((number(&cu, mine, RESERVED), number(&cu, mine, RESERVED_HIGH)), (0, 8192));
                assert_eq!((cu.live(kind), cu.call("cuMemPoolDestroy", &[mine])), (0, 0));
            }
            let limited = pool(&cu, Props { most: 8192, ..HOST_POOL });
            let (mut p, most) = (0u64, 32 << 20);
            assert_eq!(
                cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), most + 1, limited, s]),
                OUT_OF_MEMORY
            );
            assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), most, limited, s]), 0);
            let unlimited = pool(&cu, HOST_POOL);
            assert_eq!(
                cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), 1 << 50, unlimited, s]),
                OUT_OF_MEMORY
            );
        });
    }
}

/// Documented.
#[test]
fn the_pools_of_places() {
    alone("the_pools_of_places", &[], || {
        let cu = with_context();
        let ask = |function: &str, location: i32, kind: u64| {
            let (mut out, mut location) = (0u64, [location, 0]);
            assert_eq!(cu.call(function, &[at(&mut out), at(&mut location), kind]), 0, "{function}");
            out
        };
        let set = |location: i32, kind: u64, pool: u64| {
            let mut location = [location, 0];
            cu.call("cuMemSetMemPool", &[at(&mut location), kind, pool])
        };
        let places = [(1, 1), (2, 1), (3, 1), (0, 2), (1, 2), (2, 2)];
        let own = places.map(|(location, kind)| ask("cuMemGetDefaultMemPool", location, kind));
        assert!((1..own.len()).all(|i| !own[..i].contains(&own[i])), "each has its own");
        for (i, (location, kind)) in places.into_iter().enumerate() {
            assert_eq!(ask("cuMemGetMemPool", location, kind), own[i]);
            let mine = pool(&cu, Props { kind: kind as i32, location, ..DEVICE_POOL });
            assert_eq!(set(location, kind, own[(i + 1) % own.len()]), INVALID_VALUE, "other memory");
            assert_eq!(set(location, kind, mine), 0);
            assert_eq!(ask("cuMemGetMemPool", location, kind), mine);
            assert_eq!(ask("cuMemGetDefaultMemPool", location, kind), own[i]);
            assert_eq!(cu.call("cuMemPoolDestroy", &[mine]), 0);
            assert_eq!(ask("cuMemGetMemPool", location, kind), own[i], "it goes back");
            assert_eq!(cu.call("cuMemPoolDestroy", &[own[i]]), INVALID_VALUE);
        }
        assert_eq!(cu.live("memory pool"), 0);
    });
}

/// Which pools can be shared, and by what: as devices say. What no driver shares is a wrong value (measured).
#[test]
fn what_pools_can_be_shared() {
    alone("what_pools_can_be_shared", &[], || {
        let cu = with_context();
        let (s, mine, mut p, mut types) = (free_stream(&cu), pool(&cu, DEVICE_POOL), 0u64, 7i32);
        assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut types), 119, 0]), 0);
        assert_eq!(types, 1, "by a descriptor, and not by fabric");
        for (props, answer) in [
            (Props { handles: 1, ..DEVICE_POOL }, 0),
            (Props { handles: 1, ..NODE_POOL }, 0),
            (Props { handles: 8, ..DEVICE_POOL }, NOT_SUPPORTED),
            (Props { handles: 9, ..DEVICE_POOL }, NOT_SUPPORTED),
            (Props { handles: 2, ..DEVICE_POOL }, INVALID_VALUE),
            (Props { handles: 1, ..HOST_POOL }, INVALID_VALUE),
        ] {
            let (mut props, mut out) = (props, 7u64);
            assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut out), at(&mut props)]), answer);
            assert_eq!(out == 7, answer != 0);
        }
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), 64, mine, s]), 0);
        assert_eq!(pointer_attribute(&cu, p, 14), 0);
        let (mut file, mut data) = (7i32, [0u8; 64]);
        let export = cu.call("cuMemPoolExportToShareableHandle", &[at(&mut file), mine, 1, 0]);
        assert_eq!((export, file), (INVALID_VALUE, 7));
        assert_eq!(cu.call("cuMemPoolExportPointer", &[at(&mut data), p]), INVALID_VALUE);
    });
}

/// Memory of a pool that can be shared is given back and found again as any, and none of it is lost.
#[test]
fn memory_of_shared_pools_comes_and_goes() {
    everywhere("memory_of_shared_pools_comes_and_goes", || {
        let cu = with_context();
        let s = free_stream(&cu);
        for props in [DEVICE_POOL, NODE_POOL] {
            let mine = pool(&cu, Props { handles: 1, ..props });
            for size in [1u64, 4096, 100_000, 8 << 20] {
                let mut p = 0u64;
                assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut p), size, mine, s]), 0);
                assert_eq!(pointer_attribute(&cu, p, 14), 1);
                assert_eq!(cu.call("cuMemFreeAsync", &[p, s]), 0);
                assert_eq!(synchronize(&cu, s), 0);
            }
            let mut reserved = 7u64;
            assert_eq!(cu.call("cuMemPoolGetAttribute", &[mine, 5, at(&mut reserved)]), 0);
            assert_eq!(reserved, 0);
            assert_eq!(cu.call("cuMemPoolDestroy", &[mine]), 0);
        }
        assert_eq!((cu.live("memory pool"), cu.live("device memory")), (0, 0));
    });
}

/// Documented.
#[test]
fn what_versions_have_pools_of() {
    for (version, node, others) in
        [("12.0", INVALID_VALUE, INVALID_VALUE), ("12.9", 0, INVALID_VALUE), ("13.0", 0, 0)]
    {
        alone("what_versions_have_pools_of", &[("SOFTCUDA_VERSION", version)], || {
            let cu = with_context();
            let create = |mut props: Props| cu.call("cuMemPoolCreate", &[at(&mut 0u64), at(&mut props)]);
            assert_eq!((create(DEVICE_POOL), create(NODE_POOL)), (0, node));
            assert_eq!((create(HOST_POOL), create(MANAGED_POOL)), (others, others));
            let limited = create(Props { most: 1 << 20, ..DEVICE_POOL });
            assert_eq!(limited, if version == "12.0" { INVALID_VALUE } else { 0 }, "chosen before 12.2");
        });
    }
    alone("what_versions_have_pools_of", &[("SOFTCUDA_CONCURRENT_MANAGED", "0")], || {
        let cu = with_context();
        let (mut out, mut props) = (0u64, MANAGED_POOL);
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut out), at(&mut props)]), NOT_SUPPORTED);
    });
}

/// Documented for creating and allocating, chosen for the rest.
#[test]
fn devices_without_pools() {
    alone("devices_without_pools", &[("SOFTCUDA_MEMORY_POOLS", "0")], || {
        let cu = with_context();
        let (s, mut out, mut value) = (free_stream(&cu), 7u64, 7i32);
        // Pools, the handles that they can be shared by, and pools of nodes and of the host.
        for attribute in [115, 119, 142, 144] {
            assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut value), attribute, 0]), 0, "{attribute}");
            assert_eq!(value, 0, "{attribute}");
        }
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut out), at(&mut DEVICE_POOL.clone())]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuDeviceGetMemPool", &[at(&mut out), 0]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut out), 0]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut out), 64, s]), NOT_SUPPORTED);
        assert_eq!(out, 7);
        let mut p = 0u64;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut p), 64]), 0);
        assert_eq!(cu.call("cuMemFreeAsync", &[p, s]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuMemFree_v2", &[p]), 0);
    });
}
