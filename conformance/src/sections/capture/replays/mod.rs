//! What captured work does when it is launched: the order that it keeps, and the memory that it reads then.

mod data;
mod order;
mod updates;

use super::scene::{Scene, Story, tell};
use crate::driver::{Cu, Outcome};
use crate::sections::Section;
use crate::transcript::Lines;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_replays", parts: PARTS.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[
        order::kept,
        order::streams,
        order::forks,
        data::sources,
        data::destinations,
        data::arguments,
        data::host_functions,
        updates::from_captures,
    ],
    &[order::beside_work],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    tell(t, &Scene::new(cu)?, PARTS[part])
}
