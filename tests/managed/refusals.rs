//! What is refused before the driver is told anything, in the same order on every driver.

use crate::*;
use cushim::Feature;
use cushim::Location;
use cushim::driver::sys;
use cushim::managed::{Advice, Discard};
use cushim::op::batch::BatchOptions;
use cushim::op::batch::WithoutBatch;
use cushim::op::{Copy, CopyAttributes, CopyBatch, Endpoint};

#[test]
fn ranges_that_no_memory_can_be() {
    let fake = Fake::open(13000);
    for (start, bytes, why) in [
        (0, 64, "starts at NULL"),
        (MANAGED, 0, "has no bytes"),
        (u64::MAX - 7, 64, "past the end of all addresses"),
    ] {
        let range = Range::new(DevicePointer(start), bytes);
        refused(&fake, fake.stream.prefetch(&range, Location::HOST), Status::INVALID_ARGUMENT, why);
        refused(&fake, fake.context.advise(&range, Advice::SetReadMostly), Status::INVALID_ARGUMENT, why);
        refused(&fake, fake.context.range_attributes(&range), Status::INVALID_ARGUMENT, why);
        refused(&fake, fake.context.accessed_by(&range), Status::INVALID_ARGUMENT, why);
    }
}

#[test]
fn memory_that_is_not_managed() {
    let fake = Fake::open(13000);
    let end = MANAGED + 0x100_0000;
    for (start, bytes, why) in [
        (DEVICE, 64, "starts in memory that is not"),
        (0x5000, 64, "starts in memory that is not"),
        (end - 64, 65, "ends in memory that is not"),
    ] {
        let range = Range::new(DevicePointer(start), bytes);
        refused(&fake, fake.stream.prefetch(&range, Location::HOST), Status::INVALID_ARGUMENT, why);
        refused(&fake, fake.context.advise(&range, Advice::SetReadMostly), Status::INVALID_ARGUMENT, why);
    }
    let whole = Range::new(DevicePointer(MANAGED), 0x100_0000);
    fake.stream.prefetch(&whole, Location::HOST).expect("to the last byte");
}

#[test]
fn memory_of_the_process_where_the_device_reaches_it() {
    let fake = Fake::open(13000);
    fake.attribute(0, PAGEABLE_MEMORY_ACCESS, 1);
    let system = Range::new(DevicePointer(0x5000), 64);
    fake.stream.prefetch(&system, Location::HOST).expect("enqueued");
    fake.context.advise(&system, Advice::SetReadMostly).expect("given");
    assert_eq!(fake.calls().len(), 2);
    let device = Range::new(DevicePointer(DEVICE), 64);
    refused(
        &fake,
        fake.stream.prefetch(&device, Location::HOST),
        Status::INVALID_ARGUMENT,
        "a prefetch needs managed",
    );
}

#[test]
fn locations() {
    for version in VERSIONS {
        let fake = Fake::open(version);
        for (location, why) in [
            (Location::UNSET, "no location is named"),
            (Location::device(2), "there is no device 2; this driver shows 2"),
            (Location::device(-1), "there is no device -1"),
            (Location::new(sys::CU_MEM_LOCATION_TYPE_HOST, -1), "given -1; make it 0"),
            (Location::new(sys::CUmemLocationType(9), 0), "no kind 9"),
        ] {
            refused(&fake, fake.stream.prefetch(&page(0), location), Status::INVALID_ARGUMENT, why);
            let advice = Advice::SetPreferredLocation(location);
            refused(&fake, fake.context.advise(&page(0), advice), Status::INVALID_ARGUMENT, why);
        }
    }
}

/// A node that the machine does not have is refused before the driver, which would take a batch's first ranges before it
/// sees it.
#[test]
fn nodes_that_the_machine_does_not_have() {
    if !Path::new(NODES).exists() {
        return; // the system does not tell
    }
    let (last, missing) = (Location::host_numa(last_node()), Location::host_numa(last_node() + 1));
    let why = format!("this machine has no NUMA node {}", last_node() + 1);
    for version in VERSIONS {
        let fake = Fake::open(version);
        let refuse = |result| refused(&fake, result, Status::INVALID_ARGUMENT, &why);
        let advice = Advice::SetPreferredLocation(missing);
        refuse(fake.stream.prefetch(&page(0), missing));
        refuse(fake.context.advise(&page(0), advice));
        refuse(fake.context.add_accessed_by(&page(0), &[missing]));
        let advice = [Advice::SetReadMostly, advice];
        assert_eq!(refuse(fake.context.advise_batch(&pages(2), &advice)).item, Some(1));
        let each = [last, missing];
        let options = BatchOptions::default();
        assert_eq!(refuse(fake.stream.prefetch_batch(&pages(2), &each, options)).item, Some(1));
        // SAFETY: nothing is read.
        let result = unsafe { fake.stream.enqueue(&mut Discard::new(&pages(2)).with_prefetch(&each)) };
        assert_eq!(refuse(result).item, Some(1));
        let mut copies = [(); 2].map(|()| {
            let at = || Endpoint::device(DevicePointer(DEVICE));
            Copy::new(at(), at(), 64)
        });
        let hints = each.map(|place| CopyAttributes::default().destination_hint(place));
        // SAFETY: the driver copies nothing.
        let result = unsafe { fake.stream.enqueue(&mut CopyBatch::new(&mut copies, &hints)) };
        assert_eq!(refuse(result).item, Some(1));
    }
    // Beyond the numbers that are remembered.
    let fake = Fake::open(13000);
    let far = Location::host_numa(i32::MAX);
    refused(&fake, fake.stream.prefetch(&page(0), far), Status::INVALID_ARGUMENT, "no NUMA node 2147483647");
}

