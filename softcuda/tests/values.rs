//! Values that streams write and wait for, attributes of streams, and events of whole contexts. What is refused for its
//! size, flags or alignment was measured on driver 580, and so were the abilities; the rest is documented or chosen.
#![cfg(target_os = "linux")]

mod common;

use common::streams::{
    Gate, ILLEGAL_ADDRESS, INVALID_HANDLE, LEGACY, LONG, NOT_READY, PER_THREAD, event, free_stream, nop,
    pinned, query, record, stream, synchronize,
};
use common::{INVALID_CONTEXT, INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, first, with_context};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const EQUAL: u64 = 1;
const FLUSH: u64 = 1 << 30;

/// A word of page-locked memory, and its address.
fn word(cu: &Library) -> (&'static AtomicU32, u64) {
    let bytes = pinned(cu, 64);
    // SAFETY: page-locked memory lasts here, is aligned, and is zero.
    let word = unsafe { AtomicU32::from_ptr(bytes.as_mut_ptr().cast()) };
    (word, bytes.as_mut_ptr() as u64)
}

/// Asks until the answer is no longer "not ready".
fn settled(mut ask: impl FnMut() -> i32) -> i32 {
    let start = Instant::now();
    loop {
        match ask() {
            NOT_READY if start.elapsed() < LONG => std::thread::sleep(Duration::from_millis(1)),
            answer => return answer,
        }
    }
}

/// One operation of a batch: kind, address, value, flags.
fn operation(kind: u64, address: u64, value: u64, flags: u64) -> [u64; 6] {
    [kind, address, value, flags, 0, 0]
}

fn batch(cu: &Library, stream: u64, operations: &[[u64; 6]], flags: u64) -> i32 {
    cu.call("cuStreamBatchMemOp_v2", &[stream, operations.len() as u64, first(operations), flags])
}

#[test]
fn what_is_refused() {
    alone("what_is_refused", &[], || {
        let cu = with_context();
        let (s, (there, at_word)) = (free_stream(&cu), word(&cu));
        let refused: &[(&str, &[u64])] = &[
            ("cuStreamWriteValue32_v2", &[s, at_word, 1, 8]),
            ("cuStreamWriteValue32_v2", &[s, at_word + 2, 1, 0]),
            ("cuStreamWriteValue64_v2", &[s, at_word + 4, 1, 0]),
            ("cuStreamWriteValue32_v2", &[s, 0x1234_5678_9000, 1, 0]),
            ("cuStreamWriteValue32_v2", &[s, at_word + 64, 1, 0]),
            ("cuStreamWaitValue32_v2", &[s, at_word, 1, 8]),
            ("cuStreamWaitValue64_v2", &[s, at_word + 4, 1, 0]),
            ("cuStreamBatchMemOp_v2", &[s, 1, 0, 0]),
        ];
        for (name, arguments) in refused {
            assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} {arguments:x?}");
        }
        let write = operation(2, at_word, 7, 0);
        assert_eq!(cu.call("cuStreamBatchMemOp_v2", &[s, 0, 0, 0]), 0);
        assert_eq!(batch(&cu, s, &[write], 1), INVALID_VALUE, "flags");
        assert_eq!(batch(&cu, s, &[operation(99, at_word, 7, 0)], 0), INVALID_VALUE);
        assert_eq!(batch(&cu, s, &[write, operation(2, at_word + 2, 7, 0)], 0), INVALID_VALUE);
        assert_eq!(batch(&cu, s, &[write; 256], 0), INVALID_VALUE);
        assert_eq!((synchronize(&cu, s), there.load(Ordering::Acquire)), (0, 0), "nothing was written");
        assert_eq!(batch(&cu, s, &[write; 255], 0), 0);
        assert_eq!((synchronize(&cu, s), there.load(Ordering::Acquire)), (0, 7));
        // As the device says of itself.
        assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 7, EQUAL | FLUSH]), NOT_SUPPORTED);
        assert_eq!(batch(&cu, s, &[operation(3, 0, 0, 0)], 0), NOT_SUPPORTED);
        assert_eq!(cu.call("cuStreamWriteValue32", &[s, at_word, 1, 0]), NOT_SUPPORTED);
        assert_eq!(cu.call("cuStreamWriteValue32_v2", &[0x1234, at_word, 1, 0]), INVALID_HANDLE);
    });
}

