//! Launches that may begin before those that they depend on have ended: data of edges.

use super::super::graph;
use super::super::scene::Scene;
use super::launches::{attribute, launch};
use crate::code::Shape;
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, CUevent, CUlaunchAttribute,
    CUlaunchAttributeValue, CUlaunchAttributeValue_launchCompletionEvent,
    CUlaunchAttributeValue_programmaticEvent, CUstream, CUstreamCaptureStatus,
};
use std::ptr::null_mut;

/// Need not wait for the end of what is before it in the stream.
fn serial(allowed: i32) -> CUlaunchAttribute {
    let value = CUlaunchAttributeValue { programmaticStreamSerializationAllowed: allowed };
    attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value)
}

/// Records the event when its blocks say so, or have begun.
fn programmatic(event: CUevent, begun: i32) -> CUlaunchAttribute {
    let event = CUlaunchAttributeValue_programmaticEvent { event, flags: 0, triggerAtBlockStart: begun };
    attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CUlaunchAttributeValue { programmaticEvent: event })
}

/// Records the event when all of its blocks have begun.
fn launched(event: CUevent) -> CUlaunchAttribute {
    let event = CUlaunchAttributeValue_launchCompletionEvent { event, flags: 0 };
    let value = CUlaunchAttributeValue { launchCompletionEvent: event };
    attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, value)
}

fn with(s: &Scene, stream: CUstream, digit: u64, attributes: &mut [CUlaunchAttribute]) -> Answer {
    launch(s, stream, Shape::ONE, digit, attributes)
}

fn memset(s: &Scene, stream: CUstream) -> Answer {
    call!(s.cu, cuMemsetD32Async_3020(s.memory + 64, 1, 1, stream))
}

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    serialised(t, s)?;
    by_event(t, s)?;
    lossy(t, s)
}

/// The attribute that speaks of the stream's order.
fn serialised(t: &mut Lines, s: &Scene) -> Outcome {
    let stream = s.stream;
    let mut story = |name: &str, first: &dyn Fn() -> Answer, then: &dyn Fn() -> Answer| {
        t.line(name, || s.begin().and(first).and(then));
        t.line("  tail", || s.tail(stream));
        t.line("  launch after it", || s.append(stream, 9));
        let graph = s.finish(t, stream);
        // Which digits it leaves is not certain: such kernels may run side by side.
        t.line("  runs", || graph::replay(&s.cu, graph, s.third));
        graph::destroy(&s.cu, graph);
    };
    let kernel = || s.append(stream, 1);
    let allowed = || with(s, stream, 2, &mut [serial(1)]);
    story("programmatic after a kernel", &kernel, &allowed);
    story("not allowed after a kernel", &kernel, &|| with(s, stream, 2, &mut [serial(0)]));
    story("programmatic after a memset", &|| memset(s, stream), &allowed);
    story("programmatic after programmatic", &|| kernel().and(allowed), &|| {
        with(s, stream, 3, &mut [serial(1)])
    });
    story(
        "programmatic after two",
        &|| {
            kernel()
                .and(|| s.fork(stream, s.side))
                .and(|| s.append_to(s.side, 1, 1))
                .and(|| s.append(stream, 1))
                .and(|| s.join(s.side, stream))
        },
        &allowed,
    );
    story(
        "programmatic after a fork's kernel",
        &|| {
            kernel().and(|| s.fork(stream, s.side)).and(|| s.append(s.side, 2)).and(|| s.join(s.side, stream))
        },
        &allowed,
    );
    Ok(())
}

