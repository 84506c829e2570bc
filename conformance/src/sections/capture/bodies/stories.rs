//! Captures with conditional nodes that go well, and what they do when they run.

use super::super::graph::{self, Exec, picture, replay};
use super::super::object::{keep, object};
use super::super::scene::Scene;
use super::super::to_graph::into_in;
use super::super::{MODES, begin};
use super::conditional::{ASSIGN_DEFAULT, Conditional, Setters, into_body, standing};
use crate::driver::{Answer, Outcome, call, yes};
use crate::transcript::Lines;
use crate::user_object::MOVE;
use cushim::driver::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_COND_TYPE_WHILE, CUgraph,
    CUgraphConditionalNodeType, CUstream,
};
use std::ptr::{null, null_mut};

const IF: (CUgraphConditionalNodeType, u32) = (CU_GRAPH_COND_TYPE_IF, 1);

/// Captures one append into a body on the other stream.
fn fill(s: &Scene, stream: CUstream, body: CUgraph, digit: u32) -> Answer {
    let begun = into_body(s, stream, body);
    let launched = begun.and(|| s.append(stream, digit));
    launched.and(|| end_keeping(s, stream))
}

/// Ends a capture into a graph that is somebody's.
fn end_of(s: &Scene, stream: CUstream) -> (Answer, CUgraph) {
    let mut given = null_mut();
    (call!(s.cu, cuStreamEndCapture_10000(stream, &raw mut given)), given)
}

fn end_keeping(s: &Scene, stream: CUstream) -> Answer {
    end_of(s, stream).0
}

/// Step by step: a condition, its kernel, the node, its body, and what comes after it.
pub(super) fn condition(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side, setters) = (&s.cu, s.stream, s.side, Setters::of(s));
    for value in [1, 0] {
        t.line(&format!("capture, launch; the condition will be {value}"), || {
            s.begin().and(|| s.append(main, 1))
        });
        let mut conditional = Conditional::of(s, s.graph(main), 0, 0);
        t.line("  condition", || conditional.answer.clone());
        t.line("  kernel that sets it", || setters.set(s, main, conditional.handle, value));
        t.line("  conditional node, set as dependency", || conditional.capture(s, main, IF));
        t.line("  status, tail", || format!("{}, {}", s.status(main), s.tail(main)));
        t.line("  launch behind it", || s.append(main, 9));
        let body = conditional.body(0);
        t.line("  the body before its capture", || picture(cu, body));
        t.line("  capture into the body", || into_body(s, side, body));
        t.line("  its info: status, same graph, another id", || {
            let (one, other) = (s.info(main), s.info(side));
            format!("{}, {}, {}", other.status.0, yes(other.graph == body), yes(one.id != other.id))
        });
        t.line("  launch there", || s.append(side, 5));
        t.line("  tails", || format!("{}; {}", s.tail(main), s.tail(side)));
        let (ended, given) = end_of(s, side);
        t.line("  end there", || ended);
        t.line("  it gives the body", || yes(given == body));
        t.line("  the body", || picture(cu, body));
        t.line("  status of the first", || s.status(main));
        s.done_and_run(t, main);
    }
    Ok(())
}

/// Values that conditions have without a kernel.
pub(super) fn defaults(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side) = (&s.cu, s.stream, s.side);
    for (value, flags) in [(0, 0), (1, 0), (0, ASSIGN_DEFAULT), (1, ASSIGN_DEFAULT), (7, ASSIGN_DEFAULT)] {
        t.line(&format!("condition of value {value}, flags {flags}"), || s.begin());
        let mut conditional = Conditional::of(s, s.graph(main), value, flags);
        t.line("  captured", || conditional.capture(s, main, IF));
        t.line("  filled", || fill(s, side, conditional.body(0), 5));
        s.done_and_run(t, main);
    }
    t.line("a body without a capture", || s.begin());
    let mut conditional = Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT);
    t.line("  captured, launch", || conditional.capture(s, main, IF).and(|| s.append(main, 9)));
    s.done_and_run(t, main);
    t.line("a condition without a node", || s.begin());
    t.line("  condition, launch", || {
        Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT).answer.and(|| s.append(main, 1))
    });
    s.done_and_run(t, main);
    t.line("a body that was filled after the end", || s.begin());
    let mut conditional = Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT);
    t.line("  captured", || conditional.capture(s, main, IF));
    let graph = s.finish(t, main);
    t.line("  filled", || fill(s, side, conditional.body(0), 5));
    s.clear();
    t.line("  runs", || replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    graph::destroy(cu, graph);
    Ok(())
}

