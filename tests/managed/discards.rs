//! Discards, which only new drivers have.

use crate::*;
use cushim::Location;
use cushim::batch::{BatchOptions, MOST_ITEMS};

#[test]
fn one_range_is_a_batch_of_one() {
    let fake = Fake::open(13000);
    // SAFETY: nothing is read.
    unsafe {
        fake.stream.discard(page(0)).expect("enqueued");
        fake.stream.discard_prefetch(page(1), Location::device(1)).expect("enqueued");
    }
    let expected = [
        "discard 13000: 1 ranges, 100000+1000, flags 0",
        "discard and prefetch 13000: 1 ranges, 101000+1000, from 0 to 1/1, flags 0",
    ];
    assert_eq!(fake.calls(), expected);
}

#[test]
fn many_ranges() {
    let fake = Fake::open(13000);
    let options = BatchOptions::default();
    let ranges = vec![page(0); MOST_ITEMS + 1];
    // SAFETY: nothing is read.
    unsafe {
        fake.stream.discard_batch(&ranges, options).expect("enqueued");
        let each = [Location::HOST, Location::device(0)];
        fake.stream.discard_prefetch_batch(&pages(2), &each, options).expect("enqueued");
    }
    let calls = fake.calls();
    assert!(
        calls[0].starts_with("discard 13000: 4096 ranges") && calls[1].starts_with("discard 13000: 1 ranges")
    );
    let last = "discard and prefetch 13000: 2 ranges, 100000+1000, 101000+1000, from 0 to 2/0, from 1 to 1/0, flags 0";
    assert_eq!(calls[2], last);
}

#[test]
fn an_old_driver_refuses_and_says_which_does_not() {
    let fake = Fake::open(12080);
    // SAFETY: nothing is read.
    let results = unsafe {
        [
            (fake.stream.discard(page(0)), "cuMemDiscardBatchAsync"),
            (fake.stream.discard_prefetch(page(0), Location::HOST), "cuMemDiscardAndPrefetchBatchAsync"),
            (fake.stream.discard_batch(&pages(2), BatchOptions::default()), "cuMemDiscardBatchAsync"),
        ]
    };
    for (result, function) in results {
        let error = refused(&fake, result, Status::UNSUPPORTED, "13.0");
        assert_eq!((error.function.as_str(), error.abi), (function, 13000));
    }
}

#[test]
fn no_default_stream_and_no_memory_of_the_process() {
    let fake = Fake::open(13000);
    fake.attribute(0, PAGEABLE_MEMORY_ACCESS, 1);
    let system = Range::new(DevicePointer(0x5000), 64);
    fake.stream.prefetch(system, Location::HOST).expect("the device reaches it");
    fake.calls();
    // SAFETY: nothing is read.
    unsafe {
        let why = "a discard needs managed memory";
        refused(&fake, fake.stream.discard(system), Status::INVALID_ARGUMENT, why);
        let legacy = Stream::legacy(&fake.context);
        refused(&fake, legacy.discard(page(0)), Status::INVALID_ARGUMENT, "legacy default stream");
    }
}

#[test]
fn the_driver_says_no() {
    let fake = Fake::open(13000);
    fake.fail("cuMemDiscardBatchAsync", 1, INVALID_VALUE, 0);
    // SAFETY: nothing is read.
    let error = unsafe { fake.stream.discard(page(0)) }.expect_err("refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), Some(0)));
    fake.fail("cuMemDiscardAndPrefetchBatchAsync", 1, INVALID_VALUE, 0);
    // SAFETY: nothing is read.
    let error =
        unsafe { fake.stream.discard_prefetch_batch(&pages(2), &[Location::HOST], BatchOptions::default()) };
    assert_eq!(error.expect_err("refused").item, None);
}
