//! Captures of bodies that go wrong. A driver may crash where it looks at such a body afterwards, so each has a part of its own.

use super::super::graph::{destroy, picture, replay};
use super::super::scene::Scene;
use super::super::to_graph::into_in;
use super::super::{MODES, begin};
use super::conditional::{ASSIGN_DEFAULT, Conditional, into_body, standing};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_GRAPH_COND_TYPE_IF, CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUstream};
use std::ptr::{null, null_mut};

/// Ends a capture whose graph is somebody's.
fn end(s: &Scene, stream: CUstream) -> Answer {
    let mut given = null_mut();
    call!(s.cu, cuStreamEndCapture_10000(stream, &raw mut given))
}

/// A capture with a conditional node, and one into its body on the second stream.
fn both(s: &Scene) -> (Answer, Conditional) {
    let begun = s.begin().and(|| s.append(s.stream, 1));
    let mut conditional = Conditional::of(s, s.graph(s.stream), 1, ASSIGN_DEFAULT);
    let answer = begun
        .and(|| conditional.capture(s, s.stream, (CU_GRAPH_COND_TYPE_IF, 1)))
        .and(|| into_body(s, s.side, conditional.body(0)))
        .and(|| s.append(s.side, 5));
    (answer, conditional)
}

/// A body whose capture is invalidated, in a graph of its own.
fn spoilt(s: &Scene) -> (Answer, CUgraph, CUgraph) {
    let (root, conditional) = standing(s);
    let body = conditional.body(0);
    let begun = into_body(s, s.side, body).and(|| s.append(s.side, 5));
    let answer = begun.and(|| call!(s.cu, cuStreamQuery_2000(s.side)));
    (answer, root, body)
}

pub(super) fn same_stream(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("a body on the stream that captures", || s.begin().and(|| s.append(s.stream, 1)));
    let mut conditional = Conditional::of(s, s.graph(s.stream), 1, ASSIGN_DEFAULT);
    t.line("  captured", || conditional.capture(s, s.stream, (CU_GRAPH_COND_TYPE_IF, 1)));
    t.line("  capture into the body", || into_body(s, s.stream, conditional.body(0)));
    t.line("  on a fork of it", || {
        s.fork(s.stream, s.side).and(|| into_body(s, s.side, conditional.body(0)))
    });
    t.line("  status, launch", || format!("{}, {}", s.status(s.stream), s.append(s.stream, 9)));
    s.done_and_run(t, s.stream);
    Ok(())
}

pub(super) fn outer_ended_first(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, conditional) = both(s);
    t.line("the first ends while its body is captured", || answer);
    let graph = s.finish(t, s.stream);
    t.line("  status of the body's", || s.status(s.side));
    t.line("  launch there", || s.append(s.side, 6));
    t.line("  instantiated meanwhile", || replay(&s.cu, graph, s.third));
    t.line("  end there", || end(s, s.side));
    t.line("  the body", || picture(&s.cu, conditional.body(0)));
    s.clear();
    t.line("  runs", || replay(&s.cu, graph, s.third));
    t.line("  digits", || s.number(0));
    destroy(&s.cu, graph);
    Ok(())
}

pub(super) fn not_joined(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("a body's fork that is not joined", || {
        answer.and(|| s.fork(s.side, s.third)).and(|| s.append_to(s.third, 1, 6))
    });
    t.line("  end of the body's", || end(s, s.side));
    t.line("  statuses", || s.statuses());
    t.line("  launch in the first", || s.append(s.stream, 9));
    s.done_and_run(t, s.stream);
    Ok(())
}

/// In the mode of this number.
pub(super) fn other_thread(t: &mut Lines, s: &Scene, number: usize) -> Outcome {
    let ((root, conditional), (name, mode)) = (standing(s), MODES[number]);
    let body = conditional.body(0);
    t.line(&format!("{name}: a body's capture ended on another thread"), || {
        let begun = match body.is_null() {
            true => "no body".into(),
            false => into_in(s, s.side, body, null(), 0, mode),
        };
        begun.and(|| s.append(s.side, 5)).and(|| s.elsewhere(|s| end(s, s.side)))
    });
    t.line("  status", || s.status(s.side));
    t.line("  runs", || replay(&s.cu, root, s.third));
    Ok(())
}

pub(super) fn two_at_a_time(t: &mut Lines, s: &Scene) -> Outcome {
    let (root, conditional) = standing(s);
    let body = conditional.body(0);
    t.line("two captures into one body", || into_body(s, s.stream, body).and(|| into_body(s, s.side, body)));
    t.line("  statuses", || s.statuses());
    t.line("  launch in each", || s.append(s.stream, 5).and(|| s.append_to(s.side, 1, 6)));
    t.line("  ends", || format!("{}, {}", end(s, s.stream), end(s, s.side)));
    t.line("  body", || picture(&s.cu, body));
    t.line("  runs", || replay(&s.cu, root, s.third));
    Ok(())
}

