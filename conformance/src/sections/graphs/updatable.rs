//! Kernel nodes that kernels may change: their handle, and what their graphs refuse.

use super::launch::Launch;
use super::scene::Scene;
use super::work::{Work, blank};
use super::{Asked, Group, Question, Section, ask};
use crate::code::Shape;
use crate::driver::{Answer, Cu, Given, Outcome, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CU_GRAPH_NODE_TYPE_GRAPH,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CU_STREAM_CAPTURE_MODE_RELAXED,
    CUDA_CHILD_GRAPH_NODE_PARAMS, CUgraph, CUgraphDeviceNode, CUgraphNode, CUlaunchAttribute,
    CUlaunchAttributeValue, CUlaunchAttributeValue_deviceUpdatableKernelNode,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_updatable", parts: super::parts(ENDED), devices: 1, run };

const GROUPS: &[Group] = &[|t, s| ask(t, s, QUESTIONS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, ENDED)
}

fn value(updatable: i32) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.deviceUpdatableKernelNode =
        CUlaunchAttributeValue_deviceUpdatableKernelNode { deviceUpdatable: updatable, devNode: null_mut() };
    value
}

fn set(s: &Scene, node: CUgraphNode, updatable: i32) -> Answer {
    let (id, value) = (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, value(updatable));
    call!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, &raw const value))
}

/// Whether it is updatable, and its handle for kernels.
fn get(s: &Scene, node: CUgraphNode) -> Given<(i32, CUgraphDeviceNode)> {
    let (id, mut value) = (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, value(77));
    given!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value))?;
    // SAFETY: this is the field that the attribute has, and every byte was initialised.
    let value = unsafe { value.deviceUpdatableKernelNode };
    Ok((value.deviceUpdatable, value.devNode))
}

fn told(s: &Scene, node: CUgraphNode) -> Asked {
    let (updatable, handle) = get(s, node)?;
    Ok(format!("{updatable}, handle {}", yes(!handle.is_null())).into())
}

/// A graph whose only kernel is updatable.
fn updatable(s: &Scene) -> Given<(CUgraph, CUgraphNode)> {
    let graph = s.graph()?;
    let node = s.node(graph, &[], s.note(1))?;
    set(s, node, 1).given("making it updatable")?;
    Ok((graph, node))
}

