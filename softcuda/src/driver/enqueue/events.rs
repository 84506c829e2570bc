//! Records of events and waits for them: in streams, of all work of a context, and of all that comes.

use crate::abi::Answer;
use crate::abi::sys::{
    CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_MERGE,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUcontext, CUevent, CUresult, CUstream,
};
use crate::driver::capture::{self, Capture};
use crate::driver::context::Context;
use crate::driver::event::{Captured, Event};
use crate::driver::operation::event::{Record, Wait, WaitDistant};
use crate::driver::stream::Stream;
use crate::executor::{self, Task};
use std::sync::Arc;

const RECORD_EXTERNAL: u32 = CU_EVENT_RECORD_EXTERNAL.0 as u32;
const WAIT_EXTERNAL: u32 = CU_EVENT_WAIT_EXTERNAL.0 as u32;

/// Records an event in a stream, behind these tasks too.
pub(super) fn record(event: Arc<Event>, stream: &Arc<Stream>, after: &[Arc<Task>]) -> Answer {
    event.check_context(&stream.context)?;
    match stream.capture() {
        Some(capture) => record_in(capture, &event, stream),
        None => stream.submit_after(Record::of(event), after).map(drop),
    }
}

/// Marks a place in a capture, from which it can go on in other streams. Other processes have no part in it.
fn record_in(capture: Arc<Capture>, event: &Event, stream: &Stream) -> Answer {
    if event.is_interprocess() {
        return Err(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    let tail = capture.tail(stream.id());
    event.set_captured(Captured { capture, tail });
    Ok(())
}

pub(crate) fn cuEventRecord(hEvent: CUevent, hStream: CUstream) -> Answer {
    cuEventRecordWithFlags(hEvent, hStream, 0)
}

/// An external record is a node of the graph that a stream captures.
pub(crate) fn cuEventRecordWithFlags(hEvent: CUevent, hStream: CUstream, flags: u32) -> Answer {
    Stream::admit(hStream)?;
    let event = Event::of(hEvent)?;
    let stream = Stream::of(hStream)?;
    match flags {
        0 => record(event, &stream, &[]),
        RECORD_EXTERNAL if stream.is_capturing() => stream.give(Record::of(event)).map(drop),
        RECORD_EXTERNAL => Err(CUDA_ERROR_ILLEGAL_STATE),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Waits for the event's record as it is now; an event that was never recorded is waited for by nobody. An external wait is
/// a node of the graph that a stream captures.
pub(crate) fn cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, Flags: u32) -> Answer {
    let stream = Stream::for_work(hStream)?;
    let event = Event::of(hEvent).inspect_err(|_| stream.invalidate_capture())?;
    match Flags {
        0 => wait(&stream, event),
        WAIT_EXTERNAL if stream.is_capturing() => stream.give(Wait { event }).map(drop),
        WAIT_EXTERNAL => Err(CUDA_ERROR_ILLEGAL_STATE),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

fn wait(stream: &Stream, event: Arc<Event>) -> Answer {
    if event.is_interprocess() {
        stream.refuse_capture()?;
    }
    event.check_may_be_awaited(&stream.context)?;
    if let Some(captured) = event.captured() {
        return wait_for_captured(stream, captured);
    }
    if let Some(record) = event.distant() {
        return stream.submit(WaitDistant { record }).map(drop);
    }
    if event.recorded().is_none() {
        return Ok(());
    }
    match stream.capture() {
        // What is captured cannot depend on what is not.
        Some(capture) => Err(capture.refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)),
        None => stream.submit(Wait { event }).map(drop),
    }
}

/// Goes on in a capture: a stream that does not capture takes part from now on.
fn wait_for_captured(stream: &Stream, Captured { capture, tail }: Captured) -> Answer {
    let own = stream.capture();
    let refuse = |why: CUresult| {
        own.as_ref().inspect(|own| own.invalidate());
        Err(why)
    };
    if !capture.is_valid() {
        return refuse(CUDA_ERROR_INVALID_VALUE);
    }
    match &own {
        Some(own) if own.id == capture.id => {
            capture.change_tail(stream.id(), |own| own.append(&tail));
            Ok(())
        }
        Some(_) => {
            capture.invalidate();
            refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE)
        }
        None => stream.join_capture(&capture, tail),
    }
}

/// Marks the end of everything that the context has been given; no later work waits for the mark.
pub(crate) fn cuCtxRecordEvent(hCtx: CUcontext, hEvent: CUevent) -> Answer {
    let context = Context::of(hCtx)?.activation()?;
    let event = Event::of(hEvent)?;
    capture::check_context(context.id())?;
    record(event, &Stream::aside(&context), &executor::unfinished(context.queues()))
}

/// Lets everything that the context is given from now on wait for the event's record as it is now.
pub(crate) fn cuCtxWaitEvent(hCtx: CUcontext, hEvent: CUevent) -> Answer {
    let context = Context::of(hCtx)?.activation()?;
    let event = Event::of(hEvent)?;
    capture::check_context(context.id())?;
    let record = match event.distant() {
        Some(record) => Some(Stream::aside(&context).submit(WaitDistant { record })?),
        None => event.recorded(),
    };
    if let Some(record) = record {
        executor::hold_up(context.queues(), &record);
    }
    Ok(())
}
