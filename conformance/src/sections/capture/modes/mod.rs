//! Which calls disturb a capture, and whom a thread's mode protects.
//!
//! One line for each call and mode of the capture. In it six answers, by the thread that calls and its mode: the thread of the
//! capture as global, thread-local, relaxed; behind the bar another thread likewise. An answer is the number of the result, with
//! `!` if the capture is invalidated. Where an answer takes long, only global threads are asked.

pub(super) mod graphs;
mod itself;
mod memory;
mod objects;
pub(super) mod pools;
mod work;

use super::scene::Scene;
use super::{MODES, end};
use crate::driver::{Answer, Cu, Outcome, call};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUstream, CUstreamCaptureMode,
};

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_modes", parts: PARTS.len(), devices: 1, run };

/// A table of calls.
struct Table {
    rows: &'static [Row],
    /// Whether threads of each mode are asked, or only global ones, where an answer takes long.
    whole: bool,
}

const fn table(rows: &'static [Row]) -> Table {
    Table { rows, whole: true }
}

/// What is asked: it makes what the call needs, calls once, and tidies up. What cannot be made is NULL.
type Row = (&'static str, fn(&Scene, &mut Ask));

/// The tables of each part.
const PARTS: &[&[Table]] = &[
    &[table(memory::PLAIN), table(memory::VIRTUAL), table(memory::MANAGED), table(pools::ROWS)],
    &[table(work::STREAMS), table(work::EVENTS), table(work::COPIES), table(work::LAUNCHES)],
    &[table(objects::CODE), table(objects::CONTEXTS)],
    &[Table { rows: objects::NEW_CONTEXTS, whole: false }],
    &[table(graphs::ROWS), table(graphs::EXECS)],
    &[table(itself::QUESTIONS), table(itself::WORK)],
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let mut scene = Scene::new(cu)?;
    PARTS[part].iter().try_for_each(|table| table.tell(t, &mut scene))
}

impl Table {
    fn tell(&self, t: &mut Lines, scene: &mut Scene) -> Outcome {
        let owns = if self.whole { &MODES[..] } else { &MODES[..1] };
        for (name, row) in self.rows {
            for (of, capture) in MODES {
                if scene.statuses() != "0 0 0" {
                    // A call has left a capture that cannot be ended.
                    *scene = scene.anew()?;
                }
                let columns = |elsewhere| {
                    let one = |(_, own): &(_, _)| asked(scene, *row, capture, *own, elsewhere);
                    owns.iter().map(one).collect::<Vec<_>>().join(" ")
                };
                t.line(&format!("{of}: {name}"), || format!("{} | {}", columns(false), columns(true)));
            }
        }
        Ok(())
    }
}

/// One answer of a row.
fn asked(
    scene: &Scene,
    row: fn(&Scene, &mut Ask),
    capture: CUstreamCaptureMode,
    own: CUstreamCaptureMode,
    elsewhere: bool,
) -> String {
    let mut ask = Ask { scene: *scene, capture, own, elsewhere, said: "not asked".to_owned() };
    row(scene, &mut ask);
    ask.said
}

/// Puts a call into the middle of a capture.
struct Ask {
    scene: Scene,
    capture: CUstreamCaptureMode,
    /// The mode of the thread that calls.
    own: CUstreamCaptureMode,
    elsewhere: bool,
    said: String,
}

impl Ask {
    /// Calls while the scene's stream captures.
    fn call(&mut self, call: impl FnOnce() -> Answer) {
        self.during(self.scene.stream, || Answer::Value(String::new()), call);
    }

    /// Calls while this stream captures, after something was captured.
    fn during(&mut self, stream: CUstream, first: impl FnOnce() -> Answer, call: impl FnOnce() -> Answer) {
        let (cu, own) = (self.scene.cu, self.own);
        let begun = call!(cu, cuStreamBeginCapture_10010(stream, self.capture));
        if !begun.succeeded() {
            self.said = format!("begin {}", begun.number());
            return;
        }
        let _ = first();
        let asked = || {
            exchange(&cu, own);
            call()
        };
        let answer = if self.elsewhere {
            self.scene.elsewhere(|_| asked())
        } else {
            let answer = asked();
            exchange(&cu, CU_STREAM_CAPTURE_MODE_GLOBAL);
            answer
        };
        let invalidated =
            self.scene.status(stream).number() == CU_STREAM_CAPTURE_STATUS_INVALIDATED.0.to_string();
        self.said = format!("{}{}", answer.number(), if invalidated { "!" } else { "" });
        let _ = end(&cu, stream);
    }
}

/// Changes the calling thread's mode.
fn exchange(cu: &Cu, mode: CUstreamCaptureMode) {
    let mut mode = mode;
    let _ = call!(cu, cuThreadExchangeStreamCaptureMode_10010(&raw mut mode));
}
