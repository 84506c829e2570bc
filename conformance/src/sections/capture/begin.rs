//! How captures begin and end: on each kind of stream, in each mode, beside each other, from other threads.

use super::scene::{Scene, Story, tell};
use super::{MODES, begin, end, info, status};
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, need, yes};
use crate::gate::Gate;
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUstream, CUstreamCaptureMode,
};
use std::ptr::null_mut;

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_begin", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[&[Story]] = &[
    &[kinds, beside, nested],
    &[refused_ends, threads],
    &[thread_gone],
    &[busy],
    &[no_context],
    &[info::states, info::places, info::ids],
];

/// What is asked, and the call.
type Question = (&'static str, fn(&Scene) -> Answer);

/// What a driver may crash on.
const APART: &[Question] = &[
    ("is it capturing, to NULL", |s| call!(s.cu, cuStreamIsCapturing_10000(s.stream, null_mut()))),
    ("exchange the thread's mode with NULL", |s| {
        call!(s.cu, cuThreadExchangeStreamCaptureMode_10010(null_mut()))
    }),
    ("info of a capture, status to NULL", |s| s.begin().and(|| info::without_status(s))),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let scene = Scene::new(cu)?;
    if let Some(stories) = PARTS.get(part) {
        return tell(t, &scene, stories);
    }
    let (situation, ask) = APART[part - PARTS.len()];
    t.line(situation, || ask(&scene));
    Ok(())
}

/// Each kind of stream, in each mode.
fn kinds(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut urgent) = (&s.cu, null_mut());
    need!(cu, cuStreamCreateWithPriority_5050(&raw mut urgent, NON_BLOCKING, -3))?;
    let streams = [
        ("non-blocking", s.stream),
        ("blocking", cu.stream(0)?),
        ("of priority -3", urgent),
        ("per-thread", PER_THREAD),
        ("legacy", LEGACY),
        ("NULL", null_mut()),
    ];
    for (name, mode) in MODES {
        for (kind, stream) in streams {
            t.line(&format!("{name}: begin, {kind}"), || begin(cu, stream, mode));
            t.line("  status, end", || format!("{}, {}", status(cu, stream), end(cu, stream)));
        }
    }
    for mode in [-1, 3, 99] {
        t.line(&format!("begin in mode {mode}"), || begin(cu, s.stream, CUstreamCaptureMode(mode)));
        t.line("  status", || s.status(s.stream));
    }
    t.line("begin, the older ABI", || call!(cu, cuStreamBeginCapture_10000(s.stream)));
    t.line("  as global: cuMemAlloc", || {
        let mut address = 0;
        call!(cu, cuMemAlloc_3020(&raw mut address, 64))
    });
    t.line("  status, end", || format!("{}, {}", s.status(s.stream), end(cu, s.stream)));
    Ok(())
}

