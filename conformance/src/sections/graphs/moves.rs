//! Child graphs that are moved into their node and not cloned, since 12.9.

use super::conditionals::use_of;
use super::held::Object;
use super::launch::Launch;
use super::scene::Scene;
use super::work::{Work, blank};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CU_GRAPH_COND_TYPE_IF,
    CU_GRAPH_NODE_TYPE_GRAPH, CUDA_CHILD_GRAPH_NODE_PARAMS, CUgraph, CUgraphChildGraphNodeOwnership,
    CUgraphNode,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_moves", parts: super::parts(GONE), devices: 1, run };

const GROUPS: &[Group] =
    &[|t, s| ask(t, s, WAYS), |t, s| ask(t, s, MOVED), |t, s| ask(t, s, SPECIAL), |t, s| ask(t, s, READ)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, GONE)
}

/// Adds a child graph in this way.
fn embed(
    s: &Scene,
    graph: CUgraph,
    child: CUgraph,
    ownership: CUgraphChildGraphNodeOwnership,
    node: &mut CUgraphNode,
) -> Answer {
    let mut params = blank(CU_GRAPH_NODE_TYPE_GRAPH);
    params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph: child, ownership };
    call!(s.cu, cuGraphAddNode_12030(node, graph, null(), null(), 0, &raw mut params))
}

const MOVE: CUgraphChildGraphNodeOwnership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;

/// A child that notes 1, moved into a graph.
struct Moved {
    graph: CUgraph,
    node: CUgraphNode,
    child: CUgraph,
}

fn moved(s: &Scene, child: CUgraph) -> Given<Moved> {
    let (graph, mut node) = (s.graph()?, null_mut());
    embed(s, graph, child, MOVE, &mut node).given("moving a graph")?;
    Ok(Moved { graph, node, child })
}

fn move_and_run(s: &Scene, child: CUgraph) -> Given<Answer> {
    let graph = s.graph()?;
    let answer = embed(s, graph, child, MOVE, &mut null_mut());
    Ok(answer.and(|| s.ran(graph)))
}

fn noting(s: &Scene) -> Given<Moved> {
    s.clear()?;
    moved(s, s.graph_of(&[s.note(1)])?)
}

const WAYS: &[Question] = &[
    ("clone", |s| way(s, 0)),
    ("move", |s| way(s, MOVE.0)),
    ("ownership 2", |s| way(s, 2)),
    ("ownership -1", |s| way(s, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID.0)),
    ("move of NULL", |s| Ok(embed(s, s.graph()?, null_mut(), MOVE, &mut null_mut()))),
    ("move of the graph into itself", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        Ok(embed(s, graph, graph, MOVE, &mut null_mut()))
    }),
    ("move into graph NULL", |s| Ok(embed(s, null_mut(), s.graph()?, MOVE, &mut null_mut()))),
    ("the ABI of 12.2 moves", |s| {
        let (graph, mut node, mut params) = (s.graph()?, null_mut(), blank(CU_GRAPH_NODE_TYPE_GRAPH));
        let child = s.graph_of(&[Work::Empty])?;
        params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph: child, ownership: MOVE };
        Ok(call!(s.cu, cuGraphAddNode_12020(&raw mut node, graph, null(), 0, &raw mut params)))
    }),
    ("set of a child by move in the definition", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
        let mut params = blank(CU_GRAPH_NODE_TYPE_GRAPH);
        let child = s.graph_of(&[s.note(2)])?;
        params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph: child, ownership: MOVE };
        Ok(call!(s.cu, cuGraphNodeSetParams_12020(node, &raw mut params)))
    }),
];

fn way(s: &Scene, ownership: i32) -> Asked {
    s.clear()?;
    let (graph, child, mut node) = (s.graph()?, s.graph_of(&[s.note(1)])?, null_mut());
    let answer = embed(s, graph, child, CUgraphChildGraphNodeOwnership(ownership), &mut node);
    Ok(answer.and(|| {
        let same = s.inner(node).map_or_else(|obstacle| obstacle, |inner| yes(inner == child).into());
        Answer::all([same, s.ran(graph), s.noted()])
    }))
}

