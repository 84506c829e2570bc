//! Captures begin.

use super::again::Again;
use super::recording::Recording;
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUgraph,
    CUgraphEdgeData, CUgraphNode, CUgraphRecaptureCallback, CUresult, CUstream, CUstreamCaptureMode,
};
use crate::driver::capture::tail::Tail;
use crate::driver::graph::capture::dependencies::named;
use crate::driver::graph::definition::{Graph, Work};
use crate::driver::stream::{Kind, Stream};
use crate::instruments::complain::complain;
use std::ffi::c_void;
use std::sync::Arc;

/// A stream on which a capture can begin.
fn stream(handle: CUstream, mode: CUstreamCaptureMode) -> Result<Arc<Stream>, CUresult> {
    let stream = Stream::of(handle)?;
    stream.check_untangled()?;
    if stream.kind == Kind::Legacy {
        return Err(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if !(CU_STREAM_CAPTURE_MODE_GLOBAL.0..=CU_STREAM_CAPTURE_MODE_RELAXED.0).contains(&mode.0) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if stream.is_capturing() { Err(CUDA_ERROR_ILLEGAL_STATE) } else { Ok(stream) }
}

/// The captures of CUDA 10.0 are relaxed (measured).
pub(crate) fn cuStreamBeginCapture(hStream: CUstream) -> Answer {
    cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_RELAXED)
}

pub(crate) fn cuStreamBeginCapture_v2(hStream: CUstream, mode: CUstreamCaptureMode) -> Answer {
    let stream = stream(hStream, mode)?;
    let graph = Graph::of_capture();
    stream.begin_capture(mode, Recording::of(&graph), Tail::default()).inspect_err(|_| graph.destroy())
}

/// Only one capture at a time makes nodes of a graph.
pub(crate) fn cuStreamBeginCaptureToGraph(
    hStream: CUstream,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    dependencyData: In<CUgraphEdgeData>,
    numDependencies: usize,
    mode: CUstreamCaptureMode,
) -> Answer {
    let stream = stream(hStream, mode)?;
    let graph = Graph::of(hGraph)?;
    let tail = named(&graph, dependencies, dependencyData, numDependencies)?;
    graph.begin_capture()?;
    stream.begin_capture(mode, Recording::of(&graph), tail).inspect_err(|_| graph.hand_over())
}

/// Its nodes take over what the stream is given, in the order in which they were added.
pub(crate) fn cuStreamBeginRecaptureToGraph(
    hStream: CUstream,
    mode: CUstreamCaptureMode,
    hGraph: CUgraph,
    callbackFunc: CUgraphRecaptureCallback,
    _userData: *mut c_void,
) -> Answer {
    let stream = stream(hStream, mode)?;
    let graph = Graph::of(hGraph)?;
    if callbackFunc.is_some() {
        complain("softcuda calls no function for parameters that differ; the capture is refused");
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let is_plain = graph.nodes().iter().all(|node| matches!(node.work(), Work::Leaf(_)));
    if !is_plain || graph.has_updatable() {
        complain("softcuda recaptures only graphs of plain nodes; the capture is refused");
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    graph.begin_capture()?;
    stream.begin_capture(mode, Again::of(&graph), Tail::default()).inspect_err(|_| graph.hand_over())
}
