//! Conditions of loops, and of conditional nodes in others.
//!
//! A WHILE counts down, and what it counts is set again before each launch: none runs for ever.

use super::conditions::{COUNT, IF, Made, OTHER_COUNT, SWITCH, WHILE, plain, run_and_tell, set};
use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Asked, Question};
use crate::driver::{Answer, Given, call};
use cushim::driver::sys::CUDA_MEMSET_NODE_PARAMS_v1;

/// A WHILE that notes 10 as often as it is told, and an exec.
fn countdown(s: &Scene, default: (u32, u32)) -> Given<Made> {
    let made = plain(s, WHILE, 1, default)?;
    let body = made.bodies[0];
    s.node(body, &[s.first(body)?], s.setter(c"countdown", made.condition, s.here + COUNT)?)?;
    Ok(made)
}

pub(super) const LOOPS: &[Question] = &[
    ("WHILE, default 1 assigned, 3 rounds, then 2: noted", |s| {
        let exec = s.exec(countdown(s, (1, 1))?.graph)?;
        s.set_word(s.here + COUNT, 3)?;
        let first = Answer::all([s.launched(exec), s.noted()]);
        s.set_word(s.here + COUNT, 2)?;
        Ok(Answer::all([first, s.launched(exec), s.noted()]))
    }),
    ("WHILE, default 1 not assigned, 3 rounds, then 2: noted", |s| {
        let exec = s.exec(countdown(s, (1, 0))?.graph)?;
        s.set_word(s.here + COUNT, 3)?;
        let first = Answer::all([s.launched(exec), s.noted()]);
        s.set_word(s.here + COUNT, 2)?;
        Ok(Answer::all([first, s.launched(exec), s.noted()]))
    }),
    ("WHILE, default 0 assigned: noted", |s| {
        let graph = countdown(s, (0, 1))?.graph;
        s.set_word(s.here + COUNT, 3)?;
        run_and_tell(s, graph)
    }),
    ("WHILE of 2000 rounds in flight: its exec is destroyed, query", |s| {
        let (graph, count) = (s.graph()?, s.here + COUNT);
        let condition = s.condition(graph, 1, 1)?;
        let (_, bodies) = s.branch(graph, &[], s.conditional(condition, WHILE, 1))?;
        s.node(bodies[0], &[], s.setter(c"countdown", condition, count)?)?;
        let exec = s.exec(graph)?;
        s.set_word(count, 2_000)?;
        let launched = s.launch(exec);
        // It waits for the launch.
        let destroyed = call!(s.cu, cuGraphExecDestroy_10000(exec));
        let query = call!(s.cu, cuStreamQuery_2000(s.stream));
        Ok(Answer::all([launched, destroyed, query, s.synchronise()]))
    }),
    ("WHILE, set to 1 before, 3 rounds: noted", |s| {
        let made = set(s, WHILE, 1, (0, 0), 1)?;
        let body = made.bodies[0];
        s.node(body, &[s.first(body)?], s.setter(c"countdown", made.condition, s.here + COUNT)?)?;
        s.set_word(s.here + COUNT, 3)?;
        run_and_tell(s, made.graph)
    }),
    ("WHILE of 1000 rounds: the count at its end", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 1, 1)?;
        let body = s.branch(graph, &[], s.conditional(condition, WHILE, 1))?.1[0];
        s.node(body, &[], s.setter(c"countdown", condition, s.here + COUNT)?)?;
        s.set_word(s.here + COUNT, 1000)?;
        Ok(Answer::all([s.ran(graph), s.word(s.here + COUNT)]))
    }),
    ("WHILE with a memset and a copy in its body: words", |s| {
        let made = countdown(s, (1, 1))?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.here + 64, ..s.filling(5) };
        let filled = s.node(made.bodies[0], &[], Work::Fill(fill))?;
        let mut copy = s.copying();
        copy.srcDevice = s.here + 64;
        s.node(made.bodies[0], &[filled], Work::Copy(copy))?;
        s.set_word(s.here + COUNT, 3)?;
        Ok(Answer::all([s.ran(made.graph), s.noted(), s.word(s.there)]))
    }),
    ("WHILE, the rest behind it: noted", |s| {
        let made = countdown(s, (1, 1))?;
        s.node(made.graph, &[made.node], s.note(2))?;
        s.set_word(s.here + COUNT, 2)?;
        run_and_tell(s, made.graph)
    }),
];

