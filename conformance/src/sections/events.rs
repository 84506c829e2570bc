//! Events: recorded and not, waited for, timed.

use super::Section;
use crate::driver::{Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUevent, CUipcEventHandle, CUstream};
use std::ptr::null_mut;
use std::time::Duration;

pub(super) const SECTION: Section = Section { name: "events", parts: 2 + WAITS.len(), devices: 1, run };

const BLOCKING_SYNC: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
const EXTERNAL: u32 = 1;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let primary = cu.start()?;
    if part == 1 {
        return other_contexts(t, cu, primary);
    }
    if part > 1 {
        return wait(t, cu, &WAITS[part - 2]);
    }
    let stream = cu.stream(NON_BLOCKING)?;
    never_recorded(t, cu, stream)?;
    elapsed(t, cu, stream)?;
    pending(t, cu, stream)?;
    flags(t, cu);
    arguments(t, cu, stream)
}

fn never_recorded(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let event = cu.event(0)?;
    t.line("query never-recorded", || call!(cu, cuEventQuery_2000(event)));
    t.line("synchronize never-recorded", || call!(cu, cuEventSynchronize_2000(event)));
    t.line("stream waits never-recorded", || call!(cu, cuStreamWaitEvent_3020(stream, event, 0)));
    t.line("elapsed never-recorded", || elapsed_between(cu, event, event));
    need!(cu, cuEventDestroy_4000(event))
}

fn elapsed_between(cu: &Cu, start: CUevent, end: CUevent) -> crate::driver::Answer {
    let mut milliseconds = 0.0;
    call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, start, end))
}

fn elapsed(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let (start, end, untimed) = (cu.event(0)?, cu.event(0)?, cu.event(DISABLE_TIMING)?);
    let mut milliseconds = -1.0;
    need!(cu, cuEventRecord_2000(start, stream))?;
    need!(cu, cuEventSynchronize_2000(start))?;
    t.line("elapsed one recorded", || elapsed_between(cu, start, end));
    need!(cu, cuEventRecord_2000(end, stream))?;
    need!(cu, cuEventRecord_2000(untimed, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("elapsed both", || elapsed_between(cu, start, end));
    t.line("elapsed both, with the later way of measuring", || {
        call!(cu, cuEventElapsedTime_12080(&raw mut milliseconds, start, end))
    });
    t.line("elapsed timing disabled", || elapsed_between(cu, start, untimed));
    milliseconds = 1.0;
    t.line("elapsed reversed", || call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, end, start)));
    t.line("reversed value sign", || if milliseconds <= 0.0 { "<=0" } else { ">0" });
    t.line("elapsed same event twice", || {
        call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, start, start))
            .then(|| format!("{milliseconds:.1}"))
    });
    t.line("elapsed around work of 20 ms", || {
        let around = || -> Outcome<f32> {
            let mut milliseconds = -1.0;
            need!(cu, cuEventRecord_2000(start, stream))?;
            let gate = Gate::close(cu, stream)?;
            need!(cu, cuEventRecord_2000(end, stream))?;
            std::thread::sleep(Duration::from_millis(20));
            gate.open();
            need!(cu, cuEventSynchronize_2000(end))?;
            need!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, start, end))?;
            Ok(milliseconds)
        };
        around().map_or_else(|stop| stop.0, |ms| if ms >= 15.0 { ">=15" } else { "<15" }.to_owned())
    });
    t.line("elapsed to NULL", || call!(cu, cuEventElapsedTime_2000(null_mut(), start, end)));
    t.line("elapsed of NULL events", || elapsed_between(cu, null_mut(), null_mut()));
    Ok(())
}

