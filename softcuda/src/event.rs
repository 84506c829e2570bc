//! Events: marks in a stream's order that others wait for, ask about, and measure time between.

use crate::context::Activation;
use crate::context::current::current;
use crate::error::Answer;
use crate::executor::{self, Duty, Operation, Work};
use crate::handle::Table;
use crate::live;
use crate::logs;
use crate::memory::pool;
use crate::pointer::Out;
use crate::stream::{Stream, capture};
use crate::sys::{
    CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING, CU_EVENT_INTERPROCESS, CU_EVENT_RECORD_EXTERNAL,
    CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY,
    CUDA_ERROR_NOT_SUPPORTED, CUevent, CUipcEventHandle, CUresult, CUstream,
};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

const BLOCKING_SYNC: u32 = CU_EVENT_BLOCKING_SYNC.0 as u32;
const DISABLE_TIMING: u32 = CU_EVENT_DISABLE_TIMING.0 as u32;
const INTERPROCESS: u32 = CU_EVENT_INTERPROCESS.0 as u32;
const EXTERNAL: u32 = CU_EVENT_RECORD_EXTERNAL.0 as u32;

/// Events that were created and not destroyed, also those of contexts that have ended.
static EVENTS: Table<Event> = Table::new();

/// An event.
pub(crate) struct Event {
    handle: usize,
    flags: u32,
    context: Arc<Activation>,
    /// The last record. Recording again replaces it; who waits for an earlier one holds that.
    record: Mutex<Option<Record>>,
}

/// A place in a stream, and when it was reached.
#[derive(Clone)]
struct Record {
    operation: Arc<Operation>,
    time: Arc<OnceLock<Instant>>,
}

/// The work of a record: to look at the clock.
struct Mark(Arc<OnceLock<Instant>>);

impl Work for Mark {
    fn name(&self) -> &'static str {
        "an event's record"
    }

    fn duty(&self) -> Duty {
        Duty::Instant
    }

    fn run(&self) {
        self.0.get_or_init(Instant::now);
    }
}

impl Event {
    /// Whether a stream may wait for it; a real driver crashes on an event for several processes where the stream is
    /// another context's (measured).
    pub(crate) fn check_may_be_awaited(&self, context: &Activation) -> Answer {
        let crashes = self.is_interprocess() && self.context.id() != context.id();
        if crashes { Err(CUDA_ERROR_INVALID_HANDLE) } else { Ok(()) }
    }

    /// Whether other processes may open it.
    pub(crate) fn is_interprocess(&self) -> bool {
        self.flags & INTERPROCESS != 0
    }

    /// The event that a caller's handle means.
    pub(crate) fn of(handle: CUevent) -> Result<Arc<Self>, CUresult> {
        if handle.is_null() {
            logs::detail("Event handle is NULL");
        }
        let event = EVENTS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        event.context.health()?;
        Ok(event)
    }

    /// Whether it tells times.
    pub(crate) fn is_timed(&self) -> bool {
        self.flags & DISABLE_TIMING == 0
    }

    fn last_record(&self) -> Option<Record> {
        self.record.lock().clone()
    }

    /// What to wait for; `None` if it was never recorded.
    pub(crate) fn recorded(&self) -> Option<Arc<Operation>> {
        self.last_record().map(|record| record.operation)
    }

    fn record(&self, stream: &Arc<Stream>) -> Answer {
        self.record_after(stream, &[])
    }

    /// Refuses a stream of another context.
    pub(crate) fn check_stream(&self, stream: &Stream) -> Answer {
        if Arc::ptr_eq(&stream.context, &self.context) { Ok(()) } else { Err(CUDA_ERROR_INVALID_HANDLE) }
    }

    /// Records it in the stream, behind these operations too.
    pub(crate) fn record_after(&self, stream: &Arc<Stream>, after: &[Arc<Operation>]) -> Answer {
        self.check_stream(stream)?;
        let time = Arc::new(OnceLock::new());
        let operation = stream.submit_after(Mark(Arc::clone(&time)), after)?;
        let mut last = self.record.lock();
        // Another thread may have recorded after us and got here before.
        if last.as_ref().is_none_or(|last| last.operation.is_before(&operation)) {
            *last = Some(Record { operation, time });
        }
        Ok(())
    }

