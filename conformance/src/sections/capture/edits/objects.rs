//! User objects that the graph under capture keeps: when they are destroyed.

use super::super::graph::{self, Exec};
use super::super::object::{keep, object};
use super::super::scene::Scene;
use super::built;
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use crate::user_object::{MOVE, UserObject};
use std::ptr::null_mut;

/// Kept to the end, and by what is made of the graph.
pub(super) fn retained(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let moved = |stream, kept: &UserObject| keep(s.graph(stream), kept, MOVE);
    let kept = object(cu);
    t.line("retained, moved", || built(s).and(|| moved(stream, &kept)));
    t.line("  status, tail", || format!("{}, {}", s.status(stream), s.tail(stream)));
    t.line("  launch", || s.append(stream, 4));
    let (ended, graph) = s.end(stream);
    t.line("  end", || ended);
    t.line("  fired", || kept.fired_where());
    let exec = Exec::of(cu, graph, 0);
    t.line("  instantiated", || exec.made.clone());
    graph::destroy(cu, graph);
    t.line("  graph destroyed: fired", || kept.fired_where());
    drop(exec);
    t.line("  exec destroyed: fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained on an empty capture", || s.begin().and(|| moved(stream, &kept)));
    let (ended, graph) = s.end(stream);
    t.line("  end, fired", || format!("{ended}, {}", kept.fired_where()));
    graph::destroy(cu, graph);
    t.line("  graph destroyed: fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained by the fork's handle", || {
        built(s).and(|| s.fork(stream, s.side)).and(|| moved(s.side, &kept))
    });
    let (ended, graph) = s.end(stream);
    t.line("  end, fired", || format!("{ended}, {}", kept.fired_where()));
    graph::destroy(cu, graph);
    t.line("  graph destroyed: fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained on another thread", || built(s).and(|| s.elsewhere(|_| moved(stream, &kept))));
    s.done(t, stream);
    t.line("  fired", || kept.fired_where());
    Ok(())
}

/// When an invalidated capture lets go.
pub(super) fn invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let kept = object(cu);
    t.line("retained, invalidated", || {
        built(s).and(|| keep(s.graph(stream), &kept, MOVE)).and(|| call!(cu, cuStreamQuery_2000(stream)))
    });
    t.line("  fired", || kept.fired_where());
    t.line("  end", || s.end(stream).0);
    t.line("  fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained by what info had told before, invalidated", || {
        let built = built(s);
        let graph = s.graph(stream);
        let _ = built.and(|| call!(cu, cuStreamQuery_2000(stream)));
        keep(graph, &kept, MOVE)
    });
    t.line("  fired", || kept.fired_where());
    t.line("  end", || s.end(stream).0);
    t.line("  fired", || kept.fired_where());
    Ok(())
}

/// Given back meanwhile.
pub(super) fn given_back(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let kept = object(cu);
    let retain = |kept: &UserObject, flags| keep(s.graph(stream), kept, flags);
    t.line("retained, released by the graph", || {
        built(s).and(|| retain(&kept, MOVE)).and(|| kept.release_from(s.graph(stream), 1))
    });
    t.line("  fired", || kept.fired_where());
    s.done(t, stream);
    t.line("  fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained, not moved", || built(s).and(|| retain(&kept, 0)));
    s.done(t, stream);
    t.line("  fired", || kept.fired_where());
    t.line("  its own reference released", || match kept.handle.is_null() {
        true => "no object".into(),
        false => call!(cu, cuUserObjectRelease_11030(kept.handle, 1)),
    });
    t.line("  fired", || kept.fired_where());
    let kept = object(cu);
    t.line("retained, then cloned", || built(s).and(|| retain(&kept, MOVE)));
    let mut clone = null_mut();
    t.line("  cloned", || call!(cu, cuGraphClone_10000(&raw mut clone, s.graph(stream))));
    s.done(t, stream);
    t.line("  fired", || kept.fired_where());
    graph::destroy(cu, clone);
    t.line("  clone destroyed: fired", || kept.fired_where());
    Ok(())
}

/// How a capture ends without a graph.
type Way = (&'static str, fn(&Scene) -> Answer);

const WAYS: [Way; 4] = [
    ("not joined", |s| s.fork(s.stream, s.side).and(|| s.append_to(s.side, 1, 2)).and(|| s.end(s.stream).0)),
    ("no place for the graph", |s| call!(s.cu, cuStreamEndCapture_10000(s.stream, null_mut()))),
    ("ended by the fork, then by the first", |s| {
        let _ = s.fork(s.stream, s.side).and(|| s.append_to(s.side, 1, 2)).and(|| s.end(s.side).0);
        s.end(s.stream).0
    }),
    ("its stream destroyed", |s| call!(s.cu, cuStreamDestroy_4000(s.stream))),
];

/// When such a capture lets go.
pub(super) fn failed(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, way) in WAYS {
        let (s, kept) = (&s.anew()?, object(cu));
        t.line(&format!("retained, {name}"), || {
            built(s).and(|| keep(s.graph(s.stream), &kept, MOVE)).and(|| way(s))
        });
        t.line("  fired", || kept.fired_where());
    }
    Ok(())
}
