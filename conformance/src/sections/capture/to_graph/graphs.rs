//! What the graph may be, what may be done to it meanwhile, and what is left in it where the capture fails.

use super::super::MODES;
use super::super::graph::{self, Exec, picture, replay};
use super::super::modes::graphs::simple;
use super::super::scene::Scene;
use super::{Question, empty, end_keeping, ends_with, into, into_in};
use crate::code::Shape;
use crate::driver::{Outcome, call, yes};
use crate::transcript::Lines;
use std::ptr::{null, null_mut};

/// Two captures into one graph.
pub(super) fn twice(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, graph) = (&s.cu, empty(&s.cu));
    t.line("into a graph, and by another stream", || {
        into(s, s.stream, graph, null(), 0).and(|| into(s, s.side, graph, null(), 0))
    });
    t.line("  statuses", || s.statuses());
    t.line("  launch into each", || s.append(s.stream, 1).and(|| s.append_to(s.side, 1, 2)));
    t.line("  tails", || format!("{}; {}", s.tail(s.stream), s.tail(s.side)));
    t.line("  different ids", || yes(s.info(s.stream).id != s.info(s.side).id));
    t.line("  one waits for the other", || s.fork(s.side, s.stream));
    t.line("  statuses", || s.statuses());
    t.line("  ends", || format!("{}, {}", end_keeping(s, s.stream), end_keeping(s, s.side)));
    t.line("  graph", || picture(cu, graph));
    graph::destroy(cu, graph);
    Ok(())
}

/// A capture into the graph that another one makes.
pub(super) fn of_a_capture(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("into the graph of a running capture", || {
        s.begin().and(|| s.append(s.stream, 1)).and(|| into(s, s.side, s.graph(s.stream), null(), 0))
    });
    t.line("  statuses", || s.statuses());
    t.line("  launch there, its tail", || format!("{}, {}", s.append_to(s.side, 1, 2), s.tail(s.side)));
    t.line("  end there", || end_keeping(s, s.side));
    t.line("  status, launch", || format!("{}, {}", s.status(s.stream), s.append(s.stream, 3)));
    s.done(t, s.stream);
    Ok(())
}

/// Into graphs of child nodes, and into clones.
pub(super) fn children(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let (outer, inner) = (empty(cu), simple(s));
    let (mut child, mut embedded, mut clone) = (null_mut(), null_mut(), null_mut());
    let _ = call!(cu, cuGraphAddChildGraphNode_10000(&raw mut child, outer, null(), 0, inner))
        .and(|| call!(cu, cuGraphChildGraphNodeGetGraph_10000(child, &raw mut embedded)));
    t.line("into a child's graph", || into(s, stream, embedded, null(), 0));
    t.line("  launch", || s.append(stream, 1));
    ends_with(t, s, stream, embedded);
    t.line("  its source", || picture(cu, inner));
    t.line("  the outer graph", || picture(cu, outer));
    s.clear();
    t.line("  runs", || graph::replay(cu, outer, s.third));
    t.line("  digits", || s.number(0));
    t.line("into a child's source", || into(s, stream, inner, null(), 0));
    t.line("  launch", || s.append(stream, 2));
    ends_with(t, s, stream, inner);
    t.line("  the child", || picture(cu, embedded));
    let _ = call!(cu, cuGraphClone_10000(&raw mut clone, inner));
    t.line("into a clone, behind its node", || {
        into(s, stream, clone, [graph::node(cu, clone, 0)].as_ptr(), 1)
    });
    t.line("  launch", || s.append(stream, 3));
    ends_with(t, s, stream, clone);
    t.line("into a clone, behind the original's node", || {
        into(s, stream, clone, [graph::node(cu, inner, 0)].as_ptr(), 1)
    });
    t.line("  status, end", || format!("{}, {}", s.status(stream), end_keeping(s, stream)));
    for graph in [outer, inner, clone] {
        graph::destroy(cu, graph);
    }
    Ok(())
}

