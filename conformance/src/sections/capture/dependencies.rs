//! Dependencies of what is captured next, changed by hand.

use super::graph::{self, PLAIN};
use super::modes::graphs::{memset, simple};
use super::scene::{Scene, Story, tell};
use super::{MODES, begin, end};
use crate::driver::{Answer, Cu, LEGACY, Outcome, PER_THREAD, call};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_ADD_CAPTURE_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUgraphEdgeData, CUgraphNode,
    CUstream,
};
use std::ptr::{null, null_mut};

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_dependencies", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[&[changed, refused, who], &[forks], &[with_data]];

type Question = (&'static str, fn(&Scene) -> Answer);

/// What a driver may crash on.
const APART: &[Question] = &[
    ("one dependency at NULL, 11030", |s| {
        built(s).and(|| call!(s.cu, cuStreamUpdateCaptureDependencies_11030(s.stream, null_mut(), 1, SET)))
    }),
    ("one dependency at NULL, 12030", |s| {
        built(s).and(|| {
            call!(s.cu, cuStreamUpdateCaptureDependencies_12030(s.stream, null_mut(), null(), 1, SET))
        })
    }),
    ("a dependency that is NULL", |s| built(s).and(|| set(s, s.stream, &[null_mut()]))),
    ("a dependency that was destroyed", |s| {
        built(s).and(|| {
            let first = graph::node(&s.cu, s.graph(s.stream), 0);
            call!(s.cu, cuGraphDestroyNode_10000(first)).and(|| set(s, s.stream, &[first]))
        })
    }),
];

const ADD: u32 = CU_STREAM_ADD_CAPTURE_DEPENDENCIES.0 as u32;
const SET: u32 = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = Scene::new(cu)?;
    if let Some(stories) = PARTS.get(part) {
        return tell(t, &scene, stories);
    }
    let (situation, ask) = APART[part - PARTS.len()];
    t.line(situation, || ask(&scene));
    t.line("  status, tail", || format!("{}, {}", scene.status(scene.stream), scene.tail(scene.stream)));
    scene.done(t, scene.stream);
    Ok(())
}

/// A capture of three kernels in a row.
fn built(s: &Scene) -> Answer {
    s.begin().and(|| s.append(s.stream, 1)).and(|| s.append(s.stream, 2)).and(|| s.append(s.stream, 3))
}

fn update(s: &Scene, stream: CUstream, nodes: &[CUgraphNode], flags: u32) -> Answer {
    let mut nodes = nodes.to_vec();
    let first = if nodes.is_empty() { null_mut() } else { nodes.as_mut_ptr() };
    call!(s.cu, cuStreamUpdateCaptureDependencies_11030(stream, first, nodes.len(), flags))
}

fn set(s: &Scene, stream: CUstream, nodes: &[CUgraphNode]) -> Answer {
    update(s, stream, nodes, SET)
}

fn add(s: &Scene, stream: CUstream, nodes: &[CUgraphNode]) -> Answer {
    update(s, stream, nodes, ADD)
}

/// The nodes at these positions of the graph under capture.
fn at<const N: usize>(s: &Scene, positions: [usize; N]) -> [CUgraphNode; N] {
    let graph = s.graph(s.stream);
    positions.map(|position| graph::node(&s.cu, graph, position))
}

/// What the tail is after each change.
fn changed(t: &mut Lines, s: &Scene) -> Outcome {
    let stream = s.stream;
    t.line("three kernels", || built(s));
    let mut step = |name: &str, call: &dyn Fn() -> Answer| {
        t.line(name, call);
        t.line("  tail", || s.tail(stream));
    };
    step("set to the first", &|| set(s, stream, &at(s, [0])));
    step("launch", &|| s.append(stream, 4));
    step("add the second", &|| add(s, stream, &at(s, [1])));
    step("add it again", &|| add(s, stream, &at(s, [1])));
    step("add the first, a predecessor", &|| add(s, stream, &at(s, [0])));
    step("launch", &|| s.append_to(stream, 1, 5));
    step("set to two", &|| set(s, stream, &at(s, [0, 2])));
    step("set to two, the other way round", &|| set(s, stream, &at(s, [2, 0])));
    step("launch", &|| s.append_to(stream, 2, 6));
    step("add two", &|| add(s, stream, &at(s, [3, 4])));
    step("add none", &|| add(s, stream, &[]));
    step("set to none", &|| set(s, stream, &[]));
    step("add one to none", &|| add(s, stream, &at(s, [2])));
    step("set to none", &|| set(s, stream, &[]));
    step("launch", &|| s.append_to(stream, 3, 7));
    step("newer: set to the first", &|| {
        let mut first = at(s, [0]);
        call!(s.cu, cuStreamUpdateCaptureDependencies_12030(stream, first.as_mut_ptr(), null(), 1, SET))
    });
    step("newer: add the second with plain data", &|| {
        let (mut second, data) = (at(s, [1]), [PLAIN]);
        let (nodes, data) = (second.as_mut_ptr(), data.as_ptr());
        call!(s.cu, cuStreamUpdateCaptureDependencies_12030(stream, nodes, data, 1, ADD))
    });
    step("newer: set to none", &|| {
        call!(s.cu, cuStreamUpdateCaptureDependencies_12030(stream, null_mut(), null(), 0, SET))
    });
    step("launch", &|| s.append_to(stream, 4, 8));
    s.done(t, stream);
    t.line("set to none at the end", || built(s).and(|| set(s, stream, &[])));
    s.done(t, stream);
    t.line("set to the first at the end", || built(s).and(|| set(s, stream, &at(s, [0]))));
    s.done(t, stream);
    t.line("set before anything is captured", || s.begin().and(|| set(s, stream, &[])));
    s.done(t, stream);
    Ok(())
}

