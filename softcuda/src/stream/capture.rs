//! Capture: it does not exist yet, so no stream captures. What would begin one is refused.

use super::Stream;
use crate::error::Answer;
use crate::pointer::Out;
use crate::sys::{
    CU_STREAM_CAPTURE_STATUS_NONE, CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureStatus,
};

pub(crate) fn cuStreamIsCapturing(hStream: CUstream, captureStatus: Out<CUstreamCaptureStatus>) -> Answer {
    Stream::of(hStream)?;
    captureStatus.set(CU_STREAM_CAPTURE_STATUS_NONE)
}

/// Where nothing is captured, only the status is written.
pub(crate) fn cuStreamGetCaptureInfo(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    _id_out: Out<u64>,
) -> Answer {
    cuStreamIsCapturing(hStream, captureStatus_out)
}

pub(crate) fn cuStreamGetCaptureInfo_v2(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    _id_out: Out<u64>,
    _graph_out: Out<CUgraph>,
    _dependencies_out: Out<*const CUgraphNode>,
    _numDependencies_out: Out<usize>,
) -> Answer {
    cuStreamIsCapturing(hStream, captureStatus_out)
}

pub(crate) fn cuStreamGetCaptureInfo_v3(
    hStream: CUstream,
    captureStatus_out: Out<CUstreamCaptureStatus>,
    _id_out: Out<u64>,
    _graph_out: Out<CUgraph>,
    _dependencies_out: Out<*const CUgraphNode>,
    _edgeData_out: Out<*const CUgraphEdgeData>,
    _numDependencies_out: Out<usize>,
) -> Answer {
    cuStreamIsCapturing(hStream, captureStatus_out)
}
