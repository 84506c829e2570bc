//! A prefetch goes to the ABI that the driver has: for one range, for many, or in a loop.

use crate::*;
use cushim::Location;
use cushim::op::batch::WithoutBatch;
use cushim::op::batch::{BatchOptions, MOST_ITEMS};

fn prefetch(fake: &Fake, ranges: &[Range], locations: &[Location]) -> Result<(), Error> {
    fake.stream.prefetch_batch(ranges, locations, BatchOptions::default())
}

#[test]
fn one_range() {
    for (version, device, host) in [
        (11040, "prefetch 8000: 100000+1000 to 1", "prefetch 8000: 100000+1000 to -1"),
        (12020, "prefetch 12020: 100000+1000 to 1/1, flags 0", "prefetch 12020: 100000+1000 to 2/0, flags 0"),
        (13000, "prefetch 12020: 100000+1000 to 1/1, flags 0", "prefetch 12020: 100000+1000 to 2/0, flags 0"),
    ] {
        let fake = Fake::open(version);
        fake.stream.prefetch(&page(0), Location::device(1)).expect("enqueued");
        fake.stream.prefetch(&page(0), Location::HOST).expect("enqueued");
        // A batch of one is the same call.
        prefetch(&fake, &pages(1), &[Location::HOST]).expect("enqueued");
        assert_eq!(fake.calls(), [device, host, host], "{version}");
    }
}

/// One range goes into the legacy default stream, many do not.
#[test]
fn default_streams() {
    let fake = Fake::open(13000);
    let legacy = Stream::legacy(&fake.context);
    legacy.prefetch(&page(0), Location::HOST).expect("enqueued");
    assert_eq!(fake.calls().len(), 1);
    let result = legacy.prefetch_batch(&pages(1), &[Location::HOST], BatchOptions::default());
    refused(
        &fake,
        result,
        Status::INVALID_ARGUMENT,
        "legacy default stream cannot take prefetches: create a stream",
    );
    let own = Stream::per_thread(&fake.context);
    own.prefetch_batch(&pages(2), &[Location::HOST], BatchOptions::default()).expect("enqueued");
}

#[test]
fn a_new_driver_gets_many_in_one_call() {
    let fake = Fake::open(13000);
    prefetch(&fake, &pages(3), &[Location::device(0)]).expect("enqueued");
    let all = "prefetch 13000: 3 ranges, 100000+1000, 101000+1000, 102000+1000, from 0 to 1/0, flags 0";
    assert_eq!(fake.calls(), [all]);
    let each = [Location::HOST, Location::HOST, Location::host_numa(0), Location::device(1)];
    prefetch(&fake, &pages(4), &each).expect("enqueued");
    let calls = fake.calls();
    assert!(calls[0].ends_with(", from 0 to 2/0, from 2 to 3/0, from 3 to 1/1, flags 0"), "{calls:?}");
}

#[test]
fn an_old_driver_gets_one_after_the_other_or_nothing() {
    for version in [11040, 12020, 12080] {
        let fake = Fake::open(version);
        prefetch(&fake, &pages(3), &[Location::device(0)]).expect("enqueued");
        assert_eq!(fake.calls().len(), 3, "{version}");
        for count in [1, 3] {
            let options = BatchOptions::default().without_batch(WithoutBatch::Refuse);
            let result = fake.stream.prefetch_batch(&pages(count), &[Location::HOST], options);
            let error = refused(&fake, result, Status::UNSUPPORTED, "13.0");
            assert_eq!((error.function.as_str(), error.abi), ("cuMemPrefetchBatchAsync", 13000));
        }
    }
}

#[test]
fn numa_nodes_need_the_second_abi() {
    let fake = Fake::open(11040);
    let result = fake.stream.prefetch(&page(0), Location::HOST_NUMA_CURRENT);
    refused(&fake, result, Status::UNSUPPORTED, "12.2");
    let each = [Location::HOST, Location::HOST, Location::host_numa(last_node())];
    let error = refused(&fake, prefetch(&fake, &pages(3), &each), Status::UNSUPPORTED, "12.2");
    assert_eq!(error.item, Some(2));
    let fake = Fake::open(12020);
    prefetch(&fake, &pages(3), &each).expect("enqueued");
    let last = format!("prefetch 12020: 102000+1000 to 3/{}, flags 0", last_node());
    assert_eq!(fake.calls()[2], last);
}

#[test]
fn large_batches_are_split() {
    let fake = Fake::open(13000);
    let ranges = vec![page(0); MOST_ITEMS + 2];
    let mut locations = vec![Location::HOST; MOST_ITEMS + 1];
    locations.push(Location::device(1));
    prefetch(&fake, &ranges, &locations).expect("enqueued");
    let calls = fake.calls();
    assert_eq!(calls.len(), 2);
    assert!(
        calls[0].starts_with("prefetch 13000: 4096 ranges") && calls[0].contains(", from 0 to 2/0, flags")
    );
    let rest = "prefetch 13000: 2 ranges, 100000+1000, 100000+1000, from 0 to 2/0, from 1 to 1/1, flags 0";
    assert_eq!(calls[1], rest);

    fake.fail("cuMemPrefetchBatchAsync", 2, INVALID_VALUE, 0);
    let error = prefetch(&fake, &ranges, &locations).expect_err("the second part is refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), None));
    assert!(error.message.contains("those before item 4096 are enqueued"), "{error}");
}

#[test]
fn what_the_driver_refuses() {
    let fake = Fake::open(13000);
    fake.fail("cuMemPrefetchBatchAsync", 1, INVALID_VALUE, 0);
    let error = prefetch(&fake, &pages(2), &[Location::HOST]).expect_err("refused");
    assert_eq!(error.item, None);
    assert!(error.message.contains("Which of items 0 to 1 that was"), "{error}");
    fake.fail("cuMemPrefetchAsync", 1, INVALID_VALUE, 0);
    let error = prefetch(&fake, &pages(1), &[Location::HOST]).expect_err("refused");
    assert_eq!(error.item, Some(0));

    let fake = Fake::open(12020);
    fake.fail("cuMemPrefetchAsync", 2, INVALID_VALUE, 0);
    let error = prefetch(&fake, &pages(3), &[Location::HOST]).expect_err("refused");
    assert_eq!((error.item, fake.calls().len()), (Some(1), 2));
    assert!(error.message.contains("item 1 of 3; those before it are enqueued"), "{error}");
}
