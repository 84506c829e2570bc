//! Objects of a context that was destroyed. A real driver does not defend itself here: each question has its process.

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "ctxgone", parts: QUESTIONS.len(), devices: 1, run };

struct Gone {
    cu: Cu,
    context: CUcontext,
    stream: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
    /// Of the primary context, which is current.
    living: CUstream,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let primary = cu.start()?;
    let living = cu.stream(NON_BLOCKING)?;
    let context = cu.context()?;
    let (stream, event, memory) = (cu.stream(NON_BLOCKING)?, cu.event(0)?, cu.memory(4096)?);
    need!(cu, cuEventRecord_2000(event, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    need!(cu, cuCtxDestroy_4000(context))?;
    need!(cu, cuCtxSetCurrent_4000(primary))?;
    let gone = Gone { cu: *cu, context, stream, event, memory, living };
    let (situation, ask) = QUESTIONS[part];
    t.line(situation, || ask(&gone));
    if CURRENT.contains(&situation) {
        t.last("  and the process ends");
    }
    Ok(())
}

type Question = (&'static str, fn(&Gone) -> Answer);

/// The questions after which the destroyed context is current. A real driver does not survive its own exit handlers then.
const CURRENT: &[&str] = &["cuCtxSetCurrent", "cuCtxPushCurrent"];

extern "C" fn nothing(_: *mut c_void) {}

const QUESTIONS: &[Question] = &[
    ("cuStreamQuery", |g| call!(g.cu, cuStreamQuery_2000(g.stream))),
    ("cuStreamSynchronize", |g| call!(g.cu, cuStreamSynchronize_2000(g.stream))),
    ("cuStreamGetFlags", |g| {
        let mut flags = 0;
        call!(g.cu, cuStreamGetFlags_5050(g.stream, &raw mut flags))
    }),
    ("cuStreamWaitEvent on the stream", |g| call!(g.cu, cuStreamWaitEvent_3020(g.stream, g.event, 0))),
    ("cuStreamWaitEvent on a living stream", |g| call!(g.cu, cuStreamWaitEvent_3020(g.living, g.event, 0))),
    ("cuLaunchHostFunc", |g| call!(g.cu, cuLaunchHostFunc_10000(g.stream, Some(nothing), null_mut()))),
    ("cuMemsetD8Async on the stream", |g| call!(g.cu, cuMemsetD8Async_3020(g.memory, 0, 64, g.stream))),
    ("cuStreamDestroy", |g| call!(g.cu, cuStreamDestroy_4000(g.stream))),
    ("cuEventQuery", |g| call!(g.cu, cuEventQuery_2000(g.event))),
    ("cuEventSynchronize", |g| call!(g.cu, cuEventSynchronize_2000(g.event))),
    ("cuEventRecord on a living stream", |g| call!(g.cu, cuEventRecord_2000(g.event, g.living))),
    ("cuEventElapsedTime", |g| {
        let mut milliseconds = 0.0;
        call!(g.cu, cuEventElapsedTime_2000(&raw mut milliseconds, g.event, g.event))
    }),
    ("cuEventDestroy", |g| call!(g.cu, cuEventDestroy_4000(g.event))),
    ("cuMemFree", |g| call!(g.cu, cuMemFree_3020(g.memory))),
    ("cuMemFreeAsync on a living stream", |g| call!(g.cu, cuMemFreeAsync_11020(g.memory, g.living))),
    ("cuMemsetD8Async on a living stream", |g| call!(g.cu, cuMemsetD8Async_3020(g.memory, 0, 64, g.living))),
    ("cuCtxSetCurrent", |g| call!(g.cu, cuCtxSetCurrent_4000(g.context))),
    ("cuCtxPushCurrent", |g| call!(g.cu, cuCtxPushCurrent_4000(g.context))),
    ("cuCtxDestroy again", |g| call!(g.cu, cuCtxDestroy_4000(g.context))),
    ("cuCtxGetApiVersion", |g| {
        let mut version = 0;
        call!(g.cu, cuCtxGetApiVersion_3020(g.context, &raw mut version))
    }),
    ("cuCtxGetId", |g| {
        let mut id = 0;
        call!(g.cu, cuCtxGetId_12000(g.context, &raw mut id))
    }),
];