/// Graphs that are changed by hand, instantiated or updated while they are captured into.
pub(super) fn edited(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, graph) = (&s.cu, s.stream, simple(s));
    let exec = Exec::of(cu, graph, 0);
    let (mut added, mut clone) = (null_mut(), null_mut());
    t.line("into an instantiated graph", || into(s, stream, graph, [graph::node(cu, graph, 0)].as_ptr(), 1));
    t.line("  launch", || s.append(stream, 1));
    t.line("  add a node", || call!(cu, cuGraphAddEmptyNode_10000(&raw mut added, graph, null(), 0)));
    t.line("  tail", || s.tail(stream));
    t.line("  destroy the first, behind which it began", || {
        call!(cu, cuGraphDestroyNode_10000(graph::node(cu, graph, 0)))
    });
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append(stream, 2));
    t.line("  instantiate it", || Exec::of(cu, graph, 0).made.clone());
    t.line("  clone it", || call!(cu, cuGraphClone_10000(&raw mut clone, graph)));
    t.line("  the clone", || picture(cu, clone));
    t.line("  its older exec runs", || exec.run(s.third));
    t.line("  status", || s.status(stream));
    ends_with(t, s, stream, graph);
    s.clear();
    t.line("  runs", || graph::replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    graph::destroy(cu, clone);
    graph::destroy(cu, graph);
    Ok(())
}

/// The ways in which a capture into a graph fails.
pub(super) const WAYS: [Question; 4] = [
    ("invalidated", |s| call!(s.cu, cuStreamQuery_2000(s.stream))),
    ("not joined", |s| s.fork(s.stream, s.side).and(|| s.append_to(s.side, 1, 2))),
    ("ended by the fork", |s| {
        s.fork(s.stream, s.side).and(|| s.append_to(s.side, 1, 2)).and(|| end_keeping(s, s.side))
    }),
    ("another launch refused", |s| s.cu.launch(null_mut(), Shape::ONE, s.stream, &mut [])),
];

/// What is left in the graph then.
pub(super) fn failed(t: &mut Lines, s: &Scene, (name, way): Question) -> Outcome {
    let (cu, graph) = (&s.cu, simple(s));
    t.line(&format!("into a graph, {name}"), || {
        into(s, s.stream, graph, null(), 0).and(|| s.append(s.stream, 1)).and(|| way(s))
    });
    t.line("  statuses", || s.statuses());
    ends_with(t, s, s.stream, graph);
    t.line("  into it again", || into(s, s.stream, graph, null(), 0));
    t.line("  launch", || s.append(s.stream, 3));
    ends_with(t, s, s.stream, graph);
    t.line("  runs", || replay(cu, graph, s.third));
    t.line("  destroyed", || call!(cu, cuGraphDestroy_10000(graph)));
    Ok(())
}

/// In a mode, and ended on another thread.
pub(super) fn in_mode(t: &mut Lines, s: &Scene, number: usize) -> Outcome {
    let (cu, graph, (name, mode)) = (&s.cu, simple(s), MODES[number]);
    t.line(&format!("{name}: into a graph"), || into_in(s, s.stream, graph, null(), 0, mode));
    t.line("  launch", || s.append(s.stream, 1));
    ends_with(t, s, s.stream, graph);
    t.line(&format!("{name}: ended on another thread"), || {
        into_in(s, s.stream, graph, null(), 0, mode)
            .and(|| s.append(s.stream, 2))
            .and(|| s.elsewhere(|s| end_keeping(s, s.stream)))
    });
    t.line("  status", || s.status(s.stream));
    t.line("  graph", || picture(cu, graph));
    t.line("  into it again, end", || into(s, s.stream, graph, null(), 0).and(|| end_keeping(s, s.stream)));
    t.line(&format!("{name}: into a graph, cuMemAlloc"), || {
        let mut address = 0;
        into_in(s, s.stream, graph, null(), 0, mode).and(|| call!(cu, cuMemAlloc_3020(&raw mut address, 64)))
    });
    t.line("  status", || s.status(s.stream));
    ends_with(t, s, s.stream, graph);
    Ok(())
}
