//! Streams that became part of a capture, because they waited for an event of it.

use super::capture::sink_ends;
use crate::driver::calls::graph::capture::info;
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use crate::stream::Stream;
use std::sync::Arc;

/// A stream that became part of a capture. It stays until the capture ends, whoever else holds it.
pub(super) struct Member {
    pub(super) stream: Arc<Stream>,
    /// What came last in it when it did.
    from: Vec<CUgraphNode>,
    /// Whether it waits for the legacy default stream.
    is_blocking: bool,
}

// SAFETY: the nodes are only compared.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

impl Member {
    pub(super) fn new(stream: Arc<Stream>, is_blocking: bool) -> Result<Self, CallError> {
        let from = tail(stream.context().table(), &stream)?;
        // Its context may be another one than the capture's, and to wait for all of that would invalidate the capture, too.
        stream.context().capture_began();
        if is_blocking {
            stream.context().blocking_stream_captured();
        }
        Ok(Self { stream, from, is_blocking })
    }

    /// Whether work in it comes before nothing else, nor stands at the end of the capture's own stream.
    pub(super) fn is_unjoined(&self, table: &Table, end: &[CUgraphNode]) -> Result<bool, CallError> {
        let tail = tail(table, &self.stream)?;
        if tail == self.from {
            return Ok(false);
        }
        for node in tail {
            // SAFETY: the driver has just named the node.
            let successors = unsafe { query::degree(table, node, Toward::Successors) }?;
            if successors == 0 && !end.contains(&node) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        sink_ends(&self.stream);
        self.stream.context().capture_ended();
        if self.is_blocking {
            self.stream.context().blocking_stream_released();
        }
    }
}

/// What the next operation in a stream under capture comes after.
pub(super) fn tail(table: &Table, stream: &Stream) -> Result<Vec<CUgraphNode>, CallError> {
    let info = info(table, stream.raw().handle())?;
    // SAFETY: nothing was called on the stream since; whoever captures holds the lock of the definition.
    Ok(unsafe { info.dependencies() })
}
