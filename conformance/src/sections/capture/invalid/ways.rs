//! The ways to invalidate a capture, and the streams that this reaches: the first, a fork with work, a fork without.

use super::super::graph::{self, Exec};
use super::super::modes::graphs::simple;
use super::super::scene::{SIZE, Scene};
use super::super::{begin, end};
use crate::driver::{Answer, BOGUS, LEGACY, Outcome, call};
use crate::sections::managed::DEVICE;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED,
    CUmemcpyAttributes, CUresult, CUstream, CUstreamCaptureMode,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What is tried.
type Way = (&'static str, fn(&Scene) -> Answer);

const RELAXED: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_RELAXED;

/// Tries each way in a capture of this mode with two forks.
fn try_each(t: &mut Lines, s: &Scene, mode: CUstreamCaptureMode, ways: &[Way]) -> Outcome {
    for (name, way) in ways {
        let s = &s.anew()?;
        t.line(name, || {
            begin(&s.cu, s.stream, mode)
                .and(|| s.append(s.stream, 1))
                .and(|| s.fork(s.stream, s.side))
                .and(|| s.append_to(s.side, 1, 2))
                .and(|| s.wait(s.third, s.event))
                .and(|| way(s))
        });
        t.line("  statuses", || s.statuses());
        t.line("  launch into each", || {
            [s.stream, s.side, s.third].map(|stream| s.append_to(stream, 2, 3).number()).join(" ")
        });
        t.line("  end, joined as far as possible", || {
            let _ = s.join(s.side, s.stream);
            let _ = s.join(s.third, s.stream);
            end(&s.cu, s.stream)
        });
        t.line("  statuses", || s.statuses());
        t.line("  work in each", || {
            [s.stream, s.side, s.third].map(|stream| s.usable(stream).number()).join(" ")
        });
    }
    Ok(())
}

extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

/// Calls on the streams themselves.
pub(super) fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    try_each(
        t,
        s,
        RELAXED,
        &[
            ("nothing", |_| "nothing".into()),
            ("query of the first", |s| call!(s.cu, cuStreamQuery_2000(s.stream))),
            ("synchronize of the first", |s| call!(s.cu, cuStreamSynchronize_2000(s.stream))),
            ("query of the fork", |s| call!(s.cu, cuStreamQuery_2000(s.side))),
            ("synchronize of the fork", |s| call!(s.cu, cuStreamSynchronize_2000(s.side))),
            ("query of the fork without work", |s| call!(s.cu, cuStreamQuery_2000(s.third))),
            ("cuCtxSynchronize", |s| call!(s.cu, cuCtxSynchronize_2000())),
            ("cuStreamAddCallback in the first", |s| {
                call!(s.cu, cuStreamAddCallback_5000(s.stream, Some(called), null_mut(), 0))
            }),
            ("cuStreamAddCallback in the fork", |s| {
                call!(s.cu, cuStreamAddCallback_5000(s.side, Some(called), null_mut(), 0))
            }),
            ("begin on the fork", |s| begin(&s.cu, s.side, RELAXED)),
            ("end of the fork", |s| end(&s.cu, s.side)),
            ("end of the fork without work", |s| end(&s.cu, s.third)),
            ("begin on the first", |s| begin(&s.cu, s.stream, RELAXED)),
        ],
    )
}

/// Calls on events.
pub(super) fn events(t: &mut Lines, s: &Scene) -> Outcome {
    try_each(
        t,
        s,
        RELAXED,
        &[
            ("query of its event", |s| call!(s.cu, cuEventQuery_2000(s.event))),
            ("synchronize of its event", |s| call!(s.cu, cuEventSynchronize_2000(s.event))),
            ("elapsed from its event", |s| {
                let mut time = 0.0;
                call!(s.cu, cuEventElapsedTime_2000(&raw mut time, s.event, s.event))
            }),
            ("the first waits for work outside", |s| outside(s, s.stream)),
            ("the fork waits for work outside", |s| outside(s, s.side)),
            ("the first waits for NULL", |s| s.wait(s.stream, null_mut())),
            ("the fork waits for another capture", |s| another(s, s.side)),
            ("another capture waits for the fork", |s| {
                let other = match s.anew() {
                    Ok(other) => other,
                    Err(stop) => return stop.0.into(),
                };
                let answer = other.begin().and(|| s.join(s.side, other.stream));
                let _ = other.end(other.stream);
                answer
            }),
            ("legacy waits for its event", |s| s.wait(LEGACY, s.event)),
            ("its event is recorded outside", |s| {
                s.anew().map_or_else(|stop| stop.0.into(), |other| s.record(s.event, other.stream))
            }),
        ],
    )
}

/// A stream waits for an event of a stream that does not capture.
fn outside(s: &Scene, stream: CUstream) -> Answer {
    let other = match s.anew() {
        Ok(other) => other,
        Err(stop) => return stop.0.into(),
    };
    s.record(other.event, other.stream).and(|| s.wait(stream, other.event))
}

/// A stream waits for an event of another capture, which then ends.
fn another(s: &Scene, stream: CUstream) -> Answer {
    let other = match s.anew() {
        Ok(other) => other,
        Err(stop) => return stop.0.into(),
    };
    let answer = other
        .begin()
        .and(|| s.append_to(other.stream, 3, 4))
        .and(|| s.record(other.event, other.stream))
        .and(|| s.wait(stream, other.event));
    let (state, ended) = (s.status(other.stream), end(&s.cu, other.stream));
    format!("{answer}; the other {state}, {ended}").into()
}

