//! The legacy stream beside one that captures: blocking streams and it wait for each other.

use super::{MODES, during};
use crate::driver::{Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call};
use crate::transcript::Lines;
use cushim::driver::sys::CUstreamCaptureStatus;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (blocking, free, event) = (cu.stream(0)?, cu.stream(NON_BLOCKING)?, cu.event(0)?);
    let (memory, host) = (cu.memory(4096)?, [1u8; 64]);
    for mode in MODES {
        for (kind, stream) in [("blocking", blocking), ("non-blocking", free), ("per-thread", PER_THREAD)] {
            let at = (stream, mode);
            during(t, cu, at, &format!("HtoD on legacy, {kind} captures"), || {
                call!(cu, cuMemcpyHtoD_3020(memory, host.as_ptr().cast(), 64))
            })?;
            during(t, cu, at, &format!("record on legacy, {kind} captures"), || {
                call!(cu, cuEventRecord_2000(event, LEGACY))
            })?;
            during(t, cu, at, &format!("is legacy capturing, {kind} captures"), || {
                let mut status = CUstreamCaptureStatus(77);
                call!(cu, cuStreamIsCapturing_10000(LEGACY, &raw mut status)).then(|| status.0)
            })?;
        }
    }
    Ok(())
}
