//! Handles that are no longer any, or of another kind, and graphs in themselves. A real driver follows them: what may
//! spoil the next question has a process of its own.

use super::held::Object;
use super::scene::Scene;
use super::work::{Work, blank};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CU_GRAPH_NODE_TYPE_GRAPH, CUDA_CHILD_GRAPH_NODE_PARAMS, CUgraph,
    CUgraphExec, CUgraphNode,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_stale", parts: super::parts(QUESTIONS), devices: 1, run };

const GROUPS: &[Group] = &[|t, s| ask(t, s, READ)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, QUESTIONS)
}

/// A destroyed graph.
fn graph(s: &Scene) -> Given<CUgraph> {
    let graph = s.graph_of(&[Work::Empty, s.fill(1)])?;
    s.destroy(graph)?;
    Ok(graph)
}

/// A living graph of two nodes, and a third node that was destroyed.
fn node(s: &Scene) -> Given<(CUgraph, CUgraphNode)> {
    let graph = s.graph()?;
    let nodes = s.chain(graph, &[Work::Empty, s.fill(1), Work::Empty])?;
    s.destroy_node(nodes[1])?;
    Ok((graph, nodes[1]))
}

/// A destroyed exec.
fn exec(s: &Scene) -> Given<CUgraphExec> {
    let exec = s.exec(s.graph_of(&[s.fill(1)])?)?;
    given!(s.cu, cuGraphExecDestroy_10000(exec))?;
    Ok(exec)
}

fn added(s: &Scene, graph: CUgraph, after: &[CUgraphNode], work: Work) -> Asked {
    let mut node = null_mut();
    Ok(s.add(graph, after, work, &raw mut node))
}

const QUESTIONS: &[Question] = &[
    ("destroy of a destroyed graph", |s| Ok(call!(s.cu, cuGraphDestroy_10000(graph(s)?)))),
    ("a node for a destroyed graph", |s| added(s, graph(s)?, &[], Work::Empty)),
    ("embed a destroyed graph", |s| added(s, s.graph()?, &[], Work::Child(graph(s)?))),
    ("update from a destroyed graph", |s| Ok(s.update(s.exec(s.graph_of(&[s.fill(1)])?)?, graph(s)?, &[]))),
    ("destroy of a destroyed node", |s| Ok(call!(s.cu, cuGraphDestroyNode_10000(node(s)?.1)))),
    ("a node after a destroyed node", |s| {
        let (graph, gone) = node(s)?;
        added(s, graph, &[gone], Work::Empty)
    }),
    ("an edge from a destroyed node", |s| {
        let (graph, gone) = node(s)?;
        Ok(s.connect(graph, gone, s.first(graph)?))
    }),
    ("setting a destroyed node", |s| {
        let params = s.filling(2);
        Ok(call!(s.cu, cuGraphMemsetNodeSetParams_10000(node(s)?.1, &raw const params)))
    }),
    ("destroy of a destroyed exec", |s| Ok(call!(s.cu, cuGraphExecDestroy_10000(exec(s)?)))),
    ("update of a destroyed exec", |s| Ok(s.update(exec(s)?, s.graph_of(&[s.fill(1)])?, &[]))),
    ("retain of a released user object on a graph", |s| {
        let object = Object::new(s, 1)?;
        object.release(1)?;
        Ok(object.retain(s.graph()?, 1, 0))
    }),
    ("release of a released user object", |s| {
        let object = Object::new(s, 1)?;
        object.release(1)?;
        Ok(call!(s.cu, cuUserObjectRelease_11030(object.handle, 1)))
    }),
    ("a child set to its own outer graph in an exec", |s| {
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let (exec, node) = (s.exec(graph)?, s.first(graph)?);
        Ok(call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(exec, node, graph)))
    }),
    ("a child set to its own outer graph", |s| {
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let node = s.first(graph)?;
        Ok(s.generic(Work::Child(graph), |params| call!(s.cu, cuGraphNodeSetParams_12020(node, params))))
    }),
    ("launch of a destroyed exec", |s| Ok(s.launch(exec(s)?))),
    ("a graph as an exec: launch", |s| Ok(s.launch(s.graph_of(&[Work::Empty])?.cast()))),
    ("an event as a stream: launch", |s| {
        let exec = s.exec(s.graph_of(&[Work::Empty])?)?;
        Ok(call!(s.cu, cuGraphLaunch_10000(exec, s.cu.event(0)?.cast())))
    }),
];

