//! Nodes that are set: in a definition and in an exec, by the call for the type and by that for every type.

use super::describing::described;
use super::kernel_setters;
use super::memory_setters;
use super::scene::Scene;
use super::work::{EVERY, Work, host, write};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_HOST_NODE_PARAMS_v1, CUgraph, CUgraphExec, CUgraphNode};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const SECTION: Section =
    Section { name: "graph_setters", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    every,
    memory_setters::copies,
    memory_setters::memsets,
    |t, s| ask(t, s, kernel_setters::KERNELS),
    |t, s| ask(t, s, OTHERS),
    |t, s| ask(t, s, WHOSE),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// Sets a node of a definition by the call for every type.
fn set(s: &Scene, node: CUgraphNode, work: Work) -> Answer {
    s.generic(work, |params| call!(s.cu, cuGraphNodeSetParams_12020(node, params)))
}

/// The same in an exec.
pub(super) fn set_in(s: &Scene, exec: CUgraphExec, node: CUgraphNode, work: Work) -> Answer {
    s.generic(work, |params| call!(s.cu, cuGraphExecNodeSetParams_12020(exec, node, params)))
}

/// Each type is set to what it is, by the call for every type, and to what another is.
fn every(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: set to an example of its type, read back"), || -> Asked {
            let (graph, other) = (s.graph()?, s.graph()?);
            let node = s.node(graph, &[], work(s, graph)?)?;
            let answer = set(s, node, work(s, other)?);
            Ok(answer.and(|| described(s, node, 2, &[("function", s.storing.addr() as u64)])))
        });
        t.line(&format!("{name}: set in an exec, run"), || -> Asked {
            let (graph, other) = (s.graph()?, s.graph()?);
            let node = s.node(graph, &[], work(s, graph)?)?;
            let exec = s.exec(graph)?;
            Ok(Answer::all([set_in(s, exec, node, work(s, other)?), s.launched(exec)]))
        });
        t.line(&format!("{name}: set to a memset; in an exec"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            let exec = s.exec(graph)?;
            let other = s.fill(9);
            Ok(Answer::all([set(s, node, other), set_in(s, exec, node, other), s.launched(exec)]))
        });
        t.line(&format!("{name}: set by the call for a copy; in an exec"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            let (exec, copy) = (s.exec(graph)?, s.copying());
            let copy = &raw const copy;
            Ok(Answer::all([
                call!(s.cu, cuGraphMemcpyNodeSetParams_10000(node, copy)),
                call!(s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, copy, s.context)),
            ]))
        });
    }
}

/// A kernel that stores 1, its node and an exec.
pub(super) fn storing(s: &Scene) -> Given<(CUgraph, CUgraphNode, CUgraphExec)> {
    s.clear()?;
    let graph = s.graph()?;
    let node = s.node(graph, &[], s.store(0, 1))?;
    Ok((graph, node, s.exec(graph)?))
}

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(by: *mut c_void) {
    CALLS.fetch_add(u32::try_from(by.addr()).unwrap_or(0), Ordering::SeqCst);
}

/// A host function that adds this to the number of calls.
fn counting(by: usize) -> CUDA_HOST_NODE_PARAMS_v1 {
    CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(count), userData: std::ptr::without_provenance_mut(by) }
}

fn calls() -> Answer {
    CALLS.swap(0, Ordering::SeqCst).to_string().into()
}

