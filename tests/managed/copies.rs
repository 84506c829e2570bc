//! Copies with attributes go to the ABI that the driver has: the one for one, one of two for many, or a loop.

use crate::*;
use cushim::Location;
use cushim::batch::{BatchOptions, MOST_ITEMS};
use cushim::memory::{BatchCopy, CopyAttributes, Place, SourceAccess};

/// The nth of several copies.
fn copy(n: u64) -> BatchCopy {
    let (to, from) = (DEVICE + n * 64, 0x5000 + n * 64);
    BatchCopy { to: Place::Device(DevicePointer(to)), from: Place::Auto(from), bytes: 64 }
}

fn copies(count: u64) -> Vec<BatchCopy> {
    (0..count).map(copy).collect()
}

fn batch(fake: &Fake, copies: &[BatchCopy], attributes: &[CopyAttributes]) -> Result<(), Error> {
    // SAFETY: the driver copies nothing.
    unsafe { fake.stream.copy_batch(copies, attributes, BatchOptions::default()) }
}

const PLAIN: &str = "order 1, 0/0 to 0/0, flags 0";

#[test]
fn many_copies_by_each_abi() {
    for (version, number) in [(12080, 12080), (13000, 13000), (13020, 13000)] {
        let fake = Fake::open(version);
        batch(&fake, &copies(2), &[]).expect("enqueued");
        let all = "2 copies, 3000000 from 5000, 64, 3000040 from 5040, 64";
        assert_eq!(fake.calls(), [format!("copies {number}: {all}, from 0: {PLAIN}")]);
    }
}

#[test]
fn old_drivers_get_one_after_the_other_or_nothing() {
    for version in [11040, 12020] {
        let fake = Fake::open(version);
        let attributes = [CopyAttributes::new(SourceAccess::AnyTime)
            .with_hints(Location::HOST, Location::device(1))
            .overlapping()];
        batch(&fake, &copies(2), &attributes).expect("hints are ignored");
        let expected = ["copy 4000: 3000000 from 5000, 64 bytes", "copy 4000: 3000040 from 5040, 64 bytes"];
        assert_eq!(fake.calls(), expected);
        for count in [1, 2] {
            // SAFETY: the driver copies nothing.
            let result =
                unsafe { fake.stream.copy_batch(&copies(count), &[], BatchOptions::default().refuse_loop()) };
            let error = refused(&fake, result, Status::UNSUPPORTED, "12.8");
            assert_eq!((error.function.as_str(), error.abi), ("cuMemcpyBatchAsync", 12080));
        }
    }
}

#[test]
fn one_copy() {
    let attributes =
        CopyAttributes::new(SourceAccess::AnyTime).with_hints(Location::UNSET, Location::device(1));
    let told = "order 3, 0/0 to 1/1, flags 0";
    for (version, expected) in [
        (12020, "copy 4000: 3000000 from 5000, 64 bytes".to_owned()),
        (12080, format!("copies 12080: 1 copies, 3000000 from 5000, 64, from 0: {told}")),
        (13000, format!("copies 13000: 1 copies, 3000000 from 5000, 64, from 0: {told}")),
        (13020, format!("copy 13020: 3000000 from 5000, 64 bytes, from 0: {told}")),
    ] {
        let fake = Fake::open(version);
        let BatchCopy { to, from, bytes } = copy(0);
        // SAFETY: the driver copies nothing.
        unsafe { fake.stream.copy_with_attributes(to, from, bytes, attributes) }.expect("enqueued");
        batch(&fake, &copies(1), &[attributes]).expect("a batch of one is the same call");
        assert_eq!(fake.calls(), [expected.clone(), expected]);
    }
}

#[test]
fn each_copy_has_its_attributes() {
    let fake = Fake::open(12080);
    let any = CopyAttributes::new(SourceAccess::AnyTime);
    let during = CopyAttributes::new(SourceAccess::DuringCall).overlapping();
    let near = CopyAttributes::default().with_hints(Location::HOST, Location::host_numa(1));
    batch(&fake, &copies(4), &[any, any, during, near]).expect("enqueued");
    let calls = fake.calls();
    let runs = ", from 0: order 3, 0/0 to 0/0, flags 0, from 2: order 2, 0/0 to 0/0, flags 1, from 3: order 1, 2/0 to 3/1, flags 0";
    assert!(calls[0].ends_with(runs), "{calls:?}");
}

