//! Events.

use super::context::RawContext;
use super::stream::RawStream;
use super::{gone_at_exit, ready};
use crate::driver::call;
use crate::driver::calls::capture_mode::{relaxed, relaxed_if_capturing};
use crate::driver::sys::CUevent;
use crate::driver::{CallError, Table};
use std::ptr::null_mut;

/// An event of the driver, held by whoever holds this.
pub(crate) struct RawEvent {
    table: &'static Table,
    handle: CUevent,
}

// SAFETY: the driver's events may be used from every thread.
unsafe impl Send for RawEvent {}
// SAFETY: as above.
unsafe impl Sync for RawEvent {}

impl RawEvent {
    /// Creates an event in the context; `flags` are `CU_EVENT_*`.
    pub(crate) fn create(context: &RawContext, flags: u32) -> Result<Self, CallError> {
        let table = context.table();
        let mut handle = null_mut();
        let _current = context.enter()?;
        // SAFETY: writes one handle; the context is current.
        unsafe { call!(table, cuEventCreate_2000(&raw mut handle, flags)) }?;
        Ok(Self { table, handle })
    }

    /// Takes in a handle of somebody else's.
    ///
    /// # Safety
    /// The handle is one of this driver, alive for as long as this exists.
    pub(crate) unsafe fn adopt(table: &'static Table, handle: CUevent) -> Self {
        Self { table, handle }
    }

    pub(crate) fn handle(&self) -> CUevent {
        self.handle
    }

    /// Destroys the event at once; what waits for it goes on waiting for what it recorded.
    pub(crate) fn destroy(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { call!(self.table, cuEventDestroy_4000(self.handle)) })
    }

    /// Records the stream's work so far.
    #[inline]
    pub(crate) fn record(&self, stream: &RawStream) -> Result<(), CallError> {
        // SAFETY: both are alive.
        unsafe { call!(self.table, cuEventRecord_2000(self.handle, stream.handle())) }
    }

    /// In a stream under capture, a node that records the event for those outside, whenever the graph gets there.
    pub(crate) fn record_outside(&self, stream: &RawStream) -> Result<(), CallError> {
        const EXTERNAL: u32 = 1; // CU_EVENT_RECORD_EXTERNAL
        // SAFETY: both are alive.
        unsafe { call!(self.table, cuEventRecordWithFlags_11010(self.handle, stream.handle(), EXTERNAL)) }
    }

    /// Whether what was recorded last is done; true if nothing was.
    #[inline]
    pub(crate) fn query(&self) -> Result<bool, CallError> {
        // SAFETY: the event is alive.
        ready(unsafe { relaxed_if_capturing!(self.table, cuEventQuery_2000(self.handle)) })
    }

    /// Waits until what was recorded last is done.
    #[inline]
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the event is alive.
        unsafe { relaxed!(self.table, cuEventSynchronize_2000(self.handle)) }
    }

    /// Milliseconds from what `start` recorded to what this event recorded.
    ///
    /// The older ABI is taken where both exist: it also reports errors of pending work, the younger one (12.8) may not.
    pub(crate) fn elapsed_since(&self, start: &Self) -> Result<f32, CallError> {
        let mut milliseconds = 0.0;
        // SAFETY: writes one number; both events are alive.
        unsafe {
            match self.table.cuEventElapsedTime_2000 {
                Some(_) => call!(
                    self.table,
                    cuEventElapsedTime_2000(&raw mut milliseconds, start.handle, self.handle)
                ),
                None => call!(
                    self.table,
                    cuEventElapsedTime_12080(&raw mut milliseconds, start.handle, self.handle)
                ),
            }
        }?;
        Ok(milliseconds)
    }
}
/// Waits, which are of both.
impl RawStream {
    /// Makes work enqueued from now on wait for the event.
    #[inline]
    pub(crate) fn wait(&self, event: &RawEvent) -> Result<(), CallError> {
        // SAFETY: both are alive.
        unsafe { call!(event.table, cuStreamWaitEvent_3020(self.handle(), event.handle(), 0)) }
    }

    /// In a stream under capture, a node that waits for what the event recorded last, whenever the graph gets there.
    pub(crate) fn wait_outside(&self, event: &RawEvent) -> Result<(), CallError> {
        const EXTERNAL: u32 = 1; // CU_EVENT_WAIT_EXTERNAL
        // SAFETY: both are alive.
        unsafe { call!(event.table, cuStreamWaitEvent_3020(self.handle(), event.handle(), EXTERNAL)) }
    }
}