/// The attributes that name an event.
fn by_event(t: &mut Lines, s: &Scene) -> Outcome {
    let untimed = s.cu.event(2)?;
    for (name, make) in [
        ("programmatic event", (|event| programmatic(event, 0)) as fn(CUevent) -> CUlaunchAttribute),
        ("programmatic event at the start", |event| programmatic(event, 1)),
        ("launch completion event", launched),
    ] {
        for (kind, event) in [("timed", s.event), ("untimed", untimed)] {
            t.line(&format!("{name}, {kind}"), || s.begin().and(|| with(s, s.stream, 1, &mut [make(event)])));
            t.line("  status, tail", || format!("{}, {}", s.status(s.stream), s.tail(s.stream)));
            t.line("  another stream waits for it", || s.wait(s.side, event));
            t.line("  its tail", || s.tail(s.side));
            t.line("  it launches a kernel", || s.append_to(s.side, 1, 2));
            t.line("  its tail", || s.tail(s.side));
            t.line("  joined", || s.join(s.side, s.stream));
            t.line("  tail", || s.tail(s.stream));
            let graph = s.finish(t, s.stream);
            t.line("  runs", || graph::replay(&s.cu, graph, s.third));
            graph::destroy(&s.cu, graph);
        }
        t.line(&format!("{name}: a memset waits for it"), || {
            s.begin()
                .and(|| with(s, s.stream, 1, &mut [make(untimed)]))
                .and(|| s.wait(s.side, untimed))
                .and(|| memset(s, s.side))
        });
        t.line("  statuses", || s.statuses());
        t.line("  joined", || s.join(s.side, s.stream));
        s.done(t, s.stream);
        t.line(&format!("{name}: with the serial attribute"), || {
            s.begin()
                .and(|| s.append(s.stream, 1))
                .and(|| with(s, s.stream, 2, &mut [serial(1), make(untimed)]))
        });
        s.done(t, s.stream);
    }
    Ok(())
}

/// Edges with data, before those who have no place for data.
fn lossy(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let untimed = s.cu.event(2)?;
    t.line("a dependency with data", || {
        s.begin()
            .and(|| with(s, s.stream, 1, &mut [programmatic(untimed, 0)]))
            .and(|| s.wait(s.side, untimed))
    });
    let mut status = CUstreamCaptureStatus(77);
    let (mut nodes, mut data, mut count) = (std::ptr::null(), std::ptr::null(), 0usize);
    let (to_status, none, no_graph) = (&raw mut status, null_mut(), null_mut());
    let (to_nodes, to_data, to_count) = (&raw mut nodes, &raw mut data, &raw mut count);
    t.line("  info, 10010", || call!(cu, cuStreamGetCaptureInfo_10010(s.side, to_status, none)));
    t.line("  info, 11030", || {
        call!(cu, cuStreamGetCaptureInfo_11030(s.side, to_status, none, no_graph, to_nodes, to_count))
    });
    t.line("  info, 11030, no place for nodes", || {
        call!(cu, cuStreamGetCaptureInfo_11030(s.side, to_status, none, no_graph, null_mut(), null_mut()))
    });
    t.line("  info, 12030, no place for data", || {
        let no_data = null_mut();
        call!(
            cu,
            cuStreamGetCaptureInfo_12030(s.side, to_status, none, no_graph, to_nodes, no_data, to_count)
        )
    });
    t.line("  info, 12030", || {
        call!(
            cu,
            cuStreamGetCaptureInfo_12030(s.side, to_status, none, no_graph, to_nodes, to_data, to_count)
        )
    });
    t.line("  statuses", || s.statuses());
    let _ = s.append(s.side, 2).and(|| s.join(s.side, s.stream));
    let graph = s.finish(t, s.stream);
    let second = graph::node(cu, graph, 1);
    t.line("  edges, 10000", || {
        let mut count = 0usize;
        call!(cu, cuGraphGetEdges_10000(graph, null_mut(), null_mut(), &raw mut count)).then(|| count)
    });
    t.line("  edges with room, 10000", || {
        let (mut from, mut to, mut count) = ([null_mut(); 4], [null_mut(); 4], 4usize);
        call!(cu, cuGraphGetEdges_10000(graph, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count))
    });
    t.line("  dependencies with room, 10000", || {
        let (mut from, mut count) = ([null_mut(); 4], 4usize);
        call!(cu, cuGraphNodeGetDependencies_10000(second, from.as_mut_ptr(), &raw mut count))
    });
    graph::destroy(cu, graph);
    Ok(())
}
