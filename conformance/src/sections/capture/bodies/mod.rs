//! Conditional nodes in a capture, and captures into their bodies.

mod conditional;
mod contents;
mod failed;
mod stories;

use super::scene::{Scene, Story, tell};
use crate::driver::{Cu, Outcome};
use crate::sections::Section;
use crate::transcript::Lines;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_bodies", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[stories::defaults],
    &[stories::condition],
    &[stories::loops],
    &[stories::branches],
    &[stories::nested, stories::forked, stories::modes],
    &[stories::objects],
    &[contents::work],
    &[contents::refused],
    &[contents::by_hand],
    &[failed::same_stream],
    &[failed::outer_ended_first],
    &[failed::not_joined],
    &[|t, s| failed::other_thread(t, s, 0)],
    &[|t, s| failed::other_thread(t, s, 1)],
    &[|t, s| failed::other_thread(t, s, 2)],
    &[failed::two_at_a_time],
    &[failed::meeting],
    &[failed::meeting_there],
    &[failed::outer_invalidated],
    &[failed::outer_invalidated_and_ended],
    &[failed::invalidated],
    &[failed::invalidated_and_ended],
    &[failed::invalidated_and_drawn],
    &[failed::invalidated_and_again],
    &[failed::invalidated_and_destroyed],
    &[failed::node_destroyed],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}
