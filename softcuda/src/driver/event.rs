//! Events: marks in a stream's order that others wait for, ask about, and measure time between.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING, CU_EVENT_INTERPROCESS, CUDA_ERROR_CAPTURED_EVENT,
    CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_MAP_FAILED,
    CUDA_ERROR_NOT_READY, CUDA_ERROR_OUT_OF_MEMORY, CUevent, CUipcEventHandle, CUresult,
};
use crate::driver::capture::tail::Tail;
use crate::driver::capture::{self, Capture};
use crate::driver::context::Activation;
use crate::driver::context::current::current;
use crate::driver::handle::{Object, Table};
use crate::driver::memory::pool;
use crate::driver::sharing::{Handle, Kind, Records, is_own};
use crate::driver::waiting::wait_for;
use crate::executor::{self, Task};
use crate::instruments::live;
use crate::instruments::log;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

const BLOCKING_SYNC: u32 = CU_EVENT_BLOCKING_SYNC.0 as u32;
const DISABLE_TIMING: u32 = CU_EVENT_DISABLE_TIMING.0 as u32;
const INTERPROCESS: u32 = CU_EVENT_INTERPROCESS.0 as u32;

/// Events that were created and not destroyed, also those of contexts that have ended.
static EVENTS: Table<Event> = Table::new();

/// An event.
pub(crate) struct Event {
    handle: usize,
    flags: u32,
    context: Arc<Activation>,
    /// The last record. Recording again replaces it; who waits for an earlier one holds that.
    record: Mutex<Record>,
    /// Its records in all processes, if it is for several.
    shared: Option<Arc<Records>>,
}

/// A record of another process's, which is waited for by looking again and again.
#[derive(Clone)]
pub(crate) struct Distant {
    records: Arc<Records>,
    number: u64,
}

impl Distant {
    fn is_reached(&self) -> bool {
        self.records.is_reached(self.number)
    }

    /// Waits until it is reached, as long as `goes_on`.
    pub(crate) fn wait_for(&self, goes_on: impl Fn() -> bool) {
        self.records.wait_for(self.number, goes_on);
    }
}

/// What was recorded.
#[derive(Clone, Default)]
enum Record {
    #[default]
    Nothing,
    /// A place in the order of work, and the record's number among those of all processes.
    Task(Arc<Task>, u64),
    /// A place in a capture.
    Captured(Captured),
}

/// A place in a capture: what the next node will follow there.
#[derive(Clone)]
pub(crate) struct Captured {
    pub(crate) capture: Arc<Capture>,
    pub(crate) tail: Tail,
}