const MOVED: &[Question] = &[
    ("the inner graph is the child", |s| {
        let moved = noting(s)?;
        Ok(yes(s.inner(moved.node)? == moved.child).into())
    }),
    ("nodes of the moved graph", |s| Ok(s.count(noting(s)?.child))),
    ("add a node to the moved graph: answer, run, noted", |s| {
        let (moved, mut node) = (noting(s)?, null_mut());
        let last = s.first(moved.child)?;
        let answer = s.add(moved.child, &[last], s.note(2), &raw mut node);
        Ok(Answer::all([answer, s.ran(moved.graph), s.noted()]))
    }),
    ("destroy a node of the moved graph: answer, run, noted", |s| {
        let moved = noting(s)?;
        let answer = call!(s.cu, cuGraphDestroyNode_10000(s.first(moved.child)?));
        Ok(Answer::all([answer, s.ran(moved.graph), s.noted()]))
    }),
    ("destroy the moved graph", |s| Ok(call!(s.cu, cuGraphDestroy_10000(noting(s)?.child)))),
    ("clone the moved graph: answer, nodes", |s| {
        let (moved, mut clone) = (noting(s)?, null_mut());
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, moved.child));
        Ok(answer.and(|| s.count(clone)))
    }),
    ("instantiate the moved graph", |s| Ok(s.verdict(noting(s)?.child, 0, &[]))),
    ("embed the moved graph once more, as a clone", |s| {
        let moved = noting(s)?;
        Ok(embed(s, s.graph()?, moved.child, CUgraphChildGraphNodeOwnership(0), &mut null_mut()))
    }),
    ("move the moved graph once more", |s| {
        let moved = noting(s)?;
        Ok(embed(s, s.graph()?, moved.child, MOVE, &mut null_mut()))
    }),
    ("move an inner graph", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        Ok(embed(s, s.graph()?, s.inner(s.first(outer)?)?, MOVE, &mut null_mut()))
    }),
    ("move a body", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 1)?;
        let conditional = s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1);
        let body = s.branch(graph, &[], conditional)?.1[0];
        Ok(embed(s, s.graph()?, body, MOVE, &mut null_mut()))
    }),
    ("move a graph that has an exec: answer, the exec runs", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(1)])?;
        let exec = s.exec(child)?;
        let answer = embed(s, s.graph()?, child, MOVE, &mut null_mut());
        Ok(Answer::all([answer, s.launched(exec), s.noted()]))
    }),
    ("move a graph with a child of its own: run, noted", |s| {
        s.clear()?;
        let moved = moved(s, s.graph_of(&[s.note(1), Work::Child(s.graph_of(&[s.note(2)])?)])?)?;
        Ok(Answer::all([s.ran(moved.graph), s.noted()]))
    }),
    ("clone what has a moved child: answer, run, noted", |s| {
        let (moved, mut clone) = (noting(s)?, null_mut());
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, moved.graph));
        Ok(answer.and(|| Answer::all([s.ran(clone), s.noted()])))
    }),
    ("update from what has a moved child: noted", |s| {
        let moved = noting(s)?;
        let exec = s.exec(s.graph_of(&[Work::Child(s.graph_of(&[s.note(2)])?)])?)?;
        Ok(Answer::all([s.update(exec, moved.graph, &[("new", moved.graph)]), s.launched(exec), s.noted()]))
    }),
    ("destroy the child node: answer, nodes", |s| {
        let moved = noting(s)?;
        Ok(Answer::all([call!(s.cu, cuGraphDestroyNode_10000(moved.node)), s.count(moved.graph)]))
    }),
];

/// Adds an IF, and instantiates the graph.
fn with_if(s: &Scene, graph: CUgraph) -> Asked {
    Ok(Answer::all([use_of(s, graph, s.condition(graph, 0, 0)?), s.instantiate(graph)]))
}

