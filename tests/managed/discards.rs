//! Discards, which only new drivers have.

use crate::*;
use cushim::Location;
use cushim::managed::Discard;
use cushim::op::batch::MOST_ITEMS;

fn discard(stream: &Stream, ranges: &[Range]) -> Result<(), Error> {
    // SAFETY: nothing is read.
    unsafe { stream.enqueue(&mut Discard::new(ranges)) }
}

fn discard_prefetch(stream: &Stream, ranges: &[Range], locations: &[Location]) -> Result<(), Error> {
    // SAFETY: nothing is read.
    unsafe { stream.enqueue(&mut Discard::new(ranges).with_prefetch(locations)) }
}

#[test]
fn one_range_is_a_batch_of_one() {
    let fake = Fake::open(13000);
    discard(&fake.stream, &[page(0)]).expect("enqueued");
    discard_prefetch(&fake.stream, &[page(1)], &[Location::device(1)]).expect("enqueued");
    let expected = [
        "discard 13000: 1 ranges, 100000+1000, flags 0",
        "discard and prefetch 13000: 1 ranges, 101000+1000, from 0 to 1/1, flags 0",
    ];
    assert_eq!(fake.calls(), expected);
}

#[test]
fn many_ranges() {
    let fake = Fake::open(13000);
    discard(&fake.stream, &vec![page(0); MOST_ITEMS + 1]).expect("enqueued");
    let each = [Location::HOST, Location::device(0)];
    discard_prefetch(&fake.stream, &pages(2), &each).expect("enqueued");
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
    let results = [
        (discard(&fake.stream, &pages(1)), "cuMemDiscardBatchAsync"),
        (discard_prefetch(&fake.stream, &pages(1), &[Location::HOST]), "cuMemDiscardAndPrefetchBatchAsync"),
        (discard(&fake.stream, &pages(2)), "cuMemDiscardBatchAsync"),
    ];
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
    fake.stream.prefetch(&system, Location::HOST).expect("the device reaches it");
    fake.calls();
    let why = "a discard needs managed memory";
    refused(&fake, discard(&fake.stream, &[system]), Status::INVALID_ARGUMENT, why);
    let legacy = Stream::legacy(&fake.context);
    refused(&fake, discard(&legacy, &pages(1)), Status::INVALID_ARGUMENT, "legacy default stream");
}

#[test]
fn the_driver_says_no() {
    let fake = Fake::open(13000);
    fake.fail("cuMemDiscardBatchAsync", 1, INVALID_VALUE, 0);
    let error = discard(&fake.stream, &pages(1)).expect_err("refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), Some(0)));
    fake.fail("cuMemDiscardAndPrefetchBatchAsync", 1, INVALID_VALUE, 0);
    let error = discard_prefetch(&fake.stream, &pages(2), &[Location::HOST]);
    assert_eq!(error.expect_err("refused").item, None);
}
