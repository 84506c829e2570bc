//! Nodes and edges.

use super::super::modes::graphs::memset;
use super::super::scene::Scene;
use super::{built, node};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUgraphNode};
use std::ptr::{null, null_mut};

const SET: u32 = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;

/// Adds a node that does nothing behind these.
fn add(s: &Scene, behind: &[CUgraphNode], added: &mut CUgraphNode) -> Answer {
    let graph = s.graph(s.stream);
    call!(s.cu, cuGraphAddEmptyNode_10000(added, graph, behind.as_ptr(), behind.len()))
}

/// Nodes that are added.
pub(super) fn added(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, mut own) = (&s.cu, s.stream, null_mut());
    t.line("a node added behind the tail", || built(s).and(|| add(s, &s.tail_nodes(stream), &mut own)));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    t.line("  tail", || s.tail(stream));
    s.done_and_run(t, stream);
    t.line("added, and set as dependency", || {
        built(s)
            .and(|| add(s, &s.tail_nodes(stream), &mut own))
            .and(|| call!(cu, cuStreamUpdateCaptureDependencies_11030(stream, &raw mut own, 1, SET)))
    });
    t.line("  tail", || s.tail(stream));
    t.line("  launch", || s.append(stream, 4));
    s.done_and_run(t, stream);
    t.line("added behind nothing", || built(s).and(|| add(s, &[], &mut own)));
    s.done(t, stream);
    t.line("added by the fork's handle", || {
        built(s).and(|| s.fork(stream, s.side)).and(|| {
            let (graph, last) = (s.graph(s.side), s.tail_nodes(s.side));
            call!(cu, cuGraphAddEmptyNode_10000(&raw mut own, graph, last.as_ptr(), last.len()))
        })
    });
    t.line("  statuses", || s.statuses());
    s.done(t, stream);
    t.line("added on another thread", || {
        built(s).and(|| s.elsewhere(|s| add(s, &s.tail_nodes(stream), &mut own)))
    });
    s.done(t, stream);
    t.line("a node in a capture where nothing is", || s.begin().and(|| add(s, &[], &mut own)));
    t.line("  tail", || s.tail(stream));
    s.done(t, stream);
    Ok(())
}

/// Edges between captured nodes.
pub(super) fn edges(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let connect = |from: usize, to: usize| {
        let (from, to) = ([node(s, from)], [node(s, to)]);
        call!(cu, cuGraphAddDependencies_10000(s.graph(stream), from.as_ptr(), to.as_ptr(), 1))
    };
    let disconnect = |from: usize, to: usize| {
        let (from, to) = ([node(s, from)], [node(s, to)]);
        call!(cu, cuGraphRemoveDependencies_10000(s.graph(stream), from.as_ptr(), to.as_ptr(), 1))
    };
    t.line("edge from the first to the third", || built(s).and(|| connect(0, 2)));
    t.line("  the same again", || connect(0, 2));
    t.line("  one that is there", || connect(0, 1));
    t.line("  removed", || disconnect(1, 2));
    t.line("  removed again", || disconnect(1, 2));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    s.done(t, stream);
    t.line("an edge that closes a cycle", || built(s).and(|| connect(2, 0)));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    let graph = s.finish(t, stream);
    t.line("  runs", || super::super::graph::replay(cu, graph, s.third));
    super::super::graph::destroy(cu, graph);
    t.line("the fork's only edge removed, joined", || {
        s.begin()
            .and(|| s.append(stream, 1))
            .and(|| s.fork(stream, s.side))
            .and(|| s.append_to(s.side, 1, 2))
            .and(|| disconnect(0, 1))
            .and(|| s.join(s.side, stream))
    });
    s.done(t, stream);
    t.line("a fork without an event: joined by an edge", || {
        s.begin()
            .and(|| s.append(stream, 1))
            .and(|| s.fork(stream, s.side))
            .and(|| s.append_to(s.side, 1, 2))
            .and(|| s.append(stream, 3))
            .and(|| connect(1, 2))
    });
    s.done(t, stream);
    Ok(())
}

/// Parameters of captured nodes.
pub(super) fn parameters(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, mut added) = (&s.cu, s.stream, null_mut());
    let value = |params| call!(cu, cuGraphMemsetNodeSetParams_10000(node(s, 0), params));
    t.line("a captured memset set to another value", || {
        let params = memset(s.memory, 5);
        s.begin()
            .and(|| call!(cu, cuMemsetD32Async_3020(s.memory, 1, 1, stream)))
            .and(|| value(&raw const params))
    });
    t.line("  launch", || s.append(stream, 6));
    s.done_and_run(t, stream);
    t.line("a memset added, its parameters set, used", || {
        let (first, second) = (memset(s.memory, 7), memset(s.memory, 8));
        s.begin()
            .and(|| {
                let graph = s.graph(stream);
                call!(
                    cu,
                    cuGraphAddMemsetNode_10000(&raw mut added, graph, null(), 0, &raw const first, s.context)
                )
            })
            .and(|| call!(cu, cuStreamUpdateCaptureDependencies_11030(stream, &raw mut added, 1, SET)))
            .and(|| s.append(stream, 9))
            .and(|| value(&raw const second))
    });
    s.done_and_run(t, stream);
    Ok(())
}

/// Nodes on which nothing captured next would depend.
pub(super) fn removed(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let remove = |position| call!(cu, cuGraphDestroyNode_10000(node(s, position)));
    t.line("the second of three removed", || built(s).and(|| remove(1)));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    s.done(t, stream);
    t.line("the first of three removed", || built(s).and(|| remove(0)));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    s.done_and_run(t, stream);
    Ok(())
}

/// The node on which what is captured next would depend: then the end.
pub(super) fn tail_removed(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("the last removed", || built(s).and(|| call!(s.cu, cuGraphDestroyNode_10000(node(s, 2)))));
    t.line("  status", || s.status(s.stream));
    t.line("  tail", || s.tail(s.stream));
    s.done(t, s.stream);
    Ok(())
}

/// The same: then a launch.
pub(super) fn tail_removed_and_launched(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("the last removed, launch", || {
        built(s).and(|| call!(s.cu, cuGraphDestroyNode_10000(node(s, 2)))).and(|| s.append(s.stream, 4))
    });
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    Ok(())
}

/// The same: then a fork that uses its record.
pub(super) fn tail_removed_and_forked(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("recorded, then its node removed, waited for", || {
        built(s)
            .and(|| s.record(s.event, s.stream))
            .and(|| s.append(s.stream, 4))
            .and(|| call!(s.cu, cuGraphDestroyNode_10000(node(s, 2))))
            .and(|| s.wait(s.side, s.event))
    });
    t.line("  statuses", || s.statuses());
    t.line("  tail of the fork", || s.tail(s.side));
    s.done(t, s.stream);
    Ok(())
}
