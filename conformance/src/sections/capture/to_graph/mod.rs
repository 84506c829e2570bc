//! Captures into graphs that are there already.

mod begins;
mod graphs;

use super::end;
use super::graph::{destroy, picture};
use super::modes::graphs::simple;
use super::scene::{Scene, Story, tell};
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphNode, CUstream, CUstreamCaptureMode,
};
use std::ptr::{null, null_mut};

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_to_graph", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[begins::new_and_old, begins::refused, begins::with_data, begins::no_context, begins::recapture],
    &[graphs::twice],
    &[graphs::of_a_capture],
    &[graphs::children],
    &[graphs::edited],
    &[|t, s| graphs::failed(t, s, graphs::WAYS[0])],
    &[|t, s| graphs::failed(t, s, graphs::WAYS[1])],
    &[|t, s| graphs::failed(t, s, graphs::WAYS[2])],
    &[|t, s| graphs::failed(t, s, graphs::WAYS[3])],
    &[|t, s| graphs::in_mode(t, s, 0)],
    &[|t, s| graphs::in_mode(t, s, 1)],
    &[|t, s| graphs::in_mode(t, s, 2)],
];

type Question = (&'static str, fn(&Scene) -> Answer);

/// What a driver may crash on.
const APART: &[Question] = &[
    ("graph NULL", |s| into(s, s.stream, null_mut(), null(), 0)),
    ("one dependency at NULL", |s| into(s, s.stream, simple(s), null(), 1)),
    ("a dependency that is NULL", |s| into(s, s.stream, simple(s), [null_mut()].as_ptr(), 1)),
    ("graph destroyed meanwhile", |s| {
        let graph = simple(s);
        into(s, s.stream, graph, null(), 0).and(|| call!(s.cu, cuGraphDestroy_10000(graph)))
    }),
    ("a destroyed graph", |s| {
        let graph = simple(s);
        destroy(&s.cu, graph);
        into(s, s.stream, graph, null(), 0)
    }),
    ("stream destroyed meanwhile, its graph", |s| {
        let graph = simple(s);
        into(s, s.third, graph, null(), 0)
            .and(|| s.append(s.third, 1))
            .and(|| call!(s.cu, cuStreamDestroy_4000(s.third)))
            .and(|| picture(&s.cu, graph))
    }),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = Scene::new(cu)?;
    if let Some(stories) = PARTS.get(part) {
        return tell(t, &scene, stories);
    }
    let (situation, ask) = APART[part - PARTS.len()];
    t.line(situation, || ask(&scene));
    t.line("  status, launch", || {
        format!("{}, {}", scene.status(scene.stream), scene.append(scene.stream, 1))
    });
    t.line("  end", || end(&scene.cu, scene.stream));
    Ok(())
}

/// Begins a relaxed capture into a graph, behind these nodes.
pub(super) fn into(
    s: &Scene,
    stream: CUstream,
    graph: CUgraph,
    nodes: *const CUgraphNode,
    count: usize,
) -> Answer {
    into_in(s, stream, graph, nodes, count, CU_STREAM_CAPTURE_MODE_RELAXED)
}

/// The same in another mode.
pub(super) fn into_in(
    s: &Scene,
    stream: CUstream,
    graph: CUgraph,
    nodes: *const CUgraphNode,
    count: usize,
    mode: CUstreamCaptureMode,
) -> Answer {
    call!(s.cu, cuStreamBeginCaptureToGraph_12030(stream, graph, nodes, null(), count, mode))
}

/// A graph without nodes; NULL where the driver has no graphs.
pub(super) fn empty(cu: &Cu) -> CUgraph {
    let mut graph = null_mut();
    let _ = call!(cu, cuGraphCreate_10000(&raw mut graph, 0));
    graph
}

/// Ends a capture, and tells whether the graph is this one, and what is in it.
fn ends_with(t: &mut Lines, s: &Scene, stream: CUstream, graph: CUgraph) {
    let mut given = null_mut();
    t.line("  end", || call!(s.cu, cuStreamEndCapture_10000(stream, &raw mut given)));
    t.line("  it is the same graph", || match given {
        given if given.is_null() => "NULL",
        given => yes(given == graph),
    });
    t.line("  graph", || picture(&s.cu, graph));
}

/// Ends a capture whose graph is somebody's.
fn end_keeping(s: &Scene, stream: CUstream) -> Answer {
    let mut graph = null_mut();
    call!(s.cu, cuStreamEndCapture_10000(stream, &raw mut graph))
}