const OTHERS: &[Question] = &[
    ("host: set in an exec: run, sum of data", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Host(counting(1)))?;
        let (exec, other) = (s.exec(graph)?, counting(10));
        calls();
        let first = s.launched(exec);
        let answer = call!(s.cu, cuGraphExecHostNodeSetParams_10020(exec, node, &raw const other));
        Ok(Answer::all([first, answer, s.launched(exec), calls()]))
    }),
    ("host: set by the generic call in an exec: run, sum of data", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Host(counting(1)))?;
        let exec = s.exec(graph)?;
        calls();
        Ok(Answer::all([set_in(s, exec, node, Work::Host(counting(10))), s.launched(exec), calls()]))
    }),
    ("host: function NULL in the definition; in an exec", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], host())?;
        let (exec, none) = (s.exec(graph)?, CUDA_HOST_NODE_PARAMS_v1 { fn_: None, userData: null_mut() });
        Ok(Answer::all([
            call!(s.cu, cuGraphHostNodeSetParams_10000(node, &raw const none)),
            call!(s.cu, cuGraphExecHostNodeSetParams_10020(exec, node, &raw const none)),
        ]))
    }),
    ("event record: another in an exec: run, which is recorded", |s| {
        let (graph, events) = (s.graph()?, [s.cu.event(0)?, s.cu.event(0)?]);
        let node = s.node(graph, &[], Work::Record(events[0]))?;
        let exec = s.exec(graph)?;
        let answer = call!(s.cu, cuGraphExecEventRecordNodeSetEvent_11010(exec, node, events[1]));
        let ran = s.launched(exec);
        // Only of two that were recorded is there a time.
        let elapsed = |event| {
            let mut time = 0.0;
            call!(s.cu, cuEventElapsedTime_2000(&raw mut time, event, event))
        };
        Ok(Answer::all([answer, ran, elapsed(events[0]), elapsed(events[1])]))
    }),
    ("event record: NULL in the definition; in an exec", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Record(s.cu.event(0)?))?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([
            call!(s.cu, cuGraphEventRecordNodeSetEvent_11010(node, null_mut())),
            call!(s.cu, cuGraphExecEventRecordNodeSetEvent_11010(exec, node, null_mut())),
        ]))
    }),
    ("event wait: NULL in the definition; in an exec", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Wait(s.cu.event(0)?))?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([
            call!(s.cu, cuGraphEventWaitNodeSetEvent_11010(node, null_mut())),
            call!(s.cu, cuGraphExecEventWaitNodeSetEvent_11010(exec, node, null_mut())),
        ]))
    }),
    ("event wait: another in an exec: run", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Wait(s.cu.event(0)?))?;
        let (exec, event) = (s.exec(graph)?, s.cu.event(0)?);
        let answer = call!(s.cu, cuGraphExecEventWaitNodeSetEvent_11010(exec, node, event));
        Ok(Answer::all([answer, s.launched(exec)]))
    }),
    ("event record: another context's in an exec: run", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Record(s.cu.event(0)?))?;
        let (exec, event) = (s.exec(graph)?, s.elsewhere()?.event);
        let answer = call!(s.cu, cuGraphExecEventRecordNodeSetEvent_11010(exec, node, event));
        Ok(Answer::all([answer, s.launched(exec)]))
    }),
    ("event record set by the call for waits; in an exec", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Record(s.cu.event(0)?))?;
        let (exec, event) = (s.exec(graph)?, s.cu.event(0)?);
        Ok(Answer::all([
            call!(s.cu, cuGraphEventWaitNodeSetEvent_11010(node, event)),
            call!(s.cu, cuGraphExecEventWaitNodeSetEvent_11010(exec, node, event)),
        ]))
    }),
    ("child: the same form in an exec: run, noted", |s| child(s, &[s.note(2)])),
    ("child: one node more in an exec: run, noted", |s| child(s, &[s.note(2), s.note(3)])),
    ("child: another type in an exec: run, noted", |s| child(s, &[s.fill(2)])),
    ("child: no nodes in an exec: run, noted", |s| child(s, &[])),
    ("child: NULL in an exec", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
        Ok(call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(s.exec(graph)?, node, null_mut())))
    }),
    ("child: its own inner graph, changed, in an exec: run, noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
        let (exec, inner) = (s.exec(graph)?, s.inner(node)?);
        let changed = set(s, s.first(inner)?, s.note(4));
        let answer = call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(exec, node, inner));
        Ok(Answer::all([changed, answer, s.launched(exec), s.noted()]))
    }),
    ("child: the inner node in an exec: run, noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
        let (exec, inner) = (s.exec(graph)?, s.first(s.inner(node)?)?);
        Ok(Answer::all([set_in(s, exec, inner, s.note(4)), s.launched(exec), s.noted()]))
    }),
    ("child: in the definition by the generic call: nodes", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
        let answer = set(s, node, Work::Child(s.graph_of(&[s.note(2), s.note(3)])?));
        Ok(Answer::all([answer, s.count(s.inner(node)?)]))
    }),
    ("memory operation: in an exec: run, words", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Memory(write(s.here, 1)))?;
        let (exec, mut operations) = (s.exec(graph)?, [write(s.there, 2)]);
        let params = s.batch(&mut operations);
        let params = &raw const params;
        let answer = call!(s.cu, cuGraphExecBatchMemOpNodeSetParams_11070(exec, node, params));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here), s.word(s.there)]))
    }),
    ("memory operation: two for one in an exec: run, words", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], Work::Memory(write(s.here, 1)))?;
        let (exec, mut operations) = (s.exec(graph)?, [write(s.here, 2), write(s.there, 3)]);
        let params = s.batch(&mut operations);
        let params = &raw const params;
        let answer = call!(s.cu, cuGraphExecBatchMemOpNodeSetParams_11070(exec, node, params));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here), s.word(s.there)]))
    }),
];

