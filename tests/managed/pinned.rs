//! On which NUMA node of the host a pool of page-locked memory is.

use crate::Fake;
use cushim::Status;
use cushim::memory::{PinnedForm, PinnedResourceOptions, Resource};

const FILES: i32 = 1;
const HOST_NUMA_ID: i32 = 134;
const HOST_MEMORY_POOLS_SUPPORTED: i32 = 144;

fn fake(node: i32) -> Fake {
    let fake = Fake::open(13000);
    fake.attribute(0, HOST_MEMORY_POOLS_SUPPORTED, 1);
    fake.attribute(0, HOST_NUMA_ID, node);
    fake.attribute(1, HOST_NUMA_ID, node + 1);
    fake
}

/// Wherever the node is named it is taken; else a pool that is to be exported, or has a greatest size, is on the device's own.
#[test]
fn a_pool_of_its_own_is_on_the_node_of_the_device() {
    let fake = fake(3);
    let plain = PinnedResourceOptions::default();
    for (options, expected) in [
        (plain, "the pool of 2/0, type 1"),
        (plain.handle_types(FILES), "pool at 3/3, handle types 1, at most 0"),
        (plain.form(PinnedForm::Pool).max_size(4096), "pool at 3/3, handle types 0, at most 4096"),
        (plain.numa_node(0).handle_types(FILES), "pool at 3/0, handle types 1, at most 0"),
    ] {
        let _resource = Resource::pinned(&fake.context, &options).expect("a pool");
        assert_eq!(fake.calls(), [expected]);
    }
}

#[test]
fn a_driver_that_does_not_say_the_node_wants_it_named() {
    let fake = fake(-1);
    let options = PinnedResourceOptions::default().handle_types(FILES);
    let refused = Resource::pinned(&fake.context, &options);
    crate::refused(&fake, refused, Status::INVALID_ARGUMENT, "name the one for the pool");
    assert!(Resource::pinned(&fake.context, &options.numa_node(0)).is_ok());
}
