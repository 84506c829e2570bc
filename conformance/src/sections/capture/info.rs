//! What is told about a capture, by each ABI that tells it.

use super::scene::Scene;
use super::{begin, end};
use crate::driver::{Answer, LEGACY, Outcome, PER_THREAD, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureStatus,
};
use std::ptr::{null_mut, without_provenance, without_provenance_mut};

/// What stands in every place before the call.
const BEFORE: usize = 4711;

/// The places that an ABI writes to.
struct Places {
    status: CUstreamCaptureStatus,
    id: u64,
    graph: CUgraph,
    nodes: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
}

impl Places {
    const fn new() -> Self {
        Self {
            status: CUstreamCaptureStatus(77),
            id: BEFORE as u64,
            graph: without_provenance_mut(BEFORE),
            nodes: without_provenance(BEFORE),
            data: without_provenance(BEFORE),
            count: BEFORE,
        }
    }

    /// What the call has written.
    fn told(&self, answer: &Answer) -> Answer {
        let pointer = |address: usize| match address {
            BEFORE => "untouched",
            0 => "NULL",
            _ => "there",
        };
        let status = if self.status.0 == 77 { "untouched".to_owned() } else { self.status.0.to_string() };
        let id = if self.id == BEFORE as u64 { "untouched" } else { "there" };
        let count = if self.count == BEFORE { "untouched".to_owned() } else { self.count.to_string() };
        let (graph, nodes, data) =
            (pointer(self.graph.addr()), pointer(self.nodes.addr()), pointer(self.data.addr()));
        match answer {
            Answer::Absent(_) => answer.clone(),
            _ => format!(
                "{answer}; status {status}, id {id}, graph {graph}, nodes {nodes}, data {data}, {count}"
            )
            .into(),
        }
    }
}

