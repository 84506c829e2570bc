//! Graphs that are built by hand: their nodes and edges, what they keep, how they are instantiated, changed and launched.
//!
//! Every question makes what it needs, so one that a driver does not survive takes no other with it. `cannot ask: ...` is
//! the answer of a question that did not come so far.

mod adding;
mod allocation_stages;
mod allocations;
mod attributes;
mod beside_allocations;
mod bodies;
mod branches;
mod clones;
mod condition_updates;
mod conditionals;
mod conditions;
mod contents;
mod copy_nodes;
mod describing;
mod device_pair;
mod dot;
mod edge_data;
mod edges;
mod enabled;
mod event_nodes;
mod faulty_launches;
mod getters;
mod graph_memory;
mod held;
mod host_nodes;
mod ids;
mod inner_objects;
mod instantiating;
mod kept_memory;
mod kernel_nodes;
mod kernel_setters;
mod launch;
mod launching;
mod loops;
mod memory_operations;
mod memory_setters;
mod memset_nodes;
mod moves;
mod nested_clones;
mod objects;
mod operands;
mod order;
mod pairing;
mod readback;
mod running;
mod scene;
mod setters;
mod stale;
mod two_devices;
mod updatable;
mod updated_kinds;
mod updated_objects;
mod updates;
mod without_context;
mod work;

use super::Section;
use crate::driver::{Answer, Cu, Given, Outcome, call};
use crate::process;
use crate::transcript::Lines;
use scene::Scene;

/// The sections of this folder.
pub(crate) const SECTIONS: &[&Section] = &[
    &adding::SECTION,
    &kernel_nodes::SECTION,
    &copy_nodes::SECTION,
    &memset_nodes::SECTION,
    &event_nodes::SECTION,
    &memory_operations::SECTION,
    &allocations::SECTION,
    &graph_memory::SECTION,
    &attributes::SECTION,
    &updatable::SECTION,
    &readback::SECTION,
    &order::SECTION,
    &clones::SECTION,
    &moves::SECTION,
    &edges::SECTION,
    &edge_data::SECTION,
    &instantiating::SECTION,
    &launching::SECTION,
    &conditionals::SECTION,
    &bodies::SECTION,
    &conditions::SECTION,
    &updates::SECTION,
    &setters::SECTION,
    &enabled::SECTION,
    &objects::SECTION,
    &updated_objects::SECTION,
    &dot::SECTION,
    &ids::SECTION,
    &stale::SECTION,
    &two_devices::SECTION,
];

/// What a question answers, or what kept it from being put.
type Asked = Given<Answer>;

/// A situation, and what is asked in it.
type Question = (&'static str, fn(&Scene) -> Asked);

/// Several questions.
type Group = fn(&mut Lines, &Scene);

/// How many processes a section takes: one for all groups, and one for each question that is apart.
const fn parts(apart: &[Question]) -> usize {
    1 + apart.len()
}

/// Runs one part of a section. What is apart may spoil a process for the next questions without being a crash.
fn run(t: &mut Lines, cu: &Cu, part: usize, groups: &[Group], apart: &[Question]) -> Outcome {
    let scene = Scene::new(cu)?;
    stop_when_spoilt(t, cu);
    match part.checked_sub(1) {
        None => groups.iter().for_each(|group| group(t, &scene)),
        Some(number) => ask(t, &scene, &apart[number..=number]),
    }
    Ok(())
}

/// Ends the process after a question with an error that sticks: it would be the answer to every other question.
fn stop_when_spoilt(t: &mut Lines, cu: &Cu) {
    let cu = *cu;
    t.after_each(move || {
        if !call!(cu, cuCtxSynchronize_2000()).succeeded() {
            process::end_spoilt();
        }
    });
}

fn ask(t: &mut Lines, s: &Scene, questions: &[Question]) {
    for (situation, question) in questions {
        t.line(situation, || question(s));
    }
}