/// What cannot be a dependency.
fn refused(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, other) = (&s.cu, s.stream, simple(s));
    let foreign = graph::node(cu, other, 0);
    t.line("three kernels", || built(s));
    let mut step = |name: &str, call: &dyn Fn() -> Answer| {
        t.line(name, call);
        t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    };
    step("set to another graph's node", &|| set(s, stream, &[foreign]));
    step("add another graph's node", &|| add(s, stream, &[foreign]));
    step("set to one, and another graph's", &|| set(s, stream, &[at(s, [0])[0], foreign]));
    step("set to the same twice", &|| set(s, stream, &at(s, [1, 1])));
    step("add the same twice", &|| add(s, stream, &at(s, [0, 0])));
    step("flags 2", &|| update(s, stream, &at(s, [0]), 2));
    step("flags 2, none", &|| update(s, stream, &[], 2));
    step("flags -1", &|| update(s, stream, &at(s, [0]), u32::MAX));
    step("add an empty node, set to it", &|| {
        let mut added = null_mut();
        call!(cu, cuGraphAddEmptyNode_10000(&raw mut added, s.graph(stream), null(), 0))
            .and(|| set(s, stream, &[added]))
    });
    step("add a child graph, set to its inner node", &|| {
        let (mut added, mut inner) = (null_mut(), null_mut());
        call!(cu, cuGraphAddChildGraphNode_10000(&raw mut added, s.graph(stream), null(), 0, other))
            .and(|| call!(cu, cuGraphChildGraphNodeGetGraph_10000(added, &raw mut inner)))
            .and(|| set(s, stream, &[graph::node(cu, inner, 0)]))
    });
    step("set to the child's own node", &|| {
        let last = graph::nodes(cu, s.graph(stream)).unwrap_or_default().last().copied();
        set(s, stream, &[last.unwrap_or(null_mut())])
    });
    step("launch", &|| s.append(stream, 4));
    s.done(t, stream);
    graph::destroy(cu, other);
    Ok(())
}

/// Dependencies of forks, and joins without events.
fn forks(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side) = (s.stream, s.side);
    let forked = || built(s).and(|| s.fork(main, side)).and(|| s.append_to(side, 1, 4));
    t.line("fork: set to the first", || forked().and(|| set(s, side, &at(s, [0]))));
    t.line("  tails", || format!("{}; {}", s.tail(main), s.tail(side)));
    t.line("  launch in the fork", || s.append_to(side, 2, 5));
    t.line("  end", || s.end(main).0);
    t.line("fork: set to none, its work not joined", || forked().and(|| set(s, side, &[])));
    s.done(t, main);
    t.line("joined by adding the fork's node", || forked().and(|| add(s, main, &s.tail_nodes(side))));
    t.line("  tail", || s.tail(main));
    t.line("  the fork's status", || s.status(side));
    s.done_and_run(t, main);
    t.line("joined by setting to the fork's node", || {
        forked().and(|| set(s, main, &s.tail_nodes(side))).and(|| s.append(main, 9))
    });
    s.done(t, main);
    t.line("the first set to none, the fork joined", || {
        forked().and(|| set(s, main, &[])).and(|| s.join(side, main))
    });
    t.line("  tail", || s.tail(main));
    s.done(t, main);
    t.line("the event after a set: recorded before", || {
        built(s)
            .and(|| s.record(s.event, main))
            .and(|| set(s, main, &at(s, [0])))
            .and(|| s.wait(side, s.event))
    });
    t.line("  tails", || format!("{}; {}", s.tail(main), s.tail(side)));
    s.done(t, main);
    t.line("the event after a set: recorded after", || {
        built(s).and(|| set(s, main, &at(s, [0]))).and(|| s.fork(main, side))
    });
    t.line("  tails", || format!("{}; {}", s.tail(main), s.tail(side)));
    s.done(t, main);
    Ok(())
}

