//! The values of conditions: from where they come, how long they last, and which bodies run for them.
//!
//! Each body notes a number. A WHILE counts down, and what it counts is set again before each launch: none runs for ever.

use super::condition_updates;
use super::loops;
use super::scene::Scene;
use super::updates::pairs;
use super::{Asked, Group, Question, Section, ask};
use crate::code::{CONDITIONS, Shape};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_COND_TYPE_WHILE, CUgraph,
    CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNode,
};
use std::ffi::CString;
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_conditions", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    code,
    values,
    |t, s| ask(t, s, LASTING),
    |t, s| ask(t, s, loops::LOOPS),
    |t, s| ask(t, s, loops::NESTED),
    |t, s| pairs(t, s, condition_updates::UPDATES),
    |t, s| ask(t, s, condition_updates::UPDATED),
    |t, s| ask(t, s, WRONG),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

pub(super) const IF: CUgraphConditionalNodeType = CU_GRAPH_COND_TYPE_IF;
pub(super) const WHILE: CUgraphConditionalNodeType = CU_GRAPH_COND_TYPE_WHILE;
pub(super) const SWITCH: CUgraphConditionalNodeType = CU_GRAPH_COND_TYPE_SWITCH;
/// Where a WHILE counts, in the first memory; and another one.
pub(super) const COUNT: u64 = 8;
pub(super) const OTHER_COUNT: u64 = 16;

/// PTX that calls the driver's function, in several versions of the language and for several targets.
fn code(t: &mut Lines, s: &Scene) {
    for (version, target) in [
        ("7.0", "sm_70"),
        ("7.8", "sm_80"),
        ("8.0", "sm_80"),
        ("8.3", "sm_80"),
        ("8.3", "sm_90"),
        ("8.7", "sm_90"),
        ("9.0", "sm_90"),
    ] {
        t.line(&format!("PTX {version} for {target} that sets conditions"), || -> Asked {
            let text = CONDITIONS.to_string_lossy();
            let text = text.replace(".version 8.3", &format!(".version {version}"));
            let text = text.replace(".target sm_80", &format!(".target {target}"));
            let text = CString::new(text).map_err(|_| "cannot ask: a 0 in PTX")?;
            let mut module = null_mut();
            Ok(call!(s.cu, cuModuleLoadData_2000(&raw mut module, text.as_ptr().cast())))
        });
    }
    t.line("a kernel that sets a condition: is found", || -> Asked {
        s.conditions(c"set")?;
        Ok("yes".into())
    });
}

/// A graph with a conditional node, whose bodies note 10, 11 and so on.
pub(super) struct Made {
    pub(super) graph: CUgraph,
    pub(super) condition: CUgraphConditionalHandle,
    pub(super) node: CUgraphNode,
    pub(super) bodies: Vec<CUgraph>,
}

/// One after the nodes that `before` adds for its condition.
fn made(
    s: &Scene,
    kind: CUgraphConditionalNodeType,
    size: u32,
    (value, flags): (u32, u32),
    before: impl FnOnce(CUgraph, CUgraphConditionalHandle) -> Given<Vec<CUgraphNode>>,
) -> Given<Made> {
    s.clear()?;
    let graph = s.graph()?;
    let condition = s.condition(graph, value, flags)?;
    let before = before(graph, condition)?;
    let (node, bodies) = s.branch(graph, &before, s.conditional(condition, kind, size))?;
    for (number, body) in (10..).zip(&bodies) {
        s.node(*body, &[], s.note(number))?;
    }
    Ok(Made { graph, condition, node, bodies })
}

pub(super) fn plain(
    s: &Scene,
    kind: CUgraphConditionalNodeType,
    size: u32,
    value: (u32, u32),
) -> Given<Made> {
    made(s, kind, size, value, |_, _| Ok(Vec::new()))
}

/// With a kernel before it that sets the condition.
pub(super) fn set(
    s: &Scene,
    kind: CUgraphConditionalNodeType,
    size: u32,
    default: (u32, u32),
    to: u64,
) -> Given<Made> {
    made(s, kind, size, default, |graph, condition| {
        Ok(vec![s.node(graph, &[], s.setter(c"set", condition, to)?)?])
    })
}

pub(super) fn run_and_tell(s: &Scene, graph: CUgraph) -> Asked {
    Ok(Answer::all([s.ran(graph), s.noted()]))
}

/// Launched twice.
fn twice(s: &Scene, graph: CUgraph) -> Asked {
    let exec = s.exec(graph)?;
    Ok(Answer::all([s.launched(exec), s.noted(), s.launched(exec), s.noted()]))
}