/// Operations in the fork, which would have to be recorded.
pub(super) fn work(t: &mut Lines, s: &Scene) -> Outcome {
    try_each(
        t,
        s,
        RELAXED,
        &[
            ("graph launch in the fork", |s| {
                let graph = simple(s);
                let answer = Exec::of(&s.cu, graph, 0).launch(s.side);
                graph::destroy(&s.cu, graph);
                answer
            }),
            ("peer copy in the fork", |s| {
                let (to, from) = (s.memory, s.memory + 1024);
                call!(s.cu, cuMemcpyPeerAsync_4000(to, s.context, from, s.context, 64, s.side))
            }),
            ("prefetch in the fork", |s| {
                let mut address = 0;
                let _ = call!(s.cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1));
                call!(s.cu, cuMemPrefetchAsync_12020(address, SIZE, DEVICE, 0, s.side))
            }),
            ("batch copy in the fork", |s| batch(s, s.side)),
            ("batch copy in the first", |s| batch(s, s.stream)),
            ("copy to a bad address in the fork", |s| {
                call!(s.cu, cuMemcpyDtoDAsync_3020(BOGUS, s.memory, 64, s.side))
            }),
            ("memset misaligned in the fork", |s| {
                call!(s.cu, cuMemsetD32Async_3020(s.memory + 2, 1, 1, s.side))
            }),
            ("launch of NULL in the fork", |s| {
                s.cu.launch(null_mut(), crate::code::Shape::ONE, s.side, &mut [])
            }),
            ("free of others' memory in the fork", |s| call!(s.cu, cuMemFreeAsync_11020(s.memory, s.side))),
            ("host function NULL in the fork", |s| {
                call!(s.cu, cuLaunchHostFunc_10000(s.side, None, null_mut()))
            }),
            ("dependencies set with flags 9", |s| {
                call!(s.cu, cuStreamUpdateCaptureDependencies_11030(s.side, null_mut(), 0, 9))
            }),
            ("value misaligned in the fork", |s| {
                call!(s.cu, cuStreamWriteValue32_11070(s.side, s.memory + 2, 1, 0))
            }),
        ],
    )
}

fn batch(s: &Scene, stream: CUstream) -> Answer {
    let (mut to, mut from, mut size, mut start) = (s.memory, s.memory + 4096, 64usize, 0usize);
    let mut attributes = CUmemcpyAttributes {
        srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        srcLocHint: DEVICE,
        dstLocHint: DEVICE,
        flags: 0,
    };
    let (to, from, size) = (&raw mut to, &raw mut from, &raw mut size);
    let (attributes, start) = (&raw mut attributes, &raw mut start);
    call!(s.cu, cuMemcpyBatchAsync_13000(to, from, size, 1, attributes, start, 1, stream))
}

/// Unsafe calls, which a global capture does not bear.
pub(super) fn of_others(t: &mut Lines, s: &Scene) -> Outcome {
    try_each(
        t,
        s,
        CU_STREAM_CAPTURE_MODE_GLOBAL,
        &[
            ("global: cuMemAlloc", |s| {
                let mut address = 0;
                call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
            }),
            ("global: cuMemAlloc on another thread", |s| {
                s.elsewhere(|s| {
                    let mut address = 0;
                    call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
                })
            }),
            ("global: end on another thread", |s| s.elsewhere(|s| end(&s.cu, s.stream))),
            ("global: end of the fork on another thread", |s| s.elsewhere(|s| end(&s.cu, s.side))),
            ("global: query of the fork on another thread", |s| {
                s.elsewhere(|s| call!(s.cu, cuStreamQuery_2000(s.side)))
            }),
            ("global: launch in the fork on another thread", |s| s.elsewhere(|s| s.append_to(s.side, 1, 3))),
            ("global: two captures, cuMemAlloc", |s| {
                let other = match s.anew() {
                    Ok(other) => other,
                    Err(stop) => return stop.0.into(),
                };
                let begun = begin(&s.cu, other.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
                let mut address = 0;
                let answer = begun.and(|| call!(s.cu, cuMemAlloc_3020(&raw mut address, 64)));
                format!("{answer}; the other {}, {}", s.status(other.stream), end(&s.cu, other.stream)).into()
            }),
            ("global: a relaxed one beside it, cuMemAlloc", |s| {
                let other = match s.anew() {
                    Ok(other) => other,
                    Err(stop) => return stop.0.into(),
                };
                let mut address = 0;
                let answer = other.begin().and(|| call!(s.cu, cuMemAlloc_3020(&raw mut address, 64)));
                format!("{answer}; the other {}, {}", s.status(other.stream), end(&s.cu, other.stream)).into()
            }),
            ("global: a thread's on another thread, cuMemAlloc", |s| {
                let other = match s.anew() {
                    Ok(other) => other,
                    Err(stop) => return stop.0.into(),
                };
                let local = cushim::driver::sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
                let begun = other.elsewhere(|other| begin(&other.cu, other.stream, local));
                let mut address = 0;
                let answer = begun.and(|| call!(s.cu, cuMemAlloc_3020(&raw mut address, 64)));
                format!("{answer}; the other {}, {}", s.status(other.stream), end(&s.cu, other.stream)).into()
            }),
        ],
    )
}
