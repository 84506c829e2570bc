//! The set of those that a range is accessed by: only what differs is sent, and what was sent is taken back.

use crate::*;
use cushim::Location;

const FIRST: Location = Location::device(0);
const SECOND: Location = Location::device(1);
const HOST: Location = Location::HOST;

/// The advice that was sent: `+0` for the first device, `-h` for the host.
fn sent(fake: &Fake) -> Vec<String> {
    let advice = |line: &String| {
        let (_, rest) = line.split_once("advise 12020: 100000+1000 ")?;
        let (advice, location) = rest.split_once(" at ")?;
        let sign = if advice == "5" { '+' } else { '-' };
        Some(format!("{sign}{}", if location == "2/0" { "h" } else { &location[2..] }))
    };
    fake.calls().iter().filter_map(advice).collect()
}

#[test]
fn only_what_differs_is_sent() {
    let fake = Fake::open(13000);
    let context = &fake.context;
    assert_eq!(context.accessed_by(&page(0)).expect("told"), []);
    context.add_accessed_by(&page(0), &[HOST, SECOND, HOST]).expect("added");
    assert_eq!(sent(&fake), ["+h", "+1"]);
    assert_eq!(context.accessed_by(&page(0)).expect("told"), [SECOND, HOST]);
    context.add_accessed_by(&page(0), &[SECOND]).expect("there already");
    context.add_accessed_by(&page(0), &[]).expect("nothing to add");
    context.remove_accessed_by(&page(0), &[FIRST]).expect("not there");
    context.set_accessed_by(&page(0), &[HOST, SECOND]).expect("the same");
    assert_eq!(sent(&fake), [""; 0]);
    context.set_accessed_by(&page(0), &[FIRST, HOST]).expect("replaced");
    assert_eq!(sent(&fake), ["-1", "+0"]);
    context.remove_accessed_by(&page(0), &[SECOND, HOST]).expect("removed");
    assert_eq!(sent(&fake), ["-h"]);
    context.set_accessed_by(&page(0), &[]).expect("emptied");
    assert_eq!(sent(&fake), ["-0"]);
}

#[test]
fn all_are_asked_for() {
    let fake = Fake::open(11040);
    fake.context.accessed_by(&page(0)).expect("told");
    assert_eq!(fake.calls(), ["attribute of 100000+1000: 3, 12 bytes"]);
}

#[test]
fn what_was_sent_is_taken_back() {
    let fake = Fake::open(13000);
    fake.context.set_accessed_by(&page(0), &[FIRST]).expect("set");
    fake.calls();
    fake.fail("cuMemAdvise", 3, INVALID_VALUE, 0);
    let error =
        fake.context.set_accessed_by(&page(0), &[SECOND, HOST]).expect_err("the third step is refused");
    assert_eq!(error.status, Status(INVALID_VALUE));
    assert_eq!(sent(&fake), ["-0", "+1", "+h", "-1", "+0"]);
    assert_eq!(fake.context.accessed_by(&page(0)).expect("told"), [FIRST]);
}

#[test]
fn everything_is_checked_first() {
    let fake = Fake::open(13000);
    let context = &fake.context;
    for (bad, why) in [
        (Location::host_numa(0), "not by NUMA node 0"),
        (Location::device(2), "no device 2"),
        (Location::UNSET, "no location is named"),
    ] {
        let error =
            refused(&fake, context.add_accessed_by(&page(0), &[HOST, bad]), Status::INVALID_ARGUMENT, why);
        assert_eq!(error.item, Some(1));
        refused(&fake, context.set_accessed_by(&page(0), &[HOST, bad]), Status::INVALID_ARGUMENT, why);
        refused(&fake, context.remove_accessed_by(&page(0), &[HOST, bad]), Status::INVALID_ARGUMENT, why);
    }
    fake.attribute(1, CONCURRENT_MANAGED_ACCESS, 0);
    refused(&fake, context.add_accessed_by(&page(0), &[HOST, SECOND]), Status::UNSUPPORTED, "device 1");
}
