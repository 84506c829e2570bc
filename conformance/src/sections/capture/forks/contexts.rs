//! Forks to streams of another context of the same device, and of other threads.

use super::super::graph;
use super::super::scene::Scene;
use crate::code::CAPTURES;
use crate::driver::{Answer, NON_BLOCKING, Outcome, PER_THREAD, call, need};
use crate::transcript::Lines;
use std::ptr::null_mut;

pub(super) fn of_one_device(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let mut other = null_mut();
    t.line("another context", || cu.create_context(&mut other, 0, 0));
    let there = Scene {
        side: cu.stream(NON_BLOCKING)?,
        joined: cu.event(2)?,
        append: cu.function(cu.module(CAPTURES)?, c"append")?,
        ..*s
    };
    let memory = cu.memory(64)?;
    need!(cu, cuMemsetD8_3020(memory, 0, 64))?;
    need!(cu, cuCtxSynchronize_2000())?;
    need!(cu, cuCtxSetCurrent_4000(s.context))?;
    t.line("its stream waits for a captured event", || {
        s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, there.side))
    });
    t.line("  its status", || s.status(there.side));
    t.line("  its kernel in its stream", || Scene { memory, ..there }.append(there.side, 2));
    t.line("  this kernel in its stream", || s.append(there.side, 3));
    t.line("  memset in its stream", || call!(cu, cuMemsetD32Async_3020(memory + 4, 1, 1, there.side)));
    t.line("  its kernel in this stream", || Scene { memory, ..there }.append(s.stream, 4));
    t.line("  joined by an event of it", || {
        s.record(there.joined, there.side).and(|| s.wait(s.stream, there.joined))
    });
    t.line("  statuses", || format!("{}, {}", s.status(s.stream), s.status(there.side)));
    let graph = s.finish(t, s.stream);
    t.line("  runs", || graph::replay(cu, graph, s.third));
    t.line("  digits", || s.number(0));
    graph::destroy(cu, graph);
    t.line("usable", || s.usable(s.stream));
    t.line("  with its context current: its stream", || {
        call!(cu, cuCtxSetCurrent_4000(other))
            .and(|| Scene { memory, ..there }.append(there.side, 2))
            .and(|| call!(cu, cuStreamSynchronize_2000(there.side)))
    });
    t.line("  its cuCtxSynchronize, this one captures", || {
        s.begin().and(|| call!(cu, cuCtxSynchronize_2000()))
    });
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    t.line("  its legacy stream, a blocking one captures", || {
        let _ = call!(cu, cuCtxSetCurrent_4000(s.context));
        match s.cu.stream(0) {
            Ok(stream) => legacy_of_another(&Scene { stream, ..*s }, other, &Scene { memory, ..there }),
            Err(stop) => stop.0.into(),
        }
    });
    Ok(())
}

/// A launch into another context's legacy stream while a blocking stream of this one captures.
fn legacy_of_another(s: &Scene, other: cushim::driver::sys::CUcontext, there: &Scene) -> Answer {
    let begun = s.begin();
    let launched = begun
        .and(|| call!(s.cu, cuCtxSetCurrent_4000(other)))
        .and(|| there.append(null_mut(), 1))
        .and(|| call!(s.cu, cuStreamSynchronize_2000(null_mut())));
    let status = s.status(s.stream);
    let _ = call!(s.cu, cuCtxSetCurrent_4000(s.context));
    format!("{launched}, {status}, {}", s.end(s.stream).0).into()
}

/// The per-thread streams of two threads are two streams.
pub(super) fn per_thread(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("per-thread captures", || {
        super::super::begin(&s.cu, PER_THREAD, cushim::driver::sys::CU_STREAM_CAPTURE_MODE_RELAXED)
    });
    t.line("  launch on another thread's", || s.elsewhere(|s| s.append(PER_THREAD, 1)));
    t.line("  status of another thread's", || s.elsewhere(|s| s.status(PER_THREAD)));
    t.line("  launch here", || s.append(PER_THREAD, 2));
    t.line("  fork to a stream, joined", || {
        s.fork(PER_THREAD, s.side).and(|| s.append(s.side, 3)).and(|| s.join(s.side, PER_THREAD))
    });
    t.line("  status of legacy", || s.status(null_mut()));
    t.line("  end on another thread", || s.elsewhere(|s| s.end(PER_THREAD).0));
    s.done_and_run(t, PER_THREAD);
    t.line("per-thread forked, joined", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.fork(s.stream, PER_THREAD))
            .and(|| s.append(PER_THREAD, 2))
            .and(|| s.join(PER_THREAD, s.stream))
            .and(|| s.append(s.stream, 3))
    });
    s.done_and_run(t, s.stream);
    t.line("  its status", || s.status(PER_THREAD));
    Ok(())
}
