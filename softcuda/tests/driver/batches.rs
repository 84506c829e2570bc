//! Batches of copies, prefetches and discards: every expectation was measured on driver 580, but for the lines that say
//! otherwise.

use crate::common::managed::{
    DEVICE, HOST, LAST_PREFETCH, NOWHERE, PAGE, SIZE, attribute, bytes, managed, residence,
};
use crate::common::streams::{Gate, INVALID_HANDLE, LEGACY, PER_THREAD, free_stream, synchronize};
use crate::common::{INVALID_DEVICE, INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, first, with_context};

const SCHEDULES: [&str; 4] = ["eager", "lazy", "seeded", "in-order"];
const NONE: u64 = u64::MAX;

/// `CUmemcpyAttributes`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    order: i32,
    hints: [i32; 4],
    flags: u32,
}

const STREAM_ORDER: Attributes = Attributes { order: 1, hints: [0; 4], flags: 0 };
const DURING_THE_CALL: Attributes = Attributes { order: 2, ..STREAM_ORDER };
const ANY_ORDER: Attributes = Attributes { order: 3, flags: 1, ..STREAM_ORDER };

/// The arguments of a batch of copies.
#[derive(Clone)]
struct Copies {
    to: Vec<u64>,
    from: Vec<u64>,
    sizes: Vec<u64>,
    attributes: Vec<Attributes>,
    starts: Vec<u64>,
}

impl Copies {
    fn new(copies: &[(u64, u64, u64)]) -> Self {
        Self {
            to: copies.iter().map(|copy| copy.0).collect(),
            from: copies.iter().map(|copy| copy.1).collect(),
            sizes: copies.iter().map(|copy| copy.2).collect(),
            attributes: vec![STREAM_ORDER],
            starts: vec![0],
        }
    }

    fn arguments(&self) -> [u64; 7] {
        let count = self.to.len() as u64;
        let (attributes, starts) = (first(&self.attributes), first(&self.starts));
        let number = self.attributes.len() as u64;
        [first(&self.to), first(&self.from), first(&self.sizes), count, attributes, starts, number]
    }

    /// By the call of 13.0.
    fn submit(&self, cu: &Library, stream: u64) -> i32 {
        cu.call("cuMemcpyBatchAsync_v2", &[&self.arguments()[..], &[stream]].concat())
    }

    /// By the call of 12.8; answers also which copy it blames.
    fn submit_old(&self, cu: &Library, stream: u64) -> (i32, u64) {
        let mut failed = 77u64;
        let more = [at(&mut failed), stream];
        (cu.call("cuMemcpyBatchAsync", &[&self.arguments()[..], &more].concat()), failed)
    }
}

fn device(cu: &Library, size: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), size]), 0);
    pointer
}

#[test]
fn copies_go_where_they_should() {
    for schedule in SCHEDULES {
        alone("copies_go_where_they_should", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (s, d, m) = (free_stream(&cu), device(&cu, 256), managed(&cu, SIZE));
            let host: Vec<u8> = (0..128).collect();
            let back = [0u8; 64];
            assert_eq!(
                Copies::new(&[(d, first(&host), 64), (d + 64, first(&host) + 64, 64)]).submit(&cu, s),
                0
            );
            assert_eq!(Copies::new(&[(m, d, 128), (first(&back), d + 32, 64)]).submit_old(&cu, s), (0, NONE));
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(&bytes(m, 128)[..], &host[..]);
            assert_eq!(&back[..], &host[32..96]);
            assert_eq!(Copies::new(&[(d, m, 8)]).submit(&cu, PER_THREAD), 0);
            assert_eq!(cu.call("cuStreamSynchronize", &[PER_THREAD]), 0);
        });
    }
}

/// The conformance suite asks what is refused; here it is refused as long as the calls exist.
#[test]
fn copies_belong_to_versions() {
    for version in ["12.8", "13.0"] {
        alone("copies_belong_to_versions", &[("SOFTCUDA_VERSION", version)], || {
            let cu = with_context();
            let (s, d) = (free_stream(&cu), device(&cu, 256));
            let good = Copies::new(&[(d, d + 64, 8), (d + 8, d + 64, 8)]);
            let mut empty = good.clone();
            empty.sizes[1] = 0;
            assert_eq!(empty.submit_old(&cu, s), (INVALID_VALUE, 1));
            assert_eq!(good.submit_old(&cu, LEGACY), (INVALID_VALUE, NONE));
            assert_eq!(good.submit_old(&cu, 0x1234), (INVALID_HANDLE, NONE), "chosen");
            assert_eq!(good.submit_old(&cu, s), (0, NONE));
            if version == "13.0" {
                let per_thread =
                    cu.call("cuMemcpyBatchAsync_v2_ptsz", &[&good.arguments()[..], &[0]].concat());
                assert_eq!(per_thread, 0);
            } else {
                assert_eq!(good.submit(&cu, s), NOT_SUPPORTED, "there is no such name");
            }
        });
    }
}