/// First the memory, then the location, then the stream, then what the driver can do.
#[test]
fn the_order_of_checks() {
    let fake = Fake::open(11040);
    fake.attribute(0, CONCURRENT_MANAGED_ACCESS, 0);
    fake.capture(true);
    let (bad, good) = (Range::new(DevicePointer(DEVICE), 64), page(0));
    let node = Location::host_numa(0);
    refused(&fake, fake.stream.prefetch(&bad, Location::UNSET), Status::INVALID_ARGUMENT, "not");
    refused(&fake, fake.stream.prefetch(&good, Location::UNSET), Status::INVALID_ARGUMENT, "no location");
    refused(&fake, fake.stream.prefetch(&good, node), Status::INVALID_ARGUMENT, "is being captured");
    fake.capture(false);
    refused(&fake, fake.stream.prefetch(&good, node), Status::UNSUPPORTED, "no concurrent managed access");
    fake.attribute(0, CONCURRENT_MANAGED_ACCESS, 1);
    refused(&fake, fake.stream.prefetch(&good, node), Status::UNSUPPORTED, "12.2");
}

/// Of a batch first what is given, then the stream, then the memory, of which the driver has to be asked, then what the
/// driver can do.
#[test]
fn the_order_of_checks_of_a_batch() {
    let fake = Fake::open(12080);
    fake.attribute(0, CONCURRENT_MANAGED_ACCESS, 0);
    fake.capture(true);
    let bad = [page(0), Range::new(DevicePointer(DEVICE), 64)];
    let (nowhere, host) = ([Location::UNSET], [Location::HOST]);
    let all = |ranges: &[Range], locations: &[Location], status: Status, why: &str| {
        let options = BatchOptions::default().without_batch(WithoutBatch::Refuse);
        refused(&fake, fake.stream.prefetch_batch(ranges, locations, options), status, why);
        // SAFETY: nothing is read.
        let result = unsafe { fake.stream.enqueue(&mut Discard::new(ranges).with_prefetch(locations)) };
        refused(&fake, result, status, why);
    };
    all(&bad, &nowhere, Status::INVALID_ARGUMENT, "no location");
    all(&bad, &host, Status::INVALID_ARGUMENT, "is being captured");
    fake.capture(false);
    all(&bad, &host, Status::INVALID_ARGUMENT, "item 1: ");
    all(&pages(2), &host, Status::UNSUPPORTED, "no concurrent managed access");
    fake.attribute(0, CONCURRENT_MANAGED_ACCESS, 1);
    all(&pages(2), &host, Status::UNSUPPORTED, "13.0");
}

#[test]
fn both_devices_need_concurrent_access() {
    let fake = Fake::open(13000);
    fake.attribute(1, CONCURRENT_MANAGED_ACCESS, 0);
    fake.stream.prefetch(&page(0), Location::device(0)).expect("the second is not concerned");
    fake.calls();
    let why = "device 1 has no concurrent managed access";
    let error = refused(&fake, fake.stream.prefetch(&page(0), Location::device(1)), Status::UNSUPPORTED, why);
    assert_eq!(error.object, "device 1");
    let advice = Advice::SetPreferredLocation(Location::device(1));
    refused(&fake, fake.context.advise(&page(0), advice), Status::UNSUPPORTED, why);
    assert!(
        !Device::get(fake.driver(), 1)
            .expect("it is there")
            .supports(Feature::ConcurrentManagedAccess)
            .expect("told")
    );
    // The driver wants it of all devices wherever the memory is, in calls for many.
    let batch = fake.stream.prefetch_batch(&pages(2), &[Location::HOST], BatchOptions::default());
    refused(&fake, batch, Status::UNSUPPORTED, why);
}

#[test]
fn a_device_that_lacks_it_is_logged_once() {
    static LINES: parking_lot::Mutex<Vec<String>> = parking_lot::Mutex::new(Vec::new());
    struct Lines;
    impl log::Log for Lines {
        fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
            metadata.target() == "cushim" && metadata.level() == log::Level::Warn
        }
        fn log(&self, record: &log::Record<'_>) {
            if self.enabled(record.metadata()) {
                LINES.lock().push(record.args().to_string());
            }
        }
        fn flush(&self) {}
    }
    // Other tests of this program log, too, but not of a device with a label like this one.
    log::set_logger(&Lines).expect("no other is set");
    log::set_max_level(log::LevelFilter::Warn);
    let fake = Fake::open(13000);
    fake.context.device().set_label(Some("the old one"));
    fake.attribute(0, CONCURRENT_MANAGED_ACCESS, 0);
    for _ in 0..3 {
        fake.stream.prefetch(&page(0), Location::HOST).expect_err("refused");
        fake.context.advise(&page(0), Advice::SetReadMostly).expect_err("refused");
    }
    let lines = LINES.lock().iter().filter(|line| line.contains("\"the old one\"")).count();
    assert_eq!(lines, 1);
}
