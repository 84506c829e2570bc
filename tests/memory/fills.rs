//! Fills with values of one, two and four bytes.

use crate::{NOWHERE, context, holding, read, stream};
use cushim::memory::{DevicePointer, Fill};
use cushim::{Context, Error, Status, Stream};
use std::sync::Arc;

/// Where a fill runs, and whether its rows have a pitch.
type Filling<'a> = &'a dyn Fn(DevicePointer, usize, Fill, usize, usize) -> Result<(), Error>;

/// Runs the test at once, in a created stream, and in both default streams.
fn in_every_order(test: impl Fn(&Arc<Context>, Filling)) {
    let context = context();
    // SAFETY: the tests fill within their memory, or are refused.
    test(&context, &|at, pitch, value, width, height| unsafe {
        match (pitch, height) {
            (0, 1) => context.fill(at, value, width),
            _ => context.fill_2d(at, pitch, value, width, height),
        }
    });
    for stream in [stream(&context), Stream::legacy(&context), Stream::per_thread(&context)] {
        test(&context, &|at, pitch, value, width, height| {
            // SAFETY: as above.
            let result = unsafe {
                match (pitch, height) {
                    (0, 1) => stream.fill(at, value, width),
                    _ => stream.fill_2d(at, pitch, value, width, height),
                }
            };
            result.and_then(|()| stream.synchronize())
        });
    }
}

const VALUES: [(Fill, &[u8]); 3] = [
    (Fill::U8(0x12), &[0x12]),
    (Fill::U16(0x3412), &[0x12, 0x34]),
    (Fill::U32(0x7856_3412), &[0x12, 0x34, 0x56, 0x78]),
];

#[test]
fn a_range_is_filled_and_no_more() {
    in_every_order(|context, fill| {
        for (value, pattern) in VALUES {
            let memory = holding(context, &[0; 256]);
            let unit = pattern.len();
            assert_eq!(value.bytes(), unit);
            let at = memory.pointer().offset(unit as u64 * 3).expect("an address");
            fill(at, 0, value, 20, 1).expect("filled");
            let expected = [vec![0; unit * 3], pattern.repeat(20), vec![0; 256 - unit * 23]].concat();
            assert_eq!(read(context, memory.place(), 256), expected, "{value:?}");
        }
    });
}

#[test]
fn rows_are_filled_and_no_more() {
    in_every_order(|context, fill| {
        for (value, pattern) in VALUES {
            let memory = holding(context, &[0; 512]);
            let unit = pattern.len();
            let at = memory.pointer().offset(8).expect("an address");
            fill(at, 32, value, 5, 3).expect("filled");
            let row = [pattern.repeat(5), vec![0; 32 - unit * 5]].concat();
            let expected = [vec![0; 8], row.repeat(3), vec![0; 512 - 8 - 96]].concat();
            assert_eq!(read(context, memory.place(), 512), expected, "{value:?}");
        }
    });
}

/// The pitch of a single row does not matter.
#[test]
fn one_row_has_no_pitch() {
    in_every_order(|context, fill| {
        let memory = holding(context, &[0; 64]);
        fill(memory.pointer(), 3, Fill::U32(0x0101_0101), 4, 1).expect("filled");
        assert_eq!(read(context, memory.place(), 20), [[1; 16].as_slice(), &[0; 4]].concat());
    });
}

#[test]
fn of_nothing_nothing_is_looked_at() {
    in_every_order(|_, fill| {
        for (at, pitch, width, height) in [(0, 0, 0, 1), (NOWHERE, 0, 0, 1), (3, 1, 7, 0), (3, 1, 0, 7)] {
            assert_eq!(fill(DevicePointer(at), pitch, Fill::U32(1), width, height), Ok(()));
        }
    });
}

#[test]
fn what_does_not_fit_is_refused_before_the_driver() {
    in_every_order(|context, fill| {
        let memory = holding(context, &[0; 64]);
        let odd = memory.pointer().offset(1).expect("an address");
        for (result, why) in [
            (fill(odd, 0, Fill::U16(1), 1, 1), "is not a multiple of the value's 2 bytes"),
            (fill(DevicePointer::NULL, 0, Fill::U8(1), 1, 1), "the memory to fill is NULL"),
            (
                fill(memory.pointer(), 6, Fill::U32(1), 1, 2),
                "pitch 6 is not a multiple of the value's 4 bytes",
            ),
            (fill(memory.pointer(), 4, Fill::U32(1), 2, 2), "4 bytes apart, too few for the 8 of each"),
        ] {
            let error = result.expect_err(why);
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0));
            assert!(error.message.contains(why), "{error}");
        }
        assert_eq!(read(context, memory.place(), 64), [0; 64]);
    });
}

#[test]
fn a_fill_past_the_end_is_the_drivers_error() {
    in_every_order(|context, fill| {
        let memory = holding(context, &[0; 64]);
        let error = fill(memory.pointer(), 0, Fill::U32(1), 17, 1).expect_err("one too many");
        assert_eq!((error.status, error.driver_code), (Status(1), 1));
        assert!(error.function.starts_with("cuMemsetD32"), "{}", error.function);
        assert!(error.message.contains("64 bytes left in its allocation of 64, too few for 68"), "{error}");
        fill(memory.pointer(), 0, Fill::U32(0x0202_0202), 16, 1).expect("filled");
        assert_eq!(read(context, memory.place(), 64), [2; 64]);
    });
}
