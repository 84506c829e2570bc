//! Execs are made of definitions, and destroyed.

use super::layout::Layout;
use super::memory::Memory;
use super::objects::Objects;
use super::plan;
use super::refusal::Refusal;
use super::{EXECS, Exec, State, limits, operands};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
    CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, CUDA_GRAPH_INSTANTIATE_PARAMS,
    CUDA_GRAPH_INSTANTIATE_SUCCESS, CUgraph, CUgraphExec, CUgraphNode, CUstream,
};
use crate::driver::capture;
use crate::driver::context::current::current;
use crate::driver::graph::definition::Graph;
use crate::driver::stream::Stream;
use crate::driver::waiting::wait_for;
use crate::instruments::complain::complain;
use crate::instruments::settings::version;
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::Arc;

const AUTO_FREE: u64 = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0 as u64;
const UPLOAD: u64 = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0 as u64;
const DEVICE_LAUNCH: u64 = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH.0 as u64;
const PRIORITIES: u64 = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.0 as u64;

/// Refuses flags that the version does not know, and those that exclude each other (documented).
fn check_flags(flags: u64) -> Answer {
    let known = match version() {
        ..11070 => AUTO_FREE,
        11070..12000 => AUTO_FREE | PRIORITIES,
        _ => AUTO_FREE | UPLOAD | DEVICE_LAUNCH | PRIORITIES,
    };
    let excluded = flags & DEVICE_LAUNCH != 0 && flags & AUTO_FREE != 0;
    if flags & !known == 0 && !excluded { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

fn instantiate(graph: CUgraph, flags: u64) -> Result<Arc<Exec>, Refusal> {
    let graph = Graph::of(graph)?;
    current()?.fault()?;
    check_flags(flags)?;
    capture::check_unsafe()?;
    // Measured.
    if graph.place().is_some() {
        return Err(CUDA_ERROR_NOT_SUPPORTED.into());
    }
    if !graph.is_whole() {
        complain(
            "a capture into the body of a conditional node has failed, and the body is gone; a real driver crashes",
        );
        return Err(CUDA_ERROR_INVALID_VALUE.into());
    }
    if graph.has_idle_condition() {
        return Err(Refusal::idle_condition());
    }
    let layout = Layout::of(&graph);
    let (plan, actions) = plan::plan(&layout)?;
    limits::check(&layout)?;
    operands::check(&layout)?;
    if flags & DEVICE_LAUNCH != 0 {
        limits::check_for_device(&layout)?;
    }
    // Memory that was freed: measured of fills.
    actions.steps.iter().filter_map(|step| step.leaf.operation()).try_for_each(|it| it.check_not_freed())?;
    if layout.has_conditional() {
        check_clones(&graph)?;
    }
    let memory = Memory::of(&layout);
    let is_sole = layout.has_conditional() || layout.has_updatable() || !memory.is_none();
    let sole = is_sole.then(|| graph.claim_exec()).transpose()?;
    let state = State {
        layout,
        plan: Arc::new(plan),
        actions: Arc::new(actions),
        memory,
        sole,
        of: Some(graph.has_exec()),
        objects: Arc::new(Objects::of(&graph)),
        last: None,
        queues: Vec::new(),
    };
    Ok(Exec::add(flags, state))
}

/// Of a graph with conditional nodes there may be no clone (measured), nor of a graph in it, where a real driver crashes.
fn check_clones(graph: &Graph) -> Result<(), Refusal> {
    if graph.is_cloned() {
        return Err(CUDA_ERROR_NOT_SUPPORTED.into());
    }
    if graph.holds_derived() {
        complain(
            "a graph that has conditional nodes is instantiated while there is a clone of a child graph in it, or a copy or an exec that was made before it was moved there; a real driver crashes",
        );
        return Err(CUDA_ERROR_NOT_SUPPORTED.into());
    }
    Ok(())
}

/// The ABIs of before 12.0 have a place for the node that is to blame, and for a text. Driver 580 says nothing there (measured).
fn instantiate_with_log(
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    node: Out<CUgraphNode>,
    buffer: Out<c_char>,
    size: usize,
) -> Answer {
    exec.check()?;
    node.set_if_wanted(null_mut());
    if buffer.address() != 0 && size > 0 {
        buffer.set_text("", i32::try_from(size).unwrap_or(i32::MAX))?;
    }
    let made = instantiate(graph, 0).map_err(|refusal| refusal.code)?;
    exec.set(made.handle as CUgraphExec)
}

pub(crate) fn cuGraphInstantiate(
    phGraphExec: Out<CUgraphExec>,
    hGraph: CUgraph,
    phErrorNode: Out<CUgraphNode>,
    logBuffer: Out<c_char>,
    bufferSize: usize,
) -> Answer {
    instantiate_with_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)
}

pub(crate) fn cuGraphInstantiate_v2(
    phGraphExec: Out<CUgraphExec>,
    hGraph: CUgraph,
    phErrorNode: Out<CUgraphNode>,
    logBuffer: Out<c_char>,
    bufferSize: usize,
) -> Answer {
    instantiate_with_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)
}

