//! Nodes that record events and wait for them, and nodes that call the host.

use super::host_nodes;
use super::scene::Scene;
use super::work::Work;
use super::{Group, Question, Section, ask};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, given};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::CUevent;
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_events", parts: super::parts(GONE), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| ask(t, s, KINDS),
    |t, s| ask(t, s, RECORDS),
    |t, s| ask(t, s, WAITS),
    |t, s| ask(t, s, DESTROYED),
    |t, s| ask(t, s, host_nodes::HOSTS),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, GONE)
}

const NO_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4 | NO_TIMING;

fn query(s: &Scene, event: CUevent) -> Answer {
    call!(s.cu, cuEventQuery_2000(event))
}

/// Adds such a node for such an event, and if that succeeds runs the graph.
fn added(s: &Scene, work: Work) -> Answer {
    let mut node = null_mut();
    match s.graph() {
        Ok(graph) => s.add(graph, &[], work, &raw mut node).and(|| s.ran(graph).named("added, but")),
        Err(obstacle) => obstacle,
    }
}

fn both(s: &Scene, event: CUevent) -> Answer {
    Answer::all([added(s, Work::Record(event)), added(s, Work::Wait(event))])
}

const KINDS: &[Question] = &[
    ("an event with timing: record; wait", |s| Ok(both(s, s.cu.event(0)?))),
    ("an event without timing: record; wait", |s| Ok(both(s, s.cu.event(NO_TIMING)?))),
    ("an event that blocks: record; wait", |s| Ok(both(s, s.cu.event(1)?))),
    ("an interprocess event: record", |s| Ok(added(s, Work::Record(s.cu.event(INTERPROCESS)?)))),
    ("an interprocess event: wait", |s| Ok(added(s, Work::Wait(s.cu.event(INTERPROCESS)?)))),
    ("another context's event: record", |s| Ok(added(s, Work::Record(s.elsewhere()?.event)))),
    ("another context's event: wait", |s| Ok(added(s, Work::Wait(s.elsewhere()?.event)))),
    ("an event recorded in a capture that goes on: wait", |s| {
        let (event, mut graph, mut node) = (s.cu.event(0)?, null_mut(), null_mut());
        let mode = cushim::driver::sys::CU_STREAM_CAPTURE_MODE_RELAXED;
        let own = s.graph()?;
        given!(s.cu, cuStreamBeginCapture_10010(s.stream, mode))?;
        let recorded = call!(s.cu, cuEventRecord_2000(event, s.stream));
        let answer = s.add(own, &[], Work::Wait(event), &raw mut node);
        let ended = call!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph));
        Ok(Answer::all([recorded, answer, ended]))
    }),
    ("an event recorded in a capture that has ended: wait, run", |s| {
        let (event, mut graph) = (s.cu.event(0)?, null_mut());
        let mode = cushim::driver::sys::CU_STREAM_CAPTURE_MODE_RELAXED;
        given!(s.cu, cuStreamBeginCapture_10010(s.stream, mode))?;
        let recorded = call!(s.cu, cuEventRecord_2000(event, s.stream));
        given!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))?;
        Ok(Answer::all([recorded, added(s, Work::Wait(event))]))
    }),
];

const RECORDS: &[Question] = &[
    ("recorded: query before, in flight, after", |s| {
        let event = s.cu.event(0)?;
        let exec = s.exec(s.graph_of(&[Work::Record(event)])?)?;
        let before = query(s, event);
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let in_flight = query(s, event);
        gate.open();
        Ok(Answer::all([before, launched, in_flight, s.synchronise(), query(s, event)]))
    }),
    ("recorded by two launches in flight: query, after", |s| {
        let event = s.cu.event(0)?;
        let exec = s.exec(s.graph_of(&[Work::Record(event)])?)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = [s.launch(exec), s.launch(exec)];
        let in_flight = query(s, event);
        gate.open();
        Ok(Answer::all([Answer::all(launched), in_flight, s.synchronise(), query(s, event)]))
    }),
    ("synchronize of a recorded event", |s| {
        let event = s.cu.event(0)?;
        let exec = s.exec(s.graph_of(&[s.store(0, 1), Work::Record(event)])?)?;
        Ok(Answer::all([s.launch(exec), call!(s.cu, cuEventSynchronize_2000(event))]))
    }),
    ("a stream waits for what a graph records: word", |s| {
        s.clear()?;
        let (event, other) = (s.cu.event(NO_TIMING)?, s.cu.stream(NON_BLOCKING)?);
        let exec = s.exec(s.graph_of(&[s.store(0, 5), Work::Record(event), s.store(4, 6)])?)?;
        let answers = [
            s.launch(exec),
            call!(s.cu, cuStreamWaitEvent_3020(other, event, 0)),
            call!(s.cu, cuMemcpyDtoDAsync_3020(s.there, s.here, 4, other)),
            call!(s.cu, cuStreamSynchronize_2000(other)),
        ];
        Ok(Answer::all([Answer::all(answers), s.word(s.there), s.synchronise()]))
    }),
    ("elapsed between two recorded in a graph: answer, at least 0", |s| {
        let events = [s.cu.event(0)?, s.cu.event(0)?];
        let graph = s.graph_of(&[Work::Record(events[0]), s.store(0, 1), Work::Record(events[1])])?;
        let (ran, mut time) = (s.ran(graph), -1.0);
        let elapsed = call!(s.cu, cuEventElapsedTime_2000(&raw mut time, events[0], events[1]));
        Ok(Answer::all([ran, elapsed.then(|| crate::driver::yes(time >= 0.0))]))
    }),
    ("the same event twice in a graph: run, query", |s| {
        let event = s.cu.event(0)?;
        let graph = s.graph_of(&[Work::Record(event), s.store(0, 1), Work::Record(event)])?;
        Ok(Answer::all([s.ran(graph), query(s, event)]))
    }),
    ("recorded and awaited in one graph: run", |s| {
        let event = s.cu.event(0)?;
        Ok(s.ran(s.graph_of(&[Work::Record(event), Work::Wait(event)])?))
    }),
    ("awaited before it is recorded in one graph: run twice", |s| {
        let event = s.cu.event(0)?;
        let exec = s.exec(s.graph_of(&[Work::Wait(event), Work::Record(event)])?)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("recorded in a child graph: run, elapsed with itself", |s| {
        let event = s.cu.event(0)?;
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[Work::Record(event)])?)])?;
        let (ran, mut time) = (s.ran(graph), -1.0);
        Ok(Answer::all([ran, call!(s.cu, cuEventElapsedTime_2000(&raw mut time, event, event))]))
    }),
];

