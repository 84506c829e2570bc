//! Begins: behind which nodes, with which data, and what is refused.

use super::super::graph::{self, PLAIN, picture, replay};
use super::super::modes::graphs::simple;
use super::super::scene::Scene;
use super::{empty, end_keeping, ends_with, into, into_in};
use crate::driver::{Answer, LEGACY, Outcome, PER_THREAD, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraphEdgeData, CUstreamCaptureMode};
use std::ptr::{null, null_mut};

/// Into graphs with and without nodes.
pub(super) fn new_and_old(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let graph = empty(cu);
    t.line("into an empty graph", || into(s, stream, graph, null(), 0));
    t.line("  info: status, same graph", || {
        let info = s.info(stream);
        format!("{}, {}", info.status.0, yes(info.graph == graph))
    });
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append(stream, 1));
    t.line("  its nodes meanwhile", || picture(cu, graph));
    ends_with(t, s, stream, graph);
    t.line("into the same again, behind nothing", || into(s, stream, graph, null(), 0));
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append_to(stream, 1, 2));
    ends_with(t, s, stream, graph);
    t.line("behind the first", || into(s, stream, graph, [graph::node(cu, graph, 0)].as_ptr(), 1));
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append(stream, 3));
    ends_with(t, s, stream, graph);
    t.line("behind two, with a fork", || {
        let two = [graph::node(cu, graph, 1), graph::node(cu, graph, 2)];
        into(s, stream, graph, two.as_ptr(), 2)
    });
    t.line("  tail", || s.tail(stream));
    t.line("  fork, join", || {
        s.fork(stream, s.side).and(|| s.append_to(s.side, 2, 4)).and(|| s.join(s.side, stream))
    });
    t.line("  the fork's id and graph", || {
        let (one, other) = (s.info(stream), s.info(s.side));
        format!("{}, {}", yes(one.id == other.id), yes(other.graph == graph))
    });
    ends_with(t, s, stream, graph);
    t.line("  nothing captured", || into(s, stream, graph, null(), 0));
    ends_with(t, s, stream, graph);
    s.clear();
    t.line("  runs", || replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    t.line("  end with no place for the graph", || {
        into(s, stream, graph, null(), 0)
            .and(|| s.append_to(stream, 3, 5))
            .and(|| call!(cu, cuStreamEndCapture_10000(stream, null_mut())))
    });
    t.line("  graph", || picture(cu, graph));
    t.line("  destroyed", || call!(cu, cuGraphDestroy_10000(graph)));
    t.line("  begun again on the stream", || s.begin());
    s.done(t, stream);
    Ok(())
}

/// What is not taken.
pub(super) fn refused(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, graph, other) = (&s.cu, s.stream, simple(s), simple(s));
    let (own, foreign) = (graph::node(cu, graph, 0), graph::node(cu, other, 0));
    let mut ask = |name: &str, call: &dyn Fn() -> Answer| {
        t.line(name, call);
        t.line("  status, end", || format!("{}, {}", s.status(stream), end_keeping(s, stream)));
    };
    ask("another graph's node", &|| into(s, stream, graph, [foreign].as_ptr(), 1));
    ask("the same node twice", &|| into(s, stream, graph, [own, own].as_ptr(), 2));
    ask("a node and another graph's", &|| into(s, stream, graph, [own, foreign].as_ptr(), 2));
    ask("nodes, but none of them", &|| into(s, stream, graph, [own].as_ptr(), 0));
    ask("mode 3", &|| into_in(s, stream, graph, null(), 0, CUstreamCaptureMode(3)));
    ask("mode -1", &|| into_in(s, stream, graph, null(), 0, CUstreamCaptureMode(-1)));
    ask("a stream that captures", &|| s.begin().and(|| into(s, stream, graph, null(), 0)));
    ask("a fork", &|| s.begin().and(|| s.fork(stream, s.side)).and(|| into(s, s.side, graph, null(), 0)));
    ask("legacy", &|| into(s, LEGACY, graph, null(), 0));
    ask("NULL stream", &|| into(s, null_mut(), graph, null(), 0));
    t.line("per-thread", || into(s, PER_THREAD, graph, null(), 0));
    t.line("  status, end", || format!("{}, {}", s.status(PER_THREAD), end_keeping(s, PER_THREAD)));
    t.line("graphs are as they were", || format!("{}; {}", picture(cu, graph), picture(cu, other)));
    graph::destroy(cu, graph);
    graph::destroy(cu, other);
    Ok(())
}

/// Dependencies with data.
pub(super) fn with_data(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let edge = |from_port, type_, last| CUgraphEdgeData {
        from_port,
        to_port: 0,
        type_,
        reserved: [last, 0, 0, 0, 0],
    };
    for (name, data) in [
        ("plain", PLAIN),
        ("programmatic", edge(1, 1, 0)),
        ("type 9", edge(0, 9, 0)),
        ("reserved", edge(0, 0, 1)),
    ] {
        let graph = empty(cu);
        let _ = into(s, stream, graph, null(), 0).and(|| s.append(stream, 1));
        let _ = end_keeping(s, stream);
        t.line(&format!("behind a kernel, {name}"), || {
            let (nodes, data) = ([graph::node(cu, graph, 0)], [data]);
            let (mode, nodes, data) = (CU_STREAM_CAPTURE_MODE_RELAXED, nodes.as_ptr(), data.as_ptr());
            call!(cu, cuStreamBeginCaptureToGraph_12030(stream, graph, nodes, data, 1, mode))
        });
        t.line("  tail", || s.tail(stream));
        t.line("  launch", || s.append_to(stream, 1, 2));
        ends_with(t, s, stream, graph);
        graph::destroy(cu, graph);
    }
    Ok(())
}

/// No context is current.
pub(super) fn no_context(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, graph) = (&s.cu, empty(&s.cu));
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no current context: into a graph", || into(s, s.stream, graph, null(), 0));
    t.line("  launch", || s.append(s.stream, 1));
    ends_with(t, s, s.stream, graph);
    t.line("  per-thread", || into(s, PER_THREAD, graph, null(), 0));
    need!(cu, cuCtxSetCurrent_4000(s.context))
}

/// What newer drivers have.
pub(super) fn recapture(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, graph) = (&s.cu, s.stream, empty(&s.cu));
    let relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    let again =
        |graph| call!(cu, cuStreamBeginRecaptureToGraph_13030(stream, relaxed, graph, None, null_mut()));
    let _ = into(s, stream, graph, null(), 0).and(|| s.append(stream, 1));
    let _ = end_keeping(s, stream);
    t.line("recaptured into a graph", || again(graph));
    t.line("  launch", || s.append(stream, 2));
    ends_with(t, s, stream, graph);
    t.line("recaptured into an empty one", || again(empty(cu)));
    t.line("  status, end", || format!("{}, {}", s.status(stream), end_keeping(s, stream)));
    t.line("recaptured into NULL", || again(null_mut()));
    t.line("  status, end", || format!("{}, {}", s.status(stream), end_keeping(s, stream)));
    t.line("end of a capture for another interface", || call!(cu, cuStreamEndCaptureToCig_13010(stream)));
    graph::destroy(cu, graph);
    Ok(())
}
