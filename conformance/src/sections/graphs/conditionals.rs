//! Conditions and conditional nodes: how they are made, and what becomes of them and of their bodies.

use super::branches;
use super::scene::Scene;
use super::work::{Conditional, Work};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_COND_TYPE_WHILE, CUcontext, CUgraph,
    CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNode,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_conditionals", parts: super::parts(branches::GONE), devices: 1, run };

const GROUPS: &[Group] = &[
    kinds,
    |t, s| ask(t, s, CONDITIONS),
    |t, s| ask(t, s, USES),
    |t, s| ask(t, s, CONTEXTS),
    |t, s| ask(t, s, branches::BODIES),
    |t, s| ask(t, s, branches::INSIDE),
    |t, s| ask(t, s, branches::ORPHANS),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, branches::GONE)
}

pub(super) const IF: CUgraphConditionalNodeType = CU_GRAPH_COND_TYPE_IF;

/// Kinds, and how many bodies.
const KINDS: &[(&str, CUgraphConditionalNodeType, &[u32])] = &[
    ("IF", CU_GRAPH_COND_TYPE_IF, &[1, 2, 0, 3]),
    ("WHILE", CU_GRAPH_COND_TYPE_WHILE, &[1, 2, 0]),
    ("SWITCH", CU_GRAPH_COND_TYPE_SWITCH, &[0, 1, 2, 5, 100]),
    ("type 9", CUgraphConditionalNodeType(9), &[1]),
    ("type -1", CUgraphConditionalNodeType(-1), &[1]),
];

fn kinds(t: &mut Lines, s: &Scene) {
    for (name, kind, sizes) in KINDS {
        for size in *sizes {
            t.line(&format!("{name} size {size}: add, nodes"), || -> Asked {
                let (graph, mut node) = (s.graph()?, null_mut());
                let conditional = s.conditional(s.condition(graph, 0, 0)?, *kind, *size);
                let answer = s.add(graph, &[], Work::Conditional(conditional), &raw mut node);
                Ok(Answer::all([answer, s.count(graph)]))
            });
            t.line(&format!("{name} size {size}: run"), || -> Asked {
                let graph = s.graph()?;
                let conditional = s.conditional(s.condition(graph, 0, 1)?, *kind, *size);
                s.node(graph, &[], Work::Conditional(conditional))?;
                Ok(s.ran(graph))
            });
        }
    }
}

fn create(s: &Scene, graph: CUgraph, context: CUcontext, flags: u32) -> Answer {
    let mut condition = 0;
    call!(s.cu, cuGraphConditionalHandleCreate_12030(&raw mut condition, graph, context, 0, flags))
}

const CONDITIONS: &[Question] = &[
    ("condition, flags 0", |s| Ok(create(s, s.graph()?, s.context, 0))),
    ("condition, flags 1", |s| Ok(create(s, s.graph()?, s.context, 1))),
    ("condition, flags 2", |s| Ok(create(s, s.graph()?, s.context, 2))),
    ("condition, flags 3", |s| Ok(create(s, s.graph()?, s.context, 3))),
    ("condition with context NULL", |s| Ok(create(s, s.graph()?, null_mut(), 0))),
    ("condition with another context", |s| Ok(create(s, s.graph()?, s.elsewhere()?.context, 0))),
    ("condition of graph NULL", |s| Ok(create(s, null_mut(), s.context, 0))),
    ("condition to NULL", |s| {
        let (graph, context) = (s.graph()?, s.context);
        Ok(call!(s.cu, cuGraphConditionalHandleCreate_12030(null_mut(), graph, context, 0, 0)))
    }),
    ("condition with no current context", |s| {
        let graph = s.graph()?;
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answers = Answer::all([create(s, graph, s.context, 0), create(s, graph, null_mut(), 0)]);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answers)
    }),
    ("two conditions differ; none is 0", |s| {
        let graph = s.graph()?;
        let (one, other) = (s.condition(graph, 0, 0)?, s.condition(graph, 0, 0)?);
        Ok(Answer::all([yes(one != other).into(), yes(one != 0 && other != 0).into()]))
    }),
    ("condition of a body", |s| Ok(create(s, branch(s)?.body, s.context, 0))),
    ("condition of an inner graph", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        Ok(create(s, s.inner(s.first(outer)?)?, s.context, 0))
    }),
    ("condition of a clone", |s| Ok(create(s, s.clone_of(s.graph_of(&[Work::Empty])?)?, s.context, 0))),
    ("condition of a graph with an exec", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        s.exec(graph)?;
        Ok(create(s, graph, s.context, 0))
    }),
    ("condition of a graph with alloc nodes", |s| {
        let graph = s.graph()?;
        s.allocation(graph, &[], 64)?;
        Ok(create(s, graph, s.context, 0))
    }),
];

