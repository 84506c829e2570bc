//! Ids of graphs, execs and nodes, since 13.1.

use super::scene::Scene;
use super::work::Work;
use super::{Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUgraph, CUgraphExec, CUgraphNode};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "graph_ids", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[|t, s| ask(t, s, QUESTIONS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

fn of_graph(s: &Scene, graph: CUgraph) -> Given<u32> {
    let mut id = 0;
    given!(s.cu, cuGraphGetId_13010(graph, &raw mut id))?;
    Ok(id)
}

fn of_exec(s: &Scene, exec: CUgraphExec) -> Given<u32> {
    let mut id = 0;
    given!(s.cu, cuGraphExecGetId_13010(exec, &raw mut id))?;
    Ok(id)
}

fn local(s: &Scene, node: CUgraphNode) -> Given<u32> {
    let mut id = 0;
    given!(s.cu, cuGraphNodeGetLocalId_13010(node, &raw mut id))?;
    Ok(id)
}

fn for_tools(s: &Scene, node: CUgraphNode) -> Given<u64> {
    let mut id = 0;
    given!(s.cu, cuGraphNodeGetToolsId_13010(node, &raw mut id))?;
    Ok(id)
}

fn containing(s: &Scene, node: CUgraphNode) -> Given<CUgraph> {
    let mut graph = null_mut();
    given!(s.cu, cuGraphNodeGetContainingGraph_13010(node, &raw mut graph))?;
    Ok(graph)
}

/// Two nodes and a child graph of one.
fn three(s: &Scene) -> Given<(CUgraph, Vec<CUgraphNode>)> {
    let (graph, child) = (s.graph()?, s.graph_of(&[Work::Empty])?);
    let nodes = s.chain(graph, &[Work::Empty, s.fill(1), Work::Child(child)])?;
    Ok((graph, nodes))
}

const QUESTIONS: &[Question] = &[
    ("ids of two graphs differ", |s| Ok(yes(of_graph(s, s.graph()?)? != of_graph(s, s.graph()?)?).into())),
    ("id of a clone differs", |s| {
        let graph = s.graph()?;
        Ok(yes(of_graph(s, graph)? != of_graph(s, s.clone_of(graph)?)?).into())
    }),
    ("id of an exec is its graph's", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        Ok(yes(of_exec(s, s.exec(graph)?)? == of_graph(s, graph)?).into())
    }),
    ("ids of two execs differ", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        Ok(yes(of_exec(s, s.exec(graph)?)? != of_exec(s, s.exec(graph)?)?).into())
    }),
    ("local ids of nodes", |s| {
        let (_, nodes) = three(s)?;
        Ok(format!("{} {} {}", local(s, nodes[0])?, local(s, nodes[1])?, local(s, nodes[2])?).into())
    }),
    ("local id after a node was destroyed", |s| {
        let (graph, nodes) = three(s)?;
        s.destroy_node(nodes[1])?;
        Ok(local(s, s.node(graph, &[], Work::Empty)?)?.to_string().into())
    }),
    ("local id in a clone is the source's", |s| {
        let (graph, nodes) = three(s)?;
        Ok(yes(local(s, s.first(s.clone_of(graph)?)?)? == local(s, nodes[0])?).into())
    }),
    ("ids for tools differ", |s| {
        let (_, nodes) = three(s)?;
        Ok(yes(for_tools(s, nodes[0])? != for_tools(s, nodes[1])?).into())
    }),
    ("id for tools has the graph's id above, the local one below", |s| {
        let (graph, nodes) = three(s)?;
        let expected = u64::from(of_graph(s, graph)?) << 32 | u64::from(local(s, nodes[1])?);
        Ok(yes(for_tools(s, nodes[1])? == expected).into())
    }),
    ("the graph that contains a node", |s| {
        let (graph, nodes) = three(s)?;
        Ok(yes(containing(s, nodes[0])? == graph).into())
    }),
    ("the graph that contains an inner node", |s| {
        let inner = s.inner(three(s)?.1[2])?;
        Ok(yes(containing(s, s.first(inner)?)? == inner).into())
    }),
    ("NULL: graph, exec, node, node for tools, containing", |s| {
        let (mut id, mut wide, mut graph) = (0, 0, null_mut());
        Ok(Answer::all([
            call!(s.cu, cuGraphGetId_13010(null_mut(), &raw mut id)),
            call!(s.cu, cuGraphExecGetId_13010(null_mut(), &raw mut id)),
            call!(s.cu, cuGraphNodeGetLocalId_13010(null_mut(), &raw mut id)),
            call!(s.cu, cuGraphNodeGetToolsId_13010(null_mut(), &raw mut wide)),
            call!(s.cu, cuGraphNodeGetContainingGraph_13010(null_mut(), &raw mut graph)),
        ]))
    }),
];
