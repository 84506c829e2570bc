//! Captures, and threads beside the one that has begun them.

use super::{MODES, begin, end, status};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUcontext, CUevent, CUstream,
    CUstreamCaptureMode,
};

/// What threads are given; the pointers are handles.
#[derive(Clone, Copy)]
struct Shared {
    cu: Cu,
    context: CUcontext,
    stream: CUstream,
    other: CUstream,
    event: CUevent,
}

// SAFETY: handles may be used by every thread.
unsafe impl Send for Shared {}

type Question = (&'static str, fn(Shared) -> Answer);

const QUESTIONS: [Question; 4] = [
    ("cuMemAlloc", |shared| {
        let mut address = 0;
        call!(shared.cu, cuMemAlloc_3020(&raw mut address, 64))
    }),
    ("cuEventQuery", |shared| call!(shared.cu, cuEventQuery_2000(shared.event))),
    ("cuStreamSynchronize", |shared| call!(shared.cu, cuStreamSynchronize_2000(shared.other))),
    ("cuCtxSynchronize", |shared| call!(shared.cu, cuCtxSynchronize_2000())),
];

const END: Question = ("end", |shared| end(&shared.cu, shared.stream));

pub(super) fn run(t: &mut Lines, cu: &Cu, context: CUcontext) -> Outcome {
    let (stream, other, event) = (cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?, cu.event(0)?);
    need!(cu, cuEventRecord_2000(event, other))?;
    need!(cu, cuStreamSynchronize_2000(other))?;
    let shared = Shared { cu: *cu, context, stream, other, event };
    for (name, mode) in MODES {
        for question in QUESTIONS {
            one(t, shared, &format!("{name}: other thread: {}", question.0), mode, question, None)?;
        }
        one(t, shared, &format!("{name}: end from other thread"), mode, END, None)?;
    }
    let relaxed = Some(CU_STREAM_CAPTURE_MODE_RELAXED);
    for question in QUESTIONS {
        let name = format!("global: other thread, relaxed: {}", question.0);
        one(t, shared, &name, CU_STREAM_CAPTURE_MODE_GLOBAL, question, relaxed)?;
    }
    exchange(t, cu, shared);
    Ok(())
}

/// Puts a question on another thread, of this mode, while the stream captures.
fn one(
    t: &mut Lines,
    shared: Shared,
    name: &str,
    mode: CUstreamCaptureMode,
    question: Question,
    own: Option<CUstreamCaptureMode>,
) -> Outcome {
    let (cu, stream) = (shared.cu, shared.stream);
    need!(cu, cuStreamBeginCapture_10010(stream, mode))?;
    let ask = move || -> Answer {
        let shared = shared;
        let current = call!(shared.cu, cuCtxSetCurrent_4000(shared.context));
        if let Some(mut own) = own {
            let _ = call!(shared.cu, cuThreadExchangeStreamCaptureMode_10010(&raw mut own));
        }
        if current.succeeded() { question.1(shared) } else { current }
    };
    let answer = std::thread::spawn(ask).join().unwrap_or_else(|_| "the thread has panicked".into());
    t.line(name, || answer);
    t.line("  status, end", || format!("{}, {}", status(&cu, stream), end(&cu, stream)));
    Ok(())
}

fn exchange(t: &mut Lines, cu: &Cu, shared: Shared) {
    let change = |mode: i32| {
        let mut mode = CUstreamCaptureMode(mode);
        call!(cu, cuThreadExchangeStreamCaptureMode_10010(&raw mut mode)).then(|| mode.0)
    };
    t.line("exchange the thread's mode for relaxed", || change(2));
    t.line("begin, global", || begin(cu, shared.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    t.line("  cuMemAlloc", || QUESTIONS[0].1(shared));
    t.line("  status, end", || format!("{}, {}", status(cu, shared.stream), end(cu, shared.stream)));
    t.line("exchange it for 9", || change(9));
    t.line("exchange it for global", || change(0));
}