/// Handles that the driver only follows, and graphs in themselves.
const READ: &[Question] = &[
    ("nodes of a destroyed graph", |s| Ok(s.count(graph(s)?))),
    ("clone of a destroyed graph", |s| {
        let mut clone = null_mut();
        Ok(call!(s.cu, cuGraphClone_10000(&raw mut clone, graph(s)?)))
    }),
    ("instantiate a destroyed graph", |s| Ok(s.instantiate(graph(s)?))),
    ("type of a node whose graph was destroyed", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.fill(1))?;
        s.destroy(graph)?;
        Ok(s.node_type(node))
    }),
    ("type of a destroyed node", |s| Ok(s.node_type(node(s)?.1))),
    ("parameters of a destroyed node", |s| {
        let mut params = s.filling(1);
        Ok(call!(s.cu, cuGraphMemsetNodeGetParams_10000(node(s)?.1, &raw mut params)))
    }),
    ("predecessors of a destroyed node", |s| {
        let (mut count, gone) = (77, node(s)?.1);
        Ok(call!(s.cu, cuGraphNodeGetDependencies_10000(gone, null_mut(), &raw mut count)))
    }),
    ("flags of a destroyed exec", |s| {
        let mut flags = 77;
        Ok(call!(s.cu, cuGraphExecGetFlags_12000(exec(s)?, &raw mut flags)))
    }),
    ("an inner graph whose node was destroyed: nodes", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[Work::Empty])?))?;
        let inner = s.inner(node)?;
        s.destroy_node(node)?;
        Ok(s.count(inner))
    }),
    ("an inner graph whose parent was destroyed: nodes", |s| {
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let inner = s.inner(s.first(graph)?)?;
        s.destroy(graph)?;
        Ok(s.count(inner))
    }),
    ("a graph as a node: type", |s| Ok(s.node_type(s.graph()?.cast()))),
    ("a node as a graph: nodes", |s| Ok(s.count(s.node(s.graph()?, &[], Work::Empty)?.cast()))),
    ("a stream as a graph: nodes", |s| Ok(s.count(s.stream.cast()))),
    ("an exec as a graph: nodes", |s| Ok(s.count(s.exec(s.graph_of(&[Work::Empty])?)?.cast()))),
    ("a graph in itself", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        added(s, graph, &[], Work::Child(graph))
    }),
    ("a graph without nodes in itself", |s| {
        let graph = s.graph()?;
        added(s, graph, &[], Work::Child(graph))
    }),
    ("a graph in itself by the generic call", |s| {
        let (graph, mut node) = (s.graph_of(&[Work::Empty])?, null_mut());
        Ok(s.add_generic(graph, (null(), 0), Work::Child(graph), &raw mut node))
    }),
    ("a graph moved into itself", |s| {
        let (graph, mut node) = (s.graph_of(&[Work::Empty])?, null_mut());
        let mut params = blank(CU_GRAPH_NODE_TYPE_GRAPH);
        params.u16.graph =
            CUDA_CHILD_GRAPH_NODE_PARAMS { graph, ownership: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE };
        Ok(call!(s.cu, cuGraphAddNode_12030(&raw mut node, graph, null(), null(), 0, &raw mut params)))
    }),
    ("a graph in its own inner graph: add, nodes of both", |s| {
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let (inner, mut node) = (s.inner(s.first(graph)?)?, null_mut());
        let answer = s.add(inner, &[], Work::Child(graph), &raw mut node);
        Ok(Answer::all([answer, s.count(graph), s.count(inner)]))
    }),
    ("an inner graph in its own outer graph: add, nodes", |s| {
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let (inner, mut node) = (s.inner(s.first(graph)?)?, null_mut());
        let answer = s.add(graph, &[], Work::Child(inner), &raw mut node);
        Ok(Answer::all([answer, s.count(graph)]))
    }),
];
