//! Events that stand for all work of a context, and contexts whose later work waits for one; since 12.5.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUstream};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "context_events", parts: 3 + APART.len(), devices: 1, run };

struct Scene<'a> {
    cu: &'a Cu,
    context: CUcontext,
    busy: CUstream,
    idle: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
}

impl Scene<'_> {
    fn work(&self, stream: CUstream) -> Answer {
        match call!(self.cu, cuMemsetD8Async_3020(self.memory, 1, 64, stream)) {
            answer if answer.succeeded() => self.cu.settled(|| call!(self.cu, cuStreamQuery_2000(stream))),
            answer => answer,
        }
    }

    fn query(&self) -> Answer {
        self.cu.settled(|| call!(self.cu, cuEventQuery_2000(self.event)))
    }
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    let scene = Scene {
        cu,
        context,
        busy: cu.stream(NON_BLOCKING)?,
        idle: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        memory: cu.memory(4096)?,
    };
    // So that nothing of what follows is the first of its kind, for which a driver may have to wait.
    for stream in [scene.busy, scene.idle, LEGACY] {
        need!(cu, cuMemsetD8Async_3020(scene.memory, 0, 64, stream))?;
    }
    need!(cu, cuCtxSynchronize_2000())?;
    match part {
        0 => record(t, &scene),
        1 => wait(t, &scene),
        2 => arguments(t, &scene),
        apart => {
            let (situation, ask) = APART[apart - 3];
            t.line(situation, || ask(&scene));
            Ok(())
        }
    }
}

fn record(t: &mut Lines, scene: &Scene) -> Outcome {
    let Scene { cu, context, event, .. } = *scene;
    t.line("record of an idle context", || call!(cu, cuCtxRecordEvent_12050(context, event)));
    t.line("  query", || scene.query());
    let gate = Gate::close(cu, scene.busy)?;
    t.line("record with a non-blocking stream busy", || call!(cu, cuCtxRecordEvent_12050(context, event)));
    t.line("  query", || scene.query());
    t.line("  later work on an idle stream", || scene.work(scene.idle));
    t.line("  later work on legacy", || scene.work(LEGACY));
    gate.open();
    t.line("  synchronize", || call!(cu, cuEventSynchronize_2000(event)));
    let gate = Gate::close(cu, LEGACY)?;
    t.line("record with legacy busy", || call!(cu, cuCtxRecordEvent_12050(context, event)));
    t.line("  query", || scene.query());
    t.line("  later work on an idle stream", || scene.work(scene.idle));
    gate.open();
    need!(cu, cuCtxSynchronize_2000())?;
    t.line("elapsed since an ordinary record", || {
        let start = cu.event(0).unwrap_or(null_mut());
        match call!(cu, cuEventRecord_2000(start, scene.busy)) {
            answer if answer.succeeded() => {
                let mut milliseconds = 0.0;
                let _ = call!(cu, cuCtxRecordEvent_12050(context, event));
                let _ = call!(cu, cuCtxSynchronize_2000());
                call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, start, event))
            }
            answer => answer,
        }
    });
    Ok(())
}

fn wait(t: &mut Lines, scene: &Scene) -> Outcome {
    let Scene { cu, context, event, .. } = *scene;
    t.line("wait for one never recorded", || call!(cu, cuCtxWaitEvent_12050(context, event)));
    t.line("  work", || scene.work(scene.idle));
    let gate = Gate::close(cu, scene.busy)?;
    need!(cu, cuEventRecord_2000(event, scene.busy))?;
    t.line("wait for one that is pending", || call!(cu, cuCtxWaitEvent_12050(context, event)));
    t.line("  work on an idle stream", || scene.work(scene.idle));
    t.line("  work on legacy", || scene.work(LEGACY));
    let newer = cu.stream(NON_BLOCKING)?;
    t.line("  work on a stream made afterwards", || scene.work(newer));
    gate.open();
    t.line("  synchronize", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

fn arguments(t: &mut Lines, scene: &Scene) -> Outcome {
    let Scene { cu, context, event, .. } = *scene;
    let other = cu.context()?;
    t.line("record of another context", || call!(cu, cuCtxRecordEvent_12050(other, event)));
    t.line("wait of another context", || call!(cu, cuCtxWaitEvent_12050(other, event)));
    t.line("record of one that is not current", || call!(cu, cuCtxRecordEvent_12050(context, event)));
    Ok(())
}

type Question = (&'static str, fn(&Scene) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("record of NULL", |s| call!(s.cu, cuCtxRecordEvent_12050(null_mut(), s.event))),
    ("record event NULL", |s| call!(s.cu, cuCtxRecordEvent_12050(s.context, null_mut()))),
    ("wait of NULL", |s| call!(s.cu, cuCtxWaitEvent_12050(null_mut(), s.event))),
    ("wait for event NULL", |s| call!(s.cu, cuCtxWaitEvent_12050(s.context, null_mut()))),
];
