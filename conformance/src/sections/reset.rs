//! What is left after the primary context was reset under somebody's feet.

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUevent, CUstream};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "reset", parts: 1 + APART.len(), devices: 1, run };

type Question = (&'static str, fn(&Cu, CUstream, CUevent) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("old stream query", |cu, stream, _| call!(cu, cuStreamQuery_2000(stream))),
    ("old stream destroy", |cu, stream, _| call!(cu, cuStreamDestroy_4000(stream))),
    ("old stream synchronize", |cu, stream, _| call!(cu, cuStreamSynchronize_2000(stream))),
    ("old stream waits for old event", |cu, stream, event| {
        call!(cu, cuStreamWaitEvent_3020(stream, event, 0))
    }),
    ("old event query", |cu, _, event| call!(cu, cuEventQuery_2000(event))),
    ("old event record", |cu, stream, event| call!(cu, cuEventRecord_2000(event, stream))),
    ("old event synchronize", |cu, _, event| call!(cu, cuEventSynchronize_2000(event))),
    ("old event destroy", |cu, _, event| call!(cu, cuEventDestroy_4000(event))),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    let (stream, event, memory) = (cu.stream(NON_BLOCKING)?, cu.event(0)?, cu.memory(4096)?);
    if let Some(apart) = part.checked_sub(1) {
        need!(cu, cuDevicePrimaryCtxReset_11000(0))?;
        let (situation, ask) = APART[apart];
        t.line(situation, || ask(cu, stream, event));
        return Ok(());
    }
    let (mut flags, mut active, mut current, mut again, mut address) = (99, 99, null_mut(), null_mut(), 0);
    t.line("primary reset", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("active", || {
        call!(cu, cuDevicePrimaryCtxGetState_7000(0, &raw mut flags, &raw mut active)).then(|| active)
    });
    t.line("current after reset is same", || {
        call!(cu, cuCtxGetCurrent_4000(&raw mut current)).then(|| yes(current == context))
    });
    t.line("old memory free", || call!(cu, cuMemFree_3020(memory)));
    t.line("alloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("retain again", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut again, 0)));
    t.line("same handle", || yes(again == context));
    t.line("alloc after retain", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("stream after retain", || {
        let mut stream = null_mut();
        call!(cu, cuStreamCreate_2000(&raw mut stream, NON_BLOCKING))
    });
    need!(cu, cuDevicePrimaryCtxRelease_11000(0))?;
    t.line("release of the retain before the reset", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("release over count", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    Ok(())
}
