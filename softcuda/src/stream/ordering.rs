//! Asking whether a stream is done, and waiting: on the host for a stream, in a stream for an event.

use super::Stream;
use crate::error::Answer;
use crate::event::Event;
use crate::executor::{self, Duty, Work};
use crate::memory::pool;
use crate::sys::{
    CU_EVENT_WAIT_EXTERNAL, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY,
    CUevent, CUstream,
};

/// Nothing to do: its place in the order is all there is to it.
struct Wait;

impl Work for Wait {
    fn name(&self) -> &'static str {
        "a wait for an event"
    }

    fn duty(&self) -> Duty {
        Duty::Instant
    }

    fn run(&self) {}
}

pub(crate) fn cuStreamQuery(hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.refuse_question()?;
    let finished = executor::poll(&executor::unfinished_on(&stream));
    stream.context.fault()?;
    if finished { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
}

pub(crate) fn cuStreamSynchronize(hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.refuse_question()?;
    executor::wait_for(&executor::unfinished_on(&stream))?;
    pool::trim();
    stream.context.fault()
}

/// Waits for the event's record as it is now; an event that was never recorded is waited for by nobody.
pub(crate) fn cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, Flags: u32) -> Answer {
    let stream = Stream::of(hStream)?;
    let event = Event::of(hEvent)?;
    match Flags {
        0 => {}
        EXTERNAL if stream.is_capturing() => {}
        EXTERNAL => return Err(CUDA_ERROR_ILLEGAL_STATE),
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    }
    event.check_may_be_awaited(&stream.context)?;
    if let Some(record) = event.recorded() {
        if Flags == 0 {
            stream.refuse_uncaptured()?;
        }
        stream.submit_after(Wait, &[record])?;
    }
    Ok(())
}

const EXTERNAL: u32 = CU_EVENT_WAIT_EXTERNAL.0 as u32;
