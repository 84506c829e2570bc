//! Graphs that captures made: what is in them, and what they do.
//!
//! Whatever cannot be asked because there is no graph is answered all the same: a driver without captures has as many
//! lines as any other.

use crate::driver::{Answer, Cu, call};
use crate::nodes::MANY;
use cushim::driver::sys::{CUgraph, CUgraphEdgeData, CUgraphExec, CUgraphNode, CUgraphNodeType, CUstream};
use std::ptr::null_mut;

pub(super) use crate::nodes::nodes;

/// What the types of nodes are called here, by their numbers.
const TYPES: [&str; 14] = [
    "kernel",
    "memcpy",
    "memset",
    "host",
    "child",
    "empty",
    "wait",
    "record",
    "signal",
    "await",
    "alloc",
    "free",
    "batch",
    "conditional",
];

/// An answer as a `Result`, whose `Err` is that of a call that has failed.
pub(super) fn good(answer: Answer) -> Result<(), Answer> {
    if answer.succeeded() { Ok(()) } else { Err(answer) }
}

/// An edge of a node: where it comes from, and its data.
pub(super) type Edge = (CUgraphNode, CUgraphEdgeData);

/// Data of an edge that says nothing.
pub(super) const PLAIN: CUgraphEdgeData =
    CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

/// The node at this position; NULL if there is none.
pub(super) fn node(cu: &Cu, graph: CUgraph, position: usize) -> CUgraphNode {
    nodes(cu, graph).ok().and_then(|nodes| nodes.get(position).copied()).unwrap_or(null_mut())
}

/// The type of a node, by name.
pub(super) fn kind(cu: &Cu, node: CUgraphNode) -> Result<String, Answer> {
    let mut kind = CUgraphNodeType(-1);
    good(call!(cu, cuGraphNodeGetType_10000(node, &raw mut kind)))?;
    let name = usize::try_from(kind.0).ok().and_then(|number| TYPES.get(number));
    Ok(name.map_or_else(|| format!("type {}", kind.0), ToString::to_string))
}

/// What a node depends on, by the newest ABI that the driver has.
fn dependencies(cu: &Cu, node: CUgraphNode) -> Result<Vec<Edge>, Answer> {
    let mut count = 0usize;
    if cu.table.cuGraphNodeGetDependencies_12030.is_none() {
        good(call!(cu, cuGraphNodeGetDependencies_10000(node, null_mut(), &raw mut count)))?;
        let mut from = vec![null_mut(); count.min(MANY)];
        if !from.is_empty() {
            good(call!(cu, cuGraphNodeGetDependencies_10000(node, from.as_mut_ptr(), &raw mut count)))?;
        }
        return Ok(from.into_iter().map(|node| (node, PLAIN)).collect());
    }
    let none = null_mut();
    good(call!(cu, cuGraphNodeGetDependencies_12030(node, null_mut(), none, &raw mut count)))?;
    let (mut from, mut data) = (vec![null_mut(); count.min(MANY)], vec![PLAIN; count.min(MANY)]);
    if !from.is_empty() {
        let (nodes, data) = (from.as_mut_ptr(), data.as_mut_ptr());
        good(call!(cu, cuGraphNodeGetDependencies_12030(node, nodes, data, &raw mut count)))?;
    }
    Ok(from.into_iter().zip(data).collect())
}

/// Edges by the positions of the nodes that they come from, in order: `0 1`. Data follow, if there are any: `0(1,0,1)`.
pub(super) fn positions(nodes: &[CUgraphNode], edges: &[Edge]) -> String {
    let mut told: Vec<String> = edges.iter().map(|edge| position(nodes, edge)).collect();
    told.sort();
    told.join(" ")
}

/// One edge, likewise.
pub(super) fn position(nodes: &[CUgraphNode], (node, data): &Edge) -> String {
    let at = nodes.iter().position(|other| other == node);
    let name = at.map_or_else(|| "elsewhere".to_owned(), |at| at.to_string());
    match data {
        CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, .. } => name,
        CUgraphEdgeData { from_port, to_port, type_, .. } => format!("{name}({from_port},{to_port},{type_})"),
    }
}

/// A graph in a line: its nodes, and behind each the positions of those that it depends on.
pub(super) fn picture(cu: &Cu, graph: CUgraph) -> Answer {
    told(cu, graph).map_or_else(|answer| answer, Answer::Value)
}

fn told(cu: &Cu, graph: CUgraph) -> Result<String, Answer> {
    let nodes = nodes(cu, graph)?;
    let mut told = Vec::new();
    for &node in &nodes {
        let (kind, from) = (kind(cu, node)?, positions(&nodes, &dependencies(cu, node)?));
        told.push(if from.is_empty() { kind } else { format!("{kind} < {from}") });
    }
    Ok(if told.is_empty() { "no nodes".to_owned() } else { told.join(", ") })
}

/// Destroys a graph, if there is one.
pub(super) fn destroy(cu: &Cu, graph: CUgraph) {
    if !graph.is_null() {
        let _ = call!(cu, cuGraphDestroy_10000(graph));
    }
}

/// An executable graph, as long as this lives.
pub(super) struct Exec {
    cu: Cu,
    pub(super) handle: CUgraphExec,
    /// What the making of it answered.
    pub(super) made: Answer,
}

impl Exec {
    /// Instantiates a graph with these flags.
    pub(super) fn of(cu: &Cu, graph: CUgraph, flags: u64) -> Self {
        let mut handle = null_mut();
        let made = if graph.is_null() {
            "no graph".into()
        } else {
            call!(cu, cuGraphInstantiateWithFlags_11040(&raw mut handle, graph, flags))
        };
        Self { cu: *cu, handle: if made.succeeded() { handle } else { null_mut() }, made }
    }

    /// Launches it once, and waits for that.
    pub(super) fn run(&self, stream: CUstream) -> Answer {
        self.launch(stream).and(|| call!(self.cu, cuStreamSynchronize_2000(stream)))
    }

    /// Launches it.
    pub(super) fn launch(&self, stream: CUstream) -> Answer {
        match self.handle.is_null() {
            true => "no exec".into(),
            false => call!(self.cu, cuGraphLaunch_10000(self.handle, stream)),
        }
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            let _ = call!(self.cu, cuGraphExecDestroy_10000(self.handle));
        }
    }
}

/// Instantiates a graph, launches it and waits: the first answer that is no success, with the name of the step.
pub(super) fn replay(cu: &Cu, graph: CUgraph, stream: CUstream) -> Answer {
    let exec = Exec::of(cu, graph, 0);
    if !exec.made.succeeded() {
        return format!("instantiate: {}", exec.made).into();
    }
    match exec.launch(stream) {
        answer if !answer.succeeded() => format!("launch: {answer}").into(),
        _ => call!(cu, cuStreamSynchronize_2000(stream)),
    }
}
