//! Captures: work of a stream that becomes a graph.

use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{
    CU_STREAM_CAPTURE_STATUS_NONE, CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};
use crate::driver::{CallError, Table, call};
use parking_lot::{Mutex, MutexGuard};
use std::ptr::{null, null_mut};

/// What the driver says of the capture of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawCapture {
    pub(crate) status: CUstreamCaptureStatus,
    /// A number that no other capture of the process has.
    pub(crate) id: u64,
    pub(crate) graph: CUgraph,
    /// What the next node would come after: the driver's list, good until the next call on the stream.
    dependencies: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
}

impl RawCapture {
    /// What the next node would come after.
    ///
    /// # Safety
    /// Nothing was called on the stream since this was asked.
    pub(crate) unsafe fn dependencies(&self) -> Vec<CUgraphNode> {
        if self.count == 0 || self.dependencies.is_null() {
            return Vec::new();
        }
        // SAFETY: the driver's list has so many, and is there until the next call.
        unsafe { std::slice::from_raw_parts(self.dependencies, self.count) }.to_vec()
    }

    /// The one node that the next would come after; `None` if there are several, or none.
    ///
    /// # Safety
    /// As for [`dependencies`](Self::dependencies).
    pub(crate) unsafe fn tail(&self) -> Option<CUgraphNode> {
        // SAFETY: the driver's list has so many.
        (self.count == 1 && !self.dependencies.is_null()).then(|| unsafe { *self.dependencies })
    }
}

/// Refuses a driver that has no captures.
pub(crate) fn check_there(table: &Table) -> Result<(), CallError> {
    table.cuStreamBeginCapture_10010.map(drop).ok_or(CallError::missing("cuStreamBeginCapture_10010"))
}

/// Begins to capture a stream.
pub(crate) fn begin(table: &Table, stream: &RawStream, mode: CUstreamCaptureMode) -> Result<(), CallError> {
    // SAFETY: the stream is alive.
    unsafe { call!(table, cuStreamBeginCapture_10010(stream.handle(), mode)) }
}

/// Begins to capture a stream into a definition that is there already, after these nodes; 12.3.
///
/// # Safety
/// The definition is alive, and the nodes are nodes of it.
pub(crate) unsafe fn begin_to_graph(
    table: &Table,
    stream: &RawStream,
    graph: CUgraph,
    after: &[CUgraphNode],
    mode: CUstreamCaptureMode,
) -> Result<(), CallError> {
    let (first, count) = if after.is_empty() { (null(), 0) } else { (after.as_ptr(), after.len()) };
    // SAFETY: reads as many as there are; the caller vouches for the rest.
    unsafe {
        call!(table, cuStreamBeginCaptureToGraph_12030(stream.handle(), graph, first, null(), count, mode))
    }
}

/// Begins to capture a stream into a definition whose nodes take over what is captured; 13.3.
///
/// # Safety
/// The definition is alive.
pub(crate) unsafe fn begin_again(
    table: &Table,
    stream: &RawStream,
    graph: CUgraph,
    mode: CUstreamCaptureMode,
) -> Result<(), CallError> {
    // SAFETY: the stream is alive; the caller vouches for the definition.
    unsafe {
        call!(table, cuStreamBeginRecaptureToGraph_13030(stream.handle(), mode, graph, None, null_mut()))
    }
}

/// Held by whoever ends a capture, or destroys a stream or an event that a capture has, or had: driver 580 crashes where one thread does the
/// one and another thread the other (measured).
static ENDS: Mutex<()> = Mutex::new(());

/// Keeps other threads from ending a capture, and from destroying what one has had.
pub(crate) fn ends_alone() -> MutexGuard<'static, ()> {
    ENDS.lock()
}

/// Ends the capture of a stream; the definition is NULL if the capture was invalidated.
pub(crate) fn end(table: &Table, stream: &RawStream) -> Result<CUgraph, CallError> {
    let mut graph = null_mut();
    let _alone = ends_alone();
    // SAFETY: writes one handle; the stream is alive.
    unsafe { call!(table, cuStreamEndCapture_10000(stream.handle(), &raw mut graph)) }?;
    Ok(graph)
}

/// What is captured of a stream, if anything.
#[inline]
pub(crate) fn info(table: &Table, stream: CUstream) -> Result<RawCapture, CallError> {
    let mut info = RawCapture {
        status: CU_STREAM_CAPTURE_STATUS_NONE,
        id: 0,
        graph: null_mut(),
        dependencies: null(),
        data: null(),
        count: 0,
    };
    let RawCapture { status, id, graph, dependencies, data, count } = &mut info;
    // SAFETY: writes what they point to; the stream is alive.
    unsafe {
        if table.cuStreamGetCaptureInfo_12030.is_some() {
            call!(table, cuStreamGetCaptureInfo_12030(stream, status, id, graph, dependencies, data, count))
        } else if table.cuStreamGetCaptureInfo_11030.is_some() {
            call!(table, cuStreamGetCaptureInfo_11030(stream, status, id, graph, dependencies, count))
        } else {
            call!(table, cuStreamGetCaptureInfo_10010(stream, status, id))
        }
    }?;
    Ok(info)
}

/// Sets what the next node of a captured stream comes after.
///
/// # Safety
/// The nodes are nodes of the definition that is being captured.
pub(crate) unsafe fn set_dependencies(
    table: &Table,
    stream: &RawStream,
    after: &mut [CUgraphNode],
) -> Result<(), CallError> {
    const SET: u32 = 1; // CU_STREAM_SET_CAPTURE_DEPENDENCIES
    let (nodes, count) = (after.as_mut_ptr(), after.len());
    // SAFETY: reads as many as there are; the caller vouches for them.
    unsafe {
        if table.cuStreamUpdateCaptureDependencies_11030.is_some() {
            call!(table, cuStreamUpdateCaptureDependencies_11030(stream.handle(), nodes, count, SET))
        } else {
            call!(table, cuStreamUpdateCaptureDependencies_12030(stream.handle(), nodes, null(), count, SET))
        }
    }
}
