//! Handles that are no longer any, or of another kind. A real driver follows them: each question has its process.

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUevent, CUstream};

pub(super) const SECTION: Section = Section { name: "stale", parts: QUESTIONS.len(), devices: 1, run };

struct Scene {
    cu: Cu,
    living: CUstream,
    event: CUevent,
    /// Destroyed.
    gone: CUstream,
    gone_event: CUevent,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let (living, event) = (cu.stream(NON_BLOCKING)?, cu.event(0)?);
    let (gone, gone_event) = (cu.stream(NON_BLOCKING)?, cu.event(0)?);
    need!(cu, cuEventRecord_2000(gone_event, gone))?;
    need!(cu, cuStreamSynchronize_2000(gone))?;
    need!(cu, cuEventDestroy_4000(gone_event))?;
    need!(cu, cuStreamDestroy_4000(gone))?;
    let scene = Scene { cu: *cu, living, event, gone, gone_event };
    let (situation, ask) = QUESTIONS[part];
    t.line(situation, || ask(&scene));
    Ok(())
}

type Question = (&'static str, fn(&Scene) -> Answer);

const QUESTIONS: &[Question] = &[
    ("query of a destroyed stream", |s| call!(s.cu, cuStreamQuery_2000(s.gone))),
    ("synchronize of a destroyed stream", |s| call!(s.cu, cuStreamSynchronize_2000(s.gone))),
    ("destroy of a destroyed stream", |s| call!(s.cu, cuStreamDestroy_4000(s.gone))),
    ("record on a destroyed stream", |s| call!(s.cu, cuEventRecord_2000(s.event, s.gone))),
    ("query of a destroyed event", |s| call!(s.cu, cuEventQuery_2000(s.gone_event))),
    ("destroy of a destroyed event", |s| call!(s.cu, cuEventDestroy_4000(s.gone_event))),
    ("wait for a destroyed event", |s| call!(s.cu, cuStreamWaitEvent_3020(s.living, s.gone_event, 0))),
    ("query of an event as a stream", |s| call!(s.cu, cuStreamQuery_2000(s.event.cast()))),
    ("query of a stream as an event", |s| call!(s.cu, cuEventQuery_2000(s.living.cast()))),
];