const QUESTIONS: &[Question] = &[
    ("get of a plain kernel", |s| told(s, s.node(s.graph()?, &[], s.note(1))?)),
    ("set to 1", |s| Ok(set(s, s.node(s.graph()?, &[], s.note(1))?, 1))),
    ("set to 0", |s| Ok(set(s, s.node(s.graph()?, &[], s.note(1))?, 0))),
    ("set to 2", |s| Ok(set(s, s.node(s.graph()?, &[], s.note(1))?, 2))),
    ("set to 1: get", |s| told(s, updatable(s)?.1)),
    ("set to 1 twice: answer, the same handle", |s| {
        let (_, node) = updatable(s)?;
        let (_, before) = get(s, node)?;
        let answer = set(s, node, 1);
        Ok(Answer::all([answer, yes(get(s, node)?.1 == before).into()]))
    }),
    ("two nodes: different handles", |s| {
        let ((_, one), (_, other)) = (updatable(s)?, updatable(s)?);
        Ok(yes(get(s, one)?.1 != get(s, other)?.1).into())
    }),
    ("set to 1, then to 0: answer, get", |s| {
        let (_, node) = updatable(s)?;
        Ok(Answer::all([set(s, node, 0), told(s, node).into()]))
    }),
    ("set on a memset", |s| Ok(set(s, s.node(s.graph()?, &[], s.fill(1))?, 1))),
    ("set in a child graph", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[s.note(1)])?)])?;
        Ok(set(s, s.first(s.inner(s.first(outer)?)?)?, 1))
    }),
    ("instantiate after the set: answer, run", |s| {
        s.clear()?;
        let (graph, _) = updatable(s)?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("uploaded, launched twice", |s| {
        s.clear()?;
        let exec = s.exec(updatable(s)?.0)?;
        let upload = call!(s.cu, cuGraphUpload_11010(exec, s.stream));
        Ok(Answer::all([upload, s.launched(exec), s.launched(exec), s.noted()]))
    }),
    ("the set after the instantiation", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.note(1))?;
        s.exec(graph)?;
        Ok(set(s, node, 1))
    }),
    ("the handle before and after the instantiation is the same", |s| {
        let (graph, node) = updatable(s)?;
        let (_, before) = get(s, node)?;
        s.exec(graph)?;
        Ok(yes(get(s, node)?.1 == before).into())
    }),
    ("second instantiate while one lives", |s| {
        let (graph, _) = updatable(s)?;
        s.exec(graph)?;
        Ok(s.instantiate(graph))
    }),
    ("second instantiate after the first is destroyed", |s| {
        let (graph, _) = updatable(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(graph)?))?;
        Ok(s.instantiate(graph))
    }),
    ("instantiate for a launch by the device", |s| Ok(s.verdict(updatable(s)?.0, 4, &[]))),
    ("clone", |s| {
        let mut clone = null_mut();
        Ok(call!(s.cu, cuGraphClone_10000(&raw mut clone, updatable(s)?.0)))
    }),
    ("embed", |s| {
        let mut node = null_mut();
        Ok(s.add(s.graph()?, &[], Work::Child(updatable(s)?.0), &raw mut node))
    }),
    ("destroy the node, nodes", |s| {
        let (graph, node) = updatable(s)?;
        Ok(Answer::all([call!(s.cu, cuGraphDestroyNode_10000(node)), s.count(graph)]))
    }),
    ("destroy the graph", |s| Ok(call!(s.cu, cuGraphDestroy_10000(updatable(s)?.0)))),
    ("destroy a node beside it", |s| {
        let (graph, _) = updatable(s)?;
        Ok(call!(s.cu, cuGraphDestroyNode_10000(s.node(graph, &[], Work::Empty)?)))
    }),
    ("remove its edge", |s| {
        let (graph, node) = updatable(s)?;
        let next = s.node(graph, &[node], Work::Empty)?;
        Ok(call!(s.cu, cuGraphRemoveDependencies_10000(graph, &raw const node, &raw const next, 1)))
    }),
    ("set its parameters", |s| {
        let (_, node) = updatable(s)?;
        Ok(set_other(s, node))
    }),
    ("set another function", |s| {
        let (_, node) = updatable(s)?;
        Ok(Launch::new(s.adding, [s.here, 1])
            .with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params))))
    }),
    ("set its parameters in an exec", |s| {
        let (graph, node) = updatable(s)?;
        let exec = s.exec(graph)?;
        Ok(other(s)
            .with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params))))
    }),
    ("set its parameters, then to 1 again: answers, the same handle", |s| {
        let (_, node) = updatable(s)?;
        let (_, before) = get(s, node)?;
        let parameters = set_other(s, node);
        let answer = set(s, node, 1);
        Ok(Answer::all([parameters, answer, yes(get(s, node)?.1 == before).into()]))
    }),
    ("set to 1 again while an exec lives", |s| {
        let (graph, node) = updatable(s)?;
        s.exec(graph)?;
        Ok(set(s, node, 1))
    }),
    ("set to 1 again after its exec is destroyed", |s| {
        let (graph, node) = updatable(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(graph)?))?;
        Ok(set(s, node, 1))
    }),
    ("set its parameters while an exec lives; then to 1 again", |s| {
        let (graph, node) = updatable(s)?;
        s.exec(graph)?;
        Ok(Answer::all([set_other(s, node), set(s, node, 1)]))
    }),
    ("set by the generic call: answer, get", |s| {
        let (_, node) = updatable(s)?;
        Ok(Answer::all([set_generically(s, node), told(s, node).into()]))
    }),
    ("set by the generic call, then to 1 again: answer, get", |s| {
        let (_, node) = updatable(s)?;
        set_generically(s, node).given("setting it")?;
        Ok(Answer::all([set(s, node, 1), told(s, node).into()]))
    }),
    ("set to 1 again with its handle", |s| {
        let (_, node) = updatable(s)?;
        let (id, mut value) = (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, value(1));
        given!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value))?;
        Ok(call!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, &raw const value)))
    }),
    ("exec destroyed, its parameters set: instantiate, run", |s| {
        s.clear()?;
        let (graph, node) = updatable(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(graph)?))?;
        Ok(Answer::all([set_other(s, node), s.ran(graph), s.noted()]))
    }),
    ("its parameters set: instantiate, run", |s| {
        s.clear()?;
        let (graph, node) = updatable(s)?;
        Ok(Answer::all([set_other(s, node), s.ran(graph), s.noted()]))
    }),
    ("its parameters set by the generic call: instantiate, run", |s| {
        s.clear()?;
        let (graph, node) = updatable(s)?;
        Ok(Answer::all([set_generically(s, node), s.ran(graph), s.noted()]))
    }),
    ("exec destroyed: instantiate, run", |s| {
        s.clear()?;
        let (graph, _) = updatable(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(graph)?))?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("exec run and destroyed: instantiate, run", |s| {
        s.clear()?;
        let (graph, _) = updatable(s)?;
        let exec = s.exec(graph)?;
        let ran = s.launched(exec);
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([ran, s.ran(graph), s.noted()]))
    }),
    ("its parameters set in an exec: run", |s| {
        s.clear()?;
        let (graph, node) = updatable(s)?;
        let exec = s.exec(graph)?;
        let set = other(s)
            .with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)));
        Ok(Answer::all([set, s.launched(exec), s.noted()]))
    }),
    ("disable it in an exec", |s| {
        let (graph, node) = updatable(s)?;
        Ok(call!(s.cu, cuGraphNodeSetEnabled_11060(s.exec(graph)?, node, 0)))
    }),
    ("update from itself", |s| {
        let (graph, _) = updatable(s)?;
        Ok(s.update(s.exec(graph)?, graph, &[("new", graph)]))
    }),
    ("update from a plain kernel", |s| {
        let (exec, graph) = (s.exec(updatable(s)?.0)?, s.graph_of(&[s.note(1)])?);
        Ok(s.update(exec, graph, &[("new", graph)]))
    }),
    ("update of a plain kernel from it", |s| {
        let (exec, (graph, _)) = (s.exec(s.graph_of(&[s.note(1)])?)?, updatable(s)?);
        Ok(s.update(exec, graph, &[("new", graph)]))
    }),
    ("copy its attributes to a plain kernel: answer, get", |s| {
        let (from, to) = (updatable(s)?.1, s.node(s.graph()?, &[], s.note(1))?);
        let answer = call!(s.cu, cuGraphKernelNodeCopyAttributes_11000(to, from));
        Ok(Answer::all([answer, told(s, to).into()]))
    }),
    ("copy a plain kernel's attributes to it: answer, get", |s| {
        let (to, from) = (updatable(s)?.1, s.node(s.graph()?, &[], s.note(1))?);
        let answer = call!(s.cu, cuGraphKernelNodeCopyAttributes_11000(to, from));
        Ok(Answer::all([answer, told(s, to).into()]))
    }),
    ("launched in a stream that does not capture", |s| {
        let mut attributes = [attribute()];
        let answer = launch(s, &mut attributes);
        Ok(Answer::all([answer, s.synchronise(), handle(&attributes[0]).into()]))
    }),
    ("captured: answer, the launch's handle, the node's", captured),
];