fn edge(from_port: u8, to_port: u8, type_: u8, reserved: u8) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port, type_, reserved: [reserved, 0, 0, 0, 0] }
}

/// Dependencies with data.
fn with_data(t: &mut Lines, s: &Scene) -> Outcome {
    let stream = s.stream;
    let with = |s: &Scene, data: CUgraphEdgeData, flags| {
        let (mut first, data) = (at(s, [0]), [data]);
        let (nodes, data) = (first.as_mut_ptr(), data.as_ptr());
        call!(s.cu, cuStreamUpdateCaptureDependencies_12030(s.stream, nodes, data, 1, flags))
    };
    for (name, data) in [
        ("programmatic", edge(1, 0, 1, 0)),
        ("programmatic, at the start", edge(2, 0, 1, 0)),
        ("programmatic, port 0", edge(0, 0, 1, 0)),
        ("plain, port 1", edge(1, 0, 0, 0)),
        ("port 9", edge(9, 0, 1, 0)),
        ("to port 1", edge(1, 1, 1, 0)),
        ("type 9", edge(0, 0, 9, 0)),
        ("reserved", edge(0, 0, 0, 1)),
    ] {
        t.line(&format!("{name}: set"), || built(s).and(|| with(s, data, SET)));
        t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
        t.line("  older: add the second", || add(s, stream, &at(s, [1])));
        t.line("  tail", || s.tail(stream));
        t.line("  launch", || s.append(stream, 4));
        s.done(t, stream);
    }
    t.line("programmatic: added to plain of the same node", || {
        built(s).and(|| set(s, stream, &at(s, [0]))).and(|| with(s, edge(1, 0, 1, 0), ADD))
    });
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append(stream, 4));
    s.done(t, stream);
    t.line("programmatic, then a memset", || {
        built(s)
            .and(|| with(s, edge(1, 0, 1, 0), SET))
            .and(|| call!(s.cu, cuMemsetD32Async_3020(s.memory + 64, 1, 1, stream)))
    });
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    s.done(t, stream);
    t.line("programmatic, of a memset", || {
        s.begin()
            .and(|| call!(s.cu, cuMemsetD32Async_3020(s.memory + 64, 1, 1, stream)))
            .and(|| with(s, edge(1, 0, 1, 0), SET))
    });
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 1));
    s.done(t, stream);
    t.line("programmatic, then recorded and waited for", || {
        built(s).and(|| with(s, edge(1, 0, 1, 0), SET)).and(|| s.fork(stream, s.side))
    });
    t.line("  tails", || format!("{}; {}", s.tail(stream), s.tail(s.side)));
    t.line("  launch, join, launch", || {
        s.append_to(s.side, 1, 1).and(|| s.join(s.side, stream)).and(|| s.append(stream, 4))
    });
    s.done(t, stream);
    Ok(())
}

/// On which streams, and from which threads.
fn who(t: &mut Lines, s: &Scene) -> Outcome {
    for (name, stream) in
        [("a stream", s.stream), ("legacy", LEGACY), ("NULL", null_mut()), ("per-thread", PER_THREAD)]
    {
        t.line(&format!("without a capture: {name}"), || set(s, stream, &[]));
    }
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: on another thread"), || {
            begin(&s.cu, s.stream, mode)
                .and(|| s.append(s.stream, 1))
                .and(|| s.append(s.stream, 2))
                .and(|| s.elsewhere(|s| set(s, s.stream, &at(s, [0]))))
        });
        t.line("  tail", || s.tail(s.stream));
        s.done(t, s.stream);
    }
    t.line("after the end", || built(s).and(|| end(&s.cu, s.stream)).and(|| set(s, s.stream, &[])));
    t.line("a memset by hand in between", || {
        let (mut added, params) = (null_mut(), memset(s.memory + 64, 1));
        built(s).and(|| {
            let (graph, last) = (s.graph(s.stream), s.tail_nodes(s.stream));
            call!(
                s.cu,
                cuGraphAddMemsetNode_10000(
                    &raw mut added,
                    graph,
                    last.as_ptr(),
                    last.len(),
                    &raw const params,
                    s.context
                )
            )
            .and(|| set(s, s.stream, &[added]))
            .and(|| s.append(s.stream, 4))
        })
    });
    s.done_and_run(t, s.stream);
    Ok(())
}