pub(super) fn meeting(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("the first waits for its body's event", || answer.and(|| s.join(s.side, s.stream)));
    t.line("  statuses", || s.statuses());
    t.line("  ends", || format!("{}, {}", end(s, s.side), end(s, s.stream)));
    Ok(())
}

pub(super) fn meeting_there(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("the body waits for the first's event", || answer.and(|| s.join(s.stream, s.side)));
    t.line("  statuses", || s.statuses());
    t.line("  ends", || format!("{}, {}", end(s, s.side), end(s, s.stream)));
    Ok(())
}

pub(super) fn outer_invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("the first is invalidated", || answer.and(|| call!(s.cu, cuStreamQuery_2000(s.stream))));
    t.line("  statuses", || s.statuses());
    t.line("  launch in the body", || s.append(s.side, 6));
    t.line("  end of the body's", || end(s, s.side));
    t.line("  end of the first", || s.end(s.stream).0);
    Ok(())
}

pub(super) fn outer_invalidated_and_ended(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("the first is invalidated and ends", || {
        let _ = answer.and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
        s.end(s.stream).0
    });
    t.line("  statuses", || s.statuses());
    t.line("  launch in the body", || s.append(s.side, 6));
    t.line("  end of the body's", || end(s, s.side));
    Ok(())
}

/// The body of a running capture.
pub(super) fn invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, _) = both(s);
    t.line("a body's capture is invalidated", || answer.and(|| call!(s.cu, cuStreamQuery_2000(s.side))));
    t.line("  statuses", || s.statuses());
    t.line("  end of the body's", || end(s, s.side));
    t.line("  statuses", || s.statuses());
    t.line("  launch in the first", || s.append(s.stream, 9));
    t.line("  end of the first", || {
        let (ended, graph) = s.end(s.stream);
        let instantiated = super::super::graph::Exec::of(&s.cu, graph, 0).made.clone();
        format!("{ended}, instantiated: {instantiated}")
    });
    Ok(())
}

/// The body of a graph: its end, and no more.
pub(super) fn invalidated_and_ended(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, root, _) = spoilt(s);
    t.line("a body's capture is invalidated and ends", || answer);
    t.line("  end", || end(s, s.side));
    t.line("  usable", || s.usable(s.side));
    t.line("  runs", || replay(&s.cu, root, s.third));
    Ok(())
}

/// Then its nodes.
pub(super) fn invalidated_and_drawn(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, root, body) = spoilt(s);
    t.line("an invalidated body, its nodes", || answer);
    t.line("  meanwhile", || picture(&s.cu, body));
    t.line("  end", || end(s, s.side));
    t.line("  then", || picture(&s.cu, body));
    t.line("  of the graph", || picture(&s.cu, root));
    Ok(())
}

/// Then another capture.
pub(super) fn invalidated_and_again(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, root, body) = spoilt(s);
    t.line("an invalidated body, captured again", || answer);
    t.line("  end", || end(s, s.side));
    t.line("  capture", || into_body(s, s.side, body));
    t.line("  launch", || s.append(s.side, 6));
    t.line("  end", || end(s, s.side));
    t.line("  the body", || picture(&s.cu, body));
    s.clear();
    t.line("  runs", || replay(&s.cu, root, s.third));
    t.line("  digits", || s.number(0));
    Ok(())
}

/// Then the end of the graph.
pub(super) fn invalidated_and_destroyed(t: &mut Lines, s: &Scene) -> Outcome {
    let (answer, root, _) = spoilt(s);
    t.line("an invalidated body, its graph destroyed", || answer);
    t.line("  end", || end(s, s.side));
    t.line("  destroyed", || match root.is_null() {
        true => "no graph".into(),
        false => call!(s.cu, cuGraphDestroy_10000(root)),
    });
    t.line("  a capture afterwards", || {
        begin(&s.cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED)
            .and(|| s.append(s.side, 1))
            .and(|| s.end(s.side).0)
    });
    Ok(())
}

/// The node is destroyed while its body is captured.
pub(super) fn node_destroyed(t: &mut Lines, s: &Scene) -> Outcome {
    let (root, conditional) = standing(s);
    t.line("the node destroyed while its body is captured", || {
        into_body(s, s.side, conditional.body(0))
            .and(|| s.append(s.side, 5))
            .and(|| call!(s.cu, cuGraphDestroyNode_10000(conditional.node)))
    });
    t.line("  status", || s.status(s.side));
    t.line("  launch", || s.append(s.side, 6));
    t.line("  end", || end(s, s.side));
    t.line("  the graph", || picture(&s.cu, root));
    Ok(())
}
