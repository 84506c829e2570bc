//! The calls that begin a capture, tell about it, and end it.

use super::{Capture, add, remove};
use crate::error::Answer;
use crate::graph::Graph;
use crate::pointer::{In, Out};
use crate::stream::{Kind, Stream};
use crate::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_ACTIVE,
    CU_STREAM_CAPTURE_STATUS_INVALIDATED, CU_STREAM_CAPTURE_STATUS_NONE, CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUgraph, CUgraphEdgeData, CUgraphNode, CUresult, CUstream,
    CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) fn cuStreamBeginCapture(hStream: CUstream) -> Answer {
    cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL)
}

pub(crate) fn cuStreamBeginCapture_v2(hStream: CUstream, mode: CUstreamCaptureMode) -> Answer {
    static IDS: AtomicU64 = AtomicU64::new(1);
    let stream = Stream::of(hStream)?;
    if stream.kind == Kind::Legacy {
        return Err(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if !(CU_STREAM_CAPTURE_MODE_GLOBAL.0..=CU_STREAM_CAPTURE_MODE_RELAXED.0).contains(&mode.0) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if stream.is_capturing() {
        return Err(CUDA_ERROR_ILLEGAL_STATE);
    }
    let capture = Capture {
        id: IDS.fetch_add(1, Ordering::Relaxed),
        mode,
        thread: std::thread::current().id(),
        context: stream.context.id(),
        kind: stream.kind,
        graph: Graph::new(&stream.context),
        valid: AtomicBool::new(true),
    };
    add(stream.id, capture);
    Ok(())
}

/// An end from a thread that may not do it is the end all the same, without a graph.
pub(crate) fn cuStreamEndCapture(hStream: CUstream, phGraph: Out<CUgraph>) -> Answer {
    let stream = Stream::of(hStream)?;
    let capture = remove(stream.id).ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
    let elsewhere = capture.thread != std::thread::current().id();
    let refused = if elsewhere && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED {
        Some(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    } else if !capture.is_valid() {
        Some(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    } else {
        None
    };
    if let Some(why) = refused {
        capture.graph.forget();
        phGraph.set_if_wanted(null_mut());
        return Err(why);
    }
    capture.graph.finish();
    phGraph.set_if_wanted(capture.graph.handle());
    Ok(())
}

/// The capture of a stream. The legacy stream has none, but says that another's would have to be its own.
fn capture_of(handle: CUstream) -> Result<Option<Arc<Capture>>, CUresult> {
    let stream = Stream::of(handle)?;
    if !stream.entangled().is_empty() {
        return Err(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    Ok(stream.capture())
}

fn status(capture: Option<&Capture>) -> CUstreamCaptureStatus {
    match capture {
        None => CU_STREAM_CAPTURE_STATUS_NONE,
        Some(capture) if capture.is_valid() => CU_STREAM_CAPTURE_STATUS_ACTIVE,
        Some(_) => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    }
}

pub(crate) fn cuStreamIsCapturing(hStream: CUstream, captureStatus: Out<CUstreamCaptureStatus>) -> Answer {
    let capture = capture_of(hStream)?;
    captureStatus.set(status(capture.as_deref()))
}

/// Writes the status and, of a capture that is under way, its number; answers that capture.
fn describe(
    stream: CUstream,
    captureStatus: Out<CUstreamCaptureStatus>,
    id: Out<u64>,
) -> Result<Option<Arc<Capture>>, CUresult> {
    let capture = capture_of(stream)?;
    captureStatus.set(status(capture.as_deref()))?;
    let active = capture.filter(|capture| capture.is_valid());
    if let Some(capture) = &active {
        id.set_if_wanted(capture.id);
    }
    Ok(active)
}

/// Where nothing is captured, only the status is written.
pub(crate) fn cuStreamGetCaptureInfo(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    id_out: Out<u64>,
) -> Answer {
    describe(hStream, captureStatus_out, id_out).map(drop)
}

/// What is recorded next depends on nothing, because nothing has been recorded.
pub(crate) fn cuStreamGetCaptureInfo_v2(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    id_out: Out<u64>,
    graph_out: Out<CUgraph>,
    dependencies_out: Out<*const CUgraphNode>,
    numDependencies_out: Out<usize>,
) -> Answer {
    if let Some(capture) = describe(hStream, captureStatus_out, id_out)? {
        graph_out.set_if_wanted(capture.graph.handle());
        dependencies_out.set_if_wanted(null());
        numDependencies_out.set_if_wanted(0);
    }
    Ok(())
}

pub(crate) fn cuStreamGetCaptureInfo_v3(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    id_out: Out<u64>,
    graph_out: Out<CUgraph>,
    dependencies_out: Out<*const CUgraphNode>,
    edgeData_out: Out<*const CUgraphEdgeData>,
    numDependencies_out: Out<usize>,
) -> Answer {
    if let Some(capture) = describe(hStream, captureStatus_out, id_out)? {
        graph_out.set_if_wanted(capture.graph.handle());
        dependencies_out.set_if_wanted(null());
        edgeData_out.set_if_wanted(null());
        numDependencies_out.set_if_wanted(0);
    }
    Ok(())
}

/// There are no nodes that something could depend on.
fn update(stream: CUstream) -> Answer {
    let stream = Stream::of(stream)?;
    Err(if stream.is_capturing() { CUDA_ERROR_NOT_SUPPORTED } else { CUDA_ERROR_ILLEGAL_STATE })
}

pub(crate) fn cuStreamUpdateCaptureDependencies(
    hStream: CUstream,
    _dependencies: Out<CUgraphNode>,
    _numDependencies: usize,
    _flags: u32,
) -> Answer {
    update(hStream)
}

pub(crate) fn cuStreamUpdateCaptureDependencies_v2(
    hStream: CUstream,
    _dependencies: Out<CUgraphNode>,
    _dependencyData: In<CUgraphEdgeData>,
    _numDependencies: usize,
    _flags: u32,
) -> Answer {
    update(hStream)
}