/// Documented.
#[test]
fn when_the_source_is_read() {
    for schedule in SCHEDULES {
        alone("when_the_source_is_read", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (s, m) = (free_stream(&cu), managed(&cu, SIZE));
            for attributes in [STREAM_ORDER, DURING_THE_CALL, ANY_ORDER] {
                let mut source = [1u8; 16];
                let mut copies = Copies::new(&[(m, at(&mut source), 16)]);
                copies.attributes = vec![attributes];
                let gate = Gate::in_stream(&cu, s);
                assert_eq!(copies.submit(&cu, s), 0);
                let mut attributes_again = attributes;
                source[0] = 2;
                let one = [m + 64, at(&mut source), 16, at(&mut attributes_again), s];
                assert_eq!(cu.call("cuMemcpyWithAttributesAsync", &one), NOT_SUPPORTED, "of 13.2");
                gate.open();
                assert_eq!(synchronize(&cu, s), 0);
                let expected = if attributes.order == 2 { 1 } else { 2 };
                assert_eq!(bytes(m, 16)[0], expected, "order {}", attributes.order);
            }
        });
    }
}

/// Documented: parts of a batch have no order; here the last one is first.
#[test]
fn parts_have_no_order() {
    alone("parts_have_no_order", &[], || {
        let cu = with_context();
        let (s, m) = (free_stream(&cu), managed(&cu, SIZE));
        (bytes(m, 3)[0], bytes(m, 3)[1]) = (1, 2);
        assert_eq!(Copies::new(&[(m + 2, m, 1), (m + 2, m + 1, 1)]).submit(&cu, s), 0);
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!(bytes(m, 3)[2], 1, "the first one has come last");
    });
}

/// `CUDA_MEMCPY3D_BATCH_OP`, with ends in linear memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct BoxCopy {
    from: BoxEnd,
    to: BoxEnd,
    extent: [u64; 3],
    order: i32,
    flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct BoxEnd {
    kind: u64,
    pointer: u64,
    row: u64,
    rows: u64,
    hint: u64,
}

/// Documented, but for what is as with ranges.
#[test]
fn boxes() {
    for schedule in SCHEDULES {
        let variables = [("SOFTCUDA_SCHEDULE", schedule), ("SOFTCUDA_VERSION", "13.2")];
        alone("boxes", &variables, || {
            let cu = with_context();
            let (s, m) = (free_stream(&cu), managed(&cu, SIZE));
            bytes(m, 64).iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
            let end = |pointer, row, rows| BoxEnd { kind: 1, pointer, row, rows, hint: 0 };
            let good =
                BoxCopy { from: end(m, 8, 4), to: end(m + 64, 0, 0), extent: [2, 2, 2], order: 1, flags: 0 };
            let submit = |copy: BoxCopy, flags: u64, stream: u64| {
                let mut ops = [BoxCopy { to: end(m + 128, 0, 0), ..good }, copy];
                cu.call("cuMemcpy3DBatchAsync_v2", &[2, at(&mut ops), flags, stream])
            };
            assert_eq!(submit(good, 0, s), 0);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(bytes(m + 64, 8), [0, 1, 8, 9, 32, 33, 40, 41]);
            assert_eq!(bytes(m + 128, 8), [0, 1, 8, 9, 32, 33, 40, 41]);

            assert_eq!(submit(BoxCopy { order: 0, ..good }, 0, s), INVALID_VALUE);
            assert_eq!(submit(BoxCopy { extent: [2, 0, 2], ..good }, 0, s), INVALID_VALUE);
            assert_eq!(submit(BoxCopy { from: end(m, 1, 4), ..good }, 0, s), INVALID_VALUE);
            assert_eq!(submit(BoxCopy { from: end(0, 8, 4), ..good }, 0, s), INVALID_VALUE);
            assert_eq!(
                submit(BoxCopy { from: BoxEnd { kind: 9, ..good.from }, ..good }, 0, s),
                INVALID_VALUE
            );
            let array = BoxEnd { kind: 2, ..good.from };
            assert_eq!(submit(BoxCopy { from: array, ..good }, 0, s), INVALID_HANDLE, "chosen: no arrays");
            assert_eq!(submit(good, 1, s), INVALID_VALUE);
            assert_eq!(submit(good, 0, LEGACY), INVALID_VALUE);
            let mut op = good;
            assert_eq!(cu.call("cuMemcpy3DBatchAsync_v2", &[0, at(&mut op), 0, s]), INVALID_VALUE);
            let mut failed = 77u64;
            let arguments = [1, at(&mut op), at(&mut failed), 0, s];
            assert_eq!((cu.call("cuMemcpy3DBatchAsync", &arguments), failed), (0, NONE));

            bytes(m + 64, 8).fill(0);
            op.order = 2;
            assert_eq!(cu.call("cuMemcpy3DWithAttributesAsync", &[at(&mut op), 1, s]), INVALID_VALUE);
            assert_eq!(cu.call("cuMemcpy3DWithAttributesAsync", &[at(&mut op), 0, s]), 0);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(bytes(m + 64, 8), [0, 1, 8, 9, 32, 33, 40, 41]);
            let mut attributes = DURING_THE_CALL;
            let one = |size, attributes: u64| [m + 512, m + 1, size, attributes, s];
            let call = |arguments: [u64; 5]| cu.call("cuMemcpyWithAttributesAsync", &arguments);
            assert_eq!(call(one(0, at(&mut attributes))), INVALID_VALUE, "chosen");
            assert_eq!(call(one(8, 0)), INVALID_VALUE);
            assert_eq!(call(one(8, at(&mut attributes))), 0);
            attributes.order = 0;
            assert_eq!(call(one(8, at(&mut attributes))), INVALID_VALUE);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(bytes(m + 512, 3), [1, 2, 3]);
        });
    }
}

