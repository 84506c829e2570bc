//! Nodes of an exec that are disabled: which types may be, and what goes on without them.

use super::scene::Scene;
use super::work::{EVERY, Work};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_GRAPH_COND_TYPE_IF, CUgraph, CUgraphExec, CUgraphNode};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_enabled", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[types, |t, s| ask(t, s, CALLS), |t, s| ask(t, s, EFFECTS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

fn set(s: &Scene, exec: CUgraphExec, node: CUgraphNode, enabled: u32) -> Answer {
    call!(s.cu, cuGraphNodeSetEnabled_11060(exec, node, enabled))
}

fn get(s: &Scene, exec: CUgraphExec, node: CUgraphNode) -> Answer {
    let mut enabled = 77;
    call!(s.cu, cuGraphNodeGetEnabled_11060(exec, node, &raw mut enabled)).then(|| enabled)
}

fn types(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: is enabled"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            Ok(get(s, s.exec(graph)?, node))
        });
        t.line(&format!("{name}: disable, is enabled, run"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            let exec = s.exec(graph)?;
            Ok(Answer::all([set(s, exec, node, 0), get(s, exec, node), s.launched(exec)]))
        });
        t.line(&format!("{name}: enable, which it is"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            Ok(set(s, s.exec(graph)?, node, 1))
        });
    }
}

/// A chain of notes and an exec of it.
struct Chain {
    graph: CUgraph,
    nodes: Vec<CUgraphNode>,
    exec: CUgraphExec,
}

fn chain(s: &Scene) -> Given<Chain> {
    s.clear()?;
    let graph = s.graph()?;
    let nodes = s.chain(graph, &[s.note(1), s.note(2), s.note(3)])?;
    Ok(Chain { graph, nodes, exec: s.exec(graph)? })
}

const CALLS: &[Question] = &[
    ("disable twice, enable twice", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        Ok(Answer::all([0, 0, 1, 1].map(|enabled| set(s, exec, nodes[1], enabled))))
    }),
    ("enabled 2: answer, is enabled", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        Ok(Answer::all([set(s, exec, nodes[1], 2), get(s, exec, nodes[1])]))
    }),
    ("node NULL: set, get", |s| {
        let Chain { exec, .. } = chain(s)?;
        Ok(Answer::all([set(s, exec, null_mut(), 0), get(s, exec, null_mut())]))
    }),
    ("exec NULL: set, get", |s| {
        let Chain { nodes, .. } = chain(s)?;
        Ok(Answer::all([set(s, null_mut(), nodes[0], 0), get(s, null_mut(), nodes[0])]))
    }),
    ("get to NULL", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        Ok(call!(s.cu, cuGraphNodeGetEnabled_11060(exec, nodes[0], null_mut())))
    }),
    ("a node of another graph", |s| {
        let (Chain { exec, .. }, other) = (chain(s)?, chain(s)?);
        Ok(Answer::all([set(s, exec, other.nodes[0], 0), get(s, exec, other.nodes[0])]))
    }),
    ("a node of a clone", |s| {
        let Chain { graph, exec, .. } = chain(s)?;
        let node = s.first(s.clone_of(graph)?)?;
        Ok(Answer::all([set(s, exec, node, 0), get(s, exec, node)]))
    }),
    ("a node that was added after the instantiation", |s| {
        let Chain { graph, exec, .. } = chain(s)?;
        let node = s.node(graph, &[], s.note(4))?;
        Ok(Answer::all([set(s, exec, node, 0), get(s, exec, node)]))
    }),
    ("a node that was destroyed in the graph", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        s.destroy_node(nodes[1])?;
        Ok(Answer::all([set(s, exec, nodes[1], 0), s.launched(exec)]))
    }),
    ("the graph was destroyed", |s| {
        let Chain { graph, nodes, exec } = chain(s)?;
        s.destroy(graph)?;
        Ok(Answer::all([set(s, exec, nodes[1], 0), s.launched(exec)]))
    }),
    ("no current context", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answers = Answer::all([set(s, exec, nodes[1], 0), get(s, exec, nodes[1])]);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answers)
    }),
    ("the other exec of the graph: is enabled", |s| {
        let Chain { graph, nodes, exec } = chain(s)?;
        let other = s.exec(graph)?;
        Ok(Answer::all([set(s, exec, nodes[1], 0), get(s, other, nodes[1])]))
    }),
];

