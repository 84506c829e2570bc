//! Begin, end, and what is told in between.

use super::{MODES, begin, end, status};
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};
use std::ptr::null_mut;

const GLOBAL: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("end without begin", || end(cu, stream));
    t.line("begin on legacy", || begin(cu, LEGACY, GLOBAL));
    t.line("begin on NULL stream", || begin(cu, null_mut(), GLOBAL));
    t.line("begin with mode 3", || begin(cu, stream, CUstreamCaptureMode(3)));
    t.line("status of none", || status(cu, stream));
    t.line("begin", || begin(cu, stream, GLOBAL));
    t.line("begin again", || begin(cu, stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    t.line("  status", || status(cu, stream));
    t.line("end to NULL", || call!(cu, cuStreamEndCapture_10000(stream, null_mut())));
    t.line("  status", || status(cu, stream));
    // Whether that has ended it or not, the next one begins.
    let _ = end(cu, stream);
    t.line("begin on per-thread", || begin(cu, PER_THREAD, GLOBAL));
    t.line("  end", || end(cu, PER_THREAD));
    for (name, mode) in MODES {
        t.line(&format!("begin, {name}"), || begin(cu, stream, mode));
        t.line("  end", || end(cu, stream));
    }
    info(t, cu, stream)?;
    events(t, cu, stream)?;
    destroyed(t, cu, stream)
}

/// What is known about a stream's capture: its state, and the graph.
fn graph_of(cu: &Cu, stream: CUstream, graph: &mut CUgraph) -> Answer {
    let mut status = CUstreamCaptureStatus(77);
    call!(
        cu,
        cuStreamGetCaptureInfo_11030(stream, &raw mut status, null_mut(), graph, null_mut(), null_mut())
    )
    .then(|| status.0)
}

fn info(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let (mut status, mut id) = (CUstreamCaptureStatus(77), 4711u64);
    t.line("info without a capture", || {
        call!(cu, cuStreamGetCaptureInfo_10010(stream, &raw mut status, &raw mut id)).then(|| status.0)
    });
    t.line("  id is untouched", || yes(id == 4711));
    t.line("update dependencies without a capture", || {
        call!(cu, cuStreamUpdateCaptureDependencies_11030(stream, null_mut(), 0, 0))
    });
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    let (mut during, mut after, mut nodes) = (null_mut(), null_mut(), 77usize);
    t.line("info while capturing", || graph_of(cu, stream, &mut during));
    t.line("  there is a graph", || yes(!during.is_null()));
    need!(cu, cuStreamEndCapture_10000(stream, &raw mut after))?;
    t.line("  the same graph at the end", || yes(during == after));
    t.line("  nodes", || call!(cu, cuGraphGetNodes_10000(after, null_mut(), &raw mut nodes)).then(|| nodes));
    t.line("destroy it", || call!(cu, cuGraphDestroy_10000(after)));
    t.line("graph destroy NULL", || call!(cu, cuGraphDestroy_10000(null_mut())));
    Ok(())
}

/// A wait for an event depends on what was recorded outside.
fn events(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let (event, other) = (cu.event(0)?, cu.stream(NON_BLOCKING)?);
    let wait = || call!(cu, cuStreamWaitEvent_3020(stream, event, 0));
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    t.line("wait for a never-recorded event", wait);
    t.line("  status, end", || format!("{}, {}", status(cu, stream), end(cu, stream)));
    need!(cu, cuEventRecord_2000(event, other))?;
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    t.line("wait for an event of uncaptured work", wait);
    t.line("  status, end", || format!("{}, {}", status(cu, stream), end(cu, stream)));
    t.line("  stream usable", || call!(cu, cuStreamSynchronize_2000(stream)));
    Ok(())
}

fn destroyed(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    t.line("destroy capturing stream", || call!(cu, cuStreamDestroy_4000(stream)));
    let mut address = 0;
    t.line("  cuMemAlloc then", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    Ok(())
}