/// A stream waits until another one, or the host, writes the value.
#[test]
fn a_value_lets_a_stream_go() {
    for schedule in ["eager", "lazy", "seeded"] {
        alone("a_value_lets_a_stream_go", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let cu = with_context();
            let (s, other, (there, at_word)) = (free_stream(&cu), free_stream(&cu), word(&cu));
            let end = event(&cu);
            assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 1, EQUAL]), 0);
            record(&cu, end, s);
            assert_eq!((query(&cu, s), cu.call("cuEventQuery", &[end])), (NOT_READY, NOT_READY));
            assert_eq!(cu.call("cuStreamWriteValue32_v2", &[other, at_word, 1, 0]), 0);
            assert_eq!((synchronize(&cu, other), synchronize(&cu, s)), (0, 0));
            assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 2, EQUAL]), 0);
            assert_eq!(query(&cu, s), NOT_READY);
            there.store(2, Ordering::Release);
            assert_eq!(settled(|| query(&cu, s)), 0);
        });
    }
}

/// A write keeps its place: it comes after what was put into the stream before it.
#[test]
fn a_write_waits_for_its_turn() {
    alone("a_write_waits_for_its_turn", &[], || {
        let cu = with_context();
        let (s, (there, at_word)) = (free_stream(&cu), word(&cu));
        let gate = Gate::in_stream(&cu, s);
        let wide = [operation(5, at_word, 0x1_0000_0002, 0), operation(4, at_word, 0x1_0000_0002, EQUAL)];
        assert_eq!(batch(&cu, s, &[wide[0], operation(6, 0, 0, 0), wide[1]], 0), 0);
        assert!(gate.wait_until_reached());
        assert_eq!(there.load(Ordering::Acquire), 0);
        gate.open();
        assert_eq!((synchronize(&cu, s), there.load(Ordering::Acquire)), (0, 2));
    });
}

/// Nothing else would end such a wait: it does not outlive its context.
#[test]
fn a_wait_ends_with_its_context() {
    alone("a_wait_ends_with_its_context", &[], || {
        let cu = with_context();
        let (s, (_, at_word)) = (free_stream(&cu), word(&cu));
        assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 1, EQUAL]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
    });
    alone("a_wait_ends_with_its_context", &[("SOFTCUDA_DEVICES", "1")], || {
        let cu = with_context();
        let (s, (_, at_word)) = (free_stream(&cu), word(&cu));
        assert_eq!(cu.call("cuStreamWaitValue32_v2", &[s, at_word, 1, EQUAL]), 0);
        assert_eq!(cu.call("softcuda_poison", &[ILLEGAL_ADDRESS as u64]), 0);
        assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS);
    });
}

const WINDOW: u64 = 1;
const POLICY: u64 = 3;
const PRIORITY: u64 = 8;
const DOMAIN_MAP: u64 = 9;
const DOMAIN: u64 = 10;

fn get(cu: &Library, stream: u64, attribute: u64) -> Result<[u32; 16], i32> {
    let mut value = [0xffff_ffff; 16];
    match cu.call("cuStreamGetAttribute", &[stream, attribute, at(&mut value)]) {
        0 => Ok(value),
        code => Err(code),
    }
}

fn set(cu: &Library, stream: u64, attribute: u64, words: &[u32]) -> i32 {
    let mut value = [0u32; 16];
    value[..words.len()].copy_from_slice(words);
    cu.call("cuStreamSetAttribute", &[stream, attribute, first(&value)])
}

