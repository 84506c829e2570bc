//! What each operation becomes in a graph, and what can be read of it there.

mod copies;
mod events;
mod fills;
mod launches;
mod memory;
mod others;
mod parameters;
mod programmatic;

use super::graph;
use super::scene::{Scene, Story, tell};
use crate::driver::{Answer, Cu, Outcome, call};
use crate::sections::Section;
use crate::transcript::Lines;
use parameters::Places;
use std::ptr::null_mut;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_nodes", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[copies::linear, copies::shaped, copies::refused],
    &[fills::run, memory::run, others::run],
    &[launches::plain, launches::attributes, launches::priorities],
    &[programmatic::run],
    &[events::run],
];

type Question = (&'static str, fn(&Scene) -> Answer);

/// What a driver may crash on.
const APART: &[Question] = &[
    ("signal of no semaphores", |s| {
        let (none, nothing) = (std::ptr::null(), std::ptr::null());
        s.begin().and(|| call!(s.cu, cuSignalExternalSemaphoresAsync_10000(none, nothing, 0, s.stream)))
    }),
    ("wait for no semaphores", |s| {
        let (none, nothing) = (std::ptr::null(), std::ptr::null());
        s.begin().and(|| call!(s.cu, cuWaitExternalSemaphoresAsync_10000(none, nothing, 0, s.stream)))
    }),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = Scene::new(cu)?;
    if let Some(stories) = PARTS.get(part) {
        return tell(t, &scene, stories);
    }
    let (situation, ask) = APART[part - PARTS.len()];
    t.line(situation, || ask(&scene));
    scene.done(t, scene.stream);
    Ok(())
}

/// Captures one operation: what it answers, how the capture fares, what is in the graph, and the parameters of its nodes.
fn captured(t: &mut Lines, s: &Scene, places: &Places, name: &str, operation: impl FnOnce() -> Answer) {
    captured_after(t, s, places, name, || {}, operation);
}

/// The same after others were captured.
fn captured_after(
    t: &mut Lines,
    s: &Scene,
    places: &Places,
    name: &str,
    first: impl FnOnce(),
    operation: impl FnOnce() -> Answer,
) {
    let begun = s.begin();
    first();
    t.line(name, || begun.and(operation));
    told(t, s, places);
}

/// Ends the capture: its state before, how that went, and the nodes of the graph.
fn told(t: &mut Lines, s: &Scene, places: &Places) {
    let mut graph = null_mut();
    t.line("  status, end", || {
        let (status, (ended, made)) = (s.status(s.stream), s.end(s.stream));
        graph = made;
        format!("{status}, {ended}")
    });
    t.line("  nodes", || parameters::all(s, places, graph));
    graph::destroy(&s.cu, graph);
}
