//! Memsets with values of one, two and four bytes.

use crate::{NOWHERE, Order, holding, in_every_order, read, stream};
use cushim::memory::{Buffer, DevicePointer, ManagedResourceOptions, PinnedResourceOptions, Resource};
use cushim::op::{Endpoint, Memset, Value};
use cushim::{Error, Status};

/// Sets rows to a value, and waits.
fn set(
    order: Order,
    at: Endpoint,
    pitch: usize,
    value: Value,
    width: usize,
    height: usize,
) -> Result<(), Error> {
    let memset = match (pitch, height) {
        (0, 1) => Memset::new(at, value, width),
        _ => Memset::rectangle(at, pitch, value, width, height),
    };
    // SAFETY: the tests set within their memory, or are refused.
    unsafe { order.finish(memset) }
}

const VALUES: [(Value, &[u8]); 3] = [
    (Value::U8(0x12), &[0x12]),
    (Value::U16(0x3412), &[0x12, 0x34]),
    (Value::U32(0x7856_3412), &[0x12, 0x34, 0x56, 0x78]),
];

#[test]
fn a_range_is_set_and_no_more() {
    in_every_order(|context, order| {
        for (value, pattern) in VALUES {
            let memory = holding(context, &[0; 256]);
            let unit = pattern.len();
            assert_eq!(value.bytes(), unit);
            set(order, memory.at(unit as u64 * 3), 0, value, 20, 1).expect("set");
            let expected = [vec![0; unit * 3], pattern.repeat(20), vec![0; 256 - unit * 23]].concat();
            assert_eq!(read(context, memory.at(0), 256), expected, "{value:?}");
        }
    });
}

#[test]
fn rows_are_set_and_no_more() {
    in_every_order(|context, order| {
        for (value, pattern) in VALUES {
            let memory = holding(context, &[0; 512]);
            let unit = pattern.len();
            set(order, memory.at(8), 32, value, 5, 3).expect("set");
            let row = [pattern.repeat(5), vec![0; 32 - unit * 5]].concat();
            let expected = [vec![0; 8], row.repeat(3), vec![0; 512 - 8 - 96]].concat();
            assert_eq!(read(context, memory.at(0), 512), expected, "{value:?}");
        }
    });
}

/// The pitch of a single row does not matter.
#[test]
fn one_row_has_no_pitch() {
    in_every_order(|context, order| {
        let memory = holding(context, &[0; 64]);
        set(order, memory.at(0), 3, Value::U32(0x0101_0101), 4, 1).expect("set");
        assert_eq!(read(context, memory.at(0), 20), [[1; 16].as_slice(), &[0; 4]].concat());
    });
}

#[test]
fn of_nothing_nothing_is_looked_at() {
    in_every_order(|_, order| {
        for (at, pitch, width, height) in [(0, 0, 0, 1), (NOWHERE, 0, 0, 1), (3, 1, 7, 0), (3, 1, 0, 7)] {
            let at = Endpoint::device(DevicePointer(at));
            assert_eq!(set(order, at, pitch, Value::U32(1), width, height), Ok(()));
        }
    });
}

#[test]
fn what_does_not_fit_is_refused_before_the_driver() {
    in_every_order(|context, order| {
        let memory = holding(context, &[0; 64]);
        let (at, null) = (|| memory.at(0), Endpoint::device(DevicePointer::NULL));
        for (result, why) in [
            (set(order, memory.at(1), 0, Value::U16(1), 1, 1), "is not a multiple of the value's 2 bytes"),
            (set(order, null, 0, Value::U8(1), 1, 1), "the memory to set is NULL"),
            (set(order, at(), 6, Value::U32(1), 1, 2), "pitch 6 is not a multiple of the value's 4 bytes"),
            (set(order, at(), 4, Value::U32(1), 2, 2), "4 bytes apart, too few for the 8 of each"),
        ] {
            let error = result.expect_err(why);
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0));
            assert!(error.message.contains(why), "{error}");
        }
        assert_eq!(read(context, memory.at(0), 64), [0; 64]);
    });
}

/// Of an address the driver knows how far its memory reaches.
#[test]
fn a_memset_past_the_end_is_found_by_the_driver() {
    in_every_order(|context, order| {
        let memory = holding(context, &[0; 64]);
        let at = || Endpoint::device(memory.pointer());
        let error = set(order, at(), 0, Value::U32(1), 17, 1).expect_err("one too many");
        assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 1));
        assert!(error.function.starts_with("cuMemsetD32"), "{}", error.function);
        assert!(error.message.contains("64 bytes left in its allocation of 64, too few for 68"), "{error}");
        set(order, at(), 0, Value::U32(0x0202_0202), 16, 1).expect("set");
        assert_eq!(read(context, memory.at(0), 64), [2; 64]);
    });
}

/// An object knows how far its memory reaches, so the driver is not asked.
#[test]
fn a_memset_past_the_end_of_an_object_is_refused() {
    in_every_order(|context, order| {
        let memory = holding(context, &[0; 64]);
        for (width, height) in [(17, 1), (4, 5)] {
            let error = set(order, memory.at(0), 16, Value::U32(1), width, height).expect_err("too many");
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0));
            assert!(error.message.starts_with("the memory to set has 64 bytes left in "), "{error}");
        }
        assert_eq!(read(context, memory.at(0), 64), [0; 64]);
    });
}

/// What a device reaches can be set, also where copies are told that it is host memory.
#[test]
fn buffers_are_set() {
    in_every_order(|context, order| {
        let stream = stream(context);
        for resource in [
            Resource::pinned(context, &PinnedResourceOptions::default()),
            Resource::managed(context, &ManagedResourceOptions::default()),
            Ok(Resource::device(context)),
        ] {
            let buffer = Buffer::create(&resource.expect("a resource"), 64, Some(&stream));
            let buffer = buffer.expect("a buffer");
            stream.synchronize().expect("it is there");
            set(order, buffer.at(0), 0, Value::U8(1), 64, 1).expect("set");
            set(order, buffer.at(60), 0, Value::U32(0x0202_0202), 1, 1).expect("set");
            assert_eq!(read(context, buffer.at(0), 64), [[1; 60].as_slice(), &[2; 4]].concat());
            let error = set(order, buffer.at(60), 0, Value::U32(0), 2, 1).expect_err("one too many");
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            let expected = format!("the memory to set has 4 bytes left in {buffer}, too few for 8");
            assert_eq!(
                (error.message.as_str(), error.object.as_str()),
                (expected.as_str(), buffer.to_string().as_str())
            );
        }
    });
}
