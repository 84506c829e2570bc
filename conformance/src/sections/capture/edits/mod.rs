//! What is done by hand to the graph that a capture is making.

mod changes;
mod objects;
mod whole;

use super::graph;
use super::scene::{Scene, Story, tell};
use crate::driver::{Answer, Cu, Outcome};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::CUgraphNode;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_edits", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[changes::added, changes::edges, changes::parameters, changes::removed],
    &[changes::tail_removed],
    &[changes::tail_removed_and_launched],
    &[changes::tail_removed_and_forked],
    &[whole::looked_at, whole::instantiated, whole::child],
    &[whole::destroyed],
    &[whole::destroyed_and_launched],
    &[whole::destroyed_and_ended],
    &[objects::retained, objects::given_back],
    &[objects::invalidated],
    &[objects::failed],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}

/// A capture of three kernels in a row.
fn built(s: &Scene) -> Answer {
    s.begin().and(|| s.append(s.stream, 1)).and(|| s.append(s.stream, 2)).and(|| s.append(s.stream, 3))
}

/// A node of the graph that the stream's capture makes.
fn node(s: &Scene, position: usize) -> CUgraphNode {
    graph::node(&s.cu, s.graph(s.stream), position)
}
