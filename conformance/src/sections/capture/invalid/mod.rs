//! What invalidates a capture, which streams it reaches, what is answered then, and what is left afterwards.

mod afterwards;
mod destroyed;
mod ways;

use super::scene::{Scene, Story, tell};
use crate::driver::{Cu, Outcome};
use crate::sections::Section;
use crate::transcript::Lines;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_invalid", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[ways::streams, ways::events, ways::work, ways::of_others],
    &[afterwards::calls, afterwards::calls_of_a_fork, afterwards::ends],
    &[afterwards::unsafe_calls, afterwards::events],
    &[destroyed::origin],
    &[destroyed::origin_global],
    &[destroyed::origin_then_end],
    &[destroyed::fork],
    &[destroyed::fork_joined, destroyed::fork_joined_late],
    &[destroyed::invalidated],
    &[destroyed::graph_of_invalidated],
    &[destroyed::graph_of_ended],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}
