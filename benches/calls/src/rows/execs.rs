//! Execs whose nodes keep a kernel and a buffer: launched in each sort of stream, and changed.

use super::{Burst, Row, cu, row};
use crate::world::{World, entry};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{LaunchConfig, PushKernelArg};
use cushim::capi::buffer::cushim_buffer;
use cushim::capi::graph::definition::{cushim_graph, cushim_node};
use cushim::capi::graph::exec::cushim_exec;
use cushim::capi::kernel::{cushim_arg, cushim_arg_kind, cushim_kernel, cushim_parameter};
use cushim::capi::stream::cushim_stream;
use cushim::driver::sys::{CUgraphExec, CUgraphNode, CUstream};
use std::ptr::{null, null_mut};

/// Launches in a row on a real driver.
const BURST: u32 = 64;

/// Nodes that are changed in one call.
const NODES: usize = 100;

const CU_STREAM_LEGACY: usize = 1;
const CU_STREAM_PER_THREAD: usize = 2;

pub(super) fn execs(w: &'static World) -> Vec<Row> {
    let of_others = |name, raw: usize, shim| {
        let raw = std::ptr::without_provenance_mut(raw);
        row(name, BURST, Some(60)).raw(raw_launch(w, raw, true)).cushim(launch(w, shim))
    };
    let raw = (raw_exec(w, NODES), exec(w, NODES));
    vec![
        row("launch an exec", BURST, Some(60))
            .raw(raw_launch(w, w.raw.stream, false))
            .cushim(launch(w, w.shim.stream))
            .cudarc(cudarc_launch(w)),
        // Beside a launch and a record of the driver's, here and in the next ones.
        of_others("launch an exec, wrapped stream", w.raw.stream.addr(), wrapped(w)),
        of_others("launch an exec, legacy stream", CU_STREAM_LEGACY, default_stream(w, CU_STREAM_LEGACY)),
        of_others(
            "launch an exec, per-thread stream",
            CU_STREAM_PER_THREAD,
            default_stream(w, CU_STREAM_PER_THREAD),
        ),
        row("rebind a buffer in 100 nodes", 4, None).raw(raw_set(w, &raw.0)).cushim(rebind(w, raw.1)),
        row("set a parameter in 100 nodes", 4, None).raw(raw_set(w, &raw.0)).cushim(set_parameter(w, raw.1)),
    ]
}

fn wrapped(w: &World) -> cushim_stream {
    let mut stream = null_mut();
    ok!(w, cushim_stream_wrap(w.shim.context, w.raw.stream, 0, &raw mut stream));
    stream
}

fn default_stream(w: &World, which: usize) -> cushim_stream {
    let mut stream = null_mut();
    match which {
        CU_STREAM_LEGACY => ok!(w, cushim_context_get_legacy_stream(w.shim.context, &raw mut stream)),
        _ => ok!(w, cushim_context_get_per_thread_stream(w.shim.context, &raw mut stream)),
    }
    stream
}

/// So many nodes, each of which names the first buffer of the world and a parameter.
fn exec(w: &World, count: usize) -> cushim_exec {
    let (mut graph, mut node, mut exec): (cushim_graph, cushim_node, cushim_exec) =
        (null_mut(), null_mut(), null_mut());
    let value = 1_u64;
    let parameter = cushim_parameter {
        name: c"value".as_ptr(),
        value: (&raw const value).cast(),
        size: size_of_val(&value) as u32,
        reserved: 0,
    };
    let of = |kind: cushim_arg_kind, value| cushim_arg { kind: kind as i32, size: 0, value };
    let args = [
        of(cushim_arg_kind::CUSHIM_ARG_BUFFER, w.shim.buffers[0].cast_const().cast()),
        of(cushim_arg_kind::CUSHIM_ARG_PARAMETER, (&raw const parameter).cast()),
    ];
    let kernel: cushim_kernel = w.kernels.iter().find(|kernel| kernel.count == 2).expect("there is one").shim;
    ok!(w, cushim_graph_create(w.shim.context, null(), &raw mut graph));
    for index in 0..count {
        let (place, before) = (&raw mut node, usize::from(index != 0));
        ok!(w, cushim_graph_add_kernel(graph, place, before, kernel, null(), args.as_ptr(), 2, place));
    }
    ok!(w, cushim_exec_create(graph, null(), &raw mut exec, null_mut()));
    ok!(w, cushim_graph_destroy(graph));
    exec
}

