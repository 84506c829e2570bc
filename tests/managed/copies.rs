//! Copies go to the driver's call for what the two ends are; copies with attributes to the ABI that the driver has: the one for
//! one, one of two for many, or a loop.

use crate::*;
use cushim::Location;
use cushim::memory::{Buffer, Home};
use cushim::op::batch::WithoutBatch;
use cushim::op::batch::{BatchOptions, MOST_ITEMS};
use cushim::op::{
    Copy, Copy3d, CopyAttributes, CopyBatch, Endpoint, Extent, Operation, Region, SourceAccess, Synchronous,
};

/// Memory of the process, of which the driver knows nothing.
const PROCESS: u64 = 0x5000;

fn host() -> Endpoint<'static> {
    Endpoint::host_source(std::ptr::without_provenance::<u8>(PROCESS as usize))
}

fn device() -> Endpoint<'static> {
    Endpoint::device(DevicePointer(DEVICE))
}

/// Ends, the word for the copy between them, and the addresses that the driver gets.
type Pair = (fn() -> Endpoint<'static>, fn() -> Endpoint<'static>, &'static str);

/// Every pair of sorts of memory. Nothing is left to the driver but what is on the host on both sides.
const PAIRS: [Pair; 7] = [
    (device, host, "copy in: 3000000 from 5000"),
    (host, device, "copy out: 5000 from 3000000"),
    (device, device, "copy within: 3000000 from 3000000"),
    (host, host, "copy any: 5000 from 5000"),
    (device, || Endpoint::auto(PROCESS), "copy in: 3000000 from 5000"),
    (|| Endpoint::auto(PROCESS), || Endpoint::auto(DEVICE), "copy out: 5000 from 3000000"),
    (|| Endpoint::auto(DEVICE), || Endpoint::auto(MANAGED), "copy within: 3000000 from 100000"),
];

fn enqueue<O: Operation<Output = ()>>(fake: &Fake, mut operation: O) -> Result<(), Error> {
    // SAFETY: the driver copies nothing.
    unsafe { fake.stream.enqueue(&mut operation) }
}

fn run<O: Synchronous<Output = ()>>(fake: &Fake, mut operation: O) -> Result<(), Error> {
    // SAFETY: as above.
    unsafe { fake.context.run(&mut operation) }
}

#[test]
fn a_copy_is_of_what_its_ends_are() {
    let fake = Fake::open(11040);
    for (to, from, expected) in PAIRS {
        enqueue(&fake, Copy::new(to(), from(), 64)).expect("enqueued");
        run(&fake, Copy::new(to(), from(), 64)).expect("copied");
        let expected = [format!("{expected}, 64 bytes"), format!("{expected}, 64 bytes, no stream")];
        assert_eq!(fake.calls(), expected);
    }
}

#[test]
fn a_box_is_of_what_its_ends_are() {
    let fake = Fake::open(11040);
    for (to, from, told) in [
        (device as fn() -> _, host as fn() -> _, "2 at 3000000 from 1 at 5000"),
        (|| Endpoint::auto(PROCESS), || Endpoint::auto(DEVICE), "1 at 5000 from 2 at 3000000"),
        (|| Endpoint::auto(MANAGED), device, "2 at 100000 from 2 at 3000000"),
    ] {
        let copy = || Copy3d::new(Region::new(to(), 0), Region::new(from(), 0), Extent::rectangle(8, 4));
        enqueue(&fake, copy()).expect("enqueued");
        run(&fake, copy()).expect("copied");
        let expected =
            [format!("box any: {told}, 8 by 4 by 1"), format!("box any: {told}, 8 by 4 by 1, no stream")];
        assert_eq!(fake.calls(), expected);
    }
}

/// A buffer knows what it is from the beginning, so that nobody asks.
#[test]
fn a_buffer_is_what_it_is() {
    let fake = Fake::open(11040);
    let lent = |pointer, bytes| {
        // SAFETY: nothing is done with the memory.
        let made = unsafe { Buffer::wrap(fake.driver(), DevicePointer(pointer), bytes, Home::Lender, None) };
        made.unwrap_or_else(|(error, _)| panic!("{error}"))
    };
    let (here, there, managed) = (lent(PROCESS, 64), lent(DEVICE, 64), lent(MANAGED, 64));
    enqueue(&fake, Copy::new(there.at(0), here.at(8), 8)).expect("enqueued");
    enqueue(&fake, Copy::new(here.at(0), managed.at(0), 64)).expect("enqueued");
    enqueue(&fake, Copy::new(managed.at(63), there.at(0), 1)).expect("enqueued");
    enqueue(&fake, Copy::new(here.at(0), here.at(32), 8)).expect("enqueued");
    let expected = [
        "copy in: 3000000 from 5008, 8 bytes",
        "copy out: 5000 from 100000, 64 bytes",
        "copy within: 10003f from 3000000, 1 bytes",
        "copy any: 5000 from 5020, 8 bytes",
    ];
    assert_eq!(fake.calls(), expected);
    for offset in [1, 65, u64::MAX] {
        let why =
            format!("the source has {} bytes left in {there}, too few for 64", 64_u64.saturating_sub(offset));
        let copy = Copy::new(managed.at(0), there.at(offset), 64);
        let why = if offset == u64::MAX { "past the end of all addresses" } else { &why };
        refused(&fake, enqueue(&fake, copy), Status::INVALID_ARGUMENT, why);
    }
}

/// Between the memories of two devices whose contexts are named.
#[test]
fn copies_between_two_devices() {
    let fake = Fake::open(11040);
    let second =
        Device::get(fake.driver(), 1).and_then(|device| device.primary_context()).expect("a context");
    let (to, from) = (|| device().in_context(&second), || device().in_context(&fake.context));
    enqueue(&fake, Copy::new(to(), from(), 64)).expect("enqueued");
    run(&fake, Copy::new(from(), to(), 64)).expect("copied");
    let copy = || Copy3d::new(Region::new(to(), 0), Region::new(from(), 0), Extent::rectangle(8, 4));
    enqueue(&fake, copy()).expect("enqueued");
    run(&fake, copy()).expect("copied");
    let told = "2 at 3000000 from 2 at 3000000, 8 by 4 by 1";
    let expected = [
        "devices 1 from 0, copy between: 3000000 from 3000000, 64 bytes".to_owned(),
        "devices 0 from 1, copy between: 3000000 from 3000000, 64 bytes, no stream".to_owned(),
        format!("devices 1 from 0, box between: {told}"),
        format!("devices 1 from 0, box between: {told}, no stream"),
    ];
    assert_eq!(fake.calls(), expected);
    // One side alone, or the host: an ordinary copy. So is one within the device of the stream.
    enqueue(&fake, Copy::new(to(), device(), 64)).expect("enqueued");
    enqueue(&fake, Copy::new(to(), host(), 64)).expect("enqueued");
    enqueue(&fake, Copy::new(from(), from(), 64)).expect("enqueued");
    assert!(fake.calls().iter().all(|call| !call.contains("between")));
}

/// The nth of several copies.
fn copy(n: u64) -> Copy<'static> {
    let to = Endpoint::device(DevicePointer(DEVICE + n % 64 * 64));
    Copy::new(to, Endpoint::auto(PROCESS + n * 64), 64)
}

