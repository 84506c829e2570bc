//! What all batches refuse, before anything is enqueued, whatever the driver has.

use crate::*;
use cushim::Location;
use cushim::managed::Discard;
use cushim::op::batch::BatchOptions;

/// Every batch of ranges, with so many locations.
fn all(fake: &Fake, stream: &Stream, ranges: &[Range], locations: &[Location]) -> Vec<Result<(), Error>> {
    let options = BatchOptions::default();
    let mut results = vec![stream.prefetch_batch(ranges, locations, options)];
    // SAFETY: nothing is read.
    unsafe {
        results.push(stream.enqueue(&mut Discard::new(ranges).with_prefetch(locations)));
        if locations.len() == 1 {
            results.push(stream.enqueue(&mut Discard::new(ranges)));
        }
    }
    fake.calls();
    results
}

fn all_refused(fake: &Fake, results: Vec<Result<(), Error>>, why: &str, item: Option<usize>) {
    for result in results {
        let error = refused(fake, result, Status::INVALID_ARGUMENT, why);
        assert_eq!(error.item, item, "{error}");
    }
}

#[test]
fn the_same_on_every_driver() {
    for version in VERSIONS {
        let fake = Fake::open(version);
        let host = [Location::HOST];
        let stream = &fake.stream;
        all_refused(&fake, all(&fake, stream, &[], &host), "there are no ranges", None);
        let three = [Location::HOST; 3];
        all_refused(&fake, all(&fake, stream, &pages(2), &three), "3 locations for 2 ranges", None);
        all_refused(&fake, all(&fake, stream, &pages(2), &[]), "0 locations for 2 ranges", None);
        let unmanaged = [page(0), page(1), Range::new(DevicePointer(DEVICE), 64)];
        all_refused(&fake, all(&fake, stream, &unmanaged, &host), "item 2: ", Some(2));
        let empty = [page(0), Range::new(DevicePointer(MANAGED), 0)];
        all_refused(
            &fake,
            all(&fake, stream, &empty, &host),
            "item 1: the range at 0x100000 has no bytes",
            Some(1),
        );
        let nowhere = [Location::HOST, Location::device(7)];
        all_refused(&fake, all(&fake, stream, &pages(2), &nowhere), "item 1: there is no device 7", Some(1));
        let legacy = Stream::legacy(&fake.context);
        all_refused(&fake, all(&fake, &legacy, &pages(2), &host), "legacy default stream", None);
        fake.capture(true);
        all_refused(&fake, all(&fake, stream, &pages(2), &host), "is being captured", None);
    }
}
