//! Captures end.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUgraph, CUresult, CUstream,
};
use crate::driver::capture::{self, Capture};
use crate::driver::graph::definition::Graph;
use crate::driver::stream::Stream;
use crate::driver::stream::capturing::{graph_of, recorder_of};
use std::ptr::null_mut;

pub(crate) fn cuStreamEndCapture(hStream: CUstream, phGraph: Out<CUgraph>) -> Answer {
    let ended = end(hStream);
    phGraph.set_if_wanted(ended.unwrap_or(null_mut()));
    ended.map(drop)
}

/// Ends a capture where it began; answers the graph. If there is none, because the capture is invalid, or for the thread or the
/// streams that take part, it ends all the same.
fn end(stream: CUstream) -> Result<CUgraph, CUresult> {
    let stream = Stream::of(stream)?;
    stream.check_untangled()?;
    let capture = stream.capture().ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
    if !capture.began_on(stream.id()) {
        return Err(capture.refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
    }
    let checked = check(&capture, &stream);
    if !capture::end(&capture) {
        return Err(CUDA_ERROR_ILLEGAL_STATE);
    }
    let recorder = recorder_of(&capture).ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
    match checked {
        Ok(()) => recorder.finish()?,
        Err(_) => recorder.discard(),
    }
    checked.map(|()| recorder.graph())
}

/// Why there is no graph, if so, in the order that was measured.
fn check(capture: &Capture, stream: &Stream) -> Answer {
    capture.check()?;
    // A body goes with its node.
    let gone = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    let graph = Graph::of(graph_of(capture).ok_or(gone)?).map_err(|_| gone)?;
    let ends = capture.ends_of_forks();
    if !ends.is_empty() && !graph.leads_to(&capture.tail(stream.id()).nodes(), &ends) {
        return Err(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    let elsewhere = capture.thread != std::thread::current().id();
    if elsewhere && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED {
        return Err(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }
    Ok(())
}
