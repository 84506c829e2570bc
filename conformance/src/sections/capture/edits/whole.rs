//! The graph as a whole: looked at, instantiated, embedded, destroyed.

use super::super::graph::{self, Exec, picture, replay};
use super::super::modes::graphs::simple;
use super::super::scene::Scene;
use super::super::to_graph::empty;
use super::{built, node};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUgraphExecUpdateResultInfo};
use std::ptr::{null, null_mut};

const SET: u32 = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;

/// Questions and copies.
pub(super) fn looked_at(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, mut clone) = (&s.cu, s.stream, null_mut());
    t.line("three kernels", || built(s));
    let graph = s.graph(stream);
    t.line("  its nodes", || picture(cu, graph));
    t.line("  its roots", || {
        let mut count = 0usize;
        call!(cu, cuGraphGetRootNodes_10000(graph, null_mut(), &raw mut count)).then(|| count)
    });
    t.line("  its edges", || {
        let mut count = 0usize;
        call!(cu, cuGraphGetEdges_10000(graph, null_mut(), null_mut(), &raw mut count)).then(|| count)
    });
    t.line("  drawn", || call!(cu, cuGraphDebugDotPrint_11030(graph, c"/dev/null".as_ptr(), 0)));
    t.line("  cloned", || call!(cu, cuGraphClone_10000(&raw mut clone, graph)));
    t.line("  the clone", || picture(cu, clone));
    t.line("  its node in the clone", || {
        let mut found = null_mut();
        call!(cu, cuGraphNodeFindInClone_10000(&raw mut found, node(s, 1), clone))
    });
    s.clear();
    t.line("  the clone runs", || replay(cu, clone, s.third));
    t.line("  digits", || s.number(0));
    t.line("  a condition of it", || {
        let mut handle = 0;
        call!(cu, cuGraphConditionalHandleCreate_12030(&raw mut handle, clone, s.context, 0, 0))
    });
    t.line("  status, launch", || format!("{}, {}", s.status(stream), s.append(stream, 4)));
    s.done_and_run(t, stream);
    t.line("  the clone afterwards", || picture(cu, clone));
    graph::destroy(cu, clone);
    Ok(())
}

/// Execs of it.
pub(super) fn instantiated(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    t.line("three kernels", || built(s));
    let graph = s.graph(stream);
    let exec = Exec::of(cu, graph, 0);
    t.line("  instantiated", || exec.made.clone());
    s.clear();
    t.line("  the exec runs", || exec.run(s.third));
    t.line("  digits", || s.number(0));
    t.line("  launch, status", || format!("{}, {}", s.append(stream, 4), s.status(stream)));
    t.line("  the exec updated from it", || {
        // SAFETY: zero is a value of every field.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        let answer = call!(cu, cuGraphExecUpdate_12000(exec.handle, graph, &raw mut info));
        match answer {
            Answer::Absent(_) => answer,
            answer => format!("{answer}, {}", info.result.0).into(),
        }
    });
    t.line("  the exec launched into the capture", || exec.launch(stream));
    t.line("  status", || s.status(stream));
    s.done(t, stream);
    t.line("  the exec runs when the graph is no more", || exec.run(s.third));
    t.line("instantiated, exec destroyed, the capture goes on", || {
        built(s).and(|| Exec::of(cu, s.graph(stream), 0).made.clone()).and(|| s.append(stream, 4))
    });
    s.done_and_run(t, stream);
    Ok(())
}

/// Graphs in it, and it in graphs.
pub(super) fn child(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, other, mut child) = (&s.cu, s.stream, simple(s), null_mut());
    t.line("a child graph added, set as dependency", || {
        built(s)
            .and(|| {
                let (graph, last) = (s.graph(stream), s.tail_nodes(stream));
                let (nodes, count) = (last.as_ptr(), last.len());
                call!(cu, cuGraphAddChildGraphNode_10000(&raw mut child, graph, nodes, count, other))
            })
            .and(|| call!(cu, cuStreamUpdateCaptureDependencies_11030(stream, &raw mut child, 1, SET)))
            .and(|| s.append(stream, 4))
    });
    s.done_and_run(t, stream);
    let outer = empty(cu);
    t.line("it embedded in another while it is captured", || {
        built(s).and(|| {
            let graph = s.graph(stream);
            call!(cu, cuGraphAddChildGraphNode_10000(&raw mut child, outer, null(), 0, graph))
        })
    });
    t.line("  launch", || s.append(stream, 4));
    s.done(t, stream);
    t.line("  the child", || {
        let mut inner = null_mut();
        call!(cu, cuGraphChildGraphNodeGetGraph_10000(child, &raw mut inner)).and(|| picture(cu, inner))
    });
    s.clear();
    t.line("  the other runs", || replay(cu, outer, s.third));
    t.line("  digits", || s.number(0));
    graph::destroy(cu, outer);
    graph::destroy(cu, other);
    Ok(())
}

fn destroy(s: &Scene) -> Answer {
    built(s).and(|| call!(s.cu, cuGraphDestroy_10000(s.graph(s.stream))))
}

/// Destroyed meanwhile: questions.
pub(super) fn destroyed(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("destroyed while it is captured", || destroy(s));
    t.line("  status", || s.status(s.stream));
    t.line("  info", || s.info(s.stream).answer);
    t.line("  tail", || s.tail(s.stream));
    Ok(())
}

/// Destroyed meanwhile: then work.
pub(super) fn destroyed_and_launched(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("destroyed while it is captured, launch", || destroy(s).and(|| s.append(s.stream, 4)));
    t.line("  status", || s.status(s.stream));
    t.line("  end", || s.end(s.stream).0);
    Ok(())
}

/// Destroyed meanwhile: then the end.
pub(super) fn destroyed_and_ended(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("destroyed while it is captured, end", || destroy(s).and(|| s.end(s.stream).0));
    t.line("  usable", || s.usable(s.stream));
    Ok(())
}