fn pending(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let idle = cu.stream(NON_BLOCKING)?;
    let (before, pending, overwritten, other) =
        (cu.event(0)?, cu.event(0)?, cu.event(0)?, cu.stream(NON_BLOCKING)?);
    need!(cu, cuEventRecord_2000(before, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    let gate = Gate::close(cu, stream)?;
    need!(cu, cuEventRecord_2000(pending, stream))?;
    t.line("query pending", || call!(cu, cuEventQuery_2000(pending)));
    t.line("elapsed pending", || elapsed_between(cu, before, pending));
    t.line("stream query pending", || call!(cu, cuStreamQuery_2000(stream)));
    need!(cu, cuEventRecord_2000(overwritten, stream))?;
    t.line("another stream waits for it", || call!(cu, cuStreamWaitEvent_3020(other, overwritten, 0)));
    t.line("recorded again on an idle stream: query", || {
        match call!(cu, cuEventRecord_2000(overwritten, idle)) {
            answer if answer.succeeded() => cu.settled(|| call!(cu, cuEventQuery_2000(overwritten))),
            answer => answer,
        }
    });
    t.line("the stream that waited before still waits", || {
        cu.settled(|| call!(cu, cuStreamQuery_2000(other)))
    });
    t.line("destroy pending event", || call!(cu, cuEventDestroy_4000(pending)));
    gate.open();
    t.line("the stream ends", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("the other ends", || call!(cu, cuStreamSynchronize_2000(other)));
    Ok(())
}

fn flags(t: &mut Lines, cu: &Cu) {
    let mut event = null_mut();
    let mut create = |situation, flags| {
        t.line(situation, || call!(cu, cuEventCreate_2000(&raw mut event, flags)));
    };
    create("create interprocess with timing", INTERPROCESS);
    create("create interprocess no timing", INTERPROCESS | DISABLE_TIMING);
    create("create with blocking sync", BLOCKING_SYNC);
    create("bad flags", 0x10);
    t.line("create to NULL", || call!(cu, cuEventCreate_2000(null_mut(), 0)));
}

fn arguments(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let (event, none) = (cu.event(0)?, null_mut());
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    t.line("ipc handle of plain event", || call!(cu, cuIpcGetEventHandle_4010(&raw mut handle, event)));
    t.line("record event NULL", || call!(cu, cuEventRecord_2000(none, stream)));
    t.line("query NULL", || call!(cu, cuEventQuery_2000(none)));
    t.line("synchronize NULL", || call!(cu, cuEventSynchronize_2000(none)));
    t.line("destroy NULL", || call!(cu, cuEventDestroy_4000(none)));
    t.line("stream waits NULL", || call!(cu, cuStreamWaitEvent_3020(stream, none, 0)));
    t.line("stream waits with flags 2", || call!(cu, cuStreamWaitEvent_3020(stream, event, 2)));
    t.line("stream waits, external, outside capture", || {
        call!(cu, cuStreamWaitEvent_3020(stream, event, EXTERNAL))
    });
    t.line("record, external, outside capture", || {
        call!(cu, cuEventRecordWithFlags_11010(event, stream, EXTERNAL))
    });
    t.line("record with flags 2", || call!(cu, cuEventRecordWithFlags_11010(event, stream, 2)));
    t.line("record with flags 0", || call!(cu, cuEventRecordWithFlags_11010(event, stream, 0)));
    t.line("record on NULL stream", || call!(cu, cuEventRecord_2000(event, none.cast())));
    t.line("record on legacy stream", || call!(cu, cuEventRecord_2000(event, LEGACY)));
    t.line("record on per-thread stream", || call!(cu, cuEventRecord_2000(event, PER_THREAD)));
    t.line("synchronize", || call!(cu, cuEventSynchronize_2000(event)));
    t.line("destroy", || call!(cu, cuEventDestroy_4000(event)));
    Ok(())
}

fn other_contexts(t: &mut Lines, cu: &Cu, primary: CUcontext) -> Outcome {
    let (event, own) = (cu.event(0)?, cu.stream(NON_BLOCKING)?);
    cu.context()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let there = cu.event(0)?;
    t.line("record on a stream of another context", || call!(cu, cuEventRecord_2000(event, stream)));
    need!(cu, cuEventRecord_2000(there, stream))?;
    t.line("wait for an event of another context", || call!(cu, cuStreamWaitEvent_3020(own, there, 0)));
    t.line("query of it with another context current", || {
        need!(cu, cuCtxSetCurrent_4000(primary))
            .map_or_else(|stop| stop.0.into(), |()| cu.settled(|| call!(cu, cuEventQuery_2000(there))))
    });
    t.line("record of both, with another context current", || call!(cu, cuEventRecord_2000(there, stream)));
    need!(cu, cuEventRecord_2000(event, own))?;
    need!(cu, cuStreamSynchronize_2000(own))?;
    t.line("elapsed between contexts", || elapsed_between(cu, there, event));
    t.line("event is usable", || call!(cu, cuEventQuery_2000(event)).then(|| yes(true)));
    Ok(())
}

/// A stream that is to wait for an event; each in a process of its own, for a driver may not bear it.
struct Wait {
    situation: &'static str,
    flags: u32,
    /// Whether the stream is of another context than the event, which is the current one then.
    elsewhere: bool,
    stream: fn(&Cu) -> Outcome<CUstream>,
    /// What is done with the event before, which has a stream of its own.
    before: fn(&Cu, CUevent, CUstream) -> Outcome,
}

fn created(cu: &Cu) -> Outcome<CUstream> {
    cu.stream(NON_BLOCKING)
}

fn legacy(_: &Cu) -> Outcome<CUstream> {
    Ok(LEGACY)
}

fn per_thread(_: &Cu) -> Outcome<CUstream> {
    Ok(PER_THREAD)
}

fn not_recorded(_: &Cu, _: CUevent, _: CUstream) -> Outcome {
    Ok(())
}

fn recorded(cu: &Cu, event: CUevent, own: CUstream) -> Outcome {
    need!(cu, cuEventRecord_2000(event, own))?;
    need!(cu, cuStreamSynchronize_2000(own))
}

fn recorded_just_now(cu: &Cu, event: CUevent, own: CUstream) -> Outcome {
    need!(cu, cuEventRecord_2000(event, own))
}

const ELSEWHERE: Wait =
    Wait { situation: "", flags: 0, elsewhere: true, stream: created, before: not_recorded };
const SHARED: Wait = Wait { flags: INTERPROCESS | DISABLE_TIMING, ..ELSEWHERE };
const SHARED_HERE: Wait = Wait { elsewhere: false, ..SHARED };

static WAITS: [Wait; 18] = [
    Wait { situation: "of another context: legacy waits", stream: legacy, ..ELSEWHERE },
    Wait { situation: "of another context: per-thread waits", stream: per_thread, ..ELSEWHERE },
    Wait {
        situation: "of another context, recorded: legacy waits",
        stream: legacy,
        before: recorded,
        ..ELSEWHERE
    },
    Wait {
        situation: "of another context, recorded: per-thread waits",
        stream: per_thread,
        before: recorded,
        ..ELSEWHERE
    },
    Wait {
        situation: "of another context, just recorded: legacy waits",
        stream: legacy,
        before: recorded_just_now,
        ..ELSEWHERE
    },
    Wait { situation: "interprocess: a stream waits", ..SHARED_HERE },
    Wait { situation: "interprocess: legacy waits", stream: legacy, ..SHARED_HERE },
    Wait { situation: "interprocess: per-thread waits", stream: per_thread, ..SHARED_HERE },
    Wait { situation: "interprocess, recorded: a stream waits", before: recorded, ..SHARED_HERE },
    Wait {
        situation: "interprocess, just recorded: a stream waits",
        before: recorded_just_now,
        ..SHARED_HERE
    },
    Wait { situation: "interprocess, of another context: a stream waits", ..SHARED },
    Wait { situation: "interprocess, of another context: legacy waits", stream: legacy, ..SHARED },
    Wait { situation: "interprocess, of another context: per-thread waits", stream: per_thread, ..SHARED },
    Wait {
        situation: "interprocess, of another context, recorded: a stream waits",
        before: recorded,
        ..SHARED
    },
    Wait {
        situation: "interprocess, of another context, recorded: legacy waits",
        stream: legacy,
        before: recorded,
        ..SHARED
    },
    Wait {
        situation: "interprocess, of another context, just recorded: waits",
        before: recorded_just_now,
        ..SHARED
    },
    Wait { situation: "blocking, of another context: a stream waits", flags: BLOCKING_SYNC, ..ELSEWHERE },
    Wait { situation: "untimed, of another context: a stream waits", flags: DISABLE_TIMING, ..ELSEWHERE },
];

fn wait(t: &mut Lines, cu: &Cu, wait: &Wait) -> Outcome {
    let (event, own) = (cu.event(wait.flags)?, cu.stream(NON_BLOCKING)?);
    if wait.elsewhere {
        cu.context()?;
    }
    let stream = (wait.stream)(cu)?;
    (wait.before)(cu, event, own)?;
    t.line(wait.situation, || match call!(cu, cuStreamWaitEvent_3020(stream, event, 0)) {
        answer if answer.succeeded() => call!(cu, cuStreamSynchronize_2000(stream)),
        answer => answer,
    });
    Ok(())
}