/// Loops.
pub(super) fn loops(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side, setters) = (&s.cu, s.stream, s.side, Setters::of(s));
    t.line("a loop of 3", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| call!(cu, cuMemsetD32Async_3020(s.memory + 20, 3, 1, main)))
    });
    let mut conditional = Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT);
    t.line("  captured", || conditional.capture(s, main, (CU_GRAPH_COND_TYPE_WHILE, 1)));
    t.line("  its body", || {
        into_body(s, side, conditional.body(0))
            .and(|| s.append(side, 5))
            .and(|| setters.count_down(s, side, conditional.handle, 5))
            .and(|| end_keeping(s, side))
    });
    t.line("  launch behind it", || s.append(main, 9));
    let graph = s.finish(t, main);
    t.line("  the body", || picture(cu, conditional.body(0)));
    s.clear();
    t.line("  runs", || replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    t.line("  runs again", || replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    graph::destroy(cu, graph);
    Ok(())
}

/// One of two, and one of three.
pub(super) fn branches(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side, setters) = (&s.cu, s.stream, s.side, Setters::of(s));
    for (name, kind, values) in [
        ("if, else", (CU_GRAPH_COND_TYPE_IF, 2), &[0, 1, 2][..]),
        ("switch of 3", (CU_GRAPH_COND_TYPE_SWITCH, 3), &[0, 1, 2, 3, 77][..]),
    ] {
        for value in values {
            t.line(&format!("{name}: {value}"), || s.begin().and(|| s.append(main, 1)));
            let mut conditional = Conditional::of(s, s.graph(main), 0, 0);
            t.line("  captured", || {
                setters
                    .set(s, main, conditional.handle, *value)
                    .and(|| conditional.capture(s, main, kind))
                    .and(|| s.append(main, 9))
            });
            t.line("  bodies filled", || {
                let filled =
                    |number: usize| fill(s, side, conditional.body(number), 5 + number as u32).number();
                (0..kind.1 as usize).map(filled).collect::<Vec<_>>().join(" ")
            });
            let graph = s.finish(t, main);
            s.clear();
            t.line("  runs", || replay(cu, graph, s.third));
            t.line("  digits", || s.number(0));
            graph::destroy(cu, graph);
        }
    }
    Ok(())
}

/// Conditional nodes in bodies.
pub(super) fn nested(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side, third) = (&s.cu, s.stream, s.side, s.third);
    for of_the_root in [true, false] {
        let whose = if of_the_root { "the root's" } else { "the body's" };
        t.line(&format!("nested, with a condition of {whose}"), || s.begin().and(|| s.append(main, 1)));
        let mut outer = Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT);
        t.line("  captured", || outer.capture(s, main, IF));
        t.line("  capture into the body, launch", || {
            into_body(s, side, outer.body(0)).and(|| s.append(side, 5))
        });
        let graph = if of_the_root { s.graph(main) } else { s.graph(side) };
        let mut inner = Conditional::of(s, graph, 1, ASSIGN_DEFAULT);
        t.line("  condition", || inner.answer.clone());
        t.line("  captured there", || inner.capture(s, side, IF));
        t.line("  filled while both captures go on", || fill(s, third, inner.body(0), 6));
        t.line("  launch behind it, end", || s.append(side, 7).and(|| end_keeping(s, side)));
        t.line("  the body", || picture(cu, outer.body(0)));
        t.line("  launch behind all", || s.append(main, 9));
        s.done_and_run(t, main);
    }
    Ok(())
}

