//! Managed memory: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::managed::{
    DEVICE, HOST, LAST_PREFETCH, NOWHERE, PAGE, SIZE, attribute, bytes, location, managed, residence,
};
use crate::common::streams::{Gate, ILLEGAL_ADDRESS, free_stream, synchronize};
use crate::common::{INVALID_DEVICE, INVALID_VALUE, Library, NOT_FOUND, alone, at, with_context};

const HOST_ATTACHED: u64 = 2;
const SINGLE: u64 = 4;

const SET_READ_MOSTLY: u64 = 1;
const SET_PREFERRED: u64 = 3;
const SET_ACCESSED_BY: u64 = 5;
const UNSET_ACCESSED_BY: u64 = 6;

const PREFERRED: u64 = 2;
const ACCESSED_BY: u64 = 3;
const PREFERRED_TYPE: u64 = 5;
const LAST_PREFETCH_TYPE: u64 = 7;

/// `CU_DEVICE_CPU`, as the calls of 8.0 name the host.
const CPU: u64 = u64::MAX;
const NODE: u64 = location(3, 0);
const CURRENT_NODE: u64 = location(4, 0);

fn advise(cu: &Library, pointer: u64, size: u64, advice: u64, place: u64) -> i32 {
    cu.call("cuMemAdvise_v2", &[pointer, size, advice, place])
}

fn prefetch(cu: &Library, pointer: u64, size: u64, place: u64, stream: u64) -> i32 {
    cu.call("cuMemPrefetchAsync_v2", &[pointer, size, place, 0, stream])
}

/// Ordinal, type and id of the preferred location, or of the last prefetch's.
fn place(cu: &Library, pointer: u64, of: u64) -> [i32; 3] {
    let of_type = if of == PREFERRED { PREFERRED_TYPE } else { LAST_PREFETCH_TYPE };
    [of, of_type, of_type + 1].map(|which| attribute(cu, pointer, SIZE, which))
}

fn accessed_by(cu: &Library, pointer: u64, size: u64) -> [i32; 3] {
    let mut those = [99; 3];
    assert_eq!(cu.call("cuMemRangeGetAttribute", &[at(&mut those), 12, ACCESSED_BY, pointer, size]), 0);
    those
}

#[test]
fn allocation() {
    alone("allocation", &[], || {
        let cu = with_context();
        let mut pointer = 7u64;
        assert_eq!(cu.call("cuMemAllocManaged", &[at(&mut pointer), 64, 3]), INVALID_VALUE);
        assert_eq!(pointer, 7, "a refusal writes nothing");
        assert_eq!(cu.call("cuMemAllocManaged", &[at(&mut pointer), 64, HOST_ATTACHED]), 0);
        assert_eq!(cu.call("cuMemFreeHost", &[pointer]), INVALID_VALUE, "chosen");
        assert_eq!((cu.live("managed memory"), cu.live_bytes("managed memory")), (1, 64));
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
        assert_eq!(cu.live("managed memory"), 0);
        // Documented: more than a device has is no obstacle.
        let larger = managed(&cu, 2 << 30);
        bytes(larger, 2 << 30)[(2 << 30) - 1] = 1;
        assert_eq!(cu.call("cuMemFree_v2", &[larger]), 0);
    });
}

/// Documented.
#[test]
fn what_the_pointer_is() {
    alone("what_the_pointer_is", &[], || {
        let cu = with_context();
        let pointer = managed(&cu, SIZE);
        let question = |which: u64| {
            let mut value = 0u64;
            assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut value), which, pointer + 8]), 0, "{which}");
            value
        };
        assert_eq!(question(8), 1, "managed");
        assert_eq!(question(2), 2, "memory of a device");
        assert_eq!(question(4), pointer + 8, "for the host too");
        assert_eq!(question(3), pointer + 8);
        assert_eq!((question(11), question(12)), (pointer, SIZE));
    });
}

#[test]
fn host_and_device_use_it() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone("host_and_device_use_it", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (a, b, s) = (managed(&cu, SIZE), managed(&cu, SIZE), free_stream(&cu));
            bytes(a, SIZE).fill(3);
            assert_eq!(cu.call("cuMemcpyAsync", &[b, a, SIZE, s]), 0);
            assert_eq!(cu.call("cuMemsetD8Async", &[b, 9, 16, s]), 0);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!((bytes(b, SIZE)[15], bytes(b, SIZE)[16]), (9, 3));
            // Documented: what names no stream has written managed memory when it returns.
            assert_eq!(cu.call("cuMemsetD8_v2", &[a, 5, SIZE]), 0);
            assert_eq!(bytes(a, SIZE)[0], 5);
            assert_eq!(cu.call("cuMemcpyDtoD_v2", &[b, a, SIZE]), 0);
            assert_eq!(bytes(b, SIZE)[SIZE as usize - 1], 5);
            assert_eq!(cu.call("cuMemsetD8_v2", &[a, 5, SIZE + 1]), INVALID_VALUE);
        });
    }
}