/// The driver's own, with its nodes.
fn raw_exec(w: &World, count: usize) -> (CUgraphExec, Vec<CUgraphNode>) {
    let table = w.raw.table;
    let (create, add) = (entry!(table, cuGraphCreate_10000), entry!(table, cuGraphAddKernelNode_12000));
    let instantiate = entry!(table, cuGraphInstantiateWithFlags_11040);
    let parameters = super::graphs::raw_parameters(super::graphs::load(w).raw);
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    raw!(create(&raw mut graph, 0));
    let mut nodes = Vec::new();
    for index in 0..count {
        let before: CUgraphNode = node;
        raw!(add(&raw mut node, graph, &raw const before, usize::from(index != 0), parameters));
        nodes.push(node);
    }
    raw!(instantiate(&raw mut exec, graph, 0));
    (exec, nodes)
}

pub(super) fn raw_launch(w: &'static World, stream: CUstream, is_marked: bool) -> Option<Burst> {
    let (launch, record) =
        (entry!(w.raw.table, cuGraphLaunch_10000), entry!(w.raw.table, cuEventRecord_2000));
    let (exec, event) = (raw_exec(w, 1).0, w.raw.event);
    burst!({
        raw!(launch(exec, stream));
        if is_marked {
            raw!(record(event, stream));
        }
    })
}

/// Of a graph that cudarc has captured: it keeps nothing, and is launched in the stream that it was captured in.
pub(super) fn cudarc_launch(w: &'static World) -> Option<Burst> {
    let stream = &w.untracked.stream;
    let kernel = &w.kernels.iter().find(|kernel| kernel.count == 2).expect("there is one").cudarc;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).expect("captures");
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    let values: &'static [u64; 2] = &[1, 2];
    let mut builder = stream.launch_builder(kernel);
    builder.arg(&values[0]).arg(&values[1]);
    // SAFETY: the kernel takes two numbers, and does nothing with them.
    unsafe { builder.launch(config) }.expect("captured");
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .expect("instantiated")
        .expect("something was captured");
    burst!(graph.launch().expect("launched"))
}

fn launch(w: &'static World, stream: cushim_stream) -> Option<Burst> {
    let exec = exec(w, 1);
    burst!(ok!(w, cushim_exec_launch(exec, stream)))
}

fn raw_set(w: &'static World, (exec, nodes): &(CUgraphExec, Vec<CUgraphNode>)) -> Option<Burst> {
    let set = entry!(w.raw.table, cuGraphExecKernelNodeSetParams_12000);
    let parameters = super::graphs::raw_parameters(super::graphs::load(w).raw);
    let launch = entry!(w.raw.table, cuGraphLaunch_10000);
    let (exec, nodes) = (*exec, nodes.clone());
    burst!({
        nodes.iter().for_each(|node| raw!(set(exec, *node, parameters)));
        raw!(launch(exec, w.raw.stream));
    })
}

/// With a launch after each, as a decoder makes them.
fn rebind(w: &'static World, exec: cushim_exec) -> Option<Burst> {
    let [mut from, mut to]: [cushim_buffer; 2] = w.shim.buffers;
    burst!({
        let mut reached = 0;
        ok!(w, cushim_exec_rebind(exec, from, to, &raw mut reached));
        assert_eq!(reached, NODES);
        ok!(w, cushim_exec_launch(exec, w.shim.stream));
        std::mem::swap(&mut from, &mut to);
    })
}

fn set_parameter(w: &'static World, exec: cushim_exec) -> Option<Burst> {
    let mut value = 0_u64;
    burst!({
        let mut reached = 0;
        value += 1;
        let (at, size) = ((&raw const value).cast(), size_of_val(&value));
        ok!(w, cushim_exec_set_parameter(exec, c"value".as_ptr(), at, size, &raw mut reached));
        assert_eq!(reached, NODES);
        ok!(w, cushim_exec_launch(exec, w.shim.stream));
    })
}
