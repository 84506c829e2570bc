//! Conditions and conditional nodes.

use super::super::graph::{self, Exec};
use super::super::scene::Scene;
use super::super::to_graph::{empty, into};
use crate::code::{Arguments, CONDITIONS, Shape};
use crate::driver::{Answer, Cu, call};
use cushim::driver::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_STREAM_SET_CAPTURE_DEPENDENCIES,
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS, CUfunction, CUgraph,
    CUgraphConditionalNodeType, CUgraphNode, CUgraphNodeParams, CUstream,
};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Gives the condition its default value at each launch.
pub(super) const ASSIGN_DEFAULT: u32 = 1;

/// A conditional node and its bodies; NULL where the driver has none.
pub(super) struct Conditional {
    pub(super) answer: Answer,
    pub(super) handle: u64,
    pub(super) node: CUgraphNode,
    pub(super) bodies: Vec<CUgraph>,
}

impl Conditional {
    /// Creates a condition of a graph.
    pub(super) fn of(s: &Scene, graph: CUgraph, value: u32, flags: u32) -> Self {
        let mut handle = 0;
        let answer = match graph.is_null() {
            true => "no graph".into(),
            false => {
                let place = &raw mut handle;
                call!(s.cu, cuGraphConditionalHandleCreate_12030(place, graph, s.context, value, flags))
            }
        };
        Self { answer, handle, node: null_mut(), bodies: Vec::new() }
    }

    /// Adds the node that looks at it, with so many bodies.
    pub(super) fn add(
        &mut self,
        s: &Scene,
        graph: CUgraph,
        behind: &[CUgraphNode],
        (kind, size): (CUgraphConditionalNodeType, u32),
    ) -> Answer {
        // SAFETY: zero is a value of every field.
        let mut params: CUgraphNodeParams = unsafe { std::mem::zeroed() };
        params.type_ = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.u16.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle: self.handle,
            type_: kind,
            size,
            phGraph_out: null_mut(),
            ctx: s.context,
        };
        let (node, nodes, count) = (&raw mut self.node, behind.as_ptr(), behind.len());
        let answer = match graph.is_null() {
            true => "no graph".into(),
            false => call!(s.cu, cuGraphAddNode_12030(node, graph, nodes, null(), count, &raw mut params)),
        };
        // SAFETY: the field was written above.
        let given = unsafe { params.u16.conditional.phGraph_out };
        if answer.succeeded() && !given.is_null() {
            // SAFETY: the driver has made as many bodies as it was asked for.
            self.bodies = unsafe { std::slice::from_raw_parts(given, size as usize) }.to_vec();
        }
        answer
    }

    /// A body; NULL if there is none.
    pub(super) fn body(&self, number: usize) -> CUgraph {
        self.bodies.get(number).copied().unwrap_or(null_mut())
    }

    /// Adds it to the graph under capture, and lets what comes next depend on it.
    pub(super) fn capture(
        &mut self,
        s: &Scene,
        stream: CUstream,
        kind: (CUgraphConditionalNodeType, u32),
    ) -> Answer {
        const SET: u32 = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;
        let info = s.info(stream);
        let behind: Vec<CUgraphNode> = info.tail.iter().map(|(node, _)| *node).collect();
        let added = self.add(s, info.graph, &behind, kind);
        added.and(|| call!(s.cu, cuStreamUpdateCaptureDependencies_11030(stream, &raw mut self.node, 1, SET)))
    }
}

/// An IF in a graph of its own, whose body runs unless a kernel says otherwise.
pub(super) fn standing(s: &Scene) -> (CUgraph, Conditional) {
    let graph = empty(&s.cu);
    let mut conditional = Conditional::of(s, graph, 1, ASSIGN_DEFAULT);
    let _ = conditional.add(s, graph, &[], (CU_GRAPH_COND_TYPE_IF, 1));
    (graph, conditional)
}

/// Begins a capture into a body.
pub(super) fn into_body(s: &Scene, stream: CUstream, body: CUgraph) -> Answer {
    match body.is_null() {
        true => "no body".into(),
        false => into(s, stream, body, null(), 0),
    }
}

/// A kernel that sets conditions; NULL where it cannot be loaded.
fn setter(cu: &Cu, name: &CStr) -> CUfunction {
    cu.module(CONDITIONS).and_then(|module| cu.function(module, name)).unwrap_or(null_mut())
}

/// Kernels that set conditions.
#[derive(Clone, Copy)]
pub(super) struct Setters {
    set: CUfunction,
    count_down: CUfunction,
}

impl Setters {
    pub(super) fn of(s: &Scene) -> Self {
        Self { set: setter(&s.cu, c"set"), count_down: setter(&s.cu, c"countdown") }
    }

    /// Sets a condition to a value.
    pub(super) fn set(self, s: &Scene, stream: CUstream, handle: u64, value: u32) -> Answer {
        launch(s, self.set, stream, [handle, u64::from(value)])
    }

    /// Takes one from a number in the memory; the condition is whether any is left.
    pub(super) fn count_down(self, s: &Scene, stream: CUstream, handle: u64, cell: u64) -> Answer {
        launch(s, self.count_down, stream, [handle, s.memory + cell * 4])
    }
}

/// Only into a capture: outside one such a kernel breaks the context.
fn launch(s: &Scene, function: CUfunction, stream: CUstream, arguments: [u64; 2]) -> Answer {
    match function.is_null() || s.status(stream).number() != "1" {
        true => "not captured".into(),
        false => s.cu.launch(function, Shape::ONE, stream, &mut Arguments::new(arguments).pointers()),
    }
}

/// Instantiates a graph and tells the result; then the exec.
pub(super) fn instantiate(s: &Scene, graph: CUgraph) -> (String, Exec) {
    let mut exec = Exec::of(&s.cu, null_mut(), 0);
    // SAFETY: zero is a value of every field.
    let mut params: CUDA_GRAPH_INSTANTIATE_PARAMS = unsafe { std::mem::zeroed() };
    if graph.is_null() {
        return ("no graph".to_owned(), exec);
    }
    let mut handle = null_mut();
    let answer = call!(s.cu, cuGraphInstantiateWithParams_12000(&raw mut handle, graph, &raw mut params));
    if let Answer::Absent(_) = answer {
        return (answer.to_string(), exec);
    }
    let culprit = match params.hErrNode_out {
        node if node.is_null() => "no node".to_owned(),
        node => graph::kind(&s.cu, node).unwrap_or_else(|answer| answer.to_string()),
    };
    if answer.succeeded() {
        exec.handle = handle;
    }
    (format!("{answer}, result {}, {culprit}", params.result_out.0), exec)
}
