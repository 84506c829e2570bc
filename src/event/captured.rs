//! Events that were recorded in a stream under capture: they stand for a place in a graph, and not for work that runs.

use super::Event;
use super::awaited::{self, NoneLaunched};
use crate::check;
use crate::driver::calls::event::RawEvent;
use crate::object::error::{Error, Status};
use crate::object::slot::{Exposed, Locked, Slot};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A capture of this library's has recorded it last.
const OURS: u8 = 1;
/// Others may have recorded it last, perhaps in a capture of theirs.
const OTHERS: u8 = 2;
/// This library has recorded it last, in somebody else's capture.
const THEIRS: u8 = 4;
/// A graph records it whenever that is launched.
const GRAPH: u8 = 8;
/// A capture has recorded it, or is about to: from then on, who records it or waits for it does so under the lock of the mark, or asks
/// afterwards what came of it.
const PLACE: u8 = 16;
/// A node of a graph waits for it.
const AWAITED: u8 = 32;

/// Somebody wants to know what nothing orders: who waits for it says so.
const CHECKED: u8 = 64;

/// In which capture an event was recorded last.
pub(super) struct Mark {
    state: AtomicU8,
    /// The capture, of a type that a later floor knows.
    capture: Slot<dyn Exposed>,
}

impl Mark {
    /// `is_shared`: whether others have the native event, too; `is_checked`: whether who waits for it says so.
    pub(super) fn new(is_shared: bool, is_checked: bool) -> Self {
        let state = if is_shared { OTHERS } else { 0 } | if is_checked { CHECKED } else { 0 };
        Self { state: AtomicU8::new(state), capture: Slot::new() }
    }

    #[inline]
    fn has(&self, marks: u8) -> bool {
        self.state.load(Relaxed) & marks != 0
    }

    /// See [`Event::may_have_been_captured`].
    #[inline]
    pub(super) fn may_have_been_captured(&self) -> bool {
        self.has(PLACE)
    }
}

/// See [`Event::held_mark`].
pub(crate) struct HeldMark<'a> {
    event: &'a Event,
    capture: Locked<'a, dyn Exposed>,
    /// Where nodes wait for the event, and a capture is about to record it.
    alone: Option<NoneLaunched>,
}

impl HeldMark<'_> {
    /// The capture of this library's that has recorded it last, if one has.
    pub(crate) fn captured_in<T: Exposed>(&self) -> Option<Arc<T>> {
        if self.event.is_captured() { self.capture.get() } else { None }
    }

    /// A capture is about to record it. Until the mark goes, nobody launches what waits for it.
    pub(crate) fn is_about_to_be_captured(&mut self) {
        self.event.0.mark.state.fetch_or(PLACE, SeqCst);
        if self.event.is_awaited() {
            self.alone = Some(awaited::none_is_launched());
        }
    }

    /// A capture of this library's has recorded it.
    pub(crate) fn was_captured(&mut self, capture: Arc<dyn Exposed>) {
        if self.event.is_awaited() {
            awaited::note(self.event.raw(), &capture);
        }
        drop(self.capture.replace(Some(capture)));
        self.event.0.mark.state.fetch_and(!THEIRS, Relaxed);
        self.event.0.mark.state.fetch_or(OURS, Relaxed);
    }

    /// Somebody else's capture has recorded it.
    pub(crate) fn was_captured_by_others(&mut self) {
        self.event.was_recorded();
        self.is_not_captured();
        self.event.0.mark.state.fetch_or(THEIRS, Relaxed);
    }

    /// It stands for no place in a graph: it was recorded in a stream that is not under capture.
    pub(crate) fn is_not_captured(&mut self) {
        self.event.is_not_captured();
        drop(self.capture.replace(None));
    }

    /// See [`Event::may_be_recorded_since`].
    pub(crate) fn may_be_recorded_since(&self) -> bool {
        self.event.is_in_graph() && self.capture.value().is_none_or(|capture| capture.is_over())
    }
}

impl Event {
    /// Whether waiting for it may make a stream part of a capture.
    #[inline]
    pub(crate) fn may_be_captured(&self) -> bool {
        self.has(OURS | OTHERS | THEIRS | PLACE)
    }

    /// Whether a capture may have recorded it at any time, of which this library knows.
    #[inline]
    pub(crate) fn may_have_been_captured(&self) -> bool {
        self.0.mark.may_have_been_captured()
    }

    fn has(&self, marks: u8) -> bool {
        self.0.mark.has(marks)
    }

    /// Whether somebody else may have recorded it last.
    pub(crate) fn may_be_recorded_by_others(&self) -> bool {
        self.has(OTHERS)
    }

