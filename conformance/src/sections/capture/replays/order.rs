//! Order: in a graph, between launches, and beside other work.

use super::super::graph::{self, Exec};
use super::super::scene::Scene;
use crate::driver::{LEGACY, Outcome, PER_THREAD, call};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::CUgraph;
use std::ptr::null_mut;

/// A graph that appends 1, 2, 3.
fn three(s: &Scene) -> CUgraph {
    let _ =
        s.begin().and(|| s.append(s.stream, 1)).and(|| s.append(s.stream, 2)).and(|| s.append(s.stream, 3));
    s.end(s.stream).1
}

/// Of launches in one stream.
pub(super) fn kept(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let graph = three(s);
    t.line("captured: nothing has run", || call!(cu, cuStreamSynchronize_2000(s.stream)).and(|| s.number(0)));
    let exec = Exec::of(cu, graph, 0);
    t.line("instantiated: nothing has run", || exec.made.clone().and(|| s.number(0)));
    t.line("uploaded: nothing has run", || match exec.handle.is_null() {
        true => "no exec".into(),
        false => call!(cu, cuGraphUpload_11010(exec.handle, s.stream))
            .and(|| call!(cu, cuStreamSynchronize_2000(s.stream)))
            .and(|| s.number(0)),
    });
    t.line("launched", || exec.run(s.stream).and(|| s.number(0)));
    t.line("launched again", || exec.run(s.stream).and(|| s.number(0)));
    s.clear();
    t.line("launched three times at once", || {
        exec.launch(s.stream).and(|| exec.launch(s.stream)).and(|| exec.run(s.stream)).and(|| s.number(0))
    });
    s.clear();
    t.line("between kernels of the stream", || {
        s.append(s.stream, 7)
            .and(|| exec.launch(s.stream))
            .and(|| s.append(s.stream, 8))
            .and(|| call!(cu, cuStreamSynchronize_2000(s.stream)))
            .and(|| s.number(0))
    });
    graph::destroy(cu, graph);
    s.clear();
    t.line("graph destroyed", || exec.run(s.stream).and(|| s.number(0)));
    Ok(())
}

/// Of launches in other streams than that which has captured.
pub(super) fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, blocking) = (&s.cu, s.cu.stream(0)?);
    let graph = three(s);
    let exec = Exec::of(cu, graph, 0);
    for (name, stream) in [
        ("the same stream", s.stream),
        ("another stream", s.side),
        ("a blocking stream", blocking),
        ("legacy", LEGACY),
        ("NULL", null_mut()),
        ("per-thread", PER_THREAD),
    ] {
        s.clear();
        t.line(&format!("launched in {name}"), || exec.run(stream).and(|| s.number(0)));
    }
    s.clear();
    t.line("launched in two streams at once", || {
        exec.launch(s.side)
            .and(|| exec.run(s.third))
            .and(|| call!(cu, cuStreamSynchronize_2000(s.side)))
            .and(|| s.number(0))
    });
    s.clear();
    t.line("launched, destroyed at once", || {
        let other = Exec::of(cu, graph, 0);
        let launched = other.launch(s.side);
        drop(other);
        launched.and(|| call!(cu, cuStreamSynchronize_2000(s.side))).and(|| s.number(0))
    });
    s.clear();
    t.line("launched on another thread", || s.elsewhere(|s| exec.run(s.side)).and(|| s.number(0)));
    graph::destroy(cu, graph);
    Ok(())
}

/// Of forks and joins: what depends on something comes behind it.
pub(super) fn forks(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side, third) = (s.stream, s.side, s.third);
    t.line("there and back", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append(side, 2))
            .and(|| s.join(side, main))
            .and(|| s.append(main, 3))
    });
    s.done_and_run(t, main);
    t.line("through three streams", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append(side, 2))
            .and(|| s.fork(side, third))
            .and(|| s.append(third, 3))
            .and(|| s.join(third, main))
            .and(|| s.append(main, 4))
    });
    s.done_and_run(t, main);
    t.line("a number of each branch, put together", || {
        let copy = |stream, to: u64, from: u64| {
            call!(s.cu, cuMemcpyDtoDAsync_3020(s.memory + to * 4, s.memory + from * 4, 4, stream))
        };
        s.begin()
            .and(|| s.append_to(main, 1, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append_to(side, 2, 2))
            .and(|| s.append_to(side, 2, 3))
            .and(|| s.append_to(main, 1, 4))
            .and(|| s.join(side, main))
            .and(|| copy(main, 0, 2))
            .and(|| s.append(main, 5))
    });
    s.done_and_run(t, main);
    t.line("  of the first branch", || s.number(1));
    t.line("no order after dependencies were set to none", || {
        s.begin()
            .and(|| s.append_to(main, 1, 1))
            .and(|| call!(s.cu, cuStreamUpdateCaptureDependencies_11030(main, null_mut(), 0, 1)))
    });
    t.line("  launch", || s.append(main, 2));
    s.done_and_run(t, main);
    Ok(())
}

/// Beside work that is not captured.
pub(super) fn beside_work(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let graph = three(s);
    let exec = Exec::of(cu, graph, 0);
    let gate = Gate::close(cu, s.third)?;
    gate.open_later();
    t.line("launched behind work that waits", || exec.launch(s.third));
    t.line("  not yet", || s.number(0));
    t.line("  a capture meanwhile", || s.begin().and(|| s.append(s.stream, 4)));
    let other = s.finish(t, s.stream);
    t.line("  it is instantiated, launched", || graph::replay(cu, other, s.side));
    t.line("  digits", || s.number(0));
    gate.open();
    t.line("  then", || call!(cu, cuStreamSynchronize_2000(s.third)).and(|| s.number(0)));
    graph::destroy(cu, other);
    s.clear();
    let gate = Gate::close(cu, s.stream)?;
    gate.open_later();
    t.line("captured on a stream with work that waits", || {
        let captured = s.begin().and(|| s.append(s.stream, 5));
        let (ended, other) = s.end(s.stream);
        let ran = graph::replay(cu, other, s.side);
        gate.open();
        graph::destroy(cu, other);
        format!("{captured}, {ended}, {ran}")
    });
    t.line("  digits", || s.number(0));
    graph::destroy(cu, graph);
    Ok(())
}