#[test]
fn attributes_are_kept_and_copied() {
    alone("attributes_are_kept_and_copied", &[], || {
        let cu = with_context();
        let (s, other) = (free_stream(&cu), stream(&cu));
        for default in [s, 0, LEGACY, PER_THREAD] {
            assert_eq!(get(&cu, default, POLICY).map(|v| v[0]), Ok(u32::MAX), "{default}: never set");
            assert_eq!(get(&cu, default, DOMAIN_MAP).map(|v| v[0]), Ok(0x0100), "{default}: 0 and 1");
        }
        let ratio = 0.5f32.to_bits();
        let window = [0x1000, 0, 1024, 0, ratio, 2, 1];
        for (attribute, words) in
            [(WINDOW, &window[..]), (POLICY, &[4]), (DOMAIN_MAP, &[0x0302]), (DOMAIN, &[1])]
        {
            assert_eq!(set(&cu, s, attribute, words), 0, "{attribute}");
            assert_eq!(&get(&cu, s, attribute).expect("it has it")[..words.len()], words, "{attribute}");
        }
        assert_eq!(set(&cu, s, PRIORITY, &[-99i32 as u32]), 0);
        let mut priority = 0;
        assert_eq!((cu.call("cuStreamGetPriority", &[s, at(&mut priority)]), priority), (0, -5));
        assert_eq!(get(&cu, other, POLICY).map(|v| v[0]), Ok(u32::MAX), "another stream has its own");
        assert_eq!(cu.call("cuStreamCopyAttributes", &[other, s]), 0);
        assert_eq!(get(&cu, other, WINDOW).map(|v| v[2]), Ok(1024));
        assert_eq!(get(&cu, other, PRIORITY).map(|v| v[0] as i32), Ok(-5));
        for (attribute, words) in [
            (POLICY, &[0u32][..]),
            (POLICY, &[5]),
            (DOMAIN, &[2]),
            (DOMAIN_MAP, &[0x0004]),
            (WINDOW, &[0, 0, 1024, 0, 2f32.to_bits(), 2, 1]),
            (WINDOW, &[0, 0, 1024, 0, ratio, 2, 2]),
            (WINDOW, &[0, 0, 0, 1, ratio, 2, 1]),
            (2, &[0]),
            (99, &[0]),
        ] {
            assert_eq!(set(&cu, s, attribute, words), INVALID_VALUE, "{attribute} {words:x?}");
        }
        assert_eq!(get(&cu, s, 0), Err(INVALID_VALUE));
        assert_eq!(set(&cu, LEGACY, PRIORITY, &[0]), INVALID_VALUE);
        assert_eq!(cu.call("cuStreamGetAttribute", &[s, POLICY, 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuStreamSetAttribute", &[s, POLICY, 0]), INVALID_VALUE);
    });
}

fn current(cu: &Library) -> u64 {
    let mut context = 0;
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    context
}

#[test]
fn an_event_stands_for_all_work_of_a_context() {
    alone("an_event_stands_for_all_work_of_a_context", &[], || {
        let cu = with_context();
        let (context, s, other, end) = (current(&cu), free_stream(&cu), free_stream(&cu), event(&cu));
        assert_eq!((cu.call("cuCtxRecordEvent", &[context, end]), settled(|| query_event(&cu, end))), (0, 0));
        let gate = Gate::in_stream(&cu, s);
        assert_eq!((cu.call("cuCtxRecordEvent", &[context, end]), query_event(&cu, end)), (0, NOT_READY));
        nop(&cu, other);
        assert_eq!(synchronize(&cu, other), 0, "later work does not wait for it");
        gate.open();
        assert_eq!(cu.call("cuEventSynchronize", &[end]), 0);
        assert_eq!(cu.call("cuCtxRecordEvent", &[0, end]), INVALID_CONTEXT);
        assert_eq!(cu.call("cuCtxRecordEvent", &[context, 0]), INVALID_HANDLE);
    });
}

fn query_event(cu: &Library, event: u64) -> i32 {
    cu.call("cuEventQuery", &[event])
}

#[test]
fn all_later_work_of_a_context_waits_for_an_event() {
    alone("all_later_work_of_a_context_waits_for_an_event", &[], || {
        let cu = with_context();
        let (context, s, other, busy) = (current(&cu), free_stream(&cu), free_stream(&cu), event(&cu));
        assert_eq!(cu.call("cuCtxWaitEvent", &[context, busy]), 0, "it was never recorded");
        nop(&cu, other);
        assert_eq!(synchronize(&cu, other), 0);
        let gate = Gate::in_stream(&cu, s);
        record(&cu, busy, s);
        assert_eq!(cu.call("cuCtxWaitEvent", &[context, busy]), 0);
        assert_eq!(query(&cu, other), 0, "it has nothing to do");
        let newer = free_stream(&cu);
        for stream in [other, LEGACY, PER_THREAD, newer] {
            nop(&cu, stream);
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!([other, LEGACY, PER_THREAD, newer].map(|stream| query(&cu, stream)), [NOT_READY; 4]);
        gate.open();
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        nop(&cu, newer);
        assert_eq!(synchronize(&cu, newer), 0);
        assert_eq!(cu.call("cuCtxWaitEvent", &[0, busy]), INVALID_CONTEXT);
        assert_eq!(cu.call("cuCtxWaitEvent", &[context, 0]), INVALID_HANDLE);
    });
}
