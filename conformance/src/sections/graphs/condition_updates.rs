//! Updates of execs that have conditional nodes.

use super::conditions::{IF, SWITCH, WHILE, plain, set};
use super::launch::Launch;
use super::scene::Scene;
use super::updates::Pair;
use super::work::Work;
use super::{Asked, Question};
use crate::code::Shape;
use crate::driver::{Answer, Given, call};
use cushim::driver::sys::{CUgraph, CUgraphConditionalNodeType};

fn of(s: &Scene, kind: CUgraphConditionalNodeType, size: u32, value: (u32, u32)) -> Given<CUgraph> {
    Ok(plain(s, kind, size, value)?.graph)
}

/// An IF with these in its body.
fn holding(s: &Scene, works: &[Work]) -> Given<CUgraph> {
    let graph = s.graph()?;
    let condition = s.condition(graph, 1, 1)?;
    let body = s.branch(graph, &[], s.conditional(condition, IF, 1))?.1[0];
    s.chain(body, works)?;
    Ok(graph)
}

pub(super) const UPDATES: &[Pair] = &[
    ("update: a twin", |s| of(s, IF, 1, (1, 1)), |s| of(s, IF, 1, (1, 1))),
    ("update: another default", |s| of(s, IF, 1, (1, 1)), |s| of(s, IF, 1, (0, 1))),
    ("update: default not assigned", |s| of(s, IF, 1, (1, 1)), |s| of(s, IF, 1, (1, 0))),
    ("update: a WHILE for an IF", |s| of(s, IF, 1, (0, 1)), |s| of(s, WHILE, 1, (0, 1))),
    ("update: a SWITCH for an IF", |s| of(s, IF, 1, (0, 1)), |s| of(s, SWITCH, 1, (0, 1))),
    ("update: with ELSE", |s| of(s, IF, 1, (0, 1)), |s| of(s, IF, 2, (0, 1))),
    ("update: without ELSE", |s| of(s, IF, 2, (0, 1)), |s| of(s, IF, 1, (0, 1))),
    ("update: SWITCH of 3 for 2", |s| of(s, SWITCH, 2, (0, 1)), |s| of(s, SWITCH, 3, (0, 1))),
    (
        "update: another argument in the body",
        |s| holding(s, &[s.store(0, 1)]),
        |s| holding(s, &[s.store(0, 2)]),
    ),
    ("update: another function in the body", |s| holding(s, &[s.store(0, 1)]), |s| holding(s, &[s.note(2)])),
    ("update: another type in the body", |s| holding(s, &[s.store(0, 1)]), |s| holding(s, &[s.fill(2)])),
    (
        "update: one node more in the body",
        |s| holding(s, &[s.store(0, 1)]),
        |s| holding(s, &[s.store(0, 1), s.store(0, 2)]),
    ),
    ("update: an empty body", |s| holding(s, &[s.store(0, 1)]), |s| holding(s, &[])),
    ("update: a memset in the body", |s| holding(s, &[s.fill(1)]), |s| holding(s, &[s.fill(2)])),
    (
        "update: a shape in the body",
        |s| holding(s, &[s.store(0, 1)]),
        |s| {
            let launch = Launch::new(s.storing, [s.here, 1]);
            holding(s, &[Work::Kernel(Launch { shape: Shape::row(2, 32), ..launch })])
        },
    ),
    ("update: a plain kernel for a conditional", |s| of(s, IF, 1, (0, 1)), |s| s.graph_of(&[s.note(1)])),
    ("update: a conditional for a plain kernel", |s| s.graph_of(&[s.note(1)]), |s| of(s, IF, 1, (0, 1))),
    ("update: a nested conditional", |s| deep(s, 1), |s| deep(s, 2)),
    (
        "update: a setter for its twin",
        |s| Ok(set(s, IF, 1, (0, 0), 1)?.graph),
        |s| Ok(set(s, IF, 1, (0, 0), 1)?.graph),
    ),
];

fn deep(s: &Scene, value: u32) -> Given<CUgraph> {
    let outer = plain(s, IF, 1, (1, 1))?;
    let condition = s.condition(outer.graph, 1, 1)?;
    let body = s.branch(outer.bodies[0], &[], s.conditional(condition, IF, 1))?.1[0];
    s.node(body, &[], s.store(0, value))?;
    Ok(outer.graph)
}

/// An exec of a SWITCH with one default, updated by one with another: what it notes before and after.
fn switched(s: &Scene, from: u32, to: u32) -> Asked {
    let new = plain(s, SWITCH, 3, (to, 1))?.graph;
    let exec = s.exec(plain(s, SWITCH, 3, (from, 1))?.graph)?;
    let before = Answer::all([s.launched(exec), s.noted()]);
    Ok(Answer::all([before, s.update(exec, new, &[("new", new)]), s.launched(exec), s.noted()]))
}

pub(super) const UPDATED: &[Question] = &[
    ("SWITCH with default 0 updated by 1: noted", |s| switched(s, 0, 1)),
    ("SWITCH with default 0 updated by 2: noted", |s| switched(s, 0, 2)),
    ("SWITCH with default 1 updated by 0: noted", |s| switched(s, 1, 0)),
    ("updated from itself: noted", |s| {
        let graph = plain(s, IF, 1, (1, 1))?.graph;
        let exec = s.exec(graph)?;
        Ok(Answer::all([s.update(exec, graph, &[("new", graph)]), s.launched(exec), s.noted()]))
    }),
    ("from itself, its body's kernel set: noted", |s| {
        let made = plain(s, IF, 1, (1, 1))?;
        let exec = s.exec(made.graph)?;
        let node = s.first(made.bodies[0])?;
        let other = s.launch_note(30);
        let set = other.with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        Ok(Answer::all([set, s.update(exec, made.graph, &[]), s.launched(exec), s.noted()]))
    }),
    ("updated by a twin whose setter sets its own condition: noted", |s| {
        // The setter's argument is the other graph's handle.
        let new = set(s, SWITCH, 3, (0, 0), 2)?.graph;
        let exec = s.exec(set(s, SWITCH, 3, (0, 0), 1)?.graph)?;
        let before = Answer::all([s.launched(exec), s.noted()]);
        Ok(Answer::all([before, s.update(exec, new, &[("new", new)]), s.launched(exec), s.noted()]))
    }),
    ("the body's kernel set in the exec: noted", |s| {
        let made = plain(s, IF, 1, (1, 1))?;
        let (exec, node) = (s.exec(made.graph)?, s.first(made.bodies[0])?);
        let other = s.launch_note(30);
        let set =
            other.with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)));
        Ok(Answer::all([set, s.launched(exec), s.noted()]))
    }),
];