/// The arguments of a batch of prefetches.
#[derive(Clone)]
struct Prefetches {
    pointers: Vec<u64>,
    sizes: Vec<u64>,
    places: Vec<u64>,
    starts: Vec<u64>,
    flags: u64,
}

impl Prefetches {
    fn submit(&self, cu: &Library, function: &str, stream: u64) -> i32 {
        let (count, number) = (self.pointers.len() as u64, self.places.len() as u64);
        let (pointers, sizes) = (first(&self.pointers), first(&self.sizes));
        let (places, starts) = (first(&self.places), first(&self.starts));
        cu.call(function, &[pointers, sizes, count, places, starts, number, self.flags, stream])
    }
}

#[test]
fn prefetches_and_discards() {
    for schedule in SCHEDULES {
        alone("prefetches_and_discards", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (s, m, n) = (free_stream(&cu), managed(&cu, SIZE), managed(&cu, SIZE));
            let good = Prefetches {
                pointers: vec![m, n, n + SIZE / 2],
                sizes: vec![SIZE, SIZE / 2, SIZE / 2],
                places: vec![DEVICE, HOST],
                starts: vec![0, 2],
                flags: 0,
            };
            for function in ["cuMemPrefetchBatchAsync", "cuMemDiscardAndPrefetchBatchAsync"] {
                let more = Prefetches { places: vec![DEVICE; 4], ..good.clone() };
                assert_eq!(more.submit(&cu, function, s), INVALID_VALUE, "{function}");
            }
            assert_eq!(attribute(&cu, m, SIZE, LAST_PREFETCH), NOWHERE, "a refusal has no effect");

            assert_eq!(good.submit(&cu, "cuMemPrefetchBatchAsync", s), 0);
            assert_eq!(attribute(&cu, m, SIZE, LAST_PREFETCH), 0);
            assert_eq!(attribute(&cu, n, SIZE / 2, LAST_PREFETCH), 0);
            assert_eq!(attribute(&cu, n + SIZE / 2, SIZE / 2, LAST_PREFETCH), -1);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!((residence(&cu, n), residence(&cu, n + SIZE - 1)), (0, -1));

            let (pointers, sizes) = ([m, n + 10], [SIZE, 2 * PAGE]);
            bytes(m, SIZE).fill(7);
            bytes(n, SIZE).fill(7);
            let discard = [first(&pointers), first(&sizes), 2, 0, s];
            assert_eq!(cu.call("cuMemDiscardBatchAsync", &discard), 0);
            assert_eq!(synchronize(&cu, s), 0);
            assert!(bytes(m, SIZE).iter().all(|byte| *byte == 0), "chosen: zeros");
            assert_eq!(
                (residence(&cu, m), residence(&cu, n), residence(&cu, n + PAGE)),
                (NOWHERE, 0, NOWHERE)
            );
            let page = PAGE as usize;
            let kept = |at: usize| bytes(n, SIZE)[at] == 7;
            assert_eq!([kept(page - 1), kept(page), kept(2 * page)], [true, false, true], "whole pages only");

            bytes(m, SIZE).fill(7);
            assert_eq!(good.submit(&cu, "cuMemDiscardAndPrefetchBatchAsync", s), 0);
            assert_eq!(attribute(&cu, m, SIZE, LAST_PREFETCH), 0);
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!((residence(&cu, m), bytes(m, 1)[0]), (0, 0));
        });
    }
}

/// Documented.
#[test]
fn no_batches_without_concurrent_access() {
    alone("no_batches_without_concurrent_access", &[("SOFTCUDA_CONCURRENT_MANAGED", "0")], || {
        let cu = with_context();
        let (s, m) = (free_stream(&cu), managed(&cu, SIZE));
        let one = Prefetches {
            pointers: vec![m],
            sizes: vec![SIZE],
            places: vec![HOST],
            starts: vec![0],
            flags: 0,
        };
        assert_eq!(one.submit(&cu, "cuMemPrefetchBatchAsync", s), INVALID_DEVICE);
        assert_eq!(one.submit(&cu, "cuMemDiscardAndPrefetchBatchAsync", s), INVALID_DEVICE);
        let arguments = [first(&one.pointers), first(&one.sizes), 1, 0, s];
        assert_eq!(cu.call("cuMemDiscardBatchAsync", &arguments), INVALID_DEVICE);
    });
}