/// Kinds and sizes, and values of their conditions.
const VALUES: &[(&str, CUgraphConditionalNodeType, u32, &[u32])] = &[
    ("IF", IF, 1, &[0, 1, 2, 1 << 31, u32::MAX]),
    ("IF with ELSE", IF, 2, &[0, 1, 2, u32::MAX]),
    ("SWITCH of 3", SWITCH, 3, &[0, 1, 2, 3, 7, u32::MAX]),
    ("SWITCH of 1", SWITCH, 1, &[0, 1]),
    ("WHILE", WHILE, 1, &[0]),
];

fn values(t: &mut Lines, s: &Scene) {
    for (name, kind, size, values) in VALUES {
        for value in *values {
            t.line(&format!("{name}, default {value}: noted"), || -> Asked {
                run_and_tell(s, plain(s, *kind, *size, (*value, 1))?.graph)
            });
            t.line(&format!("{name}, set to {value} before: noted"), || -> Asked {
                run_and_tell(s, set(s, *kind, *size, (0, 0), u64::from(*value))?.graph)
            });
        }
    }
}

const LASTING: &[Question] = &[
    ("default 1, not assigned: launched twice", |s| twice(s, plain(s, IF, 1, (1, 0))?.graph)),
    ("default 0, not assigned: launched twice", |s| twice(s, plain(s, IF, 1, (0, 0))?.graph)),
    ("default 1, assigned: launched twice", |s| twice(s, plain(s, IF, 1, (1, 1))?.graph)),
    ("default 1, assigned, set to 0 before: launched twice", |s| twice(s, set(s, IF, 1, (1, 1), 0)?.graph)),
    ("default 0, assigned, set to 1 before: launched twice", |s| twice(s, set(s, IF, 1, (0, 1), 1)?.graph)),
    ("default 0, not assigned, set to 1 behind: launched twice", |s| {
        let made = plain(s, IF, 1, (0, 0))?;
        s.node(made.graph, &[made.node], s.setter(c"set", made.condition, 1)?)?;
        twice(s, made.graph)
    }),
    ("default 0, assigned, set to 1 behind: launched twice", |s| {
        let made = plain(s, IF, 1, (0, 1))?;
        s.node(made.graph, &[made.node], s.setter(c"set", made.condition, 1)?)?;
        twice(s, made.graph)
    }),
    ("default 1, assigned, set to 0 in the body: launched twice", |s| {
        let made = plain(s, IF, 1, (1, 1))?;
        s.node(made.bodies[0], &[], s.setter(c"set", made.condition, 0)?)?;
        twice(s, made.graph)
    }),
    ("set to 1 once, not assigned: launched twice", |s| {
        // The setter is disabled after the first launch.
        let mut setter = null_mut();
        let made = made(s, IF, 1, (0, 0), |graph, condition| {
            setter = s.node(graph, &[], s.setter(c"set", condition, 1)?)?;
            Ok(vec![setter])
        })?;
        let exec = s.exec(made.graph)?;
        let first = Answer::all([s.launched(exec), s.noted()]);
        let disabled = call!(s.cu, cuGraphNodeSetEnabled_11060(exec, setter, 0));
        Ok(Answer::all([first, disabled, s.launched(exec), s.noted()]))
    }),
    ("set to 1 once, not assigned, instantiated anew: launched", |s| {
        let mut setter = null_mut();
        let made = made(s, IF, 1, (0, 0), |graph, condition| {
            setter = s.node(graph, &[], s.setter(c"set", condition, 1)?)?;
            Ok(vec![setter])
        })?;
        let exec = s.exec(made.graph)?;
        let first = Answer::all([s.launched(exec), s.noted()]);
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        s.destroy_node(setter)?;
        Ok(Answer::all([first, s.ran(made.graph), s.noted()]))
    }),
    ("launched twice without waiting: noted", |s| {
        let exec = s.exec(set(s, IF, 1, (0, 1), 1)?.graph)?;
        Ok(Answer::all([s.launch(exec), s.launch(exec), s.synchronise(), s.noted()]))
    }),
    ("launched in two streams at once: noted", |s| {
        let (exec, other) = (s.exec(set(s, IF, 1, (0, 1), 1)?.graph)?, s.cu.stream(NON_BLOCKING)?);
        Ok(Answer::all([
            s.launch(exec),
            call!(s.cu, cuGraphLaunch_10000(exec, other)),
            s.synchronise(),
            call!(s.cu, cuStreamSynchronize_2000(other)),
            s.noted(),
        ]))
    }),
    ("the order of before, body, behind: noted", |s| {
        let made = made(s, IF, 1, (1, 1), |graph, _| Ok(vec![s.node(graph, &[], s.note(1))?]))?;
        s.node(made.graph, &[made.node], s.note(2))?;
        run_and_tell(s, made.graph)
    }),
    ("not taken: before, behind: noted", |s| {
        let made = made(s, IF, 1, (0, 1), |graph, _| Ok(vec![s.node(graph, &[], s.note(1))?]))?;
        s.node(made.graph, &[made.node], s.note(2))?;
        run_and_tell(s, made.graph)
    }),
    ("the same kernel's value in memory decides: 2 of SWITCH, noted", |s| {
        let made = made(s, SWITCH, 3, (0, 0), |graph, condition| {
            let stored = s.node(graph, &[], s.store(COUNT, 2))?;
            Ok(vec![s.node(graph, &[stored], s.setter(c"choose", condition, s.here + COUNT)?)?])
        })?;
        run_and_tell(s, made.graph)
    }),
    ("two settings, the last counts: noted", |s| {
        let made = made(s, SWITCH, 3, (0, 0), |graph, condition| {
            let first = s.node(graph, &[], s.setter(c"set", condition, 1)?)?;
            Ok(vec![s.node(graph, &[first], s.setter(c"set", condition, 2)?)?])
        })?;
        run_and_tell(s, made.graph)
    }),
    ("a body sets what a later conditional reads: noted", |s| {
        let first = plain(s, IF, 1, (1, 1))?;
        let later = s.condition(first.graph, 0, 1)?;
        let bodies = s.branch(first.graph, &[first.node], s.conditional(later, IF, 1))?.1;
        s.node(bodies[0], &[], s.note(20))?;
        s.node(first.bodies[0], &[], s.setter(c"set", later, 1)?)?;
        run_and_tell(s, first.graph)
    }),
];