/// Asks by one ABI; the older ones leave the later places alone.
type Abi = (&'static str, fn(&Scene, CUstream, &mut Places) -> Answer);

const ABIS: [Abi; 4] = [
    ("10000", |s, stream, places| call!(s.cu, cuStreamIsCapturing_10000(stream, &raw mut places.status))),
    ("10010", |s, stream, places| {
        call!(s.cu, cuStreamGetCaptureInfo_10010(stream, &raw mut places.status, &raw mut places.id))
    }),
    ("11030", |s, stream, p| {
        let (status, id, graph) = (&raw mut p.status, &raw mut p.id, &raw mut p.graph);
        let (nodes, count) = (&raw mut p.nodes, &raw mut p.count);
        call!(s.cu, cuStreamGetCaptureInfo_11030(stream, status, id, graph, nodes, count))
    }),
    ("12030", |s, stream, p| {
        let (status, id, graph) = (&raw mut p.status, &raw mut p.id, &raw mut p.graph);
        let (nodes, data, count) = (&raw mut p.nodes, &raw mut p.data, &raw mut p.count);
        call!(s.cu, cuStreamGetCaptureInfo_12030(stream, status, id, graph, nodes, data, count))
    }),
];

fn all(t: &mut Lines, s: &Scene, situation: &str, stream: CUstream) {
    for (abi, ask) in ABIS {
        let mut places = Places::new();
        t.line(&format!("{situation}: {abi}"), || {
            let answer = ask(s, stream, &mut places);
            places.told(&answer)
        });
    }
}

/// Every state that a stream can be in.
pub(super) fn states(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let blocking = cu.stream(0)?;
    all(t, s, "idle", s.stream);
    all(t, s, "idle legacy", LEGACY);
    all(t, s, "idle NULL", null_mut());
    all(t, s, "idle per-thread", PER_THREAD);
    let _ = s.begin();
    all(t, s, "just begun", s.stream);
    all(t, s, "legacy beside it", LEGACY);
    let _ = s.append(s.stream, 1).and(|| s.append(s.stream, 2));
    all(t, s, "with two nodes", s.stream);
    let _ = s.fork(s.stream, s.side);
    all(t, s, "just forked", s.side);
    let _ = s.append(s.side, 3);
    all(t, s, "forked, with a node", s.side);
    let _ = s.join(s.side, s.stream);
    all(t, s, "joined", s.stream);
    all(t, s, "the fork after that", s.side);
    let _ = call!(cu, cuStreamQuery_2000(s.side));
    all(t, s, "invalidated", s.stream);
    all(t, s, "its fork", s.side);
    let _ = end(cu, s.stream);
    all(t, s, "ended", s.stream);
    all(t, s, "the fork of an ended one", s.side);
    let _ = begin(cu, blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    all(t, s, "legacy, a blocking one captures", LEGACY);
    all(t, s, "NULL, a blocking one captures", null_mut());
    all(t, s, "per-thread, a blocking one captures", PER_THREAD);
    t.line("  its status, end", || format!("{}, {}", s.status(blocking), end(cu, blocking)));
    let _ = begin(cu, PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
    all(t, s, "per-thread captures", PER_THREAD);
    t.line("  another thread's", || s.elsewhere(|s| s.status(PER_THREAD)));
    t.line("  end", || end(cu, PER_THREAD));
    Ok(())
}

/// Places that are NULL.
pub(super) fn places(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let _ = s.begin().and(|| s.append(s.stream, 1));
    let mut p = Places::new();
    let (status, id, graph) = (&raw mut p.status, &raw mut p.id, &raw mut p.graph);
    let (nodes, data, count) = (&raw mut p.nodes, &raw mut p.data, &raw mut p.count);
    t.line("10010: no place for the id", || {
        call!(cu, cuStreamGetCaptureInfo_10010(s.stream, status, null_mut()))
    });
    for (name, id, graph, nodes, data, count) in [
        ("the id", null_mut(), graph, nodes, data, count),
        ("the graph", id, null_mut(), nodes, data, count),
        ("the nodes", id, graph, null_mut(), null_mut(), count),
        ("the nodes, but for data", id, graph, null_mut(), data, count),
        ("the data", id, graph, nodes, null_mut(), count),
        ("the count", id, graph, nodes, data, null_mut()),
        ("anything", null_mut(), null_mut(), null_mut(), null_mut(), null_mut()),
    ] {
        t.line(&format!("11030: no place for {name}"), || {
            call!(cu, cuStreamGetCaptureInfo_11030(s.stream, status, id, graph, nodes, count))
        });
        t.line(&format!("12030: no place for {name}"), || {
            call!(cu, cuStreamGetCaptureInfo_12030(s.stream, status, id, graph, nodes, data, count))
        });
    }
    s.done(t, s.stream);
    Ok(())
}

/// The newest ABI without a place for the status.
pub(super) fn without_status(s: &Scene) -> Answer {
    let mut p = Places::new();
    let (id, graph) = (&raw mut p.id, &raw mut p.graph);
    let (nodes, data, count) = (&raw mut p.nodes, &raw mut p.data, &raw mut p.count);
    call!(s.cu, cuStreamGetCaptureInfo_12030(s.stream, null_mut(), id, graph, nodes, data, count))
}

/// Which captures have the same number.
pub(super) fn ids(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let id = |stream| s.info(stream).id;
    let _ = s.begin();
    let first = id(s.stream);
    t.line("id of a capture is not 0", || yes(first != 0));
    let _ = s.append(s.stream, 1);
    t.line("  the same after a launch", || yes(id(s.stream) == first));
    let _ = s.fork(s.stream, s.side);
    t.line("  the fork has it too", || yes(id(s.side) == first));
    t.line("  and the same graph", || yes(s.graph(s.side) == s.graph(s.stream)));
    let _ = begin(cu, s.third, CU_STREAM_CAPTURE_MODE_RELAXED);
    let second = id(s.third);
    t.line("another capture has another", || yes(second != first));
    t.line("  a greater one", || yes(second > first));
    t.line("  by one", || yes(second == first + 1));
    t.line("  another graph", || yes(s.graph(s.third) != s.graph(s.stream)));
    s.drop_capture(s.stream);
    s.drop_capture(s.third);
    let _ = s.begin();
    t.line("a later one on the same stream has another", || yes(![first, second].contains(&id(s.stream))));
    s.drop_capture(s.stream);
    Ok(())
}
