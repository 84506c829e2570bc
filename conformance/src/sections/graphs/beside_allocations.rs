//! What else is in a graph with an allocation, and what becomes of the graph.

use super::allocations::add;
use super::scene::Scene;
use super::work::{EVERY, Work, allocation};
use super::{Asked, Question, ask};
use crate::driver::{Answer, Given, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUdeviceptr, CUgraph, CUgraphNode};
use std::ptr::null_mut;

/// What else is in a graph with an allocation, and what becomes of the graph.
pub(super) fn around(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("beside an alloc node: destroy {name}, nodes"), || -> Asked {
            let graph = s.graph()?;
            s.allocation(graph, &[], 64)?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            Ok(Answer::all([call!(s.cu, cuGraphDestroyNode_10000(node)), s.count(graph)]))
        });
    }
    ask(t, s, AROUND);
}

/// An allocation, its free, and two empty nodes beside them, connected.
fn full(s: &Scene) -> Given<(CUgraph, [CUgraphNode; 4], CUdeviceptr)> {
    let graph = s.graph()?;
    let (node, address) = s.allocation(graph, &[], 64)?;
    let free = s.node(graph, &[node], Work::Free(address))?;
    let one = s.node(graph, &[], Work::Empty)?;
    let other = s.node(graph, &[one], Work::Empty)?;
    Ok((graph, [node, free, one, other], address))
}

fn disconnect(s: &Scene, graph: CUgraph, nodes: [CUgraphNode; 2]) -> Answer {
    let [from, to] = &nodes;
    call!(s.cu, cuGraphRemoveDependencies_10000(graph, &raw const *from, &raw const *to, 1))
}

const AROUND: &[Question] = &[
    ("destroy alloc node, no free node", |s| {
        Ok(call!(s.cu, cuGraphDestroyNode_10000(s.allocation(s.graph()?, &[], 64)?.0)))
    }),
    ("destroy alloc node with free node", |s| Ok(call!(s.cu, cuGraphDestroyNode_10000(full(s)?.1[0])))),
    ("destroy free node", |s| Ok(call!(s.cu, cuGraphDestroyNode_10000(full(s)?.1[1])))),
    ("destroy an empty node behind another", |s| Ok(call!(s.cu, cuGraphDestroyNode_10000(full(s)?.1[3])))),
    ("destroy alloc node with an empty dependent; the dependent", |s| {
        let graph = s.graph()?;
        let node = s.allocation(graph, &[], 64)?.0;
        let dependent = s.node(graph, &[node], Work::Empty)?;
        let answers = [node, dependent].map(|node| call!(s.cu, cuGraphDestroyNode_10000(node)));
        Ok(Answer::all(answers))
    }),
    ("remove the edge from alloc to free", |s| {
        let (graph, nodes, _) = full(s)?;
        Ok(disconnect(s, graph, [nodes[0], nodes[1]]))
    }),
    ("remove an edge between empty nodes", |s| {
        let (graph, nodes, _) = full(s)?;
        Ok(disconnect(s, graph, [nodes[2], nodes[3]]))
    }),
    ("add, then remove an edge to the alloc node", |s| {
        let (graph, nodes, _) = full(s)?;
        let added = s.connect(graph, nodes[3], nodes[0]);
        Ok(Answer::all([added, disconnect(s, graph, [nodes[3], nodes[0]])]))
    }),
    ("add, then remove an edge from the free node", |s| {
        let (graph, nodes, _) = full(s)?;
        let added = s.connect(graph, nodes[1], nodes[2]);
        Ok(Answer::all([added, disconnect(s, graph, [nodes[1], nodes[2]])]))
    }),
    ("remove a missing edge", |s| {
        let (graph, nodes, _) = full(s)?;
        Ok(disconnect(s, graph, [nodes[3], nodes[2]]))
    }),
    ("clone with alloc nodes", |s| {
        let mut clone = null_mut();
        Ok(call!(s.cu, cuGraphClone_10000(&raw mut clone, full(s)?.0)))
    }),
    ("child graph with alloc nodes", |s| {
        let mut node = null_mut();
        Ok(s.add(s.graph()?, &[], Work::Child(full(s)?.0), &raw mut node))
    }),
    ("alloc node in a child graph", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let (inner, mut params) = (s.inner(s.first(outer)?)?, allocation(64));
        Ok(Answer::all([add(s, inner, &mut params), s.ran(outer)]))
    }),
    ("clone of what has an alloc node in a child graph", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let (inner, mut params, mut clone) = (s.inner(s.first(outer)?)?, allocation(64), null_mut());
        add(s, inner, &mut params).given("adding an alloc node")?;
        Ok(call!(s.cu, cuGraphClone_10000(&raw mut clone, outer)))
    }),
    ("second instantiate while one lives", |s| {
        let graph = full(s)?.0;
        s.exec(graph)?;
        Ok(s.instantiate(graph))
    }),
    ("second instantiate after the first is destroyed", |s| {
        let graph = full(s)?.0;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(graph)?))?;
        Ok(s.instantiate(graph))
    }),
    ("a node added while an exec lives", |s| {
        let graph = full(s)?.0;
        s.exec(graph)?;
        let mut node = null_mut();
        Ok(s.add(graph, &[], Work::Empty, &raw mut node))
    }),
    ("another alloc node added while an exec lives", |s| {
        let graph = full(s)?.0;
        s.exec(graph)?;
        Ok(add(s, graph, &mut allocation(64)))
    }),
    ("destroyed while an exec lives: the exec runs", |s| {
        let graph = full(s)?.0;
        let exec = s.exec(graph)?;
        s.destroy(graph)?;
        Ok(s.launched(exec))
    }),
    ("update from itself", |s| {
        let graph = full(s)?.0;
        let exec = s.exec(graph)?;
        Ok(Answer::all([s.update(exec, graph, &[("new", graph)]), s.launched(exec)]))
    }),
    ("update from another of the same form", |s| {
        let (exec, other) = (s.exec(full(s)?.0)?, full(s)?.0);
        Ok(Answer::all([s.update(exec, other, &[("new", other)]), s.launched(exec)]))
    }),
];
