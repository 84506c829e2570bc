//! Launches of graphs: in which streams, in what order, and what may go while they run.

use super::faulty_launches;
use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::code::{Arguments, Shape};
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, given};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraphExec, CUstream};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_launching", parts: super::parts(faulty_launches::APART), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| ask(t, s, STREAMS),
    |t, s| ask(t, s, ORDER),
    |t, s| ask(t, s, IN_FLIGHT),
    |t, s| ask(t, s, faulty_launches::AT_ONCE),
    |t, s| ask(t, s, faulty_launches::FAULTY),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, faulty_launches::APART)
}

/// A launch in this stream, and that stream's end of work.
fn launched(s: &Scene, exec: CUgraphExec, stream: CUstream) -> Answer {
    Answer::all([
        call!(s.cu, cuGraphLaunch_10000(exec, stream)),
        call!(s.cu, cuStreamSynchronize_2000(stream)),
    ])
}

fn in_stream(s: &Scene, stream: CUstream) -> Asked {
    s.clear()?;
    let exec = s.exec(s.graph_of(&[s.note(1)])?)?;
    Ok(Answer::all([launched(s, exec, stream), s.noted()]))
}

const STREAMS: &[Question] = &[
    ("in a non-blocking stream", |s| in_stream(s, s.stream)),
    ("in a blocking stream", |s| in_stream(s, s.cu.stream(0)?)),
    ("in the NULL stream", |s| in_stream(s, null_mut())),
    ("launch to legacy", |s| in_stream(s, LEGACY)),
    ("in the per-thread stream", |s| in_stream(s, PER_THREAD)),
    ("in another context's stream", |s| in_stream(s, s.elsewhere()?.stream)),
    ("in a stream of another context that is current", |s| {
        let (there, exec) = (s.elsewhere()?, s.exec(s.graph_of(&[s.note(1)])?)?);
        given!(s.cu, cuCtxSetCurrent_4000(there.context))?;
        let answer = launched(s, exec, there.stream);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
    ("in the NULL stream with no current context", |s| {
        let exec = s.exec(s.graph_of(&[s.note(1)])?)?;
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answer = call!(s.cu, cuGraphLaunch_10000(exec, null_mut()));
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
    ("in the NULL stream with another context current", |s| {
        let (there, exec) = (s.elsewhere()?, s.exec(s.graph_of(&[s.note(1)])?)?);
        given!(s.cu, cuCtxSetCurrent_4000(there.context))?;
        let answer = launched(s, exec, null_mut());
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
    ("graph launch while capturing: answer, end", |s| {
        let (exec, mut graph) = (s.exec(s.graph_of(&[s.note(1)])?)?, null_mut());
        given!(s.cu, cuStreamBeginCapture_10010(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
        let answer = s.launch(exec);
        Ok(Answer::all([answer, call!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))]))
    }),
    ("launch in a stream while another captures", |s| {
        let (exec, other, mut graph) =
            (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?, null_mut());
        given!(s.cu, cuStreamBeginCapture_10010(other, CU_STREAM_CAPTURE_MODE_RELAXED))?;
        let answer = s.launch(exec);
        let ended = call!(s.cu, cuStreamEndCapture_10000(other, &raw mut graph));
        Ok(Answer::all([answer, ended, s.synchronise()]))
    }),
    ("launch in a stream of the greatest priority", |s| {
        let mut stream = null_mut();
        given!(s.cu, cuStreamCreateWithPriority_5050(&raw mut stream, NON_BLOCKING, -5))?;
        in_stream(s, stream)
    }),
];

const ORDER: &[Question] = &[
    ("a chain of five: noted", |s| {
        s.clear()?;
        let graph = s.graph_of(&[s.note(1), s.note(2), s.note(3), s.note(4), s.note(5)])?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("nodes made against their order: noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let nodes =
            [s.node(graph, &[], s.note(1))?, s.node(graph, &[], s.note(2))?, s.node(graph, &[], s.note(3))?];
        s.connect(graph, nodes[2], nodes[1]).given("an edge")?;
        s.connect(graph, nodes[1], nodes[0]).given("an edge")?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("a fork and a join: the first, the last, all noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let root = s.node(graph, &[], s.note(1))?;
        let one = s.node(graph, &[root], s.note(2))?;
        let other = s.node(graph, &[root], s.note(3))?;
        s.node(graph, &[one, other], s.note(4))?;
        let ran = s.ran(graph);
        let noted = s.noted().to_string();
        let mut all: Vec<&str> = noted.split(' ').collect();
        let ends = format!("{} {}", all[0], all[all.len() - 1]);
        all.sort_unstable();
        Ok(Answer::all([ran, ends.into(), all.join(" ").into()]))
    }),
    ("kernel, memset, copy: word", |s| {
        s.clear()?;
        let graph = s.graph_of(&[s.store(0, 1), s.fill(6), s.copy(), s.store(0, 2)])?;
        Ok(Answer::all([s.ran(graph), s.word(s.here), s.word(s.there)]))
    }),
    ("between kernels of its stream: noted", |s| {
        s.clear()?;
        let exec = s.exec(s.graph_of(&[s.note(2), s.note(3)])?)?;
        let kernel = |number| {
            let launch = s.launch_note(number);
            let mut arguments = Arguments::new(launch.arguments);
            s.cu.launch(launch.function, Shape::ONE, s.stream, &mut arguments.pointers())
        };
        let answers = [kernel(1), s.launch(exec), kernel(4), s.launch(exec), kernel(5)];
        Ok(Answer::all([Answer::all(answers), s.synchronise(), s.noted()]))
    }),
    ("1000 launches without waiting: the sum", |s| {
        s.clear()?;
        let adding = Work::Kernel(Launch::new(s.adding, [s.here, 1]));
        let exec = s.exec(s.graph_of(&[adding])?)?;
        for _ in 0..1000 {
            s.launch(exec).given("launching")?;
        }
        Ok(Answer::all([s.synchronise(), s.word(s.here)]))
    }),
    ("two execs in one stream: noted", |s| {
        s.clear()?;
        let (one, other) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.exec(s.graph_of(&[s.note(2)])?)?);
        let answers = [s.launch(one), s.launch(other), s.launch(one), s.synchronise()];
        Ok(Answer::all([Answer::all(answers), s.noted()]))
    }),
    ("a child graph between nodes: noted", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(2), s.note(3)])?;
        let graph = s.graph_of(&[s.note(1), Work::Child(child), s.note(4)])?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("one exec in two streams, one after the other: noted", |s| {
        s.clear()?;
        let (exec, other) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?);
        Ok(Answer::all([launched(s, exec, s.stream), launched(s, exec, other), s.noted()]))
    }),
];

const IN_FLIGHT: &[Question] = &[
    ("exec destroyed in flight: noted", |s| {
        s.clear()?;
        let exec = s.exec(s.graph_of(&[s.note(1)])?)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let answers = [s.launch(exec), call!(s.cu, cuGraphExecDestroy_10000(exec))];
        gate.open();
        Ok(Answer::all([Answer::all(answers), s.synchronise(), s.noted()]))
    }),
    ("graph destroyed before the launch: noted", |s| {
        s.clear()?;
        let graph = s.graph_of(&[s.note(1)])?;
        let exec = s.exec(graph)?;
        s.destroy(graph)?;
        Ok(Answer::all([s.launched(exec), s.noted()]))
    }),
    ("graph destroyed in flight: noted", |s| {
        s.clear()?;
        let graph = s.graph_of(&[s.note(1)])?;
        let exec = s.exec(graph)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let answers = [s.launch(exec), call!(s.cu, cuGraphDestroy_10000(graph))];
        gate.open();
        Ok(Answer::all([Answer::all(answers), s.synchronise(), s.noted()]))
    }),
    ("node destroyed in flight: noted", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.note(1))?;
        let exec = s.exec(graph)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let answers = [s.launch(exec), call!(s.cu, cuGraphDestroyNode_10000(node))];
        gate.open();
        Ok(Answer::all([Answer::all(answers), s.synchronise(), s.noted()]))
    }),
    ("node set in an exec in flight: noted, then once more", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.note(1))?;
        let exec = s.exec(graph)?;
        let other = s.launch_note(2);
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let set =
            other.with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)));
        gate.open();
        let first = Answer::all([launched, set, s.synchronise(), s.noted()]);
        Ok(Answer::all([first, s.launched(exec), s.noted()]))
    }),
    ("another exec of the graph beside one in flight: query", |s| {
        s.clear()?;
        let (graph, other) = (s.graph_of(&[s.note(1)])?, s.cu.stream(NON_BLOCKING)?);
        let execs = [s.exec(graph)?, s.exec(graph)?];
        let gate = Gate::close(&s.cu, s.stream)?;
        let answers = [s.launch(execs[0]), call!(s.cu, cuGraphLaunch_10000(execs[1], other))];
        let beside = s.cu.settled(|| call!(s.cu, cuStreamQuery_2000(other)));
        gate.open();
        Ok(Answer::all([Answer::all(answers), beside, s.synchronise(), s.noted()]))
    }),
    ("queries in flight: its stream, another, legacy", |s| {
        let (exec, other) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?);
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let queries = [s.stream, other, LEGACY].map(|stream| call!(s.cu, cuStreamQuery_2000(stream)));
        gate.open();
        Ok(Answer::all([launched, Answer::all(queries), s.synchronise()]))
    }),
    ("in a blocking stream in flight: query of legacy", |s| {
        let (exec, blocking) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(0)?);
        let gate = Gate::close(&s.cu, blocking)?;
        let launched = call!(s.cu, cuGraphLaunch_10000(exec, blocking));
        let query = call!(s.cu, cuStreamQuery_2000(LEGACY));
        gate.open();
        Ok(Answer::all([launched, query, call!(s.cu, cuStreamSynchronize_2000(blocking))]))
    }),
    ("in legacy behind a busy blocking stream: query", |s| {
        let (exec, blocking) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(0)?);
        let gate = Gate::close(&s.cu, blocking)?;
        let launched = call!(s.cu, cuGraphLaunch_10000(exec, LEGACY));
        let query = s.cu.settled(|| call!(s.cu, cuStreamQuery_2000(LEGACY)));
        gate.open();
        Ok(Answer::all([launched, query, call!(s.cu, cuStreamSynchronize_2000(LEGACY))]))
    }),
    ("in a non-blocking stream beside busy legacy: query", |s| {
        let exec = s.exec(s.graph_of(&[s.note(1)])?)?;
        let gate = Gate::close(&s.cu, LEGACY)?;
        let launched = s.launch(exec);
        let query = s.cu.settled(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
        gate.open();
        Ok(Answer::all([launched, query, call!(s.cu, cuStreamSynchronize_2000(LEGACY))]))
    }),
];
