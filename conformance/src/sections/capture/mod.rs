//! Captures of streams: how they begin and end, what they refuse, and what invalidates them.

pub(super) mod begin;
pub(super) mod bodies;
mod calls;
pub(super) mod dependencies;
pub(super) mod edits;
pub(super) mod forks;
mod graph;
pub(super) mod implicit;
mod info;
pub(super) mod invalid;
mod legacy;
pub(super) mod memory;
pub(super) mod modes;
pub(super) mod nodes;
mod object;
pub(super) mod replays;
mod scene;
mod states;
mod threads;
pub(super) mod to_graph;
pub(super) mod two_devices;

use super::Section;
use crate::driver::{Answer, Cu, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    CUgraph, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "capture", parts: 7, devices: 1, run };

const MODES: [(&str, CUstreamCaptureMode); 3] = [
    ("global", CU_STREAM_CAPTURE_MODE_GLOBAL),
    ("thread", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
    ("relaxed", CU_STREAM_CAPTURE_MODE_RELAXED),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    match part {
        0 => states::run(t, cu),
        1 => calls::of_the_stream(t, cu),
        2 => calls::unsafe_ones(t, cu),
        3 => calls::safe_ones(t, cu),
        4 => calls::of_managed_memory(t, cu),
        5 => legacy::run(t, cu),
        _ => threads::run(t, cu, context),
    }
}

fn begin(cu: &Cu, stream: CUstream, mode: CUstreamCaptureMode) -> Answer {
    call!(cu, cuStreamBeginCapture_10010(stream, mode))
}

fn status(cu: &Cu, stream: CUstream) -> Answer {
    let mut status = CUstreamCaptureStatus(77);
    call!(cu, cuStreamIsCapturing_10000(stream, &raw mut status)).then(|| status.0)
}

/// Ends a capture and destroys what it has made.
fn end(cu: &Cu, stream: CUstream) -> Answer {
    let mut graph: CUgraph = null_mut();
    let ended = call!(cu, cuStreamEndCapture_10000(stream, &raw mut graph));
    if !graph.is_null() {
        let _ = call!(cu, cuGraphDestroy_10000(graph));
    }
    ended
}

/// What a call answers while a stream captures; the line below it tells the capture's state then, and how it ends.
fn during(
    t: &mut Lines,
    cu: &Cu,
    (stream, mode): (CUstream, (&str, CUstreamCaptureMode)),
    name: &str,
    call: impl FnOnce() -> Answer,
) -> Outcome {
    need!(cu, cuStreamBeginCapture_10010(stream, mode.1))?;
    t.line(&format!("{}: {name}", mode.0), call);
    t.line("  status, end", || format!("{}, {}", status(cu, stream), end(cu, stream)));
    Ok(())
}
