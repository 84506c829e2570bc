//! Memsets.

use super::super::scene::{SIZE, Scene};
use super::captured;
use super::parameters::Places;
use crate::driver::{Answer, BOGUS, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::CUstream;

type Fill = (&'static str, fn(&Scene, CUstream) -> Answer);

const FILLS: &[Fill] = &[
    ("cuMemsetD8Async", |s, stream| call!(s.cu, cuMemsetD8Async_3020(s.memory + 1, 0xa5, 63, stream))),
    ("cuMemsetD16Async", |s, stream| call!(s.cu, cuMemsetD16Async_3020(s.memory + 2, 0xa5b6, 31, stream))),
    ("cuMemsetD32Async", |s, stream| {
        call!(s.cu, cuMemsetD32Async_3020(s.memory + 4, 0xa5b6_c7d8, 15, stream))
    }),
    ("cuMemsetD8Async of one", |s, stream| call!(s.cu, cuMemsetD8Async_3020(s.memory, 1, 1, stream))),
    ("cuMemsetD8Async of all", |s, stream| call!(s.cu, cuMemsetD8Async_3020(s.memory, 1, SIZE, stream))),
    ("cuMemsetD2D8Async", |s, stream| {
        call!(s.cu, cuMemsetD2D8Async_3020(s.memory, 128, 0xa5, 63, 4, stream))
    }),
    ("cuMemsetD2D16Async", |s, stream| {
        call!(s.cu, cuMemsetD2D16Async_3020(s.memory, 128, 0xa5b6, 31, 4, stream))
    }),
    ("cuMemsetD2D32Async", |s, stream| {
        call!(s.cu, cuMemsetD2D32Async_3020(s.memory, 128, 0xa5b6_c7d8, 15, 4, stream))
    }),
    ("cuMemsetD2D32Async of one row", |s, stream| {
        call!(s.cu, cuMemsetD2D32Async_3020(s.memory, 128, 1, 15, 1, stream))
    }),
    ("cuMemsetD2D32Async, rows without a gap", |s, stream| {
        call!(s.cu, cuMemsetD2D32Async_3020(s.memory, 64, 1, 16, 4, stream))
    }),
    ("cuMemsetD8Async of none", |s, stream| call!(s.cu, cuMemsetD8Async_3020(s.memory, 1, 0, stream))),
    ("cuMemsetD2D8Async of height 0", |s, stream| {
        call!(s.cu, cuMemsetD2D8Async_3020(s.memory, 128, 1, 16, 0, stream))
    }),
    ("cuMemsetD8Async of a bad address", |s, stream| call!(s.cu, cuMemsetD8Async_3020(BOGUS, 1, 16, stream))),
    ("cuMemsetD8Async past the end", |s, stream| {
        call!(s.cu, cuMemsetD8Async_3020(s.memory + 1, 1, SIZE, stream))
    }),
    ("cuMemsetD32Async misaligned", |s, stream| {
        call!(s.cu, cuMemsetD32Async_3020(s.memory + 2, 1, 4, stream))
    }),
    ("cuMemsetD2D8Async with a pitch below", |s, stream| {
        call!(s.cu, cuMemsetD2D8Async_3020(s.memory, 8, 1, 16, 2, stream))
    }),
    ("cuMemsetD8Async of pinned memory", |s, stream| {
        call!(s.cu, cuMemsetD8Async_3020(s.pinned.addr() as u64, 1, 16, stream))
    }),
];

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    let places = Places::of(s);
    for (name, fill) in FILLS {
        captured(t, s, &places, name, || fill(s, s.stream));
    }
    Ok(())
}
