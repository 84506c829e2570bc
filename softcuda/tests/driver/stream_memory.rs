//! Copies and fills in streams: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::streams::{
    Gate, INVALID_HANDLE, LEGACY, LONG, NOT_READY, event, free_stream, pinned, query, record, stream,
    synchronize,
};
use crate::common::{INVALID_VALUE, Library, alone, at, first, with_context};
use std::time::Duration;

fn allocate(cu: &Library, size: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), size]), 0);
    pointer
}

/// Reads without waiting for anything but its own stream.
fn read(cu: &Library, pointer: u64, size: usize) -> Vec<u8> {
    let s = free_stream(cu);
    let mut bytes = vec![0xee; size];
    let arguments = [bytes.as_mut_ptr() as u64, pointer, size as u64, s];
    assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &arguments), 0);
    assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0);
    bytes
}

#[test]
fn what_is_refused() {
    alone("what_is_refused", &[], || {
        let cu = with_context();
        let (s, a, b) = (free_stream(&cu), allocate(&cu, 4096), allocate(&cu, 4096));
        let host = vec![1u8; 8192];
        let pageable = first(&host);
        let refused: &[(&str, &[u64])] = &[
            ("cuMemcpyDtoDAsync_v2", &[a, b, 4097, s]),
            ("cuMemcpyDtoDAsync_v2", &[0, b, 8, s]),
            ("cuMemcpyDtoDAsync_v2", &[a, 0x1234, 8, s]),
            ("cuMemcpyHtoDAsync_v2", &[a, pageable, 4097, s]),
            ("cuMemcpyHtoDAsync_v2", &[a, 0, 8, s]),
            ("cuMemcpyDtoHAsync_v2", &[pageable, a + 1, 4096, s]),
            ("cuMemcpyAsync", &[a, b, 4097, s]),
            ("cuMemcpyPeerAsync", &[a, 0, pageable, 0, 8, s]),
            ("cuMemsetD8Async", &[a, 0, 4097, s]),
            ("cuMemsetD16Async", &[a + 1, 0, 1, s]),
            ("cuMemsetD32Async", &[a + 2, 0, 1, s]),
            ("cuMemsetD2D8Async", &[a, 64, 0, 64, 65, s]),
            ("cuMemsetD2D32Async", &[a, 66, 0, 4, 2, s]),
            ("cuMemcpy2DAsync_v2", &[0, s]),
        ];
        for (name, arguments) in refused {
            assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} {arguments:x?}");
        }
        let accepted: &[(&str, &[u64])] = &[
            ("cuMemcpyDtoDAsync_v2", &[0, 0, 0, s]),
            ("cuMemcpyHtoDAsync_v2", &[a, pageable, 4096, s]),
            ("cuMemcpyAsync", &[a, b, 4096, s]),
            ("cuMemcpyAsync_ptsz", &[a, pageable, 4096, 0]),
            ("cuMemcpyPeerAsync", &[a, 0, b, 0, 8, s]),
            ("cuMemsetD8Async", &[a, 0, 4096, s]),
            ("cuMemsetD2D16Async", &[a, 64, 7, 32, 64, s]),
        ];
        for (name, arguments) in accepted {
            assert_eq!(cu.call(name, arguments), 0, "{name} {arguments:x?}");
        }
        assert_eq!(synchronize(&cu, s), 0, "a refused call does no harm");
        assert_eq!(cu.call("cuMemsetD8Async", &[a, 0, 0, 0x1234]), INVALID_HANDLE);
    });
}

/// What was put into a stream is done in its order, and not before.
#[test]
fn work_waits_for_its_turn() {
    alone("work_waits_for_its_turn", &[], || {
        let cu = with_context();
        let (s, a, b) = (free_stream(&cu), allocate(&cu, 64), allocate(&cu, 64));
        let host = pinned(&cu, 128);
        let there = host.as_mut_ptr() as u64;
        host[..64].fill(1);
        let gate = Gate::in_stream(&cu, s);
        assert_eq!(cu.call("cuMemcpyHtoDAsync_v2", &[a, there, 64, s]), 0);
        assert_eq!(cu.call("cuMemsetD8Async", &[a, 9, 8, s]), 0);
        assert_eq!(cu.call("cuMemcpyDtoDAsync_v2", &[b, a, 64, s]), 0);
        assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[there + 64, b, 64, s]), 0);
        host[..64].fill(2);
        assert_eq!((query(&cu, s), host[64..].to_vec()), (NOT_READY, vec![0; 64]));
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
        let mut expected = vec![2; 64];
        expected[..8].fill(9);
        assert_eq!(host[64..], expected, "page-locked memory is read when the copy's turn comes");
    });
}