fn copies(count: u64) -> Vec<Copy<'static>> {
    (0..count).map(copy).collect()
}

fn batch(fake: &Fake, mut copies: Vec<Copy>, attributes: &[CopyAttributes]) -> Result<(), Error> {
    enqueue(fake, CopyBatch::new(&mut copies, attributes))
}

const PLAIN: &str = "order 1, 0/0 to 0/0, flags 0";

#[test]
fn many_copies_by_each_abi() {
    for (version, number) in [(12080, 12080), (13000, 13000), (13020, 13000)] {
        let fake = Fake::open(version);
        batch(&fake, copies(2), &[]).expect("enqueued");
        let all = "2 copies, 3000000 from 5000, 64, 3000040 from 5040, 64";
        assert_eq!(fake.calls(), [format!("copies {number}: {all}, from 0: {PLAIN}")]);
    }
}

#[test]
fn old_drivers_get_one_after_the_other_or_nothing() {
    for version in [11040, 12020] {
        let fake = Fake::open(version);
        let attributes = [CopyAttributes::new(SourceAccess::AnyTime)
            .source_hint(Location::HOST)
            .destination_hint(Location::device(1))
            .overlap_with_compute(true)];
        batch(&fake, copies(2), &attributes).expect("hints are ignored");
        let expected = ["copy in: 3000000 from 5000, 64 bytes", "copy in: 3000040 from 5040, 64 bytes"];
        assert_eq!(fake.calls(), expected);
        for count in [1, 2] {
            let options = BatchOptions::default().without_batch(WithoutBatch::Refuse);
            let result = enqueue(&fake, CopyBatch::new(&mut copies(count), &[]).with_options(options));
            let error = refused(&fake, result, Status::UNSUPPORTED, "12.8");
            assert_eq!((error.function.as_str(), error.abi), ("cuMemcpyBatchAsync", 12080));
        }
    }
}

#[test]
fn one_copy() {
    let attributes = CopyAttributes::new(SourceAccess::AnyTime).destination_hint(Location::device(1));
    let told = "order 3, 0/0 to 1/1, flags 0";
    for (version, expected) in [
        (12020, "copy in: 3000000 from 5000, 64 bytes".to_owned()),
        (12080, format!("copies 12080: 1 copies, 3000000 from 5000, 64, from 0: {told}")),
        (13000, format!("copies 13000: 1 copies, 3000000 from 5000, 64, from 0: {told}")),
        (13020, format!("copy 13020: 3000000 from 5000, 64 bytes, from 0: {told}")),
    ] {
        let fake = Fake::open(version);
        batch(&fake, copies(1), &[attributes]).expect("enqueued");
        assert_eq!(fake.calls(), [expected]);
    }
}

