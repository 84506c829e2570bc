//! Advice goes to the ABI that the driver has, with a location that it takes.

use crate::*;
use cushim::managed::Advice;
use cushim::{Location, driver::sys};

const ALL: [Advice; 6] = [
    Advice::SetReadMostly,
    Advice::UnsetReadMostly,
    Advice::SetPreferredLocation(Location::device(1)),
    Advice::UnsetPreferredLocation,
    Advice::SetAccessedBy(Location::HOST),
    Advice::UnsetAccessedBy(Location::device(0)),
];

fn give_all(version: u32) -> Vec<String> {
    let fake = Fake::open(version);
    for advice in ALL {
        fake.context.advise(&page(1), advice).expect("given");
    }
    fake.calls()
}

#[test]
fn the_first_abi_gets_ordinals() {
    let expected = [
        "advise 8000: 101000+1000 1 at -1",
        "advise 8000: 101000+1000 2 at -1",
        "advise 8000: 101000+1000 3 at 1",
        "advise 8000: 101000+1000 4 at -1",
        "advise 8000: 101000+1000 5 at -1",
        "advise 8000: 101000+1000 6 at 0",
    ];
    assert_eq!(give_all(11040), expected);
}

/// The second wants a location that is valid even where the advice has none.
#[test]
fn the_second_abi_gets_locations() {
    let expected = [
        "advise 12020: 101000+1000 1 at 2/0",
        "advise 12020: 101000+1000 2 at 2/0",
        "advise 12020: 101000+1000 3 at 1/1",
        "advise 12020: 101000+1000 4 at 2/0",
        "advise 12020: 101000+1000 5 at 2/0",
        "advise 12020: 101000+1000 6 at 1/0",
    ];
    assert_eq!(give_all(12020), expected);
    assert_eq!(give_all(13020), expected);
}

#[test]
fn numbers_and_advice_are_the_same() {
    for advice in ALL {
        let location = advice.location().unwrap_or(Location::UNSET);
        assert_eq!(Advice::numbered(advice.number(), location).expect("it exists"), advice);
    }
    let error = Advice::numbered(sys::CUmem_advise(7), Location::HOST).expect_err("there is no such");
    assert!(error.message.contains("no advice 7"), "{error}");
}

#[test]
fn numa_nodes_need_the_second_abi() {
    let node = Advice::SetPreferredLocation(Location::host_numa(last_node()));
    let here = Advice::SetPreferredLocation(Location::HOST_NUMA_CURRENT);
    let fake = Fake::open(12000);
    let why = format!("NUMA node {} is a location", last_node());
    let error = refused(&fake, fake.context.advise(&page(0), node), Status::UNSUPPORTED, &why);
    assert!(error.message.contains("12.2"), "{error}");
    assert_eq!((error.function.as_str(), error.abi), ("cuMemAdvise", 12020));
    refused(
        &fake,
        fake.context.advise(&page(0), here),
        Status::UNSUPPORTED,
        "the calling thread's NUMA node",
    );
    // Nothing is told of the first range, which could have been.
    let mixed = [Advice::SetPreferredLocation(Location::HOST), node];
    let error = refused(&fake, fake.context.advise_batch(&pages(2), &mixed), Status::UNSUPPORTED, "item 1");
    assert_eq!(error.item, Some(1));

    let fake = Fake::open(12020);
    fake.context.advise(&page(0), node).expect("given");
    fake.context.advise(&page(0), here).expect("given");
    let first = format!("advise 12020: 100000+1000 3 at 3/{}", last_node());
    assert_eq!(fake.calls(), [first, "advise 12020: 100000+1000 3 at 4/0".to_owned()]);
}

#[test]
fn memory_is_accessed_by_devices_and_the_host() {
    let fake = Fake::open(13000);
    for location in [Location::host_numa(0), Location::HOST_NUMA_CURRENT] {
        for advice in [Advice::SetAccessedBy(location), Advice::UnsetAccessedBy(location)] {
            refused(&fake, fake.context.advise(&page(0), advice), Status::INVALID_ARGUMENT, "not by");
        }
    }
}

#[test]
fn several_ranges_get_one_advice_or_each_its_own() {
    let fake = Fake::open(13000);
    fake.context.advise_batch(&pages(3), &[Advice::SetReadMostly]).expect("given");
    assert_eq!(fake.calls().len(), 3);
    let each = [Advice::SetReadMostly, Advice::SetAccessedBy(Location::device(1))];
    fake.context.advise_batch(&pages(2), &each).expect("given");
    assert_eq!(fake.calls(), ["advise 12020: 100000+1000 1 at 2/0", "advise 12020: 101000+1000 5 at 1/1"]);
}

#[test]
fn the_range_that_the_driver_refuses_is_named() {
    let fake = Fake::open(13000);
    fake.fail("cuMemAdvise", 3, INVALID_VALUE, 0);
    let error = fake.context.advise_batch(&pages(5), &[Advice::SetReadMostly]).expect_err("it is refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), Some(2)));
    assert!(error.message.contains("item 2 of 5; those before it are enqueued"), "{error}");
    assert_eq!(fake.calls().len(), 3);
}

#[test]
fn memory_of_a_pool_takes_no_advice_and_the_sentence_says_so() {
    let fake = Fake::open(13000);
    let error = fake.context.advise(&Range::new(DevicePointer(POOLED), 64), Advice::SetReadMostly);
    let error = error.expect_err("the driver refuses");
    assert_eq!(error.status, Status(801));
    assert!(error.message.contains("comes from a memory pool"), "{error}");
    fake.fail("cuMemAdvise", 1, 801, 0);
    let error = fake.context.advise(&page(0), Advice::SetReadMostly).expect_err("the driver refuses");
    assert!(!error.message.contains("pool"), "{error}");
}
