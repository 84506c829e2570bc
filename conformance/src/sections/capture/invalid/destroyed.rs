//! Streams that are destroyed while they capture, and graphs that captures have not given.
//!
//! Each part ends with what a driver may crash on.

use super::super::graph::{destroy, nodes, picture};
use super::super::scene::Scene;
use super::super::{begin, end};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_GLOBAL, CUstream};
use std::ptr::null_mut;

fn destroyed(s: &Scene, stream: CUstream) -> Answer {
    call!(s.cu, cuStreamDestroy_4000(stream))
}

fn alloc(s: &Scene) -> Answer {
    let mut address = 0;
    call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
}

/// A capture with a fork that has work.
fn forked(s: &Scene) -> Answer {
    s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, s.side)).and(|| s.append_to(s.side, 1, 2))
}

/// What is left when the forked stream was destroyed: a driver may crash where it is asked about that.
fn without_fork(s: &Scene) -> Scene {
    Scene { side: null_mut(), ..*s }
}

/// The stream on which it began.
pub(super) fn origin(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("the first stream is destroyed", || forked(s).and(|| destroyed(s, s.stream)));
    t.line("  status of the fork", || s.status(s.side));
    t.line("  a capture on another stream", || {
        let s = Scene { stream: s.third, ..*s };
        s.begin().and(|| s.append(s.stream, 1)).and(|| end(&s.cu, s.stream))
    });
    t.line("  cuCtxSynchronize", || call!(s.cu, cuCtxSynchronize_2000()));
    t.line("  status of the fork", || s.status(s.side));
    t.line("  query of its event", || call!(s.cu, cuEventQuery_2000(s.event)));
    t.line("  launch into the fork", || s.append_to(s.side, 1, 3));
    t.line("  work in the fork", || s.usable(s.side));
    Ok(())
}

/// The same, of a global capture.
pub(super) fn origin_global(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("global: the first stream is destroyed", || {
        begin(&s.cu, s.stream, CU_STREAM_CAPTURE_MODE_GLOBAL)
            .and(|| s.append(s.stream, 1))
            .and(|| destroyed(s, s.stream))
    });
    t.line("  cuMemAlloc", || alloc(s));
    t.line("  cuMemAlloc on another thread", || s.elsewhere(alloc));
    t.line("  cuStreamQuery of another stream", || call!(s.cu, cuStreamQuery_2000(s.side)));
    t.line("  cuCtxSynchronize", || call!(s.cu, cuCtxSynchronize_2000()));
    t.line("global: with a fork", || {
        let s = match s.anew() {
            Ok(s) => s,
            Err(stop) => return stop.0.into(),
        };
        let begun = begin(&s.cu, s.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        let built = begun.and(|| s.fork(s.stream, s.side)).and(|| s.append(s.side, 1));
        built.and(|| destroyed(&s, s.stream)).and(|| alloc(&s))
    });
    Ok(())
}

/// The fork ends what the first stream cannot end any more.
pub(super) fn origin_then_end(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("the first stream is destroyed, the fork ends", || forked(s).and(|| destroyed(s, s.stream)));
    t.line("  end of the fork", || end(&s.cu, s.side));
    t.line("  status", || s.status(s.side));
    t.line("  begin on it", || Scene { stream: s.side, ..*s }.begin());
    t.line("  end of the fork", || end(&s.cu, s.side));
    t.line("  work in the fork", || s.usable(s.side));
    Ok(())
}

/// A fork that is not joined.
pub(super) fn fork(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("a fork with work is destroyed", || forked(s).and(|| destroyed(s, s.side)));
    t.line("  status", || s.status(s.stream));
    t.line("  launch", || s.append(s.stream, 3));
    s.done(t, s.stream);
    t.line("  usable", || s.usable(s.stream));
    let s = &s.anew()?;
    t.line("a fork without work is destroyed", || {
        s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, s.side)).and(|| destroyed(s, s.side))
    });
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    t.line("  usable", || s.usable(s.stream));
    Ok(())
}

/// A fork that is joined before.
pub(super) fn fork_joined(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("a joined fork is destroyed", || {
        forked(s).and(|| s.join(s.side, s.stream)).and(|| destroyed(s, s.side))
    });
    let s = &without_fork(s);
    t.line("  status, tail", || format!("{}, {}", s.status(s.stream), s.tail(s.stream)));
    s.done_and_run(t, s.stream);
    Ok(())
}

/// A fork whose event is joined afterwards.
pub(super) fn fork_joined_late(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("a fork is destroyed, then its event joined", || {
        forked(s)
            .and(|| s.record(s.joined, s.side))
            .and(|| destroyed(s, s.side))
            .and(|| s.wait(s.stream, s.joined))
    });
    let s = &without_fork(s);
    t.line("  status, tail", || format!("{}, {}", s.status(s.stream), s.tail(s.stream)));
    s.done_and_run(t, s.stream);
    Ok(())
}

/// An invalidated capture.
pub(super) fn invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("the fork of an invalidated one is destroyed", || {
        let _ = forked(s).and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
        destroyed(s, s.side)
    });
    t.line("  status, end", || format!("{}, {}", s.status(s.stream), end(&s.cu, s.stream)));
    t.line("  usable", || s.usable(s.stream));
    let s = &s.anew()?;
    t.line("the first of an invalidated one is destroyed", || {
        let _ = forked(s).and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
        destroyed(s, s.stream)
    });
    t.line("  status of the fork", || s.status(s.side));
    t.line("  end of the fork", || end(&s.cu, s.side));
    t.line("  status of the fork", || s.status(s.side));
    t.line("  work in the fork", || s.usable(s.side));
    Ok(())
}

/// The graph that info told, when the capture is invalidated and when it has ended so.
pub(super) fn graph_of_invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    let _ = forked(s);
    let graph = s.graph(s.stream);
    let _ = call!(s.cu, cuStreamQuery_2000(s.stream));
    t.line("the graph of an invalidated capture", || picture(&s.cu, graph));
    t.line("  ended", || end(&s.cu, s.stream));
    t.line("  its graph", || {
        nodes(&s.cu, graph).map_or_else(|answer| answer, |n| n.len().to_string().into())
    });
    t.line("  destroyed", || {
        destroy(&s.cu, graph);
        "returned"
    });
    Ok(())
}

/// The graph of a capture that has ended otherwise.
pub(super) fn graph_of_ended(t: &mut Lines, s: &Scene) -> Outcome {
    let _ = forked(s);
    let graph = s.graph(s.stream);
    t.line("the graph of a capture that was not joined", || end(&s.cu, s.stream));
    t.line("  its graph", || {
        nodes(&s.cu, graph).map_or_else(|answer| answer, |n| n.len().to_string().into())
    });
    Ok(())
}
