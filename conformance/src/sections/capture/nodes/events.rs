//! Records of events and waits for them. Each question has an event of its own.

use super::super::graph;
use super::super::scene::Scene;
use super::captured;
use super::parameters::Places;
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL, CUevent};

const TO_OTHERS: u32 = CU_EVENT_RECORD_EXTERNAL.0 as u32;
const FROM_OTHERS: u32 = CU_EVENT_WAIT_EXTERNAL.0 as u32;

/// What is asked of an event and the capturing stream.
type Question = (&'static str, fn(&Scene, CUevent) -> Answer);

const QUESTIONS: [Question; 9] = [
    ("cuEventRecord", |s, event| s.record(event, s.stream)),
    ("record with flags 0", |s, event| record(s, event, 0)),
    ("record with flags 2", |s, event| record(s, event, 2)),
    ("external record", |s, event| record(s, event, TO_OTHERS)),
    ("cuStreamWaitEvent", |s, event| s.wait(s.stream, event)),
    ("wait with flags 2", |s, event| wait(s, event, 2)),
    ("external wait", |s, event| wait(s, event, FROM_OTHERS)),
    ("external record, external wait", |s, event| {
        record(s, event, TO_OTHERS).and(|| wait(s, event, FROM_OTHERS))
    }),
    ("external record, wait", |s, event| record(s, event, TO_OTHERS).and(|| s.wait(s.stream, event))),
];

fn record(s: &Scene, event: CUevent, flags: u32) -> Answer {
    call!(s.cu, cuEventRecordWithFlags_11010(event, s.stream, flags))
}

fn wait(s: &Scene, event: CUevent, flags: u32) -> Answer {
    call!(s.cu, cuStreamWaitEvent_3020(s.stream, event, flags))
}

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (kind, flags) in [("an event", 0), ("an untimed event", 2), ("an interprocess event", 6)] {
        for (name, ask) in QUESTIONS {
            let (event, mut places) = (cu.event(flags)?, Places::of(s));
            places.add_host("it", event.cast(), 1);
            captured(t, s, &places, &format!("{name}: {kind}"), || ask(s, event));
            t.line("  queried afterwards", || query(cu, event));
        }
    }
    recorded_before(t, s)?;
    used_by_others(t, s)
}

fn query(cu: &Cu, event: CUevent) -> Answer {
    call!(cu, cuEventQuery_2000(event))
}

/// Events that were recorded before the capture, by work that is done.
fn recorded_before(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, ask) in QUESTIONS {
        let (event, mut places) = (cu.event(0)?, Places::of(s));
        places.add_host("it", event.cast(), 1);
        let _ = s.record(event, s.third).and(|| call!(cu, cuStreamSynchronize_2000(s.third)));
        captured(t, s, &places, &format!("{name}: recorded before"), || ask(s, event));
        t.line("  queried afterwards", || query(cu, event));
    }
    Ok(())
}

/// What an external record does for those who do not capture, while it is captured and when it runs.
fn used_by_others(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, event) = (&s.cu, s.cu.event(0)?);
    t.line("external record, while the capture goes on", || s.begin().and(|| record(s, event, TO_OTHERS)));
    t.line("  queried", || query(cu, event));
    t.line("  synchronised", || call!(cu, cuEventSynchronize_2000(event)));
    t.line("  another stream waits for it", || s.wait(s.side, event));
    t.line("  another stream records it", || s.record(event, s.side));
    t.line("  statuses", || s.statuses());
    let graph = s.finish(t, s.stream);
    let gap = || {
        let mut time = -1.0;
        let answer = call!(cu, cuEventElapsedTime_2000(&raw mut time, s.joined, event));
        answer.then(|| yes(time >= 0.0))
    };
    t.line("  recorded before the replay, by another", || {
        s.record(s.joined, s.side).and(|| call!(cu, cuStreamSynchronize_2000(s.side)))
    });
    t.line("  runs", || graph::replay(cu, graph, s.third));
    t.line("  queried", || query(cu, event));
    t.line("  later than the other", gap);
    graph::destroy(cu, graph);
    Ok(())
}
