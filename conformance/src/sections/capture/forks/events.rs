//! Events that a capture has recorded: recorded again, asked, used afterwards, destroyed.

use super::super::begin;
use super::super::scene::Scene;
use crate::driver::{Answer, NON_BLOCKING, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_EVENT_WAIT_EXTERNAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUevent};

fn query(s: &Scene, event: CUevent) -> Answer {
    call!(s.cu, cuEventQuery_2000(event))
}

fn synchronise(s: &Scene, event: CUevent) -> Answer {
    call!(s.cu, cuEventSynchronize_2000(event))
}

fn elapsed(s: &Scene, from: CUevent, to: CUevent) -> Answer {
    let mut time = 0.0;
    call!(s.cu, cuEventElapsedTime_2000(&raw mut time, from, to))
}

/// Events that are recorded more than once, or waited for more than once.
pub(super) fn repeated(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side) = (s.stream, s.side);
    t.line("waited for twice", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.wait(side, s.event))
            .and(|| s.append(side, 2))
            .and(|| s.join(side, main))
            .and(|| s.wait(main, s.joined))
    });
    t.line("  tail", || s.tail(main));
    s.done(t, main);
    t.line("recorded again before the wait", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.record(s.event, main))
            .and(|| s.append(main, 2))
            .and(|| s.fork(main, side))
            .and(|| s.append(side, 3))
    });
    t.line("  tail of the fork", || s.tail(side));
    let _ = s.join(side, main);
    s.done(t, main);
    t.line("recorded again after the wait", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append(main, 2))
            .and(|| s.record(s.event, main))
            .and(|| s.append(side, 3))
    });
    t.line("  tail of the fork", || s.tail(side));
    let _ = s.join(side, main);
    t.line("  tail", || s.tail(main));
    s.done(t, main);
    t.line("wait for an older event", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.record(s.event, main))
            .and(|| s.append(main, 2))
            .and(|| s.wait(side, s.event))
            .and(|| s.append(side, 3))
            .and(|| s.join(side, main))
    });
    t.line("  tail", || s.tail(main));
    s.done(t, main);
    t.line("one event forks and joins", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append(side, 2))
            .and(|| s.fork(side, main))
            .and(|| s.append(main, 3))
    });
    s.done_and_run(t, main);
    t.line("external wait for a captured event", || {
        let external = CU_EVENT_WAIT_EXTERNAL.0 as u32;
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.record(s.event, main))
            .and(|| call!(s.cu, cuStreamWaitEvent_3020(side, s.event, external)))
    });
    t.line("  statuses", || s.statuses());
    s.done(t, main);
    Ok(())
}

/// What is answered about a captured event while the capture goes on.
pub(super) fn asked(t: &mut Lines, s: &Scene) -> Outcome {
    type Question = (&'static str, fn(&Scene) -> Answer);
    const QUESTIONS: [Question; 6] = [
        ("query", |s| query(s, s.event)),
        ("synchronise", |s| synchronise(s, s.event)),
        ("elapsed to itself", |s| elapsed(s, s.event, s.event)),
        ("elapsed from one that is recorded", |s| elapsed(s, s.joined, s.event)),
        ("elapsed to one that is recorded", |s| elapsed(s, s.event, s.joined)),
        ("ipc handle", |s| {
            // SAFETY: it is made of numbers.
            let mut handle = unsafe { std::mem::zeroed() };
            call!(s.cu, cuIpcGetEventHandle_4010(&raw mut handle, s.event))
        }),
    ];
    let _ = s.record(s.joined, s.third).and(|| call!(s.cu, cuStreamSynchronize_2000(s.third)));
    for (name, ask) in QUESTIONS {
        t.line(&format!("captured event: {name}"), || {
            s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, s.side)).and(|| ask(s))
        });
        t.line("  statuses", || s.statuses());
        s.done(t, s.stream);
    }
    Ok(())
}