    /// Whether it may stand for a place in somebody else's capture.
    pub(crate) fn may_be_captured_by_others(&self) -> bool {
        self.has(OTHERS | THEIRS)
    }

    /// Whether it stands for a place in somebody else's capture.
    pub(crate) fn is_captured_by_others(&self) -> bool {
        self.has(THEIRS) && !self.has(OTHERS)
    }

    /// The native handle is about to be handed out.
    pub(super) fn is_known_to_others(&self) {
        self.0.mark.state.fetch_or(OTHERS, Relaxed);
        if self.is_captured()
            && let Some(capture) = self.0.mark.capture.value()
        {
            capture.is_known_to_others();
        }
    }

    /// The capture of this library's that has recorded it last, if one has.
    pub(crate) fn captured_in<T: Exposed>(&self) -> Option<Arc<T>> {
        if self.is_captured() { self.0.mark.capture.get() } else { None }
    }

    fn is_captured(&self) -> bool {
        self.has(OURS)
    }

    /// Where it was recorded, while no capture of this library's can record it: what is asked here is so when the driver is called.
    pub(crate) fn held_mark(&self) -> HeldMark<'_> {
        HeldMark { event: self, capture: self.0.mark.capture.lock(), alone: None }
    }

    /// It stands for no place in a graph: it was recorded in a stream that is not under capture.
    #[inline]
    pub(crate) fn is_not_captured(&self) {
        if self.has(OURS | THEIRS) {
            self.0.mark.state.fetch_and(!(OURS | THEIRS), Relaxed);
            awaited::forget(self.raw());
        }
    }

    /// A graph records it whenever that is launched: then it stands for work, whatever it stood for before.
    pub(crate) fn is_recorded_by_graph(&self) {
        self.was_recorded();
        if !self.is_in_graph() {
            self.0.mark.state.fetch_or(GRAPH, Relaxed);
        }
    }

    /// A node of a graph waits for it.
    pub(crate) fn is_awaited_by_graph(&self) {
        if self.is_awaited() {
            return;
        }
        awaited::is_awaited();
        // No capture is recording it, not knowing that.
        let mark = self.held_mark();
        self.0.mark.state.fetch_or(AWAITED, SeqCst);
        if self.is_captured()
            && let Some(capture) = mark.capture.shared()
        {
            awaited::note(self.raw(), &capture);
        }
    }

    /// Whether nodes of graphs wait for it.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.has(AWAITED)
    }

    /// Whether a graph records it whenever that is launched.
    pub(super) fn is_in_graph(&self) -> bool {
        self.has(GRAPH)
    }

    /// Whether it may stand for work again, though the capture that has recorded it last is over: a launch of a graph may have recorded
    /// it since.
    pub(crate) fn may_be_recorded_since(&self) -> bool {
        self.is_in_graph() && self.0.mark.capture.value().is_none_or(|capture| capture.is_over())
    }

    /// Whether who asks for it, or waits for it, has to look at more than that.
    #[inline]
    pub(super) fn may_be_no_work(&self) -> bool {
        self.has(OURS | THEIRS | CHECKED)
    }

    /// As [`query`](Event::query), for one that a capture may have recorded, or whose order is checked.
    #[cold]
    pub(super) fn query_asking(&self) -> Result<bool, Error> {
        self.check_not_captured()?;
        let is_done = self.here(RawEvent::query)?;
        if is_done {
            self.tell_waited_for();
        }
        Ok(is_done)
    }

    /// The same for [`synchronize`](Event::synchronize).
    #[cold]
    pub(super) fn synchronize_asking(&self) -> Result<(), Error> {
        self.check_not_captured()?;
        self.here(RawEvent::synchronize)?;
        self.tell_waited_for();
        Ok(())
    }

    fn tell_waited_for(&self) {
        if self.has(CHECKED) {
            check::waited_for_event(self.raw().handle().addr(), self.may_be_recorded_by_others());
        }
    }

    /// Refuses to ask whether a captured event is done: the driver would invalidate the capture.
    #[inline]
    pub(super) fn check_not_captured(&self) -> Result<(), Error> {
        if self.has(OURS | THEIRS) { self.check_recorded_since() } else { Ok(()) }
    }

    #[cold]
    fn check_recorded_since(&self) -> Result<(), Error> {
        // Of what others may have recorded since only the driver knows.
        let is_place = self.is_captured() || self.is_captured_by_others();
        if is_place && !self.may_be_recorded_since() { Err(self.captured()) } else { Ok(()) }
    }

    #[cold]
    fn captured(&self) -> Error {
        let refusal = format!(
            "{self} was last recorded in a stream that was being captured: it stands for a place in the graph, and not for work \
             that runs. Record it in another stream first"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }
}
