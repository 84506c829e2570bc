//! The default streams beside one that captures: what would have to be captured with it is refused.
//!
//! One line for each call and mode; in it the answers where these capture: a blocking stream, a non-blocking one, the
//! per-thread stream, a blocking one as the fork of a non-blocking one, and the other way round. `!`: the capture is invalidated.

use super::scene::{SIZE, Scene};
use super::{MODES, begin, end};
use crate::driver::{Answer, Cu, LEGACY, Outcome, PER_THREAD, call};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN as DOMAIN, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY as POLICY,
    CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUlaunchAttributeValue, CUresult,
    CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Duration;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_implicit", parts: 2, devices: 1, run };

/// What is asked while a stream captures.
type Row = (&'static str, fn(&Scene) -> Answer);

const TABLES: &[&[Row]] = &[SYNCHRONOUS, WORK, QUESTIONS, OTHERS];

extern "C" fn nothing(_: *mut c_void) {}
extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

/// Calls that use the legacy stream though they do not name it.
const SYNCHRONOUS: &[Row] = &[
    ("cuMemcpyHtoD", |s| call!(s.cu, cuMemcpyHtoD_3020(s.memory, s.pinned, 64))),
    ("cuMemcpyHtoD of 0 bytes", |s| call!(s.cu, cuMemcpyHtoD_3020(s.memory, s.pinned, 0))),
    ("cuMemcpyDtoH", |s| call!(s.cu, cuMemcpyDtoH_3020(s.pinned, s.memory, 64))),
    ("cuMemcpyDtoD", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.memory + 1024, 64))),
    ("cuMemcpyDtoD to a bad address", |s| {
        call!(s.cu, cuMemcpyDtoD_3020(crate::driver::BOGUS, s.memory + 1024, 64))
    }),
    ("cuMemcpy", |s| call!(s.cu, cuMemcpy_4000(s.memory, s.memory + 1024, 64))),
    ("cuMemcpyPeer", |s| call!(s.cu, cuMemcpyPeer_4000(s.memory, s.context, s.memory + 1024, s.context, 64))),
    ("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 64))),
    ("cuMemsetD32", |s| call!(s.cu, cuMemsetD32_3020(s.memory, 0, 16))),
    ("cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
    }),
    ("cuCtxSynchronize", |s| call!(s.cu, cuCtxSynchronize_2000())),
];

/// Work in the default streams.
const WORK: &[Row] = &[
    ("cuLaunchKernel on legacy", |s| s.append(LEGACY, 0)),
    ("cuLaunchKernel on NULL", |s| s.append(null_mut(), 0)),
    ("cuLaunchKernel on per-thread", |s| s.append(PER_THREAD, 0)),
    ("cuLaunchKernel on another blocking one", |s| s.append(s.side, 0)),
    ("cuMemsetD8Async on legacy", |s| call!(s.cu, cuMemsetD8Async_3020(s.memory, 0, 64, LEGACY))),
    ("cuMemcpyHtoDAsync on legacy", |s| call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, s.pinned, 64, LEGACY))),
    ("cuLaunchHostFunc on legacy", |s| {
        call!(s.cu, cuLaunchHostFunc_10000(LEGACY, Some(nothing), null_mut()))
    }),
    ("cuStreamAddCallback on legacy", |s| {
        call!(s.cu, cuStreamAddCallback_5000(LEGACY, Some(called), null_mut(), 0))
    }),
    ("cuStreamWriteValue32 on legacy", |s| {
        call!(s.cu, cuStreamWriteValue32_11070(LEGACY, s.memory + 4096, 0, 0))
    }),
    ("cuMemAllocAsync on legacy", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, LEGACY))
    }),
    ("cuMemFreeAsync NULL on legacy", |s| call!(s.cu, cuMemFreeAsync_11020(0, LEGACY))),
    ("cuMemPrefetchAsync on legacy", |s| {
        let mut address = 0;
        let _ = s.relaxed(|| call!(s.cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1)));
        call!(s.cu, cuMemPrefetchAsync_8000(address, SIZE, 0, LEGACY))
    }),
    ("cuEventRecord on legacy", |s| s.record(s.event, LEGACY)),
    ("cuEventRecord on per-thread", |s| s.record(s.event, PER_THREAD)),
    ("cuStreamWaitEvent on legacy, never recorded", |s| s.wait(LEGACY, s.joined)),
    ("cuStreamWaitEvent on per-thread, never recorded", |s| s.wait(PER_THREAD, s.joined)),
];