/// What the event is when the capture has ended.
pub(super) fn afterwards(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side, event) = (s.stream, s.side, s.event);
    t.line("captured and ended", || s.begin().and(|| s.append(main, 1)).and(|| s.record(event, main)));
    let (ended, graph) = s.end(main);
    t.line("  end", || ended);
    t.line("  query", || query(s, event));
    t.line("  synchronise", || synchronise(s, event));
    t.line("  elapsed", || elapsed(s, event, event));
    t.line("  a stream waits for it", || s.wait(side, event));
    t.line("  the same stream waits for it", || s.wait(main, event));
    t.line("  graph destroyed: query", || {
        super::super::graph::destroy(&s.cu, graph);
        query(s, event)
    });
    t.line("  recorded outside", || s.record(event, side));
    t.line("  synchronise", || synchronise(s, event));
    t.line("  query", || query(s, event));
    t.line("  elapsed", || elapsed(s, event, event));
    t.line("  a stream waits for it", || s.wait(main, event));
    t.line("invalidated and ended", || {
        s.begin().and(|| s.record(event, main)).and(|| call!(s.cu, cuStreamQuery_2000(main)))
    });
    t.line("  query, still invalidated", || query(s, event));
    t.line("  end", || s.end(main).0);
    t.line("  query", || query(s, event));
    t.line("  a stream waits for it", || s.wait(side, event));
    t.line("  recorded outside, synchronise", || s.record(event, side).and(|| synchronise(s, event)));
    let stream = s.cu.stream(NON_BLOCKING)?;
    t.line("captured, stream destroyed", || {
        begin(&s.cu, stream, CU_STREAM_CAPTURE_MODE_RELAXED)
            .and(|| s.record(event, stream))
            .and(|| call!(s.cu, cuStreamDestroy_4000(stream)))
            .and(|| query(s, event))
    });
    Ok(())
}

/// An event that is recorded outside while it has a captured record.
pub(super) fn recorded_outside(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side, third) = (s.stream, s.side, s.third);
    t.line("captured, then recorded outside", || {
        s.begin().and(|| s.append(main, 1)).and(|| s.record(s.event, main)).and(|| s.record(s.event, third))
    });
    t.line("  status", || s.status(main));
    t.line("  query, when that is done", || {
        call!(s.cu, cuStreamSynchronize_2000(third)).and(|| query(s, s.event))
    });
    t.line("  status", || s.status(main));
    t.line("  another stream waits for it", || s.wait(side, s.event));
    t.line("  statuses", || s.statuses());
    t.line("  the stream waits for it", || s.wait(main, s.event));
    t.line("  statuses", || s.statuses());
    s.done(t, main);
    t.line("waited for, then recorded outside", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.record(s.event, third))
            .and(|| s.append(side, 2))
            .and(|| s.join(side, main))
    });
    s.done_and_run(t, main);
    t.line("recorded outside, then captured", || {
        s.record(s.event, third)
            .and(|| s.begin())
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| s.append(side, 2))
            .and(|| s.join(side, main))
    });
    s.done_and_run(t, main);
    t.line("a wait outside, then captured", || {
        s.record(s.event, third)
            .and(|| s.wait(side, s.event))
            .and(|| s.begin())
            .and(|| s.record(s.event, main))
    });
    t.line("  statuses", || s.statuses());
    s.done(t, main);
    Ok(())
}

/// Events that are destroyed while the capture goes on.
pub(super) fn destroyed(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side) = (s.stream, s.side);
    let destroy = |event| call!(s.cu, cuEventDestroy_4000(event));
    let (first, second, external) = (s.cu.event(0)?, s.cu.event(0)?, s.cu.event(0)?);
    t.line("destroyed after the wait", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.record(first, main))
            .and(|| s.wait(side, first))
            .and(|| destroy(first))
    });
    t.line("  statuses", || s.statuses());
    t.line("  launch in the fork, joined, destroyed", || {
        s.append(side, 2).and(|| s.record(second, side)).and(|| s.wait(main, second)).and(|| destroy(second))
    });
    s.done_and_run(t, main);
    t.line("external record, destroyed at once", || {
        s.begin()
            .and(|| call!(s.cu, cuEventRecordWithFlags_11010(external, main, 1)))
            .and(|| destroy(external))
    });
    t.line("  status", || s.status(main));
    s.done(t, main);
    Ok(())
}
