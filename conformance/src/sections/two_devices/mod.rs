//! Two devices: what each may do with the other's memory, streams, events, pools and kernels.

mod access;
mod elsewhere;
mod foreign;
mod kernels;
mod managed;
mod pointers;
mod pools;
mod transfers;
mod waits;

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUstream};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section {
    name: "two_devices",
    parts: PARTS.len() + transfers::WITHOUT_CONTEXT.len() + foreign::WAITS.len() + waits::QUESTIONS.len(),
    devices: 2,
    run,
};

const PARTS: &[fn(&mut Lines, &Scene) -> Outcome] = &[
    access::told,
    access::changed,
    access::ended,
    access::closed,
    pointers::seen,
    pointers::attributes,
    pointers::host,
    transfers::copies,
    transfers::pooled,
    elsewhere::plain,
    elsewhere::pooled,
    transfers::batches,
    transfers::contexts,
    transfers::boxes,
    transfers::fills,
    foreign::streams,
    foreign::events,
    foreign::legacy,
    pools::access,
    pools::streams,
    pools::current,
    kernels::run,
    kernels::refused,
    kernels::faulty,
    kernels::faulty_alone,
    kernels::recovered,
    managed::places,
    managed::batches,
    managed::pooled,
];

/// Bytes of each side's memory.
const SIZE: usize = 4096;

/// What there is of a device.
struct Side {
    context: CUcontext,
    stream: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
}

/// Both devices. The context of the first is current.
struct Scene {
    cu: Cu,
    here: Side,
    there: Side,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    need!(cu, cuInit_2000(0))?;
    let there = side(cu, 1)?;
    let scene = Scene { cu: *cu, here: side(cu, 0)?, there };
    if let Some(run) = PARTS.get(part) {
        return run(t, &scene);
    }
    let number = part - PARTS.len();
    if number < transfers::WITHOUT_CONTEXT.len() {
        return transfers::without_context(t, &scene, number);
    }
    let number = number - transfers::WITHOUT_CONTEXT.len();
    if number < foreign::WAITS.len() {
        return foreign::wait(t, &scene, number);
    }
    waits::run(t, scene, number - foreign::WAITS.len())
}

fn side(cu: &Cu, device: i32) -> Outcome<Side> {
    let mut context = null_mut();
    need!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, device))?;
    need!(cu, cuCtxSetCurrent_4000(context))?;
    let side =
        Side { context, stream: cu.stream(NON_BLOCKING)?, event: cu.event(0)?, memory: cu.memory(SIZE)? };
    need!(cu, cuMemsetD8_3020(side.memory, 0, SIZE))?;
    need!(cu, cuCtxSynchronize_2000())?;
    Ok(side)
}

impl Scene {
    /// Makes a side's context current.
    fn enter(&self, side: &Side) -> Outcome {
        need!(self.cu, cuCtxSetCurrent_4000(side.context))
    }

    /// Lets the current context reach a side's memory.
    fn reach(&self, side: &Side) -> Outcome {
        need!(self.cu, cuCtxEnablePeerAccess_4000(side.context, 0))
    }

    /// Fills a side's memory with a value, whatever context is current.
    fn fill(&self, side: &Side, value: u8) -> Outcome {
        let bytes = [value; SIZE];
        need!(self.cu, cuMemcpyHtoD_3020(side.memory, bytes.as_ptr().cast(), SIZE))?;
        // The copy has left the host, but other streams would not wait until it arrives.
        need!(self.cu, cuStreamSynchronize_2000(null_mut()))
    }

    /// The first byte of a side's memory when its stream and the other's are done.
    fn first_byte(&self, side: &Side) -> Answer {
        let mut value = 0u8;
        for stream in [self.here.stream, self.there.stream] {
            let answer = call!(self.cu, cuStreamSynchronize_2000(stream));
            if !answer.succeeded() {
                return answer;
            }
        }
        call!(self.cu, cuMemcpyDtoH_3020((&raw mut value).cast(), side.memory, 1)).then(|| value)
    }
}