/// Whether a stream is done, as soon as it is.
fn query(s: &Scene, stream: CUstream) -> Answer {
    const NOT_READY: &str = "600";
    for _ in 0..1000 {
        match call!(s.cu, cuStreamQuery_2000(stream)) {
            answer if answer.number() == NOT_READY => std::thread::sleep(Duration::from_millis(1)),
            answer => return answer,
        }
    }
    "it is never done".into()
}

/// Questions about the default streams.
const QUESTIONS: &[Row] = &[
    ("cuStreamQuery of legacy", |s| query(s, LEGACY)),
    ("cuStreamSynchronize of legacy", |s| call!(s.cu, cuStreamSynchronize_2000(LEGACY))),
    ("cuStreamQuery of per-thread", |s| call!(s.cu, cuStreamQuery_2000(PER_THREAD))),
    ("cuStreamIsCapturing of legacy", |s| s.status(LEGACY)),
    ("cuStreamIsCapturing of NULL", |s| s.status(null_mut())),
    ("cuStreamIsCapturing of per-thread", |s| s.status(PER_THREAD)),
    ("cuStreamGetCaptureInfo of legacy, 10010", |s| {
        let (mut status, mut id) = (CUstreamCaptureStatus(77), 0);
        call!(s.cu, cuStreamGetCaptureInfo_10010(LEGACY, &raw mut status, &raw mut id)).then(|| status.0)
    }),
    ("cuStreamGetCaptureInfo of legacy, newest", |s| {
        let info = s.info(LEGACY);
        info.answer.then(|| info.status.0)
    }),
    ("cuStreamGetFlags of legacy", |s| {
        let mut flags = 0;
        call!(s.cu, cuStreamGetFlags_5050(LEGACY, &raw mut flags))
    }),
    ("cuStreamGetPriority of legacy", |s| {
        let mut priority = 0;
        call!(s.cu, cuStreamGetPriority_5050(LEGACY, &raw mut priority))
    }),
    ("cuStreamGetDevice of legacy", |s| {
        let mut device = 0;
        call!(s.cu, cuStreamGetDevice_12080(LEGACY, &raw mut device))
    }),
    ("cuStreamGetId of legacy", |s| {
        let mut id = 0;
        call!(s.cu, cuStreamGetId_12000(LEGACY, &raw mut id))
    }),
    ("cuStreamGetCtx of legacy", |s| {
        let mut context = null_mut();
        call!(s.cu, cuStreamGetCtx_9020(LEGACY, &raw mut context))
    }),
    ("cuStreamGetAttribute of legacy", |s| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        call!(s.cu, cuStreamGetAttribute_11000(LEGACY, POLICY, &raw mut value))
    }),
    ("cuStreamSetAttribute of legacy", |s| {
        let value = CUlaunchAttributeValue { pad: [0; 64] };
        call!(s.cu, cuStreamSetAttribute_11000(LEGACY, DOMAIN, &raw const value))
    }),
    ("cuStreamCopyAttributes from legacy", |s| call!(s.cu, cuStreamCopyAttributes_11000(s.stream, LEGACY))),
    ("cuStreamBeginCapture of legacy", |s| begin(&s.cu, LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED)),
    ("cuStreamEndCapture of legacy", |s| end(&s.cu, LEGACY)),
    ("no dependencies set for legacy", |s| {
        call!(s.cu, cuStreamUpdateCaptureDependencies_11030(LEGACY, null_mut(), 0, 1))
    }),
];

/// The same from other threads, and from one in relaxed mode.
const OTHERS: &[Row] = &[
    ("another thread: cuMemcpyHtoD", |s| {
        s.elsewhere(|s| call!(s.cu, cuMemcpyHtoD_3020(s.memory, s.pinned, 64)))
    }),
    ("another thread: cuLaunchKernel on legacy", |s| s.elsewhere(|s| s.append(LEGACY, 0))),
    ("another thread: cuLaunchKernel on its per-thread", |s| s.elsewhere(|s| s.append(PER_THREAD, 0))),
    ("another thread: cuStreamIsCapturing of legacy", |s| s.elsewhere(|s| s.status(LEGACY))),
    ("another thread: cuEventRecord on legacy", |s| s.elsewhere(|s| s.record(s.event, LEGACY))),
    ("relaxed thread: cuMemcpyHtoD", |s| {
        s.relaxed(|| call!(s.cu, cuMemcpyHtoD_3020(s.memory, s.pinned, 64)))
    }),
    ("relaxed thread: cuLaunchKernel on legacy", |s| s.relaxed(|| s.append(LEGACY, 0))),
    ("relaxed thread: cuStreamSynchronize of legacy", |s| {
        s.relaxed(|| call!(s.cu, cuStreamSynchronize_2000(LEGACY)))
    }),
    ("relaxed thread: cuEventRecord on legacy", |s| s.relaxed(|| s.record(s.event, LEGACY))),
];

