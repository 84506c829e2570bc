//! Ranges that are buffers, or parts of them.

use crate::*;
use cushim::Location;
use cushim::managed::Advice;
use cushim::memory::{Allocator, Buffer, Home, Properties, Resource};

/// Memory of somebody else's, as a buffer.
fn lent(fake: &Fake, pointer: u64, bytes: usize) -> Buffer {
    // SAFETY: nothing is done with the memory.
    let made = unsafe { Buffer::wrap(fake.driver(), DevicePointer(pointer), bytes, Home::Lender, None) };
    made.unwrap_or_else(|(error, _)| panic!("{error}"))
}

#[test]
fn all_of_it_or_a_part() {
    let fake = Fake::open(12020);
    let buffer = lent(&fake, MANAGED, 0x3000);
    fake.context.advise(&Range::from(&buffer), Advice::SetReadMostly).expect("given");
    let part = Range::of_part(&buffer, 0x1000, 0x800).expect("it is within");
    fake.stream.prefetch(&part, Location::HOST).expect("enqueued");
    let rest = Range::of_rest(&buffer, 0x2000).expect("it is within");
    fake.stream.prefetch(&rest, Location::HOST).expect("enqueued");
    let expected = [
        "advise 12020: 100000+3000 1 at 2/0",
        "prefetch 12020: 101000+800 to 2/0, flags 0",
        "prefetch 12020: 102000+1000 to 2/0, flags 0",
    ];
    assert_eq!(fake.calls(), expected);
}

#[test]
fn never_past_its_end() {
    let fake = Fake::open(13000);
    let buffer = lent(&fake, MANAGED, 0x3000);
    for (offset, bytes) in [(0, 0x3001), (0x3000, 1), (0x2fff, 2), (usize::MAX, 2), (1, usize::MAX)] {
        let error = Range::of_part(&buffer, offset, bytes).expect_err("it is not within");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
        assert!(error.message.contains("not all within buffer of 12288 bytes"), "{error}");
    }
    Range::of_rest(&buffer, 0x3001).expect_err("it is not within");
    let nothing = Range::of_rest(&buffer, 0x3000).expect("its end");
    refused(&fake, fake.stream.prefetch(&nothing, Location::HOST), Status::INVALID_ARGUMENT, "no bytes");
    refused(
        &fake,
        fake.stream.prefetch(&Range::from(&lent(&fake, DEVICE, 64)), Location::HOST),
        Status::INVALID_ARGUMENT,
        "needs managed memory",
    );
}

/// An allocator of managed memory of which the driver does not say that it is.
struct Unspoken;

// SAFETY: no kernel of this driver reaches memory.
unsafe impl Allocator for Unspoken {
    fn properties(&self) -> Properties {
        Properties::managed()
    }

    fn allocate(&self, _: usize, _: Option<&Stream>) -> Result<DevicePointer, Error> {
        Ok(DevicePointer(DEVICE))
    }

    fn free(&self, _: DevicePointer, _: usize, _: Option<&Stream>) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn the_resource_says_that_its_memory_is_managed() {
    let fake = Fake::open(13000);
    let resource = Resource::custom(fake.driver(), Box::new(Unspoken)).expect("a resource");
    let buffer = Buffer::create(&resource, 0x1000, None).expect("allocated");
    fake.stream.prefetch(&Range::from(&buffer), Location::HOST).expect("enqueued");
    assert_eq!(fake.calls(), ["prefetch 12020: 3000000+1000 to 2/0, flags 0"]);
    let other = Fake::open(13000);
    let range = Range::from(&buffer);
    let result = other.stream.prefetch(&range, Location::HOST);
    refused(&other, result, Status::INVALID_HANDLE, "belongs to another driver than");
    Buffer::destroy(buffer).expect("freed");
    let result = fake.stream.prefetch(&range, Location::HOST);
    refused(&fake, result, Status::INVALID_HANDLE, "is of a buffer that was destroyed");
}

#[test]
fn a_batch_has_buffers_and_pointers() {
    let fake = Fake::open(13000);
    let buffer = lent(&fake, MANAGED + 0x1000, 0x1000);
    let ranges = [page(0), Range::from(&buffer)];
    let options = cushim::op::batch::BatchOptions::default();
    fake.stream.prefetch_batch(&ranges, &[Location::HOST], options).expect("enqueued");
    let all = "prefetch 13000: 2 ranges, 100000+1000, 101000+1000, from 0 to 2/0, flags 0";
    assert_eq!(fake.calls(), [all]);
}
