//! Events of the library's own, by which it tells when work in the context is done: used again and again.

use super::Context;
use crate::driver::CallError;
use crate::driver::calls::event::RawEvent;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{
    CU_EVENT_DISABLE_TIMING, CUDA_ERROR_CAPTURED_EVENT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_READY,
};
use crate::object::callback::is_inside;
use parking_lot::Mutex;

/// The events of a context.
#[derive(Default)]
pub(super) struct OwnEvents(Mutex<Events>);

#[derive(Default)]
struct Events {
    /// Those that nobody uses.
    unused: Vec<RawEvent>,
    /// How many are used. Once none is, none is kept: an idle context has no events.
    used: usize,
}

/// They measure no time: to record one that does takes several times as long.
const FLAGS: u32 = CU_EVENT_DISABLE_TIMING.0 as u32;

/// How many are kept for the next use.
const MOST: usize = 64;

impl OwnEvents {
    /// Whether there are any.
    pub(super) fn has_any(&mut self) -> bool {
        !self.0.get_mut().unused.is_empty()
    }

    /// Destroys those that nobody uses.
    pub(super) fn destroy(self) {
        destroy(self.0.into_inner().unused);
    }

    /// One that nobody used, if there is one, for somebody who uses it.
    fn take(&self) -> Option<RawEvent> {
        let mut events = self.0.lock();
        events.used += 1;
        events.unused.pop()
    }

    /// One that is not used any more, or was not made. Answers with those that go.
    fn give_back(&self, event: Option<RawEvent>) -> Vec<RawEvent> {
        let mut events = self.0.lock();
        events.used -= 1;
        events.unused.extend(event);
        // Where the driver called, nothing is destroyed.
        let kept = match events.used {
            _ if is_inside() => events.unused.len(),
            0 => 0,
            _ => MOST.min(events.unused.len()),
        };
        events.unused.split_off(kept)
    }
}

fn destroy(events: Vec<RawEvent>) {
    for event in events {
        // A failure is of no consequence to anybody: nothing stands behind the event.
        let _ = event.destroy();
    }
}

/// An event of the library's own, of which nobody else knows. It goes back to its context when it is dropped.
pub(crate) struct OwnEvent {
    /// `None` only while it comes or goes.
    raw: Option<RawEvent>,
    context: Context,
}

impl OwnEvent {
    /// One that nobody uses.
    pub(crate) fn of(context: &Context) -> Result<Self, CallError> {
        let mut event = Self { raw: context.0.own_events.take(), context: context.clone() };
        if event.raw.is_none() {
            event.raw = Some(RawEvent::create(context.raw(), FLAGS)?);
        }
        Ok(event)
    }

    /// The context that it is of.
    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Records what the stream has by now. The stream is one of the same context, which is current if it is a default stream.
    #[inline]
    pub(crate) fn record(&self, stream: &RawStream) -> Result<(), CallError> {
        self.raw().record(stream)
    }

    /// Whether what was recorded last is work, of which the event tells, and no place in a capture. To ask such an event whether it is done
    /// would invalidate the capture, whoever's it is; to ask for the time from it to itself does not. The driver refuses that always, since the
    /// event measures none, but of a place in a capture it says that, and once the capture is over, that the value is wrong (measured on 580).
    /// Any other error is no answer: the driver is asked again, and then nothing is known of the event.
    pub(crate) fn tells_of_work(&self) -> bool {
        self.asked_for_work().or_else(|| self.asked_for_work()).unwrap_or(false)
    }

    fn asked_for_work(&self) -> Option<bool> {
        let Err(error) = self.raw().elapsed_since(self.raw()) else { return Some(true) };
        match error.result() {
            Some(CUDA_ERROR_INVALID_HANDLE | CUDA_ERROR_NOT_READY) => Some(true),
            Some(CUDA_ERROR_CAPTURED_EVENT | CUDA_ERROR_INVALID_VALUE) => Some(false),
            _ => {
                // It may say that nothing runs in the context any more.
                let _ = self.context.failed(error, &self.context);
                None
            }
        }
    }

    /// Whether what was recorded last is done, if the event [tells of work](Self::tells_of_work). For the worker, whose question disturbs no
    /// capture.
    pub(crate) fn is_done(&self) -> Result<bool, CallError> {
        self.raw().query()
    }

    fn raw(&self) -> &RawEvent {
        self.raw.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OwnEvent {
    fn drop(&mut self) {
        let gone = self.context.0.own_events.give_back(self.raw.take());
        // With their context they went.
        if !self.context.is_known_gone() {
            destroy(gone);
        }
    }
}