impl Scene {
    /// Calls while this thread's mode is relaxed.
    fn relaxed(&self, call: impl FnOnce() -> Answer) -> Answer {
        let mut mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        let _ = call!(self.cu, cuThreadExchangeStreamCaptureMode_10010(&raw mut mode));
        let answer = call();
        let _ = call!(self.cu, cuThreadExchangeStreamCaptureMode_10010(&raw mut mode));
        answer
    }
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = Scene::new(cu)?;
    match part {
        0 => TABLES.iter().try_for_each(|rows| table(t, &scene, rows)),
        _ => afterwards(t, &scene),
    }
}

fn table(t: &mut Lines, scene: &Scene, rows: &[Row]) -> Outcome {
    for (name, ask) in rows {
        let (s, blocking, side) = (scene.anew()?, scene.cu.stream(0)?, scene.cu.stream(0)?);
        // The second stream of each is the fork, if there is one.
        let who = [
            (blocking, null_mut()),
            (s.stream, null_mut()),
            (PER_THREAD, null_mut()),
            (s.stream, blocking),
            (blocking, s.stream),
        ];
        let s = Scene { side, ..s };
        for (of, mode) in MODES {
            t.line(&format!("{of}: {name}"), || {
                who.map(|(first, fork)| asked(&s, first, fork, mode, *ask)).join(" ")
            });
        }
    }
    Ok(())
}

/// One answer.
fn asked(
    s: &Scene,
    first: CUstream,
    fork: CUstream,
    mode: CUstreamCaptureMode,
    ask: fn(&Scene) -> Answer,
) -> String {
    let begun = begin(&s.cu, first, mode).and(|| match fork.is_null() {
        true => s.append(first, 0),
        false => s.append(first, 0).and(|| s.fork(first, fork)),
    });
    let fresh = match (begun.succeeded(), s.cu.event(0), s.cu.event(0)) {
        (true, Ok(event), Ok(joined)) => Scene { event, joined, ..*s },
        _ => {
            let _ = end(&s.cu, first);
            return format!("begin {}", begun.number());
        }
    };
    let answer = ask(&fresh);
    let invalidated = CU_STREAM_CAPTURE_STATUS_INVALIDATED.0.to_string();
    let mark = if s.status(first).number() == invalidated { "!" } else { "" };
    let _ = end(&s.cu, first);
    for event in [fresh.event, fresh.joined] {
        let _ = call!(s.cu, cuEventDestroy_4000(event));
    }
    format!("{}{mark}", answer.number())
}

/// Work of the legacy stream before a capture begins, and after it has ended.
fn afterwards(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let s = &Scene { stream: cu.stream(0)?, side: cu.stream(0)?, ..*s };
    t.line("event of legacy, a blocking one captures and waits", || {
        s.record(s.event, LEGACY).and(|| s.begin()).and(|| s.wait(s.stream, s.event))
    });
    t.line("  status, end", || format!("{}, {}", s.status(s.stream), end(cu, s.stream)));
    t.line("two blocking ones capture, one ends", || {
        let side = Scene { stream: s.side, ..*s };
        s.begin().and(|| side.begin()).and(|| end(cu, s.stream)).and(|| s.append(LEGACY, 1))
    });
    t.line("  status, end of the other", || format!("{}, {}", s.status(s.side), end(cu, s.side)));
    t.line("  legacy then", || s.append(LEGACY, 1));
    t.line("two capture, legacy is used: both", || {
        let side = Scene { stream: s.side, ..*s };
        let launched = s.begin().and(|| side.begin()).and(|| s.append(LEGACY, 1));
        format!("{launched}, {} {}", s.status(s.stream), s.status(s.side))
    });
    t.line("  ends", || format!("{}, {}", end(cu, s.stream), end(cu, s.side)));
    t.line("a fork of a blocking one, itself destroyed", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.fork(s.stream, s.third))
            .and(|| call!(cu, cuStreamDestroy_4000(s.stream)))
            .and(|| s.append(LEGACY, 1))
    });
    t.line("  status of legacy", || s.status(LEGACY));
    Ok(())
}