/// How it ends, also that of a copy in another graph.
const ENDED: &[Question] = &[
    ("embedded: the outer graph destroyed, then the graph", |s| {
        let (graph, outer) = embedded(s)?;
        Ok(Answer::all([destroyed(s, outer), destroyed(s, graph)]))
    }),
    ("embedded: the graph destroyed, then the outer graph", |s| {
        let (graph, outer) = embedded(s)?;
        Ok(Answer::all([destroyed(s, graph), destroyed(s, outer)]))
    }),
    ("embedded, run: the outer graph destroyed, then the graph", |s| {
        let (graph, outer) = embedded(s)?;
        let exec = s.exec(outer)?;
        let ran = s.launched(exec);
        let ended = call!(s.cu, cuGraphExecDestroy_10000(exec));
        Ok(Answer::all([ran, ended, destroyed(s, outer), destroyed(s, graph)]))
    }),
    ("moved into a graph: answer; that destroyed", |s| {
        let (answer, outer) = moved(s)?;
        Ok(Answer::all([answer, destroyed(s, outer)]))
    }),
    ("moved into a graph: answer; run, that destroyed", |s| {
        s.clear()?;
        let (answer, outer) = moved(s)?;
        Ok(answer.and(|| Answer::all([s.ran(outer), s.noted(), destroyed(s, outer)])))
    }),
    ("embedded: handles of both", |s| {
        let (graph, outer) = embedded(s)?;
        let (_, here) = get(s, s.first(graph)?)?;
        let (is_updatable, there) = get(s, s.first(s.inner(s.first(outer)?)?)?)?;
        Ok(format!("{is_updatable}, the same {}", yes(here == there)).into())
    }),
    ("embedded, the child node destroyed: destroy the graph", |s| {
        let (graph, outer) = embedded(s)?;
        let removed = call!(s.cu, cuGraphDestroyNode_10000(s.first(outer)?));
        Ok(Answer::all([removed, destroyed(s, outer), destroyed(s, graph)]))
    }),
    ("run by two execs, one after the other: destroy the graph", |s| {
        let (graph, _) = updatable(s)?;
        let ran = Answer::all([s.ran(graph), s.ran(graph)]);
        Ok(Answer::all([ran, destroyed(s, graph)]))
    }),
    ("an exec that was refused: destroy the exec, the graph", |s| {
        let (graph, _) = updatable(s)?;
        let exec = s.exec(graph)?;
        let refused = s.instantiate(graph);
        Ok(Answer::all([refused, call!(s.cu, cuGraphExecDestroy_10000(exec)), destroyed(s, graph)]))
    }),
    ("a clone that was refused: destroy the graph", |s| {
        let ((graph, _), mut clone) = (updatable(s)?, null_mut());
        let refused = call!(s.cu, cuGraphClone_10000(&raw mut clone, graph));
        Ok(Answer::all([refused, destroyed(s, graph)]))
    }),
    ("a removal that was refused: destroy the graph", |s| {
        let (graph, node) = updatable(s)?;
        Ok(Answer::all([call!(s.cu, cuGraphDestroyNode_10000(node)), destroyed(s, graph)]))
    }),
    ("an update that was refused: destroy the exec, the graph", |s| {
        let (graph, _) = updatable(s)?;
        let exec = s.exec(graph)?;
        let refused = s.update(exec, graph, &[("new", graph)]);
        Ok(Answer::all([refused, call!(s.cu, cuGraphExecDestroy_10000(exec)), destroyed(s, graph)]))
    }),
    ("an update of another that was refused: destroy all", |s| {
        let (plain, (graph, _)) = (s.graph_of(&[s.note(1)])?, updatable(s)?);
        let exec = s.exec(plain)?;
        let refused = s.update(exec, graph, &[("new", graph)]);
        let ended = call!(s.cu, cuGraphExecDestroy_10000(exec));
        Ok(Answer::all([refused, ended, destroyed(s, plain), destroyed(s, graph)]))
    }),
];

