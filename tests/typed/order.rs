//! Order between streams, where work runs in a random order that streams and events allow.

use crate::{alone, context, is_softcuda, stream};
use cushim::typed::{DeviceSlice, Order};
use cushim::{flush_callbacks, unreported_release_errors};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const LEN: usize = 64;

/// Writes in one stream, reads in another, writes again in the first: whether the reader has read what was written before.
fn is_ordered(order: Order) -> bool {
    let (one, other) = (stream(&context()), stream(&context()));
    let mut from = DeviceSlice::<u32>::zeroed(&one, LEN).expect("memory");
    let mut to = DeviceSlice::<u32>::zeroed(&other, LEN).expect("memory");
    other.synchronize().expect("done");
    // SAFETY: that is what is tried here: nothing but values depends on it.
    unsafe {
        from.set_order(order);
        to.set_order(order);
    }
    let mut right = true;
    for round in 1..4 {
        from.fill(&one, round).expect("enqueued");
        to.copy_from(&other, &from).expect("enqueued");
        from.fill(&one, 100).expect("enqueued");
        right &= to.to_vec(&other).expect("copied") == [round; LEN];
    }
    one.synchronize().expect("done");
    right
}

/// Each seed in a process of its own: as many as say that all was right.
fn seeds(name: &str, order: Order) -> u32 {
    let right = AtomicU32::new(0);
    for seed in 0..6 {
        let seed = seed.to_string();
        let variables = [("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", &seed)];
        let tried = std::panic::catch_unwind(|| alone(name, &variables, || assert!(is_ordered(order))));
        right.fetch_add(u32::from(tried.is_ok()), Relaxed);
    }
    right.load(Relaxed)
}

#[test]
fn slices_order_the_streams_that_use_them() {
    assert_eq!(seeds("order::slices_order_the_streams_that_use_them", Order::Recorded), 6);
}

/// The test above would find out: without the slices' order some seed reads what it should not.
#[test]
fn nobody_else_does() {
    if std::env::var_os("CUSHIM_TEST_CHILD").is_some_and(|child| child == "order::nobody_else_does") {
        return alone("order::nobody_else_does", &[], || assert!(is_ordered(Order::Explicit)));
    }
    if !is_softcuda() {
        return; // which may do it right by chance
    }
    std::panic::set_hook(Box::new(|_| ()));
    assert!(seeds("order::nobody_else_does", Order::Explicit) < 6);
}

/// The memory goes when all streams are done with it, and not before: another slice may get it at once.
#[test]
fn dropped_memory_is_freed_after_every_use() {
    for seed in ["1", "2", "3", "4", "5"] {
        let variables = [("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)];
        alone("order::dropped_memory_is_freed_after_every_use", &variables, || {
            let (one, other) = (stream(&context()), stream(&context()));
            let mut to = DeviceSlice::<u32>::zeroed(&other, LEN).expect("memory");
            for round in 0..4 {
                let mut from = DeviceSlice::<u32>::zeroed(&one, LEN).expect("memory");
                from.fill(&one, round).expect("enqueued");
                to.copy_from(&other, &from).expect("enqueued");
                drop(from);
                let mut next = DeviceSlice::<u32>::allocate(&one, LEN).expect("memory");
                next.fill(&one, 100).expect("enqueued");
                assert_eq!(to.to_vec(&other).expect("copied"), [round; LEN]);
            }
        });
    }
}

/// Reads in two streams do not wait for each other, and a write waits for both.
#[test]
fn a_write_waits_for_all_who_read() {
    for seed in ["1", "2", "3", "4", "5"] {
        let variables = [("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)];
        alone("order::a_write_waits_for_all_who_read", &variables, || {
            let streams = [stream(&context()), stream(&context()), stream(&context())];
            let mut from = DeviceSlice::<u32>::zeroed(&streams[0], LEN).expect("memory");
            let mut copies = [1, 2].map(|i| DeviceSlice::<u32>::zeroed(&streams[i], LEN).expect("memory"));
            for round in 1..4 {
                from.fill(&streams[round as usize % 3], round).expect("enqueued");
                for (copy, stream) in copies.iter_mut().zip(&streams[1..]) {
                    copy.copy_from(stream, &from).expect("enqueued");
                }
                from.fill(&streams[(round as usize + 1) % 3], 100).expect("enqueued");
                for (copy, stream) in copies.iter().zip(&streams[1..]) {
                    assert_eq!(copy.to_vec(stream).expect("copied"), [round; LEN]);
                }
            }
        });
    }
}

/// Inside a host function no stream can be told to wait: the memory goes soon afterwards.
#[test]
fn memory_may_be_dropped_inside_a_host_function() {
    let (one, other) = (stream(&context()), stream(&context()));
    let from = DeviceSlice::from_slice(&one, &[7_u32; LEN]).expect("copied");
    let mut to = DeviceSlice::<u32>::zeroed(&other, LEN).expect("memory");
    to.copy_from(&other, &from).expect("enqueued");
    other.launch_host_function(move || drop(from)).expect("enqueued");
    assert_eq!(to.to_vec(&other).expect("copied"), [7; LEN]);
    assert!(flush_callbacks(Duration::from_secs(20)).expect("not inside"), "the worker is stuck");
    assert_eq!(unreported_release_errors(one.driver()), 0);
}