/// Documented, on NVIDIA's page on synchronous behaviour.
#[test]
fn which_calls_wait() {
    alone("which_calls_wait", &[], || {
        let cu = with_context();
        let (s, a) = (stream(&cu), allocate(&cu, 1 << 20));
        let mut host = vec![1u8; 1 << 20];
        let pageable = host.as_mut_ptr() as u64;
        let locked = pinned(&cu, 1 << 20).as_mut_ptr() as u64;
        let size = 1 << 20;
        let at_once: &[(&str, &[u64])] =
            &[("cuMemsetD8Async", &[a, 0, size, s]), ("cuMemsetD8Async", &[locked, 0, size, s])];
        let gate = Gate::in_stream(&cu, s);
        for (name, arguments) in at_once {
            assert_eq!(cu.call(name, arguments), 0, "{name} {arguments:x?}");
        }
        assert!(gate.wait_until_reached());
        gate.open();
        let waiting: &[(&str, &[u64])] = &[
            ("cuMemcpyAsync", &[pageable, locked, 64, s]),
            ("cuMemcpyAsync", &[locked, pageable, 64, s]),
            ("cuMemcpyAsync", &[locked, locked + 64, 64, s]),
            ("cuMemcpyDtoH_v2", &[locked, a, 64]),
            ("cuMemcpyHtoD_v2", &[a, locked, 64]),
            ("cuMemsetD8_v2", &[locked, 0, 64]),
        ];
        for (name, arguments) in waiting {
            let gate = Gate::in_stream(&cu, s);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert!(gate.wait_until_reached());
                    std::thread::sleep(Duration::from_millis(5));
                    gate.open();
                });
                assert_eq!(cu.call(name, arguments), 0, "{name} {arguments:x?}");
                assert!(gate.is_open(), "{name} {arguments:x?} waits");
            });
        }
    });
}

/// A call that has returned has no more use for the caller's ordinary memory.
#[test]
fn pageable_memory_is_free_after_the_call() {
    alone("pageable_memory_is_free_after_the_call", &[], || {
        let cu = with_context();
        let (s, a) = (free_stream(&cu), allocate(&cu, 4096));
        let gate = Gate::in_stream(&cu, s);
        let mut host = vec![5u8; 4096];
        assert_eq!(cu.call("cuMemcpyHtoDAsync_v2", &[a, host.as_mut_ptr() as u64, 4096, s]), 0);
        host.fill(6);
        drop(host);
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!(read(&cu, a, 4096), [5; 4096]);
    });
}

/// The synchronous functions are work of the legacy stream, or of the per-thread one.
#[test]
fn synchronous_functions_are_ordered_with_streams() {
    alone("synchronous_functions_are_ordered_with_streams", &[], || {
        let cu = with_context();
        let (blocking, a) = (stream(&cu), allocate(&cu, 64));
        let gate = Gate::in_stream(&cu, blocking);
        assert_eq!(cu.call("cuMemsetD8_v2", &[a, 7, 64]), 0);
        assert_eq!(query(&cu, LEGACY), NOT_READY);
        assert_eq!(read(&cu, a, 1), [0], "waits for the blocking stream");
        gate.open();
    });
}

/// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`: documented.
#[test]
fn memory_that_wants_waiting() {
    alone("memory_that_wants_waiting", &[], || {
        let cu = with_context();
        let a = allocate(&cu, 64);
        let mut on = 1u32;
        assert_eq!(cu.call("cuPointerSetAttribute", &[at(&mut on), 6, a]), 0);
        a_fill_waits(&cu, a);
    });
}

/// `CU_CTX_SYNC_MEMOPS`: documented.
#[test]
fn a_context_that_wants_waiting() {
    alone("a_context_that_wants_waiting", &[], || {
        let cu = with_context();
        assert_eq!(cu.call("cuCtxSetFlags", &[0x80]), 0);
        a_fill_waits(&cu, allocate(&cu, 64));
    });
}