pub(crate) fn cuGraphInstantiateWithFlags(
    phGraphExec: Out<CUgraphExec>,
    hGraph: CUgraph,
    flags: u64,
) -> Answer {
    phGraphExec.check()?;
    // There is no place for a stream.
    if flags & UPLOAD != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let exec = instantiate(hGraph, flags).map_err(|refusal| refusal.code)?;
    phGraphExec.set(exec.handle as CUgraphExec)
}

pub(crate) fn cuGraphInstantiateWithParams(
    phGraphExec: Out<CUgraphExec>,
    hGraph: CUgraph,
    instantiateParams: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Answer {
    phGraphExec.check()?;
    let mut params = instantiateParams.item(0)?;
    let made = instantiate_and_upload(hGraph, params.flags, params.hUploadStream);
    (params.result_out, params.hErrNode_out) = match &made {
        Ok(_) => (CUDA_GRAPH_INSTANTIATE_SUCCESS, null_mut()),
        Err(refusal) => (refusal.result, refusal.node as CUgraphNode),
    };
    instantiateParams.set(params)?;
    phGraphExec.set(made.map_err(|refusal| refusal.code)?.handle as CUgraphExec)
}

fn instantiate_and_upload(graph: CUgraph, flags: u64, stream: CUstream) -> Result<Arc<Exec>, Refusal> {
    let stream = if flags & UPLOAD != 0 { Some(Stream::of(stream)?) } else { None };
    let exec = instantiate(graph, flags)?;
    if let Some(stream) = stream {
        exec.upload(&stream).inspect_err(|_| drop(EXECS.remove(exec.handle)))?;
    }
    Ok(exec)
}

pub(crate) fn cuGraphExecGetId(hGraphExec: CUgraphExec, graphId: Out<u32>) -> Answer {
    graphId.check()?;
    graphId.set(Exec::of(hGraphExec)?.id)
}

pub(crate) fn cuGraphExecGetFlags(hGraphExec: CUgraphExec, flags: Out<u64>) -> Answer {
    flags.check()?;
    // The others are not told (measured).
    flags.set(Exec::of(hGraphExec)?.flags & (AUTO_FREE | DEVICE_LAUNCH))
}

/// Launches under way go on.
pub(crate) fn cuGraphExecDestroy(hGraphExec: CUgraphExec) -> Answer {
    let exec = Exec::of(hGraphExec)?;
    capture::check_unsafe()?;
    EXECS.remove(exec.handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let mut state = exec.state.lock();
    let (objects, launched) = (std::mem::take(&mut state.objects), state.last.is_some());
    (state.sole, state.of, state.memory) = (None, None, Memory::default());
    let waits_for = state.last.take().filter(|_| !state.actions.conditions.is_empty());
    drop(state);
    // So does driver 580 (measured). What comes before a function of the program's that calls this is done by then.
    let _ = waits_for.map(|last| wait_for(&[last]));
    Exec::release(objects, launched);
    Ok(())
}