const SPECIAL: &[Question] = &[
    ("IF beside a moved graph that has an exec: instantiate", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        s.exec(child)?;
        with_if(s, moved(s, child)?.graph)
    }),
    ("  the exec destroyed before", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        let exec = s.exec(child)?;
        let graph = moved(s, child)?.graph;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        with_if(s, graph)
    }),
    ("IF beside a moved graph that has a copy in another", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        s.graph_of(&[Work::Child(child)])?;
        with_if(s, moved(s, child)?.graph)
    }),
    ("  the other destroyed before", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        let other = s.graph_of(&[Work::Child(child)])?;
        let graph = moved(s, child)?.graph;
        s.destroy(other)?;
        with_if(s, graph)
    }),
    ("with a user object: child node destroyed: fired", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, child)?;
        let moved = moved(s, child)?;
        let before = object.fired();
        s.destroy_node(moved.node)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("with a user object: parent destroyed: fired", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, child)?;
        s.destroy(moved(s, child)?.graph)?;
        Ok(object.fired())
    }),
    ("with a user object: parent, exec destroyed: fired", |s| {
        let child = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, child)?;
        let moved = moved(s, child)?;
        let exec = s.exec(moved.graph)?;
        s.destroy(moved.graph)?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("a user object retained on the moved graph: parent: fired", |s| {
        let moved = moved(s, s.graph_of(&[Work::Empty])?)?;
        let object = Object::held(s, moved.child)?;
        s.destroy(moved.graph)?;
        Ok(object.fired())
    }),
    ("with alloc nodes: instantiate, launch twice", |s| {
        let moved = moved(s, allocating(s, true)?)?;
        let exec = s.exec(moved.graph)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("with an alloc node and no free: launch twice", |s| {
        let moved = moved(s, allocating(s, false)?)?;
        let exec = s.exec(moved.graph)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("with alloc nodes: second exec, clone, embed of the parent", |s| {
        let (moved, mut clone, mut node) = (moved(s, allocating(s, true)?)?, null_mut(), null_mut());
        s.exec(moved.graph)?;
        Ok(Answer::all([
            s.instantiate(moved.graph),
            call!(s.cu, cuGraphClone_10000(&raw mut clone, moved.graph)),
            s.add(s.graph()?, &[], Work::Child(moved.graph), &raw mut node),
        ]))
    }),
    ("with alloc nodes: destroy the child node; a node beside it", |s| {
        let moved = moved(s, allocating(s, true)?)?;
        let beside = s.node(moved.graph, &[], Work::Empty)?;
        Ok(Answer::all([beside, moved.node].map(|node| call!(s.cu, cuGraphDestroyNode_10000(node)))))
    }),
    ("with alloc nodes: freed in the parent: add, launch twice", |s| {
        let child = s.graph()?;
        let (_, address) = s.allocation(child, &[], 64)?;
        let (moved, mut node) = (moved(s, child)?, null_mut());
        let free = s.add(moved.graph, &[moved.node], Work::Free(address), &raw mut node);
        let exec = s.exec(moved.graph)?;
        Ok(Answer::all([free, s.launched(exec), s.launched(exec)]))
    }),
    ("with a condition that nothing uses: moved, run", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(1)])?;
        s.condition(child, 0, 0)?;
        Ok(Answer::all([move_and_run(s, child)?, s.noted()]))
    }),
    ("with a child whose condition nothing uses: moved, run", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(1)])?;
        let inner = s.node(child, &[], Work::Child(s.graph()?))?;
        s.condition(s.inner(inner)?, 0, 0)?;
        Ok(Answer::all([move_and_run(s, child)?, s.noted()]))
    }),
    ("with a condition whose child was destroyed: moved, run", |s| {
        s.clear()?;
        let child = s.graph()?;
        let inner = s.node(child, &[], Work::Child(s.graph()?))?;
        s.condition(s.inner(inner)?, 0, 0)?;
        given!(s.cu, cuGraphDestroyNode_10000(inner))?;
        s.node(child, &[], s.note(1))?;
        Ok(Answer::all([move_and_run(s, child)?, s.noted()]))
    }),
    ("with a condition whose child was destroyed: run", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let inner = s.node(graph, &[], Work::Child(s.graph()?))?;
        s.condition(s.inner(inner)?, 0, 0)?;
        given!(s.cu, cuGraphDestroyNode_10000(inner))?;
        s.node(graph, &[], s.note(1))?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("the same, with an empty IF that looks at it: run", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let inner = s.node(graph, &[], Work::Child(s.graph()?))?;
        let condition = s.condition(s.inner(inner)?, 0, 0)?;
        given!(s.cu, cuGraphDestroyNode_10000(inner))?;
        s.node(graph, &[], s.note(1))?;
        let mut node = null_mut();
        let work = Work::Conditional(s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1));
        let answer = s.add(graph, &[], work, &raw mut node);
        Ok(Answer::all([answer, s.ran(graph), s.noted()]))
    }),
    ("with a conditional node that was destroyed: moved, run", |s| {
        s.clear()?;
        let child = s.graph()?;
        let condition = s.condition(child, 0, 0)?;
        let node =
            s.node(child, &[], Work::Conditional(s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1)))?;
        given!(s.cu, cuGraphDestroyNode_10000(node))?;
        s.node(child, &[], s.note(1))?;
        Ok(Answer::all([move_and_run(s, child)?, s.noted()]))
    }),
    ("with a conditional: run, noted", |s| {
        s.clear()?;
        let child = s.graph()?;
        let condition = s.condition(child, 1, 1)?;
        let conditional = s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1);
        let body = s.branch(child, &[], conditional)?.1[0];
        s.node(body, &[], s.note(1))?;
        Ok(Answer::all([s.ran(moved(s, child)?.graph), s.noted()]))
    }),
];

/// A graph that allocates and uses memory, and may free it.
fn allocating(s: &Scene, frees: bool) -> Given<CUgraph> {
    let graph = s.graph()?;
    let (node, address) = s.allocation(graph, &[], 64)?;
    let used = s.node(graph, &[node], Work::Kernel(Launch::new(s.storing, [address, 1])))?;
    if frees {
        s.node(graph, &[used], Work::Free(address))?;
    }
    Ok(graph)
}

const GONE: &[Question] = &[
    ("the moved graph destroyed, then the parent", |s| {
        let moved = noting(s)?;
        let child = call!(s.cu, cuGraphDestroy_10000(moved.child));
        Ok(Answer::all([child, call!(s.cu, cuGraphDestroy_10000(moved.graph))]))
    }),
    ("the moved graph destroyed: the parent runs", |s| {
        let moved = noting(s)?;
        let child = call!(s.cu, cuGraphDestroy_10000(moved.child));
        Ok(Answer::all([child, s.ran(moved.graph), s.noted()]))
    }),
];

/// Moved graphs that are no more, at which the driver may only look.
const READ: &[Question] = &[
    ("the parent destroyed: nodes of the moved graph", |s| {
        let moved = noting(s)?;
        s.destroy(moved.graph)?;
        Ok(s.count(moved.child))
    }),
    ("the child node destroyed: nodes of the moved graph", |s| {
        let moved = noting(s)?;
        s.destroy_node(moved.node)?;
        Ok(s.count(moved.child))
    }),
];