/// A part of a range can lose what all of it had.
#[test]
fn advice_is_taken_back_from_a_part() {
    alone("advice_is_taken_back_from_a_part", &[], || {
        let cu = with_context();
        let p = managed(&cu, SIZE);
        for device in [DEVICE, HOST] {
            assert_eq!(advise(&cu, p, SIZE, SET_ACCESSED_BY, device), 0);
        }
        assert_eq!(advise(&cu, p, PAGE, UNSET_ACCESSED_BY, HOST), 0);
        assert_eq!(accessed_by(&cu, p, SIZE), [0, NOWHERE, NOWHERE]);
        assert_eq!(advise(&cu, p, SIZE, UNSET_ACCESSED_BY, DEVICE), 0);
        assert_eq!(accessed_by(&cu, p + PAGE, SIZE - PAGE), [-1, NOWHERE, NOWHERE]);
    });
}

#[test]
fn advice_before_12_2() {
    alone("advice_before_12_2", &[("SOFTCUDA_VERSION", "12.0")], || {
        let cu = with_context();
        let (p, s) = (managed(&cu, SIZE), free_stream(&cu));
        assert_eq!(cu.call("cuMemAdvise", &[p, SIZE, SET_PREFERRED, CPU]), 0);
        assert_eq!(attribute(&cu, p, SIZE, PREFERRED), -1);
        let mut value = 0i32;
        let new = cu.call("cuMemRangeGetAttribute", &[at(&mut value), 4, PREFERRED_TYPE, p, SIZE]);
        assert_eq!(new, INVALID_VALUE, "chosen: 12.2 has brought it");
        assert_eq!(cu.call("cuMemPrefetchAsync", &[p, SIZE, CPU, s]), 0);
        assert_eq!(attribute(&cu, p, SIZE, LAST_PREFETCH), -1);
        assert_eq!(
            cu.call("cuMemAdvise_v2", &[p, SIZE, SET_READ_MOSTLY, HOST]),
            801,
            "there is no such name"
        );
    });
}

#[test]
fn prefetch_is_told_at_once() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone("prefetch_is_told_at_once", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (p, s) = (managed(&cu, SIZE), free_stream(&cu));
            let gate = Gate::in_stream(&cu, s);
            for (to, told) in [
                (DEVICE, [0, 1, 0]),
                (HOST, [-1, 2, -1]),
                (NODE, [-1, 3, 0]),
                (CURRENT_NODE, [-1, 4, 0]),
                (DEVICE, [0, 1, 0]),
            ] {
                assert_eq!(prefetch(&cu, p, SIZE, to, s), 0);
                assert_eq!(place(&cu, p, LAST_PREFETCH), told, "{to:#x}: documented, it may not have begun");
            }
            assert_eq!(residence(&cu, p), NOWHERE, "it has its place in the stream");
            gate.open();
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!((residence(&cu, p), residence(&cu, p + SIZE - 1)), (0, 0));
            assert_eq!(prefetch(&cu, p + 100, 200, HOST, s), 0, "a part of a page");
            assert_eq!(place(&cu, p, LAST_PREFETCH), [NOWHERE, 0, NOWHERE], "not all of it");
            assert_eq!(attribute(&cu, p, PAGE, LAST_PREFETCH), -1);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!((residence(&cu, p), residence(&cu, p + PAGE)), (-1, 0));
            assert_eq!(prefetch(&cu, p, SIZE, DEVICE, 0), 0, "also on the default stream");
        });
    }
}