/// A kernel that sets a condition where that is none of its graph.
fn stray(s: &Scene, condition: CUgraphConditionalHandle) -> Asked {
    let function = s.conditions(c"set")?;
    let mut arguments = crate::code::Arguments::new([condition, 1]);
    let launched = s.cu.launch(function, Shape::ONE, s.stream, &mut arguments.pointers());
    Ok(Answer::all([launched, s.synchronise()]))
}

const WRONG: &[Question] = &[
    ("set of condition 0 in a stream", |s| stray(s, 0)),
    ("set of condition 77 in a stream", |s| stray(s, 77)),
    ("set of a graph's condition in a stream", |s| stray(s, plain(s, IF, 1, (0, 0))?.condition)),
    ("set of an instantiated graph's condition in a stream; run", |s| {
        let made = plain(s, IF, 1, (0, 0))?;
        let exec = s.exec(made.graph)?;
        Ok(Answer::all([stray(s, made.condition)?, s.launched(exec), s.noted()]))
    }),
    ("set of another graph's condition by a graph", |s| {
        let condition = plain(s, IF, 1, (0, 0))?.condition;
        Ok(s.ran(s.graph_of(&[s.setter(c"set", condition, 1)?])?))
    }),
    ("set of another exec's condition by a graph; that exec runs", |s| {
        let made = plain(s, IF, 1, (0, 0))?;
        let exec = s.exec(made.graph)?;
        let setter = s.graph_of(&[s.setter(c"set", made.condition, 1)?])?;
        Ok(Answer::all([s.ran(setter), s.launched(exec), s.noted()]))
    }),
    ("set of a destroyed graph's condition in a stream", |s| {
        let made = plain(s, IF, 1, (0, 0))?;
        s.destroy(made.graph)?;
        stray(s, made.condition)
    }),
    ("a clone of a graph with a setter of another's condition: run", |s| {
        let condition = plain(s, IF, 1, (0, 0))?.condition;
        Ok(s.ran(s.clone_of(s.graph_of(&[s.setter(c"set", condition, 1)?])?)?))
    }),
    ("a setter of a condition that no node uses: run", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 0)?;
        s.node(graph, &[], s.setter(c"set", condition, 1)?)?;
        Ok(s.ran(graph))
    }),
    ("a setter of a condition that an empty IF uses: run", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 0)?;
        s.node(graph, &[], s.setter(c"set", condition, 1)?)?;
        s.branch(graph, &[], s.conditional(condition, IF, 1))?;
        Ok(s.ran(graph))
    }),
];
