//! How captures begin: into a new graph, or into a conditional node's body.

use super::super::CaptureMode;
use super::Capture;
use crate::driver::calls::graph::capture as calls;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::calls::graph::query::{Toward, degree};
use crate::driver::sys::{CUgraph, CUgraphNode};
use crate::driver::{CallError, Table};
use crate::graph::Graph;
use crate::object::error::Error;
use crate::object::native::Ownership;
use crate::stream::Stream;
use std::sync::Arc;

/// Begins to capture into a new graph, which belongs to the driver until the end.
pub(super) fn begin_new(
    stream: &Arc<Stream>,
    mode: CaptureMode,
    capture_into: impl FnOnce(Graph) -> Arc<Capture>,
) -> Result<Arc<Capture>, Error> {
    let table = stream.context().table();
    stream.here(|raw| calls::begin(table, raw, mode.raw()))?;
    let info = match crate::op::capture::info(stream) {
        Ok(info) => info,
        Err(failure) => {
            destroy_unused(table, calls::end(table, stream.raw()));
            return Err(failure);
        }
    };
    // SAFETY: the driver has just named it.
    let native = unsafe { RawGraph::adopt(table, info.graph) };
    let graph = Graph::new(stream.context(), native, Ownership::Borrowed);
    let capture = capture_into(graph.clone());
    let mut state = graph.definition.tree.lock();
    state.is_new = true;
    state.is_shared = stream.may_be_known_to_others();
    let root = state.graph_mut(graph.object.id);
    // Nodes are captured after those that are there.
    root.is_ordered = true;
    root.captured_by = Arc::downgrade(&capture);
    drop(state);
    Ok(capture)
}

/// Destroys the graph of a capture that has ended, which nobody knows.
pub(super) fn destroy_unused(table: &'static Table, ended: Result<CUgraph, CallError>) {
    if let Ok(native) = ended {
        // SAFETY: the driver has just given it, and nobody knows it any more.
        let _ = unsafe { RawGraph::adopt(table, native).destroy() };
    }
}

/// Begins to capture into a body, after the nodes that are in it.
pub(super) fn begin_body(
    stream: &Arc<Stream>,
    mode: CaptureMode,
    capture: Arc<Capture>,
) -> Result<Arc<Capture>, Error> {
    let (table, graph) = (stream.context().table(), &capture.graph);
    let mut state = graph.lock()?;
    if stream.may_be_known_to_others() {
        graph.definition.tree.share(&mut state)?;
    }
    let known = state.graph(graph.object.id);
    let failed = |error| stream.context().failed(error, graph.object.as_ref());
    let after = leaves(table, &known.native).map_err(failed)?;
    // SAFETY: the nodes are the body's, which the lock keeps.
    unsafe { calls::begin_to_graph(table, stream.raw(), known.native.handle(), &after, mode.raw()) }
        .map_err(failed)?;
    state.graph_mut(graph.object.id).captured_by = Arc::downgrade(&capture);
    drop(state);
    Ok(capture)
}

/// The nodes that nothing comes after.
pub(super) fn leaves(table: &Table, graph: &RawGraph) -> Result<Vec<CUgraphNode>, CallError> {
    let mut leaves = Vec::new();
    for node in graph.nodes()? {
        // SAFETY: the driver has just named the node.
        if unsafe { degree(table, node, Toward::Successors) }? == 0 {
            leaves.push(node);
        }
    }
    Ok(leaves)
}