/// What setting a child in an exec answers, and what the exec does then.
fn child(s: &Scene, works: &[Work]) -> Asked {
    s.clear()?;
    let graph = s.graph()?;
    let node = s.node(graph, &[], Work::Child(s.graph_of(&[s.note(1)])?))?;
    let (exec, other) = (s.exec(graph)?, s.graph_of(works)?);
    let answer = call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(exec, node, other));
    Ok(Answer::all([answer, s.launched(exec), s.noted()]))
}

/// Nodes that are not the exec's own, or no longer.
const WHOSE: &[Question] = &[
    ("a node of the definition, destroyed: answer, run", |s| {
        let (_, node, exec) = storing(s)?;
        s.destroy_node(node)?;
        Ok(Answer::all([set_in(s, exec, node, s.store(0, 5)), s.launched(exec)]))
    }),
    ("the definition was destroyed: answer, run", |s| {
        let (graph, node, exec) = storing(s)?;
        s.destroy(graph)?;
        Ok(Answer::all([set_in(s, exec, node, s.store(0, 5)), s.launched(exec)]))
    }),
    ("a node of a twin", |s| {
        let ((.., exec), (_, other, _)) = (storing(s)?, storing(s)?);
        Ok(set_in(s, exec, other, s.store(0, 5)))
    }),
    ("a node of a twin after an update from that", |s| {
        let ((_, node, exec), (twin, other, _)) = (storing(s)?, storing(s)?);
        let updated = s.update(exec, twin, &[]);
        let answers = [set_in(s, exec, other, s.store(0, 5)), set_in(s, exec, node, s.store(0, 6))];
        Ok(Answer::all([updated, Answer::all(answers), s.launched(exec), s.word(s.here)]))
    }),
    ("a node of a clone", |s| {
        let (graph, _, exec) = storing(s)?;
        Ok(set_in(s, exec, s.first(s.clone_of(graph)?)?, s.store(0, 5)))
    }),
    ("the node of an exec of a clone", |s| {
        let (graph, node, _) = storing(s)?;
        Ok(set_in(s, s.exec(s.clone_of(graph)?)?, node, s.store(0, 5)))
    }),
    ("a node that was added after the instantiation", |s| {
        let (graph, _, exec) = storing(s)?;
        Ok(set_in(s, exec, s.node(graph, &[], s.store(0, 2))?, s.store(0, 5)))
    }),
    ("an embedded source's node; the inner node", |s| {
        let source = s.graph_of(&[s.store(0, 1)])?;
        let graph = s.graph_of(&[Work::Child(source)])?;
        let (exec, inner) = (s.exec(graph)?, s.first(s.inner(s.first(graph)?)?)?);
        let answers = [s.first(source)?, inner].map(|node| set_in(s, exec, node, s.store(0, 5)));
        Ok(Answer::all(answers))
    }),
    ("node NULL; exec NULL", |s| {
        let (_, node, exec) = storing(s)?;
        let work = s.store(0, 5);
        Ok(Answer::all([set_in(s, exec, null_mut(), work), set_in(s, null_mut(), node, work)]))
    }),
    ("node NULL in the definition", |s| Ok(set(s, null_mut(), s.store(0, 5)))),
    ("two execs: one set: what the other stores", |s| {
        let (graph, node, exec) = storing(s)?;
        let other = s.exec(graph)?;
        Ok(Answer::all([set_in(s, exec, node, s.store(0, 5)), s.launched(other), s.word(s.here)]))
    }),
];
