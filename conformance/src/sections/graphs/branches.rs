//! The bodies of conditional nodes as graphs, and conditional nodes in graphs that are in graphs.

use super::conditionals::{IF, branch, use_of};
use super::scene::Scene;
use super::work::{Work, blank};
use super::{Asked, Question};
use crate::driver::{Answer, call, given, yes};
use cushim::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_NODE_TYPE_GRAPH,
    CUDA_CHILD_GRAPH_NODE_PARAMS, CUgraph,
};
use std::ptr::{null, null_mut};

pub(super) const BODIES: &[Question] = &[
    ("bodies of a SWITCH of 3: differ; nodes of each", |s| {
        let graph = s.graph()?;
        let conditional = s.conditional(s.condition(graph, 0, 0)?, CU_GRAPH_COND_TYPE_SWITCH, 3);
        let bodies = s.branch(graph, &[], conditional)?.1;
        let differ = bodies[0] != bodies[1] && bodies[1] != bodies[2] && bodies[0] != bodies[2];
        Ok(Answer::all([yes(differ).into(), s.count(bodies[0]), s.count(bodies[2])]))
    }),
    ("destroy body graph", |s| Ok(call!(s.cu, cuGraphDestroy_10000(branch(s)?.body)))),
    ("instantiate body graph itself", |s| Ok(s.instantiate(branch(s)?.body))),
    ("instantiate a body with nodes itself", |s| {
        let branch = branch(s)?;
        s.node(branch.body, &[], s.note(1))?;
        Ok(s.verdict(branch.body, 0, &[]))
    }),
    ("clone a body: answer, nodes, run", |s| {
        s.clear()?;
        let (branch, mut clone) = (branch(s)?, null_mut());
        s.node(branch.body, &[], s.note(1))?;
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, branch.body));
        Ok(answer.and(|| Answer::all([s.count(clone), s.ran(clone), s.noted()])))
    }),
    ("embed a body elsewhere: answer, run", |s| {
        s.clear()?;
        let (branch, graph, mut node) = (branch(s)?, s.graph()?, null_mut());
        s.node(branch.body, &[], s.note(1))?;
        let answer = s.add(graph, &[], Work::Child(branch.body), &raw mut node);
        Ok(answer.and(|| Answer::all([s.ran(graph), s.noted()])))
    }),
    ("embed a body in its own root: answer, nodes", |s| {
        let (branch, mut node) = (branch(s)?, null_mut());
        s.node(branch.body, &[], s.note(1))?;
        let answer = s.add(branch.graph, &[], Work::Child(branch.body), &raw mut node);
        Ok(Answer::all([answer, s.count(branch.graph)]))
    }),
    ("update an exec from a body", |s| {
        let branch = branch(s)?;
        s.node(branch.body, &[], s.note(1))?;
        Ok(s.update(s.exec(s.graph_of(&[s.note(2)])?)?, branch.body, &[("body", branch.body)]))
    }),
    ("an edge from the root to a body", |s| {
        let branch = branch(s)?;
        let (outside, inside) =
            (s.node(branch.graph, &[], Work::Empty)?, s.node(branch.body, &[], Work::Empty)?);
        Ok(Answer::all([s.connect(branch.graph, outside, inside), s.connect(branch.body, outside, inside)]))
    }),
    ("a node in a body after its conditional node", |s| {
        let (branch, mut node) = (branch(s)?, null_mut());
        Ok(s.add(branch.body, &[branch.node], Work::Empty, &raw mut node))
    }),
    ("a node of a body destroyed; nodes", |s| {
        let branch = branch(s)?;
        s.destroy_node(s.node(branch.body, &[], Work::Empty)?)?;
        Ok(s.count(branch.body))
    }),
    ("clone a conditional graph, instantiate clone", |s| {
        let mut clone = null_mut();
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, branch(s)?.graph));
        Ok(Answer::all([answer, s.instantiate(clone)]))
    }),
    ("embed a conditional graph", |s| {
        let mut node = null_mut();
        Ok(s.add(s.graph()?, &[], Work::Child(branch(s)?.graph), &raw mut node))
    }),
    ("second instantiate while one lives", |s| {
        let branch = branch(s)?;
        s.exec(branch.graph)?;
        Ok(s.instantiate(branch.graph))
    }),
    ("second instantiate after the first is destroyed", |s| {
        let branch = branch(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(branch.graph)?))?;
        Ok(s.instantiate(branch.graph))
    }),
    ("a node added to a body while an exec lives; the exec runs", |s| {
        s.clear()?;
        let branch = branch(s)?;
        let (exec, mut node) = (s.exec(branch.graph)?, null_mut());
        let answer = s.add(branch.body, &[], s.note(1), &raw mut node);
        Ok(Answer::all([answer, s.launched(exec), s.noted()]))
    }),
    ("destroy the conditional node, nodes, instantiate", |s| {
        let branch = branch(s)?;
        let answer = call!(s.cu, cuGraphDestroyNode_10000(branch.node));
        Ok(Answer::all([answer, s.count(branch.graph), s.verdict(branch.graph, 0, &[])]))
    }),
    ("destroy the conditional node, use its handle again, run", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 1)?;
        s.destroy_node(s.branch(graph, &[], s.conditional(condition, IF, 1))?.0)?;
        Ok(Answer::all([use_of(s, graph, condition), s.ran(graph)]))
    }),
    ("destroy the root; its exec runs", |s| {
        let branch = branch(s)?;
        let exec = s.exec(branch.graph)?;
        s.destroy(branch.graph)?;
        Ok(s.launched(exec))
    }),
    ("destroy the conditional node while an exec lives; it runs", |s| {
        let branch = branch(s)?;
        let exec = s.exec(branch.graph)?;
        let answer = call!(s.cu, cuGraphDestroyNode_10000(branch.node));
        Ok(Answer::all([answer, s.launched(exec)]))
    }),
];

