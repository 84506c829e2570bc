//! Events of other captures, and of captures that have ended.

use super::super::graph;
use super::super::scene::Scene;
use super::super::{MODES, begin};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::CU_STREAM_CAPTURE_MODE_RELAXED;

/// Two captures that meet.
pub(super) fn captures(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let told = |answers: &[Answer]| answers.iter().map(Answer::number).collect::<Vec<_>>().join(" ");
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: a wait for another capture's event"), || {
            begin(cu, s.stream, mode)
                .and(|| begin(cu, s.side, mode))
                .and(|| s.append(s.stream, 1))
                .and(|| s.append(s.side, 2))
                .and(|| s.fork(s.side, s.stream))
        });
        t.line("  statuses", || s.statuses());
        t.line("  launch into each", || told(&[s.append(s.stream, 3), s.append(s.side, 4)]));
        t.line("  end the one that has waited", || s.end(s.stream).0);
        t.line("  statuses", || s.statuses());
        t.line("  end the other", || s.end(s.side).0);
        t.line("  usable", || s.usable(s.stream).and(|| s.usable(s.side)));
    }
    t.line("a wait of a fork of another capture", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.fork(s.stream, s.third))
            .and(|| begin(cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED))
            .and(|| s.join(s.side, s.third))
    });
    t.line("  statuses", || s.statuses());
    t.line("  ends", || told(&[s.end(s.stream).0, s.end(s.side).0, s.end(s.third).0]));
    t.line("an invalidated capture's event", || {
        let _ = begin(cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED)
            .and(|| s.record(s.event, s.side))
            .and(|| call!(cu, cuStreamQuery_2000(s.side)));
        s.begin().and(|| s.wait(s.stream, s.event))
    });
    t.line("  statuses", || s.statuses());
    t.line("  a stream that does not capture waits for it", || s.wait(s.third, s.event));
    t.line("  statuses", || s.statuses());
    t.line("  ends", || told(&[s.end(s.stream).0, s.end(s.side).0, s.end(s.third).0]));
    t.line("its event recorded in another capture", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.record(s.event, s.stream))
            .and(|| begin(cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED))
            .and(|| s.append(s.side, 2))
            .and(|| s.record(s.event, s.side))
    });
    t.line("  the first waits for it", || s.wait(s.stream, s.event));
    t.line("  statuses", || s.statuses());
    t.line("  ends", || told(&[s.end(s.stream).0, s.end(s.side).0]));
    Ok(())
}

/// Events of captures that are no more.
pub(super) fn ended(t: &mut Lines, s: &Scene) -> Outcome {
    let record = || s.begin().and(|| s.append(s.stream, 1)).and(|| s.record(s.event, s.stream));
    let _ = record();
    let (_, first) = s.end(s.stream);
    t.line("an ended capture's event", || s.begin().and(|| s.wait(s.stream, s.event)));
    t.line("  status", || s.status(s.stream));
    t.line("  launch", || s.append(s.stream, 2));
    s.done(t, s.stream);
    t.line("  outside", || s.wait(s.side, s.event));
    graph::destroy(&s.cu, first);
    t.line("its graph destroyed", || s.begin().and(|| s.wait(s.stream, s.event)));
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    let _ = s.begin().and(|| s.record(s.event, s.stream)).and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
    let _ = s.end(s.stream);
    t.line("an invalidated and ended capture's event", || s.begin().and(|| s.wait(s.stream, s.event)));
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    t.line("recorded anew in the next capture", || {
        record().and(|| s.wait(s.side, s.event)).and(|| s.append(s.side, 2)).and(|| s.join(s.side, s.stream))
    });
    s.done_and_run(t, s.stream);
    t.line("work outside that is done, wait", || {
        s.record(s.joined, s.third)
            .and(|| call!(s.cu, cuStreamSynchronize_2000(s.third)))
            .and(|| s.begin())
            .and(|| s.wait(s.stream, s.joined))
    });
    t.line("  status, launch", || format!("{}, {}", s.status(s.stream), s.append(s.stream, 1)));
    s.done(t, s.stream);
    t.line("never recorded, wait", || {
        let event = match s.cu.event(0) {
            Ok(event) => event,
            Err(stop) => return stop.0.into(),
        };
        s.begin().and(|| s.append(s.stream, 1)).and(|| s.wait(s.stream, event))
    });
    t.line("  tail", || s.tail(s.stream));
    t.line("  NULL, wait", || s.wait(s.stream, std::ptr::null_mut()));
    t.line("  NULL, record", || s.record(std::ptr::null_mut(), s.stream));
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    Ok(())
}
