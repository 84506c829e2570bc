//! Callers say what comes next in a capture.

use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_STREAM_ADD_CAPTURE_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUgraphEdgeData, CUgraphNode, CUresult,
    CUstream,
};
use crate::driver::capture::tail::{Dependency, Tail};
use crate::driver::graph::definition::{Graph, Node};
use crate::driver::graph::edge::EdgeData;
use crate::driver::stream::Stream;
use crate::driver::stream::capturing::graph_of;
use std::sync::Arc;

const ADD: u32 = CU_STREAM_ADD_CAPTURE_DEPENDENCIES.0 as u32;
const SET: u32 = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;

/// Nodes of a graph that a caller names, and edges that can come from them; one that is named twice is there once.
pub(super) fn named(
    graph: &Arc<Graph>,
    nodes: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
) -> Result<Tail, CUresult> {
    let dependency = |at| {
        let (node, edge) = (Node::of(nodes.item(at)?)?, EdgeData::item(data, at)?);
        // What the next node will be nobody knows yet.
        let fits = graph.has(&node) && edge.fits(node.work().is_kernel(), true);
        let dependency = Dependency { node: node.handle, data: edge.tell() };
        fits.then_some(dependency).ok_or(CUDA_ERROR_INVALID_VALUE)
    };
    (0..count).map(dependency).collect()
}

fn update(
    stream: CUstream,
    nodes: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
    flags: u32,
) -> Answer {
    let stream = Stream::for_work(stream)?;
    let capture = stream.capture().ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
    if !matches!(flags, ADD | SET) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let graph = Graph::of(graph_of(&capture).ok_or(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?)?;
    let tail = named(&graph, nodes, data, count)?;
    capture.change_tail(stream.id(), |own| match flags {
        ADD => own.append(&tail),
        _ => *own = tail,
    });
    Ok(())
}

pub(crate) fn cuStreamUpdateCaptureDependencies(
    hStream: CUstream,
    dependencies: Out<CUgraphNode>,
    numDependencies: usize,
    flags: u32,
) -> Answer {
    update(hStream, dependencies.read(), In::null(), numDependencies, flags)
}

pub(crate) fn cuStreamUpdateCaptureDependencies_v2(
    hStream: CUstream,
    dependencies: Out<CUgraphNode>,
    dependencyData: In<CUgraphEdgeData>,
    numDependencies: usize,
    flags: u32,
) -> Answer {
    update(hStream, dependencies.read(), dependencyData, numDependencies, flags)
}