/// An updatable kernel's graph, and one around a copy of it.
fn embedded(s: &Scene) -> Given<(CUgraph, CUgraph)> {
    let (graph, outer) = (updatable(s)?.0, s.graph()?);
    s.node(outer, &[], Work::Child(graph))?;
    Ok((graph, outer))
}

/// What came of moving an updatable kernel's graph into another one, and that.
fn moved(s: &Scene) -> Given<(Answer, CUgraph)> {
    let (outer, mut node) = (s.graph()?, null_mut());
    let mut params = blank(CU_GRAPH_NODE_TYPE_GRAPH);
    let ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph: updatable(s)?.0, ownership };
    let (to, params) = (&raw mut node, &raw mut params);
    Ok((call!(s.cu, cuGraphAddNode_12030(to, outer, null(), null(), 0, params)), outer))
}

fn destroyed(s: &Scene, graph: CUgraph) -> Answer {
    call!(s.cu, cuGraphDestroy_10000(graph))
}

fn other(s: &Scene) -> Launch {
    Launch::new(s.noting, [s.here, 2])
}

fn set_other(s: &Scene, node: CUgraphNode) -> Answer {
    other(s).with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)))
}

fn set_generically(s: &Scene, node: CUgraphNode) -> Answer {
    s.generic(Work::Kernel(other(s)), |params| call!(s.cu, cuGraphNodeSetParams_12020(node, params)))
}

fn attribute() -> CUlaunchAttribute {
    let id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    CUlaunchAttribute { id, pad: [0; 4], value: value(1) }
}

fn launch(s: &Scene, attributes: &mut [CUlaunchAttribute]) -> Answer {
    let config = Shape::ONE.config(s.stream, attributes);
    call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.nothing, null_mut(), null_mut()))
}

/// Whether the launch has left a handle.
fn handle(attribute: &CUlaunchAttribute) -> String {
    // SAFETY: this is the field that the attribute has, and every byte was initialised.
    let handle = unsafe { attribute.value.deviceUpdatableKernelNode }.devNode;
    format!("handle {}", yes(!handle.is_null()))
}

fn captured(s: &Scene) -> Asked {
    let (mut graph, mut attributes) = (null_mut(), [attribute()]);
    given!(s.cu, cuStreamBeginCapture_10010(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
    let answer = launch(s, &mut attributes);
    given!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))?;
    let node = s.first(graph)?;
    Ok(Answer::all([answer, handle(&attributes[0]).into(), told(s, node).into()]))
}
