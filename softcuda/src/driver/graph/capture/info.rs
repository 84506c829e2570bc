//! What a stream's capture is, and how far it has come.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED, CU_STREAM_CAPTURE_STATUS_NONE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LOSSY_QUERY, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUgraph,
    CUgraphEdgeData, CUgraphNode, CUresult, CUstream, CUstreamCaptureStatus,
};
use crate::driver::capture::Capture;
use crate::driver::graph::edge::EdgeData;
use crate::driver::stream::Stream;
use crate::driver::stream::capturing::graph_of;
use std::sync::Arc;

/// A stream and its capture. The legacy stream has none, but says that another's would have to be its own.
fn capture_of(handle: CUstream) -> Result<(Arc<Stream>, Option<Arc<Capture>>), CUresult> {
    let stream = Stream::of(handle)?;
    if !stream.entangled().is_empty() {
        return Err(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    let capture = stream.capture();
    Ok((stream, capture))
}

fn status(capture: Option<&Capture>) -> CUstreamCaptureStatus {
    match capture {
        None => CU_STREAM_CAPTURE_STATUS_NONE,
        Some(capture) if capture.is_valid() => CU_STREAM_CAPTURE_STATUS_ACTIVE,
        Some(_) => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    }
}

pub(crate) fn cuStreamIsCapturing(hStream: CUstream, captureStatus: Out<CUstreamCaptureStatus>) -> Answer {
    let (_, capture) = capture_of(hStream)?;
    captureStatus.set(status(capture.as_deref()))
}

/// What a caller wants to be told beside the status.
struct Wanted {
    id: Out<u64>,
    graph: Out<CUgraph>,
    nodes: Out<*const CUgraphNode>,
    data: Out<*const CUgraphEdgeData>,
    count: Out<usize>,
}

impl Wanted {
    /// Of a capture that is under way everything is told, else only the status. Nodes are not told without what the edges
    /// from them say, nor the other way round.
    fn tell(&self, stream: CUstream, to_status: Out<CUstreamCaptureStatus>) -> Answer {
        to_status.check()?;
        let (stream, capture) = capture_of(stream)?;
        if let Some(active) = capture.as_ref().filter(|capture| capture.is_valid()) {
            self.tell_tail(active, &stream)?;
            self.id.set_if_wanted(active.id);
            if let Some(graph) = graph_of(active) {
                self.graph.set_if_wanted(graph);
            }
        }
        to_status.set(status(capture.as_deref()))
    }

    fn tell_tail(&self, capture: &Capture, stream: &Stream) -> Answer {
        let (nodes, data) = (self.nodes.address() != 0, self.data.address() != 0);
        if data && !nodes {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let tail = capture.tail(stream.id());
        let is_plain = |data| EdgeData::read(data).is_ok_and(EdgeData::is_plain);
        if nodes && !data && !tail.items().iter().all(|dependency| is_plain(dependency.data)) {
            return Err(CUDA_ERROR_LOSSY_QUERY);
        }
        let told = capture.tell(stream.id());
        self.nodes.set_if_wanted(told.nodes);
        self.data.set_if_wanted(told.data);
        self.count.set_if_wanted(told.count);
        Ok(())
    }
}

pub(crate) fn cuStreamGetCaptureInfo(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    id_out: Out<u64>,
) -> Answer {
    let (graph, nodes, data, count) = (Out::null(), Out::null(), Out::null(), Out::null());
    Wanted { id: id_out, graph, nodes, data, count }.tell(hStream, captureStatus_out)
}

pub(crate) fn cuStreamGetCaptureInfo_v2(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    id_out: Out<u64>,
    graph_out: Out<CUgraph>,
    dependencies_out: Out<*const CUgraphNode>,
    numDependencies_out: Out<usize>,
) -> Answer {
    let wanted = Wanted {
        id: id_out,
        graph: graph_out,
        nodes: dependencies_out,
        data: Out::null(),
        count: numDependencies_out,
    };
    wanted.tell(hStream, captureStatus_out)
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
    let wanted = Wanted {
        id: id_out,
        graph: graph_out,
        nodes: dependencies_out,
        data: edgeData_out,
        count: numDependencies_out,
    };
    wanted.tell(hStream, captureStatus_out)
}