pub(super) const NESTED: &[Question] = &[
    ("IF in IF, both 1: noted", |s| nested(s, 1, 1)),
    ("IF in IF, inner 0: noted", |s| nested(s, 1, 0)),
    ("IF in IF, outer 0: noted", |s| nested(s, 0, 1)),
    ("SWITCH in ELSE: noted", |s| {
        let outer = plain(s, IF, 2, (0, 1))?;
        let condition = s.condition(outer.graph, 1, 1)?;
        let bodies = s.branch(outer.bodies[1], &[], s.conditional(condition, SWITCH, 2))?.1;
        s.node(bodies[0], &[], s.note(20))?;
        s.node(bodies[1], &[], s.note(21))?;
        Ok(Answer::all([s.ran(outer.graph), yes_noted(s, "21")]))
    }),
    ("the inner condition set in the outer body: noted", |s| {
        let outer = plain(s, IF, 1, (1, 1))?;
        let condition = s.condition(outer.graph, 0, 1)?;
        let setter = s.node(outer.bodies[0], &[], s.setter(c"set", condition, 1)?)?;
        let body = s.branch(outer.bodies[0], &[setter], s.conditional(condition, IF, 1))?.1[0];
        s.node(body, &[], s.note(20))?;
        Ok(Answer::all([s.ran(outer.graph), yes_noted(s, "20")]))
    }),
    ("IF assigned 1 in a WHILE of 3, which sets it to 0: rounds", |s| rounds(s, 1, 0)),
    ("IF assigned 0 in a WHILE of 3, which sets it to 1: rounds", |s| rounds(s, 0, 1)),
    ("WHILE of 2 in a WHILE of 3: inner, outer rounds", |s| {
        let outer = countdown(s, (1, 1))?;
        let body = outer.bodies[0];
        let condition = s.condition(outer.graph, 1, 1)?;
        // The inner count begins anew in each round of the outer loop, so that neither ever passes 0.
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.here + OTHER_COUNT, width: 1, ..s.filling(2) };
        let reset = s.node(body, &[], Work::Fill(fill))?;
        let inner = s.branch(body, &[reset], s.conditional(condition, WHILE, 1))?.1[0];
        let add = s.node(inner, &[], Work::Kernel(Launch::new(s.adding, [s.here + 32, 1])))?;
        s.node(inner, &[add], s.setter(c"countdown", condition, s.here + OTHER_COUNT)?)?;
        s.set_word(s.here + COUNT, 3)?;
        Ok(Answer::all([s.ran(outer.graph), s.word(s.here + 32), s.noted()]))
    }),
    ("WHILE of 2 in a WHILE of 3, set to 1 before: inner rounds", |s| {
        let outer = countdown(s, (1, 1))?;
        let body = outer.bodies[0];
        let condition = s.condition(outer.graph, 0, 0)?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.here + OTHER_COUNT, width: 1, ..s.filling(2) };
        let reset = s.node(body, &[], Work::Fill(fill))?;
        let setter = s.node(body, &[reset], s.setter(c"set", condition, 1)?)?;
        let inner = s.branch(body, &[setter], s.conditional(condition, WHILE, 1))?.1[0];
        let add = s.node(inner, &[], Work::Kernel(Launch::new(s.adding, [s.here + 32, 1])))?;
        s.node(inner, &[add], s.setter(c"countdown", condition, s.here + OTHER_COUNT)?)?;
        s.set_word(s.here + COUNT, 3)?;
        Ok(Answer::all([s.ran(outer.graph), s.word(s.here + 32), s.noted()]))
    }),
];

/// Whether this is among what was noted, in whatever order.
fn yes_noted(s: &Scene, number: &str) -> Answer {
    let noted = s.noted().to_string();
    let mut numbers: Vec<&str> = noted.split(' ').collect();
    numbers.sort_unstable();
    format!("{}: {}", crate::driver::yes(numbers.contains(&number)), numbers.join(" ")).into()
}

fn nested(s: &Scene, outer: u32, inner: u32) -> Asked {
    let outer = plain(s, IF, 1, (outer, 1))?;
    let condition = s.condition(outer.graph, inner, 1)?;
    let body = outer.bodies[0];
    let bodies = s.branch(body, &[s.first(body)?], s.conditional(condition, IF, 1))?.1;
    s.node(bodies[0], &[], s.note(20))?;
    run_and_tell(s, outer.graph)
}

/// How often the body of an IF runs in a loop of three rounds, each of which sets its condition behind it.
fn rounds(s: &Scene, default: u32, to: u64) -> Asked {
    let outer = countdown(s, (1, 1))?;
    let body = outer.bodies[0];
    let condition = s.condition(outer.graph, default, 1)?;
    let (node, bodies) = s.branch(body, &[], s.conditional(condition, IF, 1))?;
    s.node(bodies[0], &[], Work::Kernel(Launch::new(s.adding, [s.here + 32, 1])))?;
    s.node(body, &[node], s.setter(c"set", condition, to)?)?;
    s.set_word(s.here + COUNT, 3)?;
    Ok(Answer::all([s.ran(outer.graph), s.word(s.here + 32)]))
}