/// Forks inside a body.
pub(super) fn forked(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side, third) = (&s.cu, s.stream, s.side, s.third);
    t.line("a body with a fork", || s.begin().and(|| s.append(main, 1)));
    let mut conditional = Conditional::of(s, s.graph(main), 1, ASSIGN_DEFAULT);
    t.line("  captured", || conditional.capture(s, main, IF));
    t.line("  fork and join in the body", || {
        into_body(s, side, conditional.body(0))
            .and(|| s.append(side, 5))
            .and(|| s.fork(side, third))
            .and(|| s.append_to(third, 1, 6))
            .and(|| s.append(side, 7))
            .and(|| s.join(third, side))
            .and(|| s.append(side, 8))
    });
    t.line("  statuses", || s.statuses());
    t.line("  end there", || end_keeping(s, side));
    t.line("  the body", || picture(cu, conditional.body(0)));
    t.line("  fork of the first then, joined", || {
        s.fork(main, third)
            .and(|| s.append_to(third, 1, 3))
            .and(|| s.join(third, main))
            .and(|| s.append(main, 9))
    });
    s.done_and_run(t, main);
    t.line("  the other number", || s.number(1));
    t.line("a conditional node captured on a fork", || {
        s.begin().and(|| s.append(main, 1)).and(|| s.fork(main, side)).and(|| s.append_to(side, 1, 2))
    });
    let mut conditional = Conditional::of(s, s.graph(side), 1, ASSIGN_DEFAULT);
    t.line("  captured", || conditional.capture(s, side, IF));
    t.line("  filled", || fill(s, third, conditional.body(0), 5));
    t.line("  joined, launch", || s.join(side, main).and(|| s.append(main, 9)));
    s.done_and_run(t, main);
    Ok(())
}

/// The modes of both captures: a body's begin, launch, end, the first's status, a launch, the end.
pub(super) fn modes(t: &mut Lines, s: &Scene) -> Outcome {
    for (outer, first) in MODES {
        for (inner, second) in MODES {
            let s = &s.anew()?;
            let _ = begin(&s.cu, s.stream, first).and(|| s.append(s.stream, 1));
            let mut conditional = Conditional::of(s, s.graph(s.stream), 1, ASSIGN_DEFAULT);
            t.line(&format!("{outer}: body in mode {inner}"), || {
                let captured = conditional.capture(s, s.stream, IF);
                let body = conditional.body(0);
                let begun = match body.is_null() {
                    true => captured,
                    false => into_in(s, s.side, body, null(), 0, second),
                };
                let answers = [
                    begun,
                    s.append(s.side, 5),
                    end_keeping(s, s.side),
                    s.status(s.stream),
                    s.append(s.stream, 9),
                ];
                answers.map(|answer| answer.number()).join(" ")
            });
            s.done_and_run(t, s.stream);
        }
    }
    Ok(())
}

/// User objects that bodies keep.
pub(super) fn objects(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let ((root, conditional), kept) = (standing(s), object(cu));
    t.line("retained by a body under capture", || {
        into_body(s, s.side, conditional.body(0))
            .and(|| keep(s.graph(s.side), &kept, MOVE))
            .and(|| s.append(s.side, 5))
            .and(|| end_keeping(s, s.side))
    });
    let exec = Exec::of(cu, root, 0);
    t.line("  runs", || exec.run(s.third));
    t.line("  fired", || kept.fired_where());
    graph::destroy(cu, root);
    t.line("  graph destroyed: fired", || kept.fired_where());
    drop(exec);
    t.line("  exec destroyed: fired", || kept.fired_where());
    let ((root, conditional), kept) = (standing(s), object(cu));
    t.line("retained by a body, its node destroyed", || {
        keep(conditional.body(0), &kept, MOVE).and(|| call!(cu, cuGraphDestroyNode_10000(conditional.node)))
    });
    t.line("  fired", || kept.fired_where());
    t.line("  runs", || replay(cu, root, s.third));
    graph::destroy(cu, root);
    Ok(())
}