/// The child's node in a chain, and an exec.
fn nested(s: &Scene) -> Given<(CUgraphNode, CUgraphExec)> {
    s.clear()?;
    let child = s.graph_of(&[s.note(1), s.note(2)])?;
    let graph = s.graph()?;
    let node = s.chain(graph, &[s.note(8), Work::Child(child), s.note(9)])?[1];
    Ok((node, s.exec(graph)?))
}

const EFFECTS: &[Question] = &[
    ("all enabled: noted", |s| {
        let Chain { exec, .. } = chain(s)?;
        Ok(Answer::all([s.launched(exec), s.noted()]))
    }),
    ("the first disabled: noted", |s| disabled(s, 0)),
    ("the second disabled: noted", |s| disabled(s, 1)),
    ("the last disabled: noted", |s| disabled(s, 2)),
    ("disabled, launched, enabled, launched: noted", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        set(s, exec, nodes[1], 0).given("disabling")?;
        let first = s.launched(exec);
        Ok(Answer::all([first, set(s, exec, nodes[1], 1), s.launched(exec), s.noted()]))
    }),
    ("disabled after a launch, at once: noted", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        let first = s.launch(exec);
        Ok(Answer::all([first, set(s, exec, nodes[1], 0), s.launched(exec), s.noted()]))
    }),
    ("the parameters of a disabled node set: is enabled, noted", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        set(s, exec, nodes[1], 0).given("disabling")?;
        let other = s.launch_note(7);
        let set_params = other
            .with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, nodes[1], params)));
        let is = get(s, exec, nodes[1]);
        let ran = s.launched(exec);
        let enabled = set(s, exec, nodes[1], 1);
        Ok(Answer::all([set_params, is, ran, enabled, s.launched(exec), s.noted()]))
    }),
    ("updated with a node disabled: is enabled, noted", |s| {
        let Chain { graph, nodes, exec } = chain(s)?;
        set(s, exec, nodes[1], 0).given("disabling")?;
        let answer = s.update(exec, graph, &[]);
        Ok(Answer::all([answer, get(s, exec, nodes[1]), s.launched(exec), s.noted()]))
    }),
    ("updated by another graph, a node disabled: is enabled, noted", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        set(s, exec, nodes[1], 0).given("disabling")?;
        let answer = s.update(exec, s.graph_of(&[s.note(4), s.note(5), s.note(6)])?, &[]);
        Ok(Answer::all([answer, get(s, exec, nodes[1]), s.launched(exec), s.noted()]))
    }),
    ("a child's node disabled: noted", |s| {
        let (child, exec) = nested(s)?;
        let inner = s.first(s.inner(child)?)?;
        Ok(Answer::all([set(s, exec, inner, 0), get(s, exec, inner), s.launched(exec), s.noted()]))
    }),
    ("a child's node disabled by its source's node", |s| {
        let child = s.graph_of(&[s.note(1)])?;
        let exec = s.exec(s.graph_of(&[Work::Child(child)])?)?;
        Ok(set(s, exec, s.first(child)?, 0))
    }),
    ("a child node disabled: noted", |s| {
        let (child, exec) = nested(s)?;
        Ok(Answer::all([set(s, exec, child, 0), s.launched(exec), s.noted()]))
    }),
    ("a body's node disabled: noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let condition = s.condition(graph, 1, 1)?;
        let (_, bodies) = s.branch(graph, &[], s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1))?;
        let nodes = s.chain(bodies[0], &[s.note(1), s.note(2), s.note(3)])?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([set(s, exec, nodes[1], 0), get(s, exec, nodes[1]), s.launched(exec), s.noted()]))
    }),
    ("a memset and a copy disabled: words", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[s.fill(1), s.copy(), s.fill(2)])?;
        let exec = s.exec(graph)?;
        let answers = [set(s, exec, nodes[1], 0), set(s, exec, nodes[2], 0), s.launched(exec)];
        Ok(Answer::all([Answer::all(answers), s.word(s.here), s.word(s.there)]))
    }),
    ("all disabled: run", |s| {
        let Chain { nodes, exec, .. } = chain(s)?;
        let answers = [0, 1, 2].map(|at| set(s, exec, nodes[at], 0));
        Ok(Answer::all([Answer::all(answers), s.launched(exec), s.noted()]))
    }),
];

fn disabled(s: &Scene, at: usize) -> Asked {
    let Chain { nodes, exec, .. } = chain(s)?;
    Ok(Answer::all([set(s, exec, nodes[at], 0), get(s, exec, nodes[at]), s.launched(exec), s.noted()]))
}