impl Object for Event {
    fn report(&self) -> Option<live::Object> {
        (!self.context.has_ended()).then(|| self.context.report(live::EVENT, self.handle))
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
            log::detail("Event handle is NULL");
        }
        let event = EVENTS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        event.context.health()?;
        Ok(event)
    }

    /// Whether it was destroyed.
    pub(crate) fn is_destroyed(&self) -> bool {
        EVENTS.get(self.handle).is_none()
    }

    /// Whether it tells times.
    pub(crate) fn is_timed(&self) -> bool {
        self.flags & DISABLE_TIMING == 0
    }

    /// The value that callers know it by.
    pub(crate) fn handle(&self) -> CUevent {
        self.handle as CUevent
    }

    pub(crate) fn context(&self) -> &Arc<Activation> {
        &self.context
    }

    /// What to wait for; `None` if it was never recorded, or in a capture, or last in another process.
    pub(crate) fn recorded(&self) -> Option<Arc<Task>> {
        match &*self.record.lock() {
            Record::Task(task, number) if self.is_last(*number) => Some(Arc::clone(task)),
            Record::Task(..) | Record::Nothing | Record::Captured(_) => None,
        }
    }

    /// Whether no other process has recorded since.
    fn is_last(&self, number: u64) -> bool {
        self.shared.as_ref().is_none_or(|records| records.last() == number)
    }

    /// What to wait for if another process recorded last, and has not reached that.
    pub(crate) fn distant(&self) -> Option<Distant> {
        let records = self.shared.as_ref()?;
        let number = records.last();
        let own = match &*self.record.lock() {
            Record::Task(_, number) => *number,
            Record::Nothing | Record::Captured(_) => 0,
        };
        let distant = Distant { records: Arc::clone(records), number };
        (number != own && !distant.is_reached()).then_some(distant)
    }

    /// The number of a new record among those of all processes; 0 where the event is this one's.
    pub(crate) fn next_number(&self) -> u64 {
        self.shared.as_ref().map_or(0, |records| records.give())
    }

    /// That of the last one.
    pub(crate) fn last_number(&self) -> u64 {
        self.shared.as_ref().map_or(0, |records| records.last())
    }

    /// A record has been reached.
    pub(crate) fn reach(&self, number: u64) {
        if let Some(records) = &self.shared {
            // A graph's records have their numbers when they are reached.
            records.reach(if number == 0 { records.give() } else { number });
        }
    }

    /// The place in a capture, if it was last recorded in one.
    pub(crate) fn captured(&self) -> Option<Captured> {
        match &*self.record.lock() {
            Record::Captured(captured) => Some(captured.clone()),
            Record::Nothing | Record::Task(..) => None,
        }
    }

    /// It was recorded in a capture.
    pub(crate) fn set_captured(&self, captured: Captured) {
        *self.record.lock() = Record::Captured(captured);
    }

    /// Refuses questions about a record that is in a capture, or was in one that has ended.
    fn check_not_captured(&self) -> Answer {
        match self.captured() {
            None => Ok(()),
            Some(captured) if captured.capture.is_valid() => Err(CUDA_ERROR_CAPTURED_EVENT),
            Some(_) => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// The same, and invalidates the capture.
    fn refuse_captured(&self) -> Answer {
        self.check_not_captured().inspect_err(|_| {
            self.captured().inspect(|captured| captured.capture.invalidate());
        })
    }

    /// Refuses a stream of another context.
    pub(crate) fn check_context(&self, context: &Arc<Activation>) -> Answer {
        if Arc::ptr_eq(context, &self.context) { Ok(()) } else { Err(CUDA_ERROR_INVALID_HANDLE) }
    }

    /// It was recorded; with the record's number.
    pub(crate) fn set_recorded(&self, record: &Arc<Task>, number: u64) {
        let mut last = self.record.lock();
        // Another thread may have recorded after us and got here before.
        let is_newer = match &*last {
            Record::Task(last, _) => last.is_before(record),
            Record::Nothing | Record::Captured(_) => true,
        };
        if is_newer {
            *last = Record::Task(Arc::clone(record), number);
        }
    }

    /// When the last record was reached.
    fn time(&self) -> Result<Instant, CUresult> {
        if !self.is_timed() {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        }
        let record = self.recorded().ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        if !executor::poll(std::slice::from_ref(&record)) {
            return Err(CUDA_ERROR_NOT_READY);
        }
        record.marked_at().ok_or(CUDA_ERROR_NOT_READY)
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
    let shared = match Flags & INTERPROCESS {
        0 => None,
        _ => Some(Arc::new(Records::new().ok_or(CUDA_ERROR_OUT_OF_MEMORY)?)),
    };
    phEvent.set(add(Flags, context, shared).handle as CUevent)
}

fn add(flags: u32, context: Arc<Activation>, shared: Option<Arc<Records>>) -> Arc<Event> {
    EVENTS.add(|handle| Event { handle, flags, context, record: Mutex::default(), shared })
}

pub(crate) fn cuEventDestroy(hEvent: CUevent) -> Answer {
    cuEventDestroy_v2(hEvent)
}

/// A record that has not been reached goes on: the stream passes it, and who waits for it waits.
pub(crate) fn cuEventDestroy_v2(hEvent: CUevent) -> Answer {
    Event::of(hEvent)?;
    EVENTS.remove(hEvent as usize).map(|_| ()).ok_or(CUDA_ERROR_INVALID_HANDLE)
}

pub(crate) fn cuEventQuery(hEvent: CUevent) -> Answer {
    let event = Event::of(hEvent)?;
    event.refuse_captured()?;
    capture::check_unsafe()?;
    let finished =
        event.recorded().is_none_or(|record| executor::poll(&[record])) && event.distant().is_none();
    event.context.fault()?;
    if finished { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
}

pub(crate) fn cuEventSynchronize(hEvent: CUevent) -> Answer {
    let event = Event::of(hEvent)?;
    event.refuse_captured()?;
    capture::check_unsafe()?;
    if let Some(distant) = event.distant() {
        distant.wait_for(|| event.context.fault().is_ok());
    } else if let Some(record) = event.recorded() {
        wait_for(&[Arc::clone(&record)])?;
        pool::trim(|task| task.is_earlier_in_queue(&record));
    }
    event.context.fault()
}

pub(crate) fn cuEventElapsedTime(pMilliseconds: Out<f32>, hStart: CUevent, hEnd: CUevent) -> Answer {
    let (start, end) = (Event::of(hStart)?, Event::of(hEnd)?);
    if pMilliseconds.check().is_err() || !Arc::ptr_eq(&start.context, &end.context) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    start.check_not_captured().and_then(|()| end.check_not_captured())?;
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

/// Lets other processes open an event, as long as it is there.
pub(crate) fn cuIpcGetEventHandle(pHandle: Out<CUipcEventHandle>, event: CUevent) -> Answer {
    current()?;
    let event = Event::of(event)?;
    // Only the process that has created it can hand it on (measured).
    let records =
        event.shared.as_ref().filter(|records| records.is_own()).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    pHandle.check()?;
    pHandle.set(CUipcEventHandle { reserved: records.handle().bytes(Kind::Event) })
}

/// Opens another process's event, as one of the current context. What it was created with beside that nobody knows here.
pub(crate) fn cuIpcOpenEventHandle(phEvent: Out<CUevent>, handle: CUipcEventHandle) -> Answer {
    let context = current()?;
    phEvent.check()?;
    let named = Handle::read(&handle.reserved, Kind::Event).ok_or(CUDA_ERROR_MAP_FAILED)?;
    if is_own(&named.nonce) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    let records = Records::open(&named).ok_or(CUDA_ERROR_MAP_FAILED)?;
    let event = add(INTERPROCESS | DISABLE_TIMING, context, Some(Arc::new(records)));
    phEvent.set(event.handle as CUevent)
}