/// Conditional nodes in graphs that are in graphs.
pub(super) const INSIDE: &[Question] = &[
    ("in an inner graph, condition of it: add, instantiate", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let inner = s.inner(s.first(outer)?)?;
        let condition = s.condition(inner, 0, 1)?;
        Ok(Answer::all([
            use_of(s, inner, condition),
            s.verdict(outer, 0, &[("outer", outer), ("inner", inner)]),
        ]))
    }),
    ("in an inner graph, condition of the outer: add, instantiate", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let inner = s.inner(s.first(outer)?)?;
        let condition = s.condition(outer, 0, 1)?;
        Ok(Answer::all([
            use_of(s, inner, condition),
            s.verdict(outer, 0, &[("outer", outer), ("inner", inner)]),
        ]))
    }),
    ("in the outer graph, condition of an inner: add, instantiate", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let condition = s.condition(s.inner(s.first(outer)?)?, 0, 1)?;
        Ok(Answer::all([use_of(s, outer, condition), s.verdict(outer, 0, &[("outer", outer)])]))
    }),
    ("in a body, condition of the root: add, run", |s| {
        let branch = branch(s)?;
        let condition = s.condition(branch.graph, 0, 1)?;
        Ok(Answer::all([use_of(s, branch.body, condition), s.ran(branch.graph)]))
    }),
    ("in a body, condition of the body: add, run", |s| {
        let branch = branch(s)?;
        let condition = s.condition(branch.body, 0, 1)?;
        Ok(Answer::all([use_of(s, branch.body, condition), s.ran(branch.graph)]))
    }),
    ("in the root, condition of a body: add, run", |s| {
        let branch = branch(s)?;
        let condition = s.condition(branch.body, 0, 1)?;
        Ok(Answer::all([use_of(s, branch.graph, condition), s.ran(branch.graph)]))
    }),
    ("in a body, the condition of its own node", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 1)?;
        let bodies = s.branch(graph, &[], s.conditional(condition, IF, 1))?.1;
        Ok(use_of(s, bodies[0], condition))
    }),
    ("in a sibling's body, condition of the root: add, run", |s| {
        let (branch, mut node) = (branch(s)?, null_mut());
        let conditional = s.conditional(s.condition(branch.graph, 0, 1)?, IF, 1);
        let sibling = s.branch(branch.graph, &[], conditional)?.1[0];
        let nested = s.conditional(s.condition(branch.body, 0, 1)?, IF, 1);
        let answer = s.add(sibling, &[], Work::Conditional(nested), &raw mut node);
        Ok(Answer::all([answer, s.ran(branch.graph)]))
    }),
    ("ten levels deep: run", |s| {
        let graph = s.graph()?;
        let mut at = graph;
        for _ in 0..10 {
            let conditional = s.conditional(s.condition(graph, 1, 1)?, IF, 1);
            at = s.branch(at, &[], conditional)?.1[0];
        }
        s.clear()?;
        s.node(at, &[], s.note(1))?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("in a body's child graph: add, run", |s| {
        let branch = branch(s)?;
        let child = s.node(branch.body, &[], Work::Child(s.graph_of(&[Work::Empty])?))?;
        let (inner, condition) = (s.inner(child)?, s.condition(branch.graph, 0, 1)?);
        Ok(Answer::all([use_of(s, inner, condition), s.ran(branch.graph)]))
    }),
    ("a moved child graph with a conditional: run", |s| {
        let (outer, mut node) = (s.graph()?, null_mut());
        let mut params = blank(CU_GRAPH_NODE_TYPE_GRAPH);
        params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS {
            graph: branch(s)?.graph,
            ownership: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
        };
        let (to, params) = (&raw mut node, &raw mut params);
        let answer = call!(s.cu, cuGraphAddNode_12030(to, outer, null(), null(), 0, params));
        Ok(answer.and(|| s.ran(outer).named("added, but")))
    }),
];

/// What is asked of a body whose conditional node is gone.
fn orphan(s: &Scene, ask: impl FnOnce(&Scene, CUgraph) -> Answer) -> Asked {
    let branch = branch(s)?;
    s.node(branch.body, &[], Work::Empty)?;
    s.destroy_node(branch.node)?;
    Ok(ask(s, branch.body))
}

pub(super) const GONE: &[Question] = &[
    ("conditional node destroyed: add a node to its body", |s| {
        orphan(s, |s, body| {
            let mut node = null_mut();
            s.add(body, &[], Work::Empty, &raw mut node)
        })
    }),
    ("conditional node destroyed: destroy its body", |s| {
        orphan(s, |s, body| call!(s.cu, cuGraphDestroy_10000(body)))
    }),
    ("body destroyed, which is refused: the root runs", |s| {
        let branch = branch(s)?;
        let answer = call!(s.cu, cuGraphDestroy_10000(branch.body));
        Ok(Answer::all([answer, s.ran(branch.graph)]))
    }),
];

/// Bodies that are no more, at which the driver may only look.
pub(super) const ORPHANS: &[Question] = &[
    ("conditional node destroyed: nodes of its body", |s| orphan(s, |s, body| s.count(body))),
    ("conditional node destroyed: clone its body", |s| {
        orphan(s, |s, body| {
            let mut clone = null_mut();
            call!(s.cu, cuGraphClone_10000(&raw mut clone, body))
        })
    }),
    ("root destroyed: nodes of its body", |s| {
        let branch = branch(s)?;
        s.destroy(branch.graph)?;
        Ok(s.count(branch.body))
    }),
];
