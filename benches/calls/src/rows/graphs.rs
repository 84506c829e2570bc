//! Kernel nodes in chains: added, changed in an instance, captured. Either the graph keeps nothing, or the kernel and a buffer.

use super::launches::argument;
use super::{Burst, Row, cu, row};
use crate::world::{World, entry};
use cushim::capi::graph::definition::{cushim_graph, cushim_node};
use cushim::capi::graph::exec::cushim_exec;
use cushim::capi::kernel::{cushim_arg, cushim_arg_kind, cushim_kernel};
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_KERNEL_NODE_PARAMS_v2, CUfunction, CUgraph, CUgraphExec, CUgraphNode,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// So many nodes are added to a graph; then comes another one.
const NODES: usize = 4096;

/// Changes and captured launches in a row.
const BURST: u32 = 256;

static VALUES: [u64; 2] = [1, 2];

/// A kernel of a module, which nobody keeps, and one of a library, with the same two parameters.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    pub(super) raw: CUfunction,
    lent: cushim_kernel,
    kept: cushim_kernel,
}

pub(super) fn graphs(w: &'static World) -> Vec<Row> {
    let kernels = load(w);
    let value = VALUES.each_ref().map(argument);
    let buffer = cushim_arg_kind::CUSHIM_ARG_BUFFER as i32;
    let buffer = cushim_arg { kind: buffer, size: 0, value: w.shim.buffers[0].cast_const().cast() };
    let (plain, keeping) = ((kernels.lent, value), (kernels.kept, [buffer, value[1]]));
    vec![
        row("add a node", BURST, Some(100)).raw(raw_add(w, kernels.raw)).cushim(add(w, plain)),
        row("add a node, keeping", BURST, Some(250)).raw(raw_add(w, kernels.raw)).cushim(add(w, keeping)),
        row("make and destroy a graph of 100 nodes", 8, None)
            .raw(raw_make(w, kernels.raw))
            .cushim(make(w, plain)),
        row("make and destroy a graph of 100 nodes, keeping", 8, None)
            .raw(raw_make(w, kernels.raw))
            .cushim(make(w, keeping)),
        row("set an argument in an exec", BURST, Some(150))
            .raw(raw_set(w, kernels.raw))
            .cushim(set(w, plain)),
        row("capture a launch, and its end", BURST, None)
            .raw(raw_capture(w, kernels.raw))
            .cushim(capture(w, plain)),
        row("capture a launch, keeping, and its end", BURST, None)
            .raw(raw_capture(w, kernels.raw))
            .cushim(capture(w, keeping)),
    ]
}

pub(super) fn load(w: &World) -> Kernels {
    let two = w.kernels.iter().find(|kernel| kernel.count == 2).expect("there is one");
    let (mut module, mut raw, mut lent) = (null_mut(), null_mut(), null_mut());
    let code = std::ffi::CString::new(crate::kernels::ptx()).expect("it has no NUL");
    let (load, find) =
        (entry!(w.raw.table, cuModuleLoadData_2000), entry!(w.raw.table, cuModuleGetFunction_2000));
    raw!(load(&raw mut module, code.as_ptr().cast()));
    raw!(find(&raw mut raw, module, c"take_2".as_ptr()));
    ok!(w, cushim_kernel_wrap_function(w.shim.context, raw, null_mut(), null(), &raw mut lent));
    Kernels { raw, lent, kept: two.shim }
}

/// The node as the driver is told of it, for ever.
pub(super) fn raw_parameters(function: CUfunction) -> &'static CUDA_KERNEL_NODE_PARAMS_v2 {
    let values: &mut [*mut c_void; 2] =
        Box::leak(Box::new(VALUES.each_ref().map(|value| std::ptr::from_ref(value).cast_mut().cast())));
    Box::leak(Box::new(CUDA_KERNEL_NODE_PARAMS_v2 {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: values.as_mut_ptr(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    }))
}

fn raw_add(w: &'static World, function: CUfunction) -> Option<Burst> {
    let table = w.raw.table;
    let (create, destroy) = (entry!(table, cuGraphCreate_10000), entry!(table, cuGraphDestroy_10000));
    let add = entry!(table, cuGraphAddKernelNode_12000);
    let parameters = raw_parameters(function);
    let (mut graph, mut node, mut count): (CUgraph, CUgraphNode, usize) = (null_mut(), null_mut(), 0);
    burst!({
        if count % NODES == 0 {
            if !graph.is_null() {
                raw!(destroy(graph));
            }
            raw!(create(&raw mut graph, 0));
        }
        let before = node;
        raw!(add(&raw mut node, graph, &raw const before, usize::from(count % NODES != 0), parameters));
        count += 1;
    })
}