#[test]
fn each_copy_has_its_attributes() {
    let fake = Fake::open(12080);
    let any = CopyAttributes::new(SourceAccess::AnyTime);
    let during = CopyAttributes::new(SourceAccess::DuringCall).overlap_with_compute(true);
    let near = CopyAttributes::default()
        .source_hint(Location::HOST)
        .destination_hint(Location::host_numa(last_node()));
    batch(&fake, copies(4), &[any, any, during, near]).expect("enqueued");
    let calls = fake.calls();
    let runs = format!(
        ", from 0: order 3, 0/0 to 0/0, flags 0, from 2: order 2, 0/0 to 0/0, flags 1, from 3: order 1, 2/0 to 3/{}, flags 0",
        last_node()
    );
    assert!(calls[0].ends_with(&runs), "{calls:?}");
}

#[test]
fn reading_during_the_call_is_not_what_a_loop_does() {
    let fake = Fake::open(12020);
    let attributes = [CopyAttributes::default(), CopyAttributes::new(SourceAccess::DuringCall)];
    let error = refused(&fake, batch(&fake, copies(2), &attributes), Status::UNSUPPORTED, "12.8");
    assert_eq!((error.item, error.abi), (Some(1), 12080));
    assert!(error.message.contains("read a source during the call"), "{error}");
}

#[test]
fn the_copy_that_the_driver_names() {
    let fake = Fake::open(12080);
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, 2);
    let error = batch(&fake, copies(3), &[]).expect_err("refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), Some(2)));
    assert!(error.message.contains("This was item 2 of 3"), "{error}");
    // What driver 580 answers.
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, usize::MAX);
    let error = batch(&fake, copies(3), &[]).expect_err("refused");
    assert_eq!(error.item, None);
    // In the second of two calls.
    fake.fail("cuMemcpyBatchAsync", 2, INVALID_VALUE, 1);
    let error = batch(&fake, copies(MOST_ITEMS as u64 + 3), &[]).expect_err("refused");
    assert_eq!(error.item, Some(MOST_ITEMS + 1));
    assert!(error.message.ends_with("those before item 4096 are enqueued"), "{error}");

    let fake = Fake::open(13000);
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, 2);
    assert_eq!(batch(&fake, copies(3), &[]).expect_err("refused").item, None);
    let fake = Fake::open(11040);
    fake.fail("cuMemcpyHtoDAsync", 2, INVALID_VALUE, 0);
    let error = batch(&fake, copies(3), &[]).expect_err("refused");
    assert_eq!((error.item, fake.calls().len()), (Some(1), 2));
}

#[test]
fn the_same_is_refused_on_every_driver() {
    for version in VERSIONS {
        let fake = Fake::open(version);
        let refuse = |copies: Vec<Copy>, attributes: &[CopyAttributes], why: &str, item: Option<usize>| {
            let error = refused(&fake, batch(&fake, copies, attributes), Status::INVALID_ARGUMENT, why);
            assert_eq!(error.item, item, "{error}");
        };
        let default = CopyAttributes::default();
        refuse(vec![], &[], "there are no copies", None);
        refuse(copies(3), &[default; 2], "2 attributes for 3 copies", None);
        let nothing = Copy::new(device(), host(), 0);
        refuse(vec![copy(0), nothing], &[], "item 1: the copy has zero bytes", Some(1));
        let null = Copy::new(Endpoint::auto(0), host(), 64);
        refuse(vec![copy(0), null], &[], "item 1: the destination is NULL", Some(1));
        let array = Endpoint::array(std::ptr::without_provenance_mut(0x40));
        refuse(vec![Copy::new(device(), array, 64)], &[], "the source is an array", Some(0));
        let beyond = Copy::new(device(), Endpoint::auto(u64::MAX - 3), 64);
        refuse(vec![copy(0), beyond], &[], "past the end of all addresses", Some(1));
        let unknown = Copy::new(device(), Endpoint::device(DevicePointer(PROCESS)), 64);
        let why = "item 1: the source, 0x5000, is said to be device memory and is not memory of this driver";
        refuse(vec![copy(0), unknown], &[], why, Some(1));
        let bad = default.source_hint(Location::device(9));
        refuse(copies(2), &[default, bad], "item 1: there is no device 9", Some(1));
        fake.capture(true);
        refuse(copies(2), &[], "is being captured", None);
        fake.capture(false);
        let (legacy, own) = (Stream::legacy(&fake.context), Stream::per_thread(&fake.context));
        // SAFETY: the driver copies nothing.
        let result = unsafe { legacy.enqueue(&mut CopyBatch::new(&mut copies(2), &[])) };
        refused(&fake, result, Status::INVALID_ARGUMENT, "legacy default stream");
        // SAFETY: as above.
        unsafe { own.enqueue(&mut CopyBatch::new(&mut copies(2), &[])) }.expect("enqueued");
    }
}
