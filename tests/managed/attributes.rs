//! What is known of a range is what the driver says.

use crate::*;
use cushim::Location;
use cushim::managed::Advice;

#[test]
fn what_was_set_is_read_from_the_driver() {
    for version in VERSIONS {
        let fake = Fake::open(version);
        let known = fake.context.range_attributes(&page(0)).expect("told");
        assert!(!known.read_mostly, "{version}");
        assert_eq!(
            (known.preferred_location, known.last_prefetch_location),
            (Location::UNSET, Location::UNSET)
        );
        fake.context.advise(&page(0), Advice::SetReadMostly).expect("given");
        fake.context.advise(&page(0), Advice::SetPreferredLocation(Location::HOST)).expect("given");
        fake.stream.prefetch(&page(0), Location::device(1)).expect("enqueued");
        let known = fake.context.range_attributes(&page(0)).expect("told");
        assert!(known.read_mostly, "{version}");
        assert_eq!(known.preferred_location, Location::HOST, "{version}");
        assert_eq!(known.last_prefetch_location, Location::device(1), "{version}");
        let asked = fake.calls().pop().expect("a call");
        let expected = if version < 12020 { "1 2 4" } else { "1 5 6 7 8" };
        assert_eq!(asked, format!("attributes of 100000+1000: {expected}"));
    }
}

#[test]
fn nodes_are_told_since_they_are_known() {
    let fake = Fake::open(12020);
    fake.context
        .advise(&page(0), Advice::SetPreferredLocation(Location::host_numa(last_node())))
        .expect("given");
    fake.stream.prefetch(&page(0), Location::HOST_NUMA_CURRENT).expect("enqueued");
    let known = fake.context.range_attributes(&page(0)).expect("told");
    assert_eq!(known.preferred_location, Location::host_numa(last_node()));
    assert_eq!(known.last_prefetch_location, Location::HOST_NUMA_CURRENT);
}
