//! Captures that a test begins and ends.

use super::{Library, at};

pub(crate) const ILLEGAL_STATE: i32 = 401;
pub(crate) const UNSUPPORTED: i32 = 900;
pub(crate) const INVALIDATED: i32 = 901;

pub(crate) const GLOBAL: u64 = 0;
pub(crate) const THREAD_LOCAL: u64 = 1;
pub(crate) const RELAXED: u64 = 2;

pub(crate) fn begin(cu: &Library, stream: u64, mode: u64) -> i32 {
    cu.call("cuStreamBeginCapture_v2", &[stream, mode])
}

pub(crate) fn status(cu: &Library, stream: u64) -> i32 {
    let mut status = 99;
    assert_eq!(cu.call("cuStreamIsCapturing", &[stream, at(&mut status)]), 0);
    status
}

/// The answer, and the graph.
pub(crate) fn end(cu: &Library, stream: u64) -> (i32, u64) {
    let mut graph = 7;
    (cu.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph)
}

/// Ends a capture that must be in good health.
pub(crate) fn graph_of(cu: &Library, stream: u64) -> u64 {
    let (answer, graph) = end(cu, stream);
    assert_eq!(answer, 0);
    graph
}