/// A graph with an IF, and its body.
pub(super) struct Branch {
    pub(super) graph: CUgraph,
    pub(super) node: CUgraphNode,
    pub(super) body: CUgraph,
}

pub(super) fn branch(s: &Scene) -> Given<Branch> {
    let graph = s.graph()?;
    let conditional = s.conditional(s.condition(graph, 0, 1)?, IF, 1);
    let (node, bodies) = s.branch(graph, &[], conditional)?;
    Ok(Branch { graph, node, body: bodies[0] })
}

/// A graph with a child graph, of which there is a clone, and with an IF beside it; and the clone.
fn beside_cloned(s: &Scene) -> Given<(CUgraph, CUgraph)> {
    let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
    let clone = s.clone_of(s.inner(s.first(graph)?)?)?;
    let condition = s.condition(graph, 0, 0)?;
    use_of(s, graph, condition).given("adding an IF")?;
    Ok((graph, clone))
}

/// What adding an IF with this condition answers.
pub(super) fn use_of(s: &Scene, graph: CUgraph, condition: CUgraphConditionalHandle) -> Answer {
    let mut node = null_mut();
    s.add(graph, &[], Work::Conditional(s.conditional(condition, IF, 1)), &raw mut node)
}

const USES: &[Question] = &[
    ("handle 0", |s| Ok(use_of(s, s.graph()?, 0))),
    ("handle 77", |s| Ok(use_of(s, s.graph()?, 77))),
    ("a handle of no graph: the greatest", |s| Ok(use_of(s, s.graph()?, u64::MAX))),
    ("first use of a handle", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 0)?;
        Ok(use_of(s, graph, condition))
    }),
    ("second use of the same handle", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 0)?;
        Ok(Answer::all([use_of(s, graph, condition), use_of(s, graph, condition), s.count(graph)]))
    }),
    ("handle of another graph, its instantiation", |s| {
        let (graph, other) = (s.graph()?, s.graph()?);
        let condition = s.condition(other, 0, 0)?;
        Ok(Answer::all([use_of(s, graph, condition), s.instantiate(graph), s.instantiate(other)]))
    }),
    ("handle of a graph that was destroyed", |s| {
        let (graph, other) = (s.graph()?, s.graph()?);
        let condition = s.condition(other, 0, 0)?;
        s.destroy(other)?;
        Ok(use_of(s, graph, condition))
    }),
    ("handle of the source in its clone", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let clone = s.clone_of(graph)?;
        let condition = s.condition(graph, 0, 0)?;
        Ok(use_of(s, clone, condition))
    }),
    ("instantiate with handles whose node was refused", |s| {
        let graph = s.graph()?;
        let (condition, mut node) = (s.condition(graph, 0, 0)?, null_mut());
        let refused = s.add(graph, &[], Work::Conditional(s.conditional(condition, IF, 0)), &raw mut node);
        Ok(Answer::all([refused, s.instantiate(graph)]))
    }),
    ("give the left-over handle a new empty IF, run", |s| {
        let graph = s.graph()?;
        let (condition, mut node) = (s.condition(graph, 0, 0)?, null_mut());
        let refused = s.add(graph, &[], Work::Conditional(s.conditional(condition, IF, 0)), &raw mut node);
        Ok(Answer::all([refused, use_of(s, graph, condition), s.ran(graph)]))
    }),
    ("instantiate graph with an unused handle", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        s.condition(graph, 0, 0)?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("unused handle given an empty IF, instantiate, once more", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let condition = s.condition(graph, 0, 0)?;
        let answers = [s.instantiate(graph), use_of(s, graph, condition), s.instantiate(graph)];
        Ok(Answer::all([Answer::all(answers), s.instantiate(graph)]))
    }),
    ("clone a graph with an unused handle, instantiate it", |s| {
        let (graph, mut clone) = (s.graph_of(&[Work::Empty])?, null_mut());
        s.condition(graph, 0, 0)?;
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, graph));
        Ok(answer.and(|| s.instantiate(clone)))
    }),
    ("IF in a graph with a clone: instantiate, after the clone", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let clone = s.clone_of(graph)?;
        let answers =
            [use_of(s, graph, s.condition(graph, 0, 0)?), s.instantiate(graph), s.instantiate(clone)];
        s.destroy(clone)?;
        Ok(Answer::all([Answer::all(answers), s.instantiate(graph)]))
    }),
    ("IF in a clone: instantiate it, the original", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let clone = s.clone_of(graph)?;
        Ok(Answer::all([
            use_of(s, clone, s.condition(clone, 0, 0)?),
            s.instantiate(clone),
            s.instantiate(graph),
        ]))
    }),
    ("IF beside a child with a clone: instantiate", |s| {
        let (graph, _clone) = beside_cloned(s)?;
        Ok(s.instantiate(graph))
    }),
    ("  the clone destroyed before", |s| {
        let (graph, clone) = beside_cloned(s)?;
        s.destroy(clone)?;
        Ok(s.instantiate(graph))
    }),
    ("  the clone copied into the graph and destroyed", |s| {
        let (graph, clone) = beside_cloned(s)?;
        s.node(graph, &[], Work::Child(clone))?;
        s.destroy(clone)?;
        Ok(s.instantiate(graph))
    }),
    ("IF beside a child whose source has a clone", |s| {
        let source = s.graph_of(&[Work::Empty])?;
        s.clone_of(source)?;
        let graph = s.graph_of(&[Work::Child(source)])?;
        Ok(Answer::all([use_of(s, graph, s.condition(graph, 0, 0)?), s.instantiate(graph)]))
    }),
    ("embed a graph with an unused handle, instantiate", |s| {
        let (child, graph, mut node) = (s.graph_of(&[Work::Empty])?, s.graph()?, null_mut());
        s.condition(child, 0, 0)?;
        let answer = s.add(graph, &[], Work::Child(child), &raw mut node);
        Ok(Answer::all([answer, s.instantiate(graph)]))
    }),
    ("unused handle of a body, instantiate", |s| {
        let branch = branch(s)?;
        s.condition(branch.body, 0, 0)?;
        Ok(s.verdict(branch.graph, 0, &[]))
    }),
    ("the older ABI adds a conditional node", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let conditional = s.conditional(s.condition(graph, 0, 0)?, IF, 1);
        Ok(s.generic(Work::Conditional(conditional), |params| {
            call!(s.cu, cuGraphAddNode_12020(&raw mut node, graph, null(), 0, params))
        }))
    }),
    ("set its parameters", |s| {
        let branch = branch(s)?;
        let other = s.conditional(s.condition(branch.graph, 0, 0)?, IF, 1);
        Ok(s.generic(Work::Conditional(other), |params| {
            call!(s.cu, cuGraphNodeSetParams_12020(branch.node, params))
        }))
    }),
    ("type of the node", |s| Ok(s.node_type(branch(s)?.node))),
];