fn add(w: &'static World, (kernel, args): (cushim_kernel, [cushim_arg; 2])) -> Option<Burst> {
    let (mut graph, mut node, mut count): (cushim_graph, cushim_node, usize) = (null_mut(), null_mut(), 0);
    burst!({
        if count % NODES == 0 {
            ok!(w, cushim_graph_destroy(graph));
            ok!(w, cushim_graph_create(w.shim.context, null(), &raw mut graph));
        }
        let (place, before) = (&raw mut node, usize::from(count % NODES != 0));
        ok!(w, cushim_graph_add_kernel(graph, place, before, kernel, null(), args.as_ptr(), 2, place));
        count += 1;
    })
}

/// So many nodes have the graphs that are made and destroyed.
const FEW_NODES: usize = 100;

fn raw_make(w: &'static World, function: CUfunction) -> Option<Burst> {
    let table = w.raw.table;
    let (create, destroy) = (entry!(table, cuGraphCreate_10000), entry!(table, cuGraphDestroy_10000));
    let add = entry!(table, cuGraphAddKernelNode_12000);
    let parameters = raw_parameters(function);
    burst!({
        let (mut graph, mut node): (CUgraph, CUgraphNode) = (null_mut(), null_mut());
        raw!(create(&raw mut graph, 0));
        for count in 0..FEW_NODES {
            let before = node;
            raw!(add(&raw mut node, graph, &raw const before, usize::from(count > 0), parameters));
        }
        raw!(destroy(graph));
    })
}

fn make(w: &'static World, (kernel, args): (cushim_kernel, [cushim_arg; 2])) -> Option<Burst> {
    burst!({
        let (mut graph, mut node): (cushim_graph, cushim_node) = (null_mut(), null_mut());
        ok!(w, cushim_graph_create(w.shim.context, null(), &raw mut graph));
        for count in 0..FEW_NODES {
            let (place, before) = (&raw mut node, usize::from(count > 0));
            ok!(w, cushim_graph_add_kernel(graph, place, before, kernel, null(), args.as_ptr(), 2, place));
        }
        ok!(w, cushim_graph_destroy(graph));
    })
}

fn raw_set(w: &'static World, function: CUfunction) -> Option<Burst> {
    let table = w.raw.table;
    let parameters = raw_parameters(function);
    let (mut graph, mut node, mut exec): (CUgraph, CUgraphNode, CUgraphExec) =
        (null_mut(), null_mut(), null_mut());
    let (create, add) = (entry!(table, cuGraphCreate_10000), entry!(table, cuGraphAddKernelNode_12000));
    let instantiate = entry!(table, cuGraphInstantiateWithFlags_11040);
    raw!(create(&raw mut graph, 0));
    raw!(add(&raw mut node, graph, null(), 0, parameters));
    raw!(instantiate(&raw mut exec, graph, 0));
    let set = entry!(table, cuGraphExecKernelNodeSetParams_12000);
    burst!(raw!(set(exec, node, parameters)))
}

fn set(w: &'static World, (kernel, args): (cushim_kernel, [cushim_arg; 2])) -> Option<Burst> {
    let (mut graph, mut node, mut exec): (cushim_graph, cushim_node, cushim_exec) =
        (null_mut(), null_mut(), null_mut());
    ok!(w, cushim_graph_create(w.shim.context, null(), &raw mut graph));
    ok!(w, cushim_graph_add_kernel(graph, null(), 0, kernel, null(), args.as_ptr(), 2, &raw mut node));
    ok!(w, cushim_exec_create(graph, null(), &raw mut exec, null_mut()));
    burst!(ok!(w, cushim_exec_set_argument(exec, node, 1, &raw const args[1])))
}

fn raw_capture(w: &'static World, function: CUfunction) -> Option<Burst> {
    let (table, stream) = (w.raw.table, w.raw.stream);
    let (begin, end) = (entry!(table, cuStreamBeginCapture_10010), entry!(table, cuStreamEndCapture_10000));
    let (launch, destroy) = (entry!(table, cuLaunchKernel_4000), entry!(table, cuGraphDestroy_10000));
    let values = raw_parameters(function).kernelParams;
    Some(Box::new(move |calls| {
        let mut graph = null_mut();
        raw!(begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        for _ in 0..calls {
            raw!(launch(function, 1, 1, 1, 1, 1, 1, 0, stream, values, null_mut()));
        }
        raw!(end(stream, &raw mut graph));
        raw!(destroy(graph));
    }))
}

fn capture(w: &'static World, (kernel, args): (cushim_kernel, [cushim_arg; 2])) -> Option<Burst> {
    Some(Box::new(move |calls| {
        let mut builder = null_mut();
        ok!(w, cushim_builder_create_on(w.shim.stream, null(), &raw mut builder));
        ok!(w, cushim_builder_begin(builder));
        // SAFETY: handles are checked.
        let stream = unsafe { (w.shim.call.cushim_builder_stream)(builder) };
        for _ in 0..calls {
            ok!(w, cushim_kernel_launch(kernel, stream, null(), args.as_ptr(), 2));
        }
        ok!(w, cushim_builder_destroy(builder));
    }))
}