    /// When the last record was reached.
    fn time(&self) -> Result<Instant, CUresult> {
        if !self.is_timed() {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        }
        let record = self.last_record().ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        if !executor::poll(&[record.operation]) {
            return Err(CUDA_ERROR_NOT_READY);
        }
        record.time.get().copied().ok_or(CUDA_ERROR_NOT_READY)
    }
}

pub(crate) fn cuEventCreate(phEvent: Out<CUevent>, Flags: u32) -> Answer {
    let context = current()?;
    phEvent.check()?;
    let known = Flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) == 0;
    let timed_across_processes = Flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS;
    if !known || timed_across_processes {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let event = EVENTS.add(|handle| Event { handle, flags: Flags, context, record: Mutex::default() });
    phEvent.set(event.handle as CUevent)
}

pub(crate) fn cuEventDestroy(hEvent: CUevent) -> Answer {
    cuEventDestroy_v2(hEvent)
}

/// A record that has not been reached goes on: the stream passes it, and who waits for it waits.
pub(crate) fn cuEventDestroy_v2(hEvent: CUevent) -> Answer {
    Event::of(hEvent)?;
    EVENTS.remove(hEvent as usize).map(|_| ()).ok_or(CUDA_ERROR_INVALID_HANDLE)
}

pub(crate) fn cuEventRecord(hEvent: CUevent, hStream: CUstream) -> Answer {
    let event = Event::of(hEvent)?;
    event.record(&Stream::of(hStream)?)
}

pub(crate) fn cuEventRecordWithFlags(hEvent: CUevent, hStream: CUstream, flags: u32) -> Answer {
    let event = Event::of(hEvent)?;
    let stream = Stream::of(hStream)?;
    match flags {
        0 => event.record(&stream),
        EXTERNAL if stream.is_capturing() => event.record(&stream),
        EXTERNAL => Err(CUDA_ERROR_ILLEGAL_STATE),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuEventQuery(hEvent: CUevent) -> Answer {
    let event = Event::of(hEvent)?;
    capture::check_unsafe()?;
    let finished = event.last_record().is_none_or(|record| executor::poll(&[record.operation]));
    event.context.fault()?;
    if finished { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
}

pub(crate) fn cuEventSynchronize(hEvent: CUevent) -> Answer {
    let event = Event::of(hEvent)?;
    capture::check_unsafe()?;
    if let Some(record) = event.recorded() {
        executor::wait_for(&[record])?;
    }
    pool::trim();
    event.context.fault()
}

pub(crate) fn cuEventElapsedTime(pMilliseconds: Out<f32>, hStart: CUevent, hEnd: CUevent) -> Answer {
    let (start, end) = (Event::of(hStart)?, Event::of(hEnd)?);
    if pMilliseconds.check().is_err() || !Arc::ptr_eq(&start.context, &end.context) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let (start, end) = (start.time(), end.time());
    // What can never be answered goes before what cannot be answered yet.
    let (start, end) = match (start, end) {
        (Err(CUDA_ERROR_INVALID_HANDLE), _) | (_, Err(CUDA_ERROR_INVALID_HANDLE)) => {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        }
        (start, end) => (start?, end?),
    };
    let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e3) as f32;
    pMilliseconds.set(if end >= start { milliseconds(end - start) } else { -milliseconds(start - end) })
}

pub(crate) fn cuEventElapsedTime_v2(pMilliseconds: Out<f32>, hStart: CUevent, hEnd: CUevent) -> Answer {
    cuEventElapsedTime(pMilliseconds, hStart, hEnd)
}

/// Events do not leave the process.
pub(crate) fn cuIpcGetEventHandle(_pHandle: Out<CUipcEventHandle>, event: CUevent) -> Answer {
    current()?;
    let event = Event::of(event)?;
    Err(if event.is_interprocess() { CUDA_ERROR_NOT_SUPPORTED } else { CUDA_ERROR_INVALID_HANDLE })
}

/// Shows every event that was created and not destroyed, in contexts that live.
pub(crate) fn show_live(show: &mut dyn FnMut(live::Object)) {
    EVENTS.each(|event| {
        if !event.context.has_ended() {
            show(live::Object::of_context(live::EVENT, event.handle, &event.context));
        }
    });
}
