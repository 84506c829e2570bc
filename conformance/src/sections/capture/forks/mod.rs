//! Streams that join a capture by waiting for its events: what depends on what, and what the events are afterwards.

mod contexts;
mod events;
mod shapes;
mod strangers;

use super::scene::{Scene, Story, tell};
use crate::driver::{Answer, Cu, Outcome};
use crate::sections::Section;
use crate::transcript::Lines;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_forks", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[shapes::steps, shapes::order, shapes::stages, shapes::unjoined],
    &[shapes::kinds],
    &[events::repeated, events::asked, events::recorded_outside],
    &[events::afterwards],
    &[events::destroyed],
    &[strangers::captures, strangers::ended],
    &[contexts::of_one_device],
    &[contexts::per_thread],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}

/// Calls in turn until one fails.
fn in_turn(calls: &[&dyn Fn() -> Answer]) -> Answer {
    let mut answer = calls[0]();
    for call in &calls[1..] {
        answer = answer.and(call);
    }
    answer
}