const WAITS: &[Question] = &[
    ("wait for a never-recorded event: run", |s| {
        Ok(s.ran(s.graph_of(&[Work::Wait(s.cu.event(0)?), s.store(0, 1)])?))
    }),
    ("wait for what another stream has not done: query, after", |s| {
        let (event, other) = (s.cu.event(NO_TIMING)?, s.cu.stream(NON_BLOCKING)?);
        let exec = s.exec(s.graph_of(&[Work::Wait(event), s.store(0, 1)])?)?;
        let gate = Gate::close(&s.cu, other)?;
        let recorded = call!(s.cu, cuEventRecord_2000(event, other));
        let launched = s.launch(exec);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let in_flight = call!(s.cu, cuStreamQuery_2000(s.stream));
        gate.open();
        Ok(Answer::all([recorded, launched, in_flight, s.synchronise()]))
    }),
    ("recorded anew after the launch: does the launch wait for that", |s| {
        let (event, other) = (s.cu.event(NO_TIMING)?, s.cu.stream(NON_BLOCKING)?);
        given!(s.cu, cuEventRecord_2000(event, other))?;
        given!(s.cu, cuStreamSynchronize_2000(other))?;
        let exec = s.exec(s.graph_of(&[Work::Wait(event), s.store(0, 1)])?)?;
        let gate = Gate::close(&s.cu, other)?;
        let launched = s.launch(exec);
        let recorded = call!(s.cu, cuEventRecord_2000(event, other));
        let settled = s.cu.settled(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
        gate.open();
        Ok(Answer::all([launched, recorded, settled, s.synchronise()]))
    }),
    ("recorded anew between instantiation and launch: query, after", |s| {
        let (event, other) = (s.cu.event(NO_TIMING)?, s.cu.stream(NON_BLOCKING)?);
        given!(s.cu, cuEventRecord_2000(event, other))?;
        given!(s.cu, cuStreamSynchronize_2000(other))?;
        let exec = s.exec(s.graph_of(&[Work::Wait(event), s.store(0, 1)])?)?;
        let gate = Gate::close(&s.cu, other)?;
        let recorded = call!(s.cu, cuEventRecord_2000(event, other));
        let launched = s.launch(exec);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let in_flight = call!(s.cu, cuStreamQuery_2000(s.stream));
        gate.open();
        Ok(Answer::all([recorded, launched, in_flight, s.synchronise()]))
    }),
];

/// Events that are no more.
const GONE: &[Question] = &[
    ("its event destroyed after a record was added: run", |s| destroyed(s, Work::Record)),
    ("its event destroyed after a wait was added: run", |s| destroyed(s, Work::Wait)),
    ("its event destroyed after instantiation of a record: launch", |s| destroyed_late(s, Work::Record)),
    ("its event destroyed after instantiation of a wait: launch", |s| destroyed_late(s, Work::Wait)),
];

/// Events that are no more, of which the driver need not do anything.
const DESTROYED: &[Question] = &[
    ("record node for a destroyed event: add", |s| {
        let (event, mut node) = (s.cu.event(0)?, null_mut());
        given!(s.cu, cuEventDestroy_4000(event))?;
        Ok(s.add(s.graph()?, &[], Work::Record(event), &raw mut node))
    }),
    ("wait node for a destroyed event: add", |s| {
        let (event, mut node) = (s.cu.event(0)?, null_mut());
        given!(s.cu, cuEventDestroy_4000(event))?;
        Ok(s.add(s.graph()?, &[], Work::Wait(event), &raw mut node))
    }),
    ("its event destroyed: event of the node", |s| {
        let event = s.cu.event(0)?;
        let node = s.node(s.graph()?, &[], Work::Record(event))?;
        given!(s.cu, cuEventDestroy_4000(event))?;
        let mut told = null_mut();
        Ok(call!(s.cu, cuGraphEventRecordNodeGetEvent_11010(node, &raw mut told))
            .then(|| crate::driver::yes(told == event)))
    }),
    ("its event destroyed: clone", |s| {
        let event = s.cu.event(0)?;
        let graph = s.graph_of(&[Work::Record(event)])?;
        given!(s.cu, cuEventDestroy_4000(event))?;
        Ok(s.count(s.clone_of(graph)?))
    }),
];

fn destroyed(s: &Scene, work: fn(CUevent) -> Work) -> super::Asked {
    let event = s.cu.event(0)?;
    let graph = s.graph_of(&[work(event)])?;
    given!(s.cu, cuEventDestroy_4000(event))?;
    Ok(s.ran(graph))
}

fn destroyed_late(s: &Scene, work: fn(CUevent) -> Work) -> super::Asked {
    let event = s.cu.event(0)?;
    let exec = s.exec(s.graph_of(&[work(event)])?)?;
    given!(s.cu, cuEventDestroy_4000(event))?;
    Ok(s.launched(exec))
}