/// Two captures at a time.
fn beside(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let told = |answers: &[Answer]| answers.iter().map(Answer::number).collect::<Vec<_>>().join(" ");
    for (first, its) in MODES {
        for (second, other) in MODES {
            t.line(&format!("{first}, then {second} on another stream"), || begin(cu, s.stream, its));
            t.line("  begin it, launch into both", || {
                told(&[begin(cu, s.side, other), s.append(s.stream, 1), s.append(s.side, 2)])
            });
            t.line("  statuses", || s.statuses());
            t.line("  end the first, the second", || told(&[end(cu, s.stream), end(cu, s.side)]));
        }
    }
    t.line("three, ended in another order", || {
        let streams = [s.stream, s.side, s.third];
        let begun = streams.map(|stream| begin(cu, stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        let ended = [s.side, s.third, s.stream].map(|stream| end(cu, stream));
        format!("{}; {}", told(&begun), told(&ended))
    });
    Ok(())
}

/// A capture where there is one.
fn nested(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (first, its) in MODES {
        t.line(&format!("begin, {first}"), || begin(cu, s.stream, its));
        for (second, other) in MODES {
            t.line(&format!("  again, {second}"), || begin(cu, s.stream, other));
        }
        t.line("  again, in mode 3", || begin(cu, s.stream, CUstreamCaptureMode(3)));
        t.line("  launch, status", || format!("{}, {}", s.append(s.stream, 1), s.status(s.stream)));
        s.done(t, s.stream);
    }
    t.line("begin on a forked stream", || {
        s.begin().and(|| s.fork(s.stream, s.side)).and(|| begin(cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED))
    });
    t.line("  statuses", || s.statuses());
    s.done(t, s.stream);
    t.line("begin on an invalidated one", || {
        let _ = s.begin().and(|| call!(cu, cuStreamQuery_2000(s.stream)));
        begin(cu, s.stream, CU_STREAM_CAPTURE_MODE_RELAXED)
    });
    t.line("  status, end", || format!("{}, {}", s.status(s.stream), end(cu, s.stream)));
    t.line("  begin afterwards", || s.begin());
    s.done(t, s.stream);
    Ok(())
}

/// Ends that give no graph, and what they leave at its place.
fn refused_ends(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let untouched: CUgraph = std::ptr::without_provenance_mut(4711);
    let end = |stream: CUstream| -> Answer {
        let mut graph = untouched;
        let ended = call!(cu, cuStreamEndCapture_10000(stream, &raw mut graph));
        let left = match graph {
            graph if graph == untouched => "untouched",
            graph if graph.is_null() => "NULL",
            _ => "a graph",
        };
        format!("{ended}, {left}").into()
    };
    for (name, stream) in
        [("a stream", s.stream), ("NULL", null_mut()), ("legacy", LEGACY), ("per-thread", PER_THREAD)]
    {
        t.line(&format!("end without a capture, {name}"), || end(stream));
    }
    t.line("end of an invalidated one", || {
        let _ = s.begin().and(|| call!(cu, cuStreamQuery_2000(s.stream)));
        end(s.stream)
    });
    t.line("  again", || end(s.stream));
    t.line("end of an invalidated one, graph to NULL", || {
        let _ = s.begin().and(|| call!(cu, cuStreamQuery_2000(s.stream)));
        call!(cu, cuStreamEndCapture_10000(s.stream, null_mut()))
    });
    t.line("  status", || s.status(s.stream));
    t.line("end of a forked one", || {
        s.begin().and(|| s.fork(s.stream, s.side)).and(|| s.append(s.side, 1)).and(|| end(s.side))
    });
    t.line("  statuses, end of the first", || format!("{}, {}", s.statuses(), end(s.stream)));
    t.line("end of one that was not joined", || {
        s.begin().and(|| s.fork(s.stream, s.side)).and(|| s.append(s.side, 1)).and(|| end(s.stream))
    });
    t.line("  statuses, end of the fork", || format!("{}, {}", s.statuses(), end(s.side)));
    t.line("end from another thread", || {
        begin(cu, s.stream, CU_STREAM_CAPTURE_MODE_GLOBAL).and(|| s.elsewhere(|s| end(s.stream)))
    });
    t.line("  statuses", || s.statuses());
    t.line("end with a graph", || s.begin().and(|| end(s.stream)));
    t.line("  again", || end(s.stream));
    Ok(())
}

/// Work and ends on a thread that has not begun the capture.
fn threads(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: launch on another thread"), || {
            begin(cu, s.stream, mode).and(|| s.elsewhere(|s| s.append(s.stream, 1)))
        });
        t.line("  fork and join there", || {
            s.elsewhere(|s| {
                s.fork(s.stream, s.side).and(|| s.append(s.side, 2)).and(|| s.join(s.side, s.stream))
            })
        });
        t.line("  status there", || s.elsewhere(|s| s.status(s.stream)));
        s.done_and_run(t, s.stream);
        t.line(&format!("{name}: begun there"), || s.elsewhere(|s| begin(&s.cu, s.stream, mode)));
        t.line("  launch here", || s.append(s.stream, 1));
        t.line("  cuMemAlloc here", || {
            let mut address = 0;
            call!(cu, cuMemAlloc_3020(&raw mut address, 64))
        });
        t.line("  status", || s.status(s.stream));
        s.done(t, s.stream);
        t.line("  usable", || s.usable(s.stream));
        t.line(&format!("{name}: ended there, with a fork"), || {
            begin(cu, s.stream, mode)
                .and(|| s.fork(s.stream, s.side))
                .and(|| s.append(s.side, 1))
                .and(|| s.join(s.side, s.stream))
                .and(|| s.elsewhere(|s| end(&s.cu, s.stream)))
        });
        t.line("  statuses", || s.statuses());
        t.line("  both usable", || s.usable(s.stream).and(|| s.usable(s.side)));
        t.line("  end here", || end(cu, s.stream));
    }
    Ok(())
}

/// The thread that has begun a capture ends.
fn thread_gone(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: its thread has ended"), || {
            s.elsewhere(|s| begin(&s.cu, s.stream, mode).and(|| s.append(s.stream, 1)))
        });
        t.line("  status", || s.status(s.stream));
        t.line("  cuMemAlloc", || {
            let mut address = 0;
            call!(cu, cuMemAlloc_3020(&raw mut address, 64))
        });
        t.line("  status, launch", || format!("{}, {}", s.status(s.stream), s.append(s.stream, 2)));
        s.done(t, s.stream);
    }
    Ok(())
}

/// A stream whose work is not done.
fn busy(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let gate = Gate::close(cu, s.stream)?;
    gate.open_later();
    t.line("begin on a busy stream", || s.begin());
    t.line("  launch, status", || format!("{}, {}", s.append(s.stream, 1), s.status(s.stream)));
    let graph = s.finish(t, s.stream);
    t.line("  still busy", || call!(cu, cuStreamQuery_2000(s.stream)));
    gate.open();
    t.line("  runs", || super::graph::replay(cu, graph, s.stream));
    t.line("  digits", || s.number(0));
    super::graph::destroy(cu, graph);
    t.line("begin without work, end: nothing has run", || {
        s.clear();
        s.begin().and(|| s.append(s.stream, 5)).and(|| {
            s.drop_capture(s.stream);
            call!(cu, cuStreamSynchronize_2000(s.stream))
        })
    });
    t.line("  digits", || s.number(0));
    Ok(())
}

/// No context is current.
fn no_context(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no current context: begin", || s.begin());
    t.line("  launch", || s.append(s.stream, 1));
    t.line("  memset", || call!(cu, cuMemsetD32Async_3020(s.memory, 1, 1, s.stream)));
    t.line("  fork, join", || {
        s.fork(s.stream, s.side).and(|| s.append(s.side, 2)).and(|| s.join(s.side, s.stream))
    });
    t.line("  status", || s.status(s.stream));
    t.line("  info", || s.info(s.stream).answer);
    t.line("  tail", || s.tail(s.stream));
    t.line("  there is a graph", || yes(!s.graph(s.stream).is_null()));
    let graph = s.finish(t, s.stream);
    t.line("  runs", || super::graph::replay(cu, graph, s.stream));
    super::graph::destroy(cu, graph);
    t.line("no current context: begin on per-thread", || {
        begin(cu, PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED)
    });
    t.line("  status of legacy", || status(cu, LEGACY));
    t.line("  end of per-thread", || end(cu, PER_THREAD));
    need!(cu, cuCtxSetCurrent_4000(s.context))
}