const CONTEXTS: &[Question] = &[
    ("conditional node with context NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let conditional =
            Conditional { context: null_mut(), ..s.conditional(s.condition(graph, 0, 1)?, IF, 1) };
        let answer = s.add(graph, &[], Work::Conditional(conditional), &raw mut node);
        Ok(answer.and(|| s.ran(graph).named("added, but")))
    }),
    ("conditional node with another context", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let conditional = s.conditional(s.condition(graph, 0, 1)?, IF, 1);
        let conditional = Conditional { context: s.elsewhere()?.context, ..conditional };
        let answer = s.add(graph, &[], Work::Conditional(conditional), &raw mut node);
        Ok(answer.and(|| s.ran(graph).named("added, but")))
    }),
    ("condition and node of another context", |s| {
        let (graph, context, mut condition) = (s.graph()?, s.elsewhere()?.context, 0);
        given!(s.cu, cuGraphConditionalHandleCreate_12030(&raw mut condition, graph, context, 0, 1))?;
        let conditional = Conditional { context, ..s.conditional(condition, IF, 1) };
        let mut node = null_mut();
        let answer = s.add(graph, &[], Work::Conditional(conditional), &raw mut node);
        Ok(answer.and(|| s.ran(graph).named("added, but")))
    }),
    ("condition of context NULL, node with the current one: run", |s| {
        let (graph, mut condition) = (s.graph()?, 0);
        given!(s.cu, cuGraphConditionalHandleCreate_12030(&raw mut condition, graph, null_mut(), 0, 1))?;
        s.node(graph, &[], Work::Conditional(s.conditional(condition, IF, 1)))?;
        Ok(s.ran(graph))
    }),
    ("conditional node with no current context", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let conditional = s.conditional(s.condition(graph, 0, 1)?, IF, 1);
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answer = s.add(graph, &[], Work::Conditional(conditional), &raw mut node);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
];