#[test]
fn reading_during_the_call_is_not_what_a_loop_does() {
    let fake = Fake::open(12020);
    let attributes = [CopyAttributes::default(), CopyAttributes::new(SourceAccess::DuringCall)];
    let error = refused(&fake, batch(&fake, &copies(2), &attributes), Status::UNSUPPORTED, "12.8");
    assert_eq!((error.item, error.abi), (Some(1), 12080));
    assert!(error.message.contains("read during the call"), "{error}");
}

#[test]
fn the_copy_that_the_driver_names() {
    let fake = Fake::open(12080);
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, 2);
    let error = batch(&fake, &copies(3), &[]).expect_err("refused");
    assert_eq!((error.status, error.item), (Status(INVALID_VALUE), Some(2)));
    assert!(error.message.contains("This was item 2 of 3"), "{error}");
    // What driver 580 answers.
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, usize::MAX);
    let error = batch(&fake, &copies(3), &[]).expect_err("refused");
    assert_eq!(error.item, None);
    // In the second of two calls.
    fake.fail("cuMemcpyBatchAsync", 2, INVALID_VALUE, 1);
    let error = batch(&fake, &vec![copy(0); MOST_ITEMS + 3], &[]).expect_err("refused");
    assert_eq!(error.item, Some(MOST_ITEMS + 1));
    assert!(error.message.ends_with("those before item 4096 are enqueued"), "{error}");

    let fake = Fake::open(13000);
    fake.fail("cuMemcpyBatchAsync", 1, INVALID_VALUE, 2);
    assert_eq!(batch(&fake, &copies(3), &[]).expect_err("refused").item, None);
    let fake = Fake::open(11040);
    fake.fail("cuMemcpyAsync", 2, INVALID_VALUE, 0);
    let error = batch(&fake, &copies(3), &[]).expect_err("refused");
    assert_eq!((error.item, fake.calls().len()), (Some(1), 2));
}

#[test]
fn the_same_is_refused_on_every_driver() {
    for version in VERSIONS {
        let fake = Fake::open(version);
        let refuse = |copies: &[BatchCopy], attributes: &[CopyAttributes], why: &str, item: Option<usize>| {
            let error = refused(&fake, batch(&fake, copies, attributes), Status::INVALID_ARGUMENT, why);
            assert_eq!(error.item, item, "{error}");
        };
        let default = CopyAttributes::default();
        refuse(&[], &[], "there are no copies", None);
        refuse(&copies(3), &[default; 2], "2 attributes for 3 copies", None);
        refuse(&[copy(0), BatchCopy { bytes: 0, ..copy(1) }], &[], "item 1: the copy has no bytes", Some(1));
        refuse(
            &[copy(0), BatchCopy { to: Place::Auto(0), ..copy(1) }],
            &[],
            "item 1: the destination is NULL",
            Some(1),
        );
        let array = Place::Array(std::ptr::without_provenance_mut(0x40));
        refuse(&[BatchCopy { from: array, ..copy(1) }], &[], "the source is an array", Some(0));
        let end = Place::Auto(u64::MAX - 3);
        refuse(&[copy(0), BatchCopy { from: end, ..copy(1) }], &[], "past the end of all addresses", Some(1));
        let bad = default.with_hints(Location::device(9), Location::UNSET);
        refuse(&copies(2), &[default, bad], "item 1: there is no device 9", Some(1));
        fake.capture(true);
        refuse(&copies(2), &[], "is being captured", None);
        fake.capture(false);
        let legacy = Stream::legacy(&fake.context);
        // SAFETY: the driver copies nothing.
        let result = unsafe { legacy.copy_batch(&copies(2), &[], BatchOptions::default()) };
        refused(&fake, result, Status::INVALID_ARGUMENT, "legacy default stream");
        let own = Stream::per_thread(&fake.context);
        // SAFETY: as above.
        unsafe { own.copy_batch(&copies(2), &[], BatchOptions::default()) }.expect("enqueued");
    }
}