/// Documented.
#[test]
fn work_moves_pages() {
    alone("work_moves_pages", &[("SOFTCUDA_DEVICES", "2")], || {
        let cu = with_context();
        let (p, s) = (managed(&cu, SIZE), free_stream(&cu));
        let fill = |page: u64| {
            assert_eq!(cu.call("cuMemsetD8Async", &[p + page * PAGE, 1, PAGE, s]), 0);
            assert_eq!(synchronize(&cu, s), 0);
            residence(&cu, p + page * PAGE)
        };
        assert_eq!(fill(0), 0, "where it is used first");
        assert_eq!(residence(&cu, p + PAGE), NOWHERE, "page by page");
        assert_eq!(advise(&cu, p + PAGE, PAGE, SET_PREFERRED, HOST), 0);
        assert_eq!(fill(1), -1, "where it is preferred");
        assert_eq!(prefetch(&cu, p + 2 * PAGE, PAGE, location(1, 1), s), 0);
        assert_eq!(fill(2), 0, "it moves to where it is used");
        assert_eq!(prefetch(&cu, p + 3 * PAGE, PAGE, location(1, 1), s), 0);
        assert_eq!(advise(&cu, p + 3 * PAGE, PAGE, SET_ACCESSED_BY, DEVICE), 0);
        assert_eq!(fill(3), 1, "a mapping spares the move");
        assert_eq!(prefetch(&cu, p + 4 * PAGE, PAGE, HOST, s), 0);
        assert_eq!(advise(&cu, p + 4 * PAGE, PAGE, SET_READ_MOSTLY, DEVICE), 0);
        let mut host = [0u8; 16];
        assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut host), p + 4 * PAGE, 16]), 0);
        assert_eq!(residence(&cu, p + 4 * PAGE), -1, "a reader gets a copy");
        assert_eq!(fill(4), 0, "a writer does not");

        let mut plain = 0;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), SIZE]), 0);
        assert_eq!(cu.call("softcuda_residence", &[plain, 0]), NOT_FOUND);
        assert!(cu.message().contains("no managed memory"), "{}", cu.message());
    });
}

/// Documented.
#[test]
fn devices_without_concurrent_access() {
    alone("devices_without_concurrent_access", &[("SOFTCUDA_CONCURRENT_MANAGED", "0")], || {
        let cu = with_context();
        let (p, s) = (managed(&cu, SIZE), free_stream(&cu));
        let mut value = 7i32;
        assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut value), 89, 0]), 0);
        assert_eq!(value, 0);
        assert_eq!(prefetch(&cu, p, SIZE, DEVICE, s), INVALID_DEVICE);
        assert_eq!(prefetch(&cu, p, SIZE, HOST, s), INVALID_DEVICE);
        assert_eq!(advise(&cu, p, SIZE, SET_PREFERRED, DEVICE), INVALID_DEVICE);
        assert_eq!(advise(&cu, p, SIZE, SET_ACCESSED_BY, DEVICE), INVALID_DEVICE);
        assert_eq!(advise(&cu, p, SIZE, SET_PREFERRED, HOST), 0);
        assert_eq!(attribute(&cu, p, SIZE, PREFERRED), -1);
        assert_eq!(cu.call("cuMemsetD8_v2", &[p, 4, SIZE]), 0);
        assert_eq!(bytes(p, SIZE)[77], 4);
    });
}

/// Documented, where there is no concurrent access.
#[test]
fn attachment_decides_who_may_use_it() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        let variables = [("SOFTCUDA_CONCURRENT_MANAGED", "0"), ("SOFTCUDA_SCHEDULE", schedule)];
        let said = alone("attachment_decides_who_may_use_it", &variables, || {
            let cu = with_context();
            let (p, mut q, s, other) = (managed(&cu, SIZE), 0u64, free_stream(&cu), free_stream(&cu));
            assert_eq!(cu.call("cuMemAllocManaged", &[at(&mut q), SIZE, HOST_ATTACHED]), 0);
            let attach = |stream: u64, pointer: u64, flags: u64| {
                assert_eq!(cu.call("cuStreamAttachMemAsync", &[stream, pointer, 0, flags]), 0);
            };
            let fill = |stream: u64, pointer: u64| {
                assert_eq!(cu.call("cuMemsetD8Async", &[pointer, 1, SIZE, stream]), 0);
                synchronize(&cu, stream)
            };
            attach(s, p, SINGLE);
            assert_eq!(fill(s, p), 0);
            attach(s, q, SINGLE);
            assert_eq!(fill(s, q), 0);
            assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0);
            assert_eq!(fill(other, p), 0, "as it was at first");
            assert_eq!(fill(other, q), ILLEGAL_ADDRESS, "the host's alone, as it was at first");
        });
        assert!(said.is_empty() || said.contains("attached to the host or to another stream"), "{said}");
    }
}
