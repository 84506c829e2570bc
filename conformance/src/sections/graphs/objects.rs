//! User objects: who holds them, and when their destructor is called, on which thread.

use super::held::Object;
use super::inner_objects;
use super::scene::Scene;
use super::work::Work;
use super::{Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Outcome, call, given};
use crate::gate::Gate;
use crate::transcript::Lines;
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_objects", parts: super::parts(inner_objects::RELEASED), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| ask(t, s, CREATED),
    |t, s| ask(t, s, GRAPHS),
    |t, s| ask(t, s, inner_objects::CHILDREN),
    |t, s| ask(t, s, inner_objects::BODIES),
    |t, s| ask(t, s, IN_FLIGHT),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, inner_objects::RELEASED)
}

extern "C" fn never(_: *mut c_void) {}

const CREATED: &[Question] = &[
    ("create with flags 0", |s| Ok(create(s, 1, 0))),
    ("create with flags 1", |s| Ok(create(s, 1, 1))),
    ("create with flags 2", |s| Ok(create(s, 1, 2))),
    ("create with flags 3", |s| Ok(create(s, 1, 3))),
    ("create with 0 references", |s| Ok(create(s, 0, 1))),
    ("create with 2^32 - 1 references", |s| Ok(create(s, u32::MAX, 1))),
    ("create with NULL destructor", |s| {
        let mut object = null_mut();
        Ok(call!(s.cu, cuUserObjectCreate_11030(&raw mut object, null_mut(), None, 1, 1)))
    }),
    ("create to NULL", |s| {
        Ok(call!(s.cu, cuUserObjectCreate_11030(null_mut(), null_mut(), Some(never), 1, 1)))
    }),
    ("retain 0", |s| Ok(call!(s.cu, cuUserObjectRetain_11030(Object::new(s, 1)?.handle, 0)))),
    ("retain NULL", |s| Ok(call!(s.cu, cuUserObjectRetain_11030(null_mut(), 1)))),
    ("release 0", |s| Ok(call!(s.cu, cuUserObjectRelease_11030(Object::new(s, 1)?.handle, 0)))),
    ("release NULL", |s| Ok(call!(s.cu, cuUserObjectRelease_11030(null_mut(), 1)))),
    ("released: fired, on the caller's thread, a call in it", |s| {
        let object = Object::new(s, 1)?;
        object.release(1)?;
        Ok(object.report())
    }),
    ("created with 3, released 2, then 1: fired", |s| {
        let object = Object::new(s, 3)?;
        object.release(2)?;
        let before = object.fired();
        object.release(1)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("retained 2, released 2, then 1: fired", |s| {
        let object = Object::new(s, 1)?;
        given!(s.cu, cuUserObjectRetain_11030(object.handle, 2))?;
        object.release(2)?;
        let before = object.fired();
        object.release(1)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("no current context: create, retain, release", |s| {
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let mut object = null_mut();
        let made = call!(s.cu, cuUserObjectCreate_11030(&raw mut object, null_mut(), Some(never), 1, 1));
        let answers = Answer::all([
            made,
            call!(s.cu, cuUserObjectRetain_11030(object, 1)),
            call!(s.cu, cuUserObjectRelease_11030(object, 2)),
        ]);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answers)
    }),
];

fn create(s: &Scene, references: u32, flags: u32) -> Answer {
    let mut object = null_mut();
    call!(s.cu, cuUserObjectCreate_11030(&raw mut object, null_mut(), Some(never), references, flags))
}

const GRAPHS: &[Question] = &[
    ("retain (move)", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 1, 1))),
    ("retain with flags 0", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 1, 0))),
    ("retain with flags 2", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 1, 2))),
    ("retain with flags 4", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 1, 4))),
    ("retain 0 on a graph", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 0, 0))),
    ("retain on graph NULL", |s| Ok(Object::new(s, 1)?.retain(null_mut(), 1, 0))),
    ("retain object NULL", |s| Ok(call!(s.cu, cuGraphRetainUserObject_11030(s.graph()?, null_mut(), 1, 0)))),
    ("release 0 of a graph", |s| {
        let graph = s.graph()?;
        Ok(Object::held(s, graph)?.release_from(graph, 0))
    }),
    ("release of graph NULL", |s| Ok(Object::new(s, 1)?.release_from(null_mut(), 1))),
    ("release of object NULL", |s| {
        Ok(call!(s.cu, cuGraphReleaseUserObject_11030(s.graph()?, null_mut(), 1)))
    }),
    ("graph destroyed: fired, on the caller's thread, a call in it", |s| {
        let graph = s.graph()?;
        let object = Object::held(s, graph)?;
        s.destroy(graph)?;
        Ok(object.report())
    }),
    ("kept by the caller: graph destroyed, released: fired", |s| {
        let (graph, object) = (s.graph()?, Object::new(s, 1)?);
        object.retain(graph, 1, 0).given("retain")?;
        s.destroy(graph)?;
        let before = object.fired();
        object.release(1)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("3 references moved: graph destroyed: fired", |s| {
        let (graph, object) = (s.graph()?, Object::new(s, 3)?);
        object.retain(graph, 3, 1).given("retain")?;
        s.destroy(graph)?;
        Ok(object.fired())
    }),
    ("2 of 3 references moved: graph destroyed, 1 released: fired", |s| {
        let (graph, object) = (s.graph()?, Object::new(s, 3)?);
        object.retain(graph, 2, 1).given("retain")?;
        s.destroy(graph)?;
        let before = object.fired();
        object.release(1)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("2 references: the graph releases 1, then 1: fired", |s| {
        let (graph, object) = (s.graph()?, Object::new(s, 2)?);
        object.retain(graph, 2, 1).given("retain")?;
        object.release_from(graph, 1).given("release")?;
        let before = object.fired();
        object.release_from(graph, 1).given("release")?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("2 references and a clone: source, clone destroyed: fired", |s| {
        let (graph, object) = (s.graph()?, Object::new(s, 2)?);
        object.retain(graph, 2, 1).given("retain")?;
        let clone = s.clone_of(graph)?;
        s.destroy(graph)?;
        let before = object.fired();
        s.destroy(clone)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("held by two graphs: first, second destroyed: fired", |s| {
        let (one, other, object) = (s.graph()?, s.graph()?, Object::new(s, 2)?);
        object.retain(one, 1, 1).given("retain")?;
        object.retain(other, 1, 1).given("retain")?;
        s.destroy(one)?;
        let before = object.fired();
        s.destroy(other)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("source, clone, exec of the clone destroyed: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, graph)?;
        let clone = s.clone_of(graph)?;
        s.destroy(graph)?;
        let first = object.fired();
        let exec = s.exec(clone)?;
        s.destroy(clone)?;
        let second = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([first, second, object.fired()]))
    }),
    ("idle exec destroyed last: fired, caller's thread, call", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        s.destroy(graph)?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(object.report())
    }),
    ("exec destroyed, then graph: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("retained after the exec was made: graph, exec: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let exec = s.exec(graph)?;
        let object = Object::held(s, graph)?;
        s.destroy(graph)?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("two execs: graph, one, the other destroyed: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, one, other) = (Object::held(s, graph)?, s.exec(graph)?, s.exec(graph)?);
        s.destroy(graph)?;
        given!(s.cu, cuGraphExecDestroy_10000(one))?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(other))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("the graph releases it: fired", |s| {
        let graph = s.graph()?;
        let object = Object::held(s, graph)?;
        Ok(Answer::all([object.release_from(graph, 1), object.fired()]))
    }),
    ("the graph releases it, exec lives, destroyed: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        object.release_from(graph, 1).given("release")?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("a node destroyed, then the graph: fired", |s| {
        let graph = s.graph()?;
        let (node, object) = (s.node(graph, &[], s.store(0, 1))?, Object::held(s, graph)?);
        s.destroy_node(node)?;
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("a refused instantiation, then the graph: fired", |s| {
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[Work::Empty, Work::Empty])?;
        s.connect(graph, nodes[1], nodes[0]).given("an edge")?;
        let object = Object::held(s, graph)?;
        let _ = s.instantiate(graph);
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([before, object.fired()]))
    }),
];

const IN_FLIGHT: &[Question] = &[
    ("exec destroyed in flight: fired before, in the end, thread", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        s.destroy(graph)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let destroyed = call!(s.cu, cuGraphExecDestroy_10000(exec));
        let before = object.fired();
        gate.open();
        Ok(Answer::all([launched, destroyed, before, s.synchronise(), object.report()]))
    }),
    ("launched, done, exec destroyed: in the end, thread, call", |s| {
        let graph = s.graph_of(&[s.store(0, 1)])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        s.destroy(graph)?;
        s.launched(exec).given("launching")?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(object.report())
    }),
    ("launched, done, exec, then graph destroyed: thread, call", |s| {
        let graph = s.graph_of(&[s.store(0, 1)])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        s.launched(exec).given("launching")?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        s.destroy(graph)?;
        Ok(object.report())
    }),
    ("graph destroyed in flight, exec lives: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let destroyed = call!(s.cu, cuGraphDestroy_10000(graph));
        gate.open();
        Ok(Answer::all([launched, destroyed, s.synchronise(), object.fired()]))
    }),
    ("the graph releases it in flight, exec destroyed: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let released = object.release_from(graph, 1);
        let destroyed = call!(s.cu, cuGraphExecDestroy_10000(exec));
        let before = object.fired();
        gate.open();
        Ok(Answer::all([launched, released, destroyed, before, s.synchronise(), object.fired()]))
    }),
];