fn a_fill_waits(cu: &Library, pointer: u64) {
    let gate = Gate::in_stream(cu, stream(cu));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(gate.wait_until_reached());
            std::thread::sleep(Duration::from_millis(5));
            gate.open();
        });
        assert_eq!(cu.call("cuMemsetD8_v2", &[pointer, 1, 64]), 0);
        assert!(gate.is_open());
    });
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Rectangle {
    src_x: usize,
    src_y: usize,
    src_type: i32,
    src_host: u64,
    src_device: u64,
    src_array: u64,
    src_pitch: usize,
    dst_x: usize,
    dst_y: usize,
    dst_type: i32,
    dst_host: u64,
    dst_device: u64,
    dst_array: u64,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

#[test]
fn rectangles() {
    alone("rectangles", &[], || {
        let cu = with_context();
        let (s, a) = (free_stream(&cu), allocate(&cu, 64));
        let gate = Gate::in_stream(&cu, s);
        let mut host: Vec<u8> = (0..64).collect();
        let mut rectangle = Rectangle {
            src_x: 1,
            src_y: 2,
            src_type: 1,
            src_host: host.as_mut_ptr() as u64,
            src_pitch: 8,
            dst_type: 2,
            dst_device: a,
            dst_pitch: 16,
            width: 3,
            height: 2,
            ..Rectangle::default()
        };
        assert_eq!(cu.call("cuMemcpy2DAsync_v2", &[at(&mut rectangle), s]), 0, "pageable: returns at once");
        host.fill(0);
        rectangle.height = 9;
        assert_eq!(cu.call("cuMemcpy2DAsync_v2", &[at(&mut rectangle), s]), INVALID_VALUE);
        gate.open();
        assert_eq!(synchronize(&cu, s), 0);
        let bytes = read(&cu, a, 32);
        assert_eq!((&bytes[..4], &bytes[16..20]), (&[17u8, 18, 19, 0][..], &[25u8, 26, 27, 0][..]));
        assert!(bytes.iter().filter(|&&b| b != 0).count() == 6);
        rectangle.height = 2;
        (rectangle.src_type, rectangle.src_device) = (2, a);
        (rectangle.dst_type, rectangle.dst_host) = (1, host.as_mut_ptr() as u64);
        (rectangle.src_x, rectangle.src_y, rectangle.src_pitch, rectangle.dst_pitch) = (0, 0, 16, 4);
        assert_eq!(cu.call("cuMemcpy2DAsync_v2", &[at(&mut rectangle), s]), 0);
        assert_eq!(host[..8], [17, 18, 19, 0, 25, 26, 27, 0], "pageable: is done");
    });
}

#[test]
fn fills_of_every_width() {
    alone("fills_of_every_width", &[], || {
        let cu = with_context();
        let (s, a) = (free_stream(&cu), allocate(&cu, 64));
        let calls: &[(&str, &[u64])] = &[
            ("cuMemsetD8Async", &[a, 0x11, 64, s]),
            ("cuMemsetD16Async", &[a, 0x2233, 2, s]),
            ("cuMemsetD32Async", &[a + 4, 0x4455_6677, 1, s]),
            ("cuMemsetD2D8Async", &[a + 16, 4, 0x88, 1, 2, s]),
            ("cuMemsetD2D16Async", &[a + 32, 4, 0x99aa, 1, 2, s]),
            ("cuMemsetD2D32Async", &[a + 48, 8, 0, 1, 2, s]),
        ];
        for (name, arguments) in calls {
            assert_eq!(cu.call(name, arguments), 0, "{name}");
        }
        assert_eq!(synchronize(&cu, s), 0);
        let expected = [
            [0x33, 0x22, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11],
            [0x88, 0x11, 0x11, 0x11, 0x88, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11],
            [0xaa, 0x99, 0x11, 0x11, 0xaa, 0x99, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11],
            [0, 0, 0, 0, 0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 0x11, 0x11, 0x11, 0x11],
        ];
        assert_eq!(read(&cu, a, 64), expected.concat());
    });
}

/// Freeing waits for the work of the context; work under way keeps its memory.
#[test]
fn a_free_waits() {
    alone("a_free_waits", &[], || {
        let cu = with_context();
        let (s, e) = (free_stream(&cu), event(&cu));
        let a = allocate(&cu, 1 << 20);
        let locked = pinned(&cu, 64);
        let gate = Gate::in_stream(&cu, s);
        assert_eq!(cu.call("cuMemsetD8Async", &[a, 1, 1 << 20, s]), 0);
        assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[locked.as_mut_ptr() as u64, a, 64, s]), 0);
        record(&cu, e, s);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(gate.wait_until_reached());
                std::thread::sleep(LONG / 1000);
                gate.open();
            });
            assert_eq!(cu.call("cuMemFree_v2", &[a]), 0);
            assert_eq!(cu.call("cuEventQuery", &[e]), 0);
        });
        assert_eq!(locked, [1; 64]);
    });
}
