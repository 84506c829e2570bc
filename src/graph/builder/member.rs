//! Streams that became part of a capture, because they waited for an event of it.

use super::capture::sink_ends;
use crate::driver::calls::graph::capture::info;
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use crate::stream::Stream;
use std::collections::HashSet;
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
    /// A stream that the driver has made part of the capture, whatever fails from here on: where it does not tell what the stream goes
    /// on after, all that is in it has to be joined.
    pub(super) fn new(stream: Arc<Stream>, is_blocking: bool) -> Self {
        let from = tail(stream.context().table(), &stream).unwrap_or_default();
        // Its context may be another one than the capture's, and to wait for all of that would invalidate the capture, too.
        stream.context().capture_began();
        if is_blocking {
            stream.context().blocking_stream_captured();
        }
        Self { stream, from, is_blocking }
    }

    /// Whether work in it is not joined.
    pub(super) fn is_unjoined(&self, table: &Table, joined: &Joined) -> Result<bool, CallError> {
        let tail = tail(table, &self.stream)?;
        if tail == self.from {
            return Ok(false);
        }
        for node in tail {
            if !joined.has(table, node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The nodes whose streams are joined.
pub(super) enum Joined {
    /// These at the end of the capture's own stream, and whatever comes before another node: that was captured, too.
    Followed(Vec<CUgraphNode>),
    /// These, by their addresses: in a recapture edges are there before their nodes are captured.
    Listed(HashSet<usize>),
}

impl Joined {
    /// The nodes at the end, and all that come before them.
    pub(super) fn before(table: &Table, end: Vec<CUgraphNode>) -> Result<Self, CallError> {
        let (mut listed, mut rest) = (HashSet::new(), end);
        while let Some(node) = rest.pop() {
            if listed.insert(node.addr()) {
                // SAFETY: the driver has just named the node.
                let edges = unsafe { query::edges(table, node, Toward::Predecessors) }?;
                rest.extend(edges.into_iter().map(|edge| edge.from));
            }
        }
        Ok(Self::Listed(listed))
    }

    fn has(&self, table: &Table, node: CUgraphNode) -> Result<bool, CallError> {
        match self {
            Self::Listed(nodes) => Ok(nodes.contains(&node.addr())),
            Self::Followed(end) if end.contains(&node) => Ok(true),
            // SAFETY: the driver has just named the node.
            Self::Followed(_) => Ok(unsafe { query::degree(table, node, Toward::Successors) }? > 0),
        }
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
