//! Whether a stream may be under capture: known without asking the driver, where only this library can begin a capture of it.

use super::{Stream, StreamKind};
use crate::check;
use crate::context::OwnEvent;
use crate::driver::CallError;
use crate::driver::calls::context::Current;
use crate::driver::calls::host_function::is_capturing;
use crate::driver::calls::stream::RawStream;
use crate::object::error::{Error, Status};
use crate::object::slot::{Exposed, Locked, Slot};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A capture of this library's has the stream.
const OURS: u8 = 1;
/// Others may capture the stream, so the driver is asked.
const ASK: u8 = 2;
/// A builder has made the stream for itself: an operation that is meant for its capture is not done when that is over.
const OF_BUILDER: u8 = 4;
/// A capture of this library's has the stream, or had it.
const HAS_BEEN: u8 = 8;

/// Somebody wants to know what nothing orders: each operation tells what it does.
const CHECKED: u8 = 16;

/// What is known of captures of a stream.
pub(super) struct Capturing {
    state: AtomicU8,
    /// The capture, of a type that a later floor knows.
    capture: Slot<dyn Exposed>,
}

impl Capturing {
    /// `is_shared`: whether others have the native stream, too; `is_checked`: whether operations tell what they do.
    pub(super) fn new(is_shared: bool, is_checked: bool) -> Self {
        let state = if is_shared { ASK } else { 0 } | if is_checked { CHECKED } else { 0 };
        Self { state: AtomicU8::new(state), capture: Slot::new() }
    }

    /// Whether a capture of this library's has the stream, or had it.
    #[inline]
    pub(super) fn has_been(&self) -> bool {
        self.state.load(Relaxed) & HAS_BEEN != 0
    }
}

/// Whether a stream waits for the legacy default stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocking(pub(crate) bool);

/// While it lives, no capture of this library's begins in a stream.
pub(crate) struct NoCapture<'a> {
    _slot: Locked<'a, dyn Exposed>,
    /// What had the stream before, to be dropped without the lock.
    _before: Option<Arc<dyn Exposed>>,
}

/// Who captures a stream.
pub(crate) enum CapturedBy<T> {
    Nobody,
    /// This library: the capture.
    Us(Arc<T>),
    /// Somebody else.
    Others,
}

impl Stream {
    /// Whether the stream may be under capture, or what it does is checked: if not, nobody need be asked.
    #[inline]
    pub(crate) fn may_be_capturing(&self) -> bool {
        self.0.capturing.state.load(Relaxed) & !HAS_BEEN != 0
    }

    /// Whether operations tell what they do.
    #[inline]
    pub(crate) fn is_order_checked(&self) -> bool {
        self.0.capturing.state.load(Relaxed) & CHECKED != 0
    }

    /// Whether a capture of this library's has it, or is about to.
    #[inline]
    pub(crate) fn is_taken(&self) -> bool {
        self.0.capturing.state.load(Relaxed) & OURS != 0
    }

    /// Who captures the stream.
    #[inline]
    pub(crate) fn captured_by<T: Exposed>(&self) -> Result<CapturedBy<T>, Error> {
        let state = self.0.capturing.state.load(Relaxed);
        if state & (OURS | ASK) == 0 {
            return Ok(CapturedBy::Nobody);
        }
        let ours = (state & OURS != 0).then(|| self.0.capturing.capture.get::<T>()).flatten();
        if let Some(capture) = ours.filter(|capture| !capture.is_over()) {
            return Ok(CapturedBy::Us(capture));
        }
        Ok(if self.asked_whether_capturing()? { CapturedBy::Others } else { CapturedBy::Nobody })
    }

    /// What the driver says.
    fn asked_whether_capturing(&self) -> Result<bool, Error> {
        let _current = self.enter_if_default()?;
        self.asked_there()
    }

    /// The same, where its context is current if it is a default stream. Of the legacy one the driver does not tell while a stream is
    /// captured that waits for that.
    fn asked_there(&self) -> Result<bool, Error> {
        if self.kind() == StreamKind::Legacy {
            self.context().check_legacy()?;
        }
        let asked = is_capturing(self.context().table(), self.raw());
        asked.map_err(|error| self.context().failed(error, self))
    }

    /// Whether work in the stream becomes part of a graph, instead of being done.
    ///
    /// # Errors
    /// The driver's. It is asked only for streams that others may have: wrapped ones, default streams, those whose native handle
    /// was handed out, and those that waited for somebody else's event.
    pub fn is_capturing(&self) -> Result<bool, Error> {
        match self.0.capturing.state.load(Relaxed) {
            state if state & OURS != 0 => Ok(true),
            state if state & ASK == 0 => self.context().check_there(self).map(|()| false),
            _ => self.asked_whether_capturing(),
        }
    }

    /// Others may capture the stream from now on.
    pub(crate) fn may_be_captured_by_others(&self) {
        if self.0.capturing.state.load(Relaxed) & ASK == 0 {
            self.0.capturing.state.fetch_or(ASK, Relaxed);
            if self.is_order_checked() {
                check::is_shared(self.key());
            }
        }
    }

    /// Whether others may have the native stream.
    #[inline]
    pub(crate) fn may_be_known_to_others(&self) -> bool {
        self.0.capturing.state.load(Relaxed) & ASK != 0
    }

    /// Whether nobody else can enqueue anything here, nor capture it.
    #[inline]
    pub(crate) fn is_ours_alone(&self) -> bool {
        self.kind() == StreamKind::Created && !self.may_be_known_to_others()
    }

    /// Whether the driver says now that the stream is under capture: for whoever has its context current where it is a default stream, and
    /// for whom no answer is no promise.
    #[inline]
    pub(crate) fn may_capture_now(&self) -> bool {
        is_capturing(self.driver().object_table(), self.raw()).unwrap_or(true)
    }

    /// Records an event of the library's own, by which is told when what the stream has by now is done; false if that goes into a capture, so
    /// that the event tells of nothing. No capture of this library's begins meanwhile; whatever else keeps one from beginning may take
    /// long, and is not waited for.
    pub(crate) fn record_own(&self, event: &OwnEvent) -> Result<bool, CallError> {
        let Some(_begins) = self.0.capturing.capture.try_lock() else { return Ok(false) };
        if self.0.capturing.state.load(Relaxed) & OURS != 0 {
            return Ok(false);
        }
        event.record(self.raw())?;
        // Others may have begun one before this, or since; and it may be over by now.
        Ok(!self.may_be_known_to_others() || (!self.may_capture_now() && event.tells_of_work()))
    }

    /// The native handle is about to be handed out.
    pub(super) fn is_known_to_others(&self) {
        self.may_be_captured_by_others();
        if self.0.capturing.state.load(Relaxed) & OURS != 0
            && let Some(capture) = self.0.capturing.capture.value()
        {
            capture.is_known_to_others();
        }
    }

    /// Has a capture begin, which has the stream from then on. Whoever asks meanwhile who captures the stream waits: what came in between
    /// would be captured, and nothing would keep what it uses.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if another capture has it by then; those of `begin`. The stream is as it was then.
    pub(crate) fn capture_begins<T>(
        &self,
        begin: impl FnOnce(Blocking) -> Result<(T, Arc<dyn Exposed>), Error>,
    ) -> Result<T, Error> {
        let begun = self.may_begin_capture(|blocking| begin(blocking).map(Some))?;
        Ok(begun.expect("it has begun"))
    }

    /// The same for what may turn out to be no capture: `None`, and the stream is as it was.
    pub(crate) fn may_begin_capture<T>(
        &self,
        begin: impl FnOnce(Blocking) -> Result<Option<(T, Arc<dyn Exposed>)>, Error>,
    ) -> Result<Option<T>, Error> {
        let slot = self.0.capturing.capture.lock();
        if slot.value().is_some_and(|capture| !capture.is_over()) {
            return Err(self.under_capture("takes part in one capture at a time"));
        }
        // Asked of a stream under capture, the driver would invalidate that.
        let is_blocking = self.is_default() || !self.here(RawStream::is_non_blocking)?;
        let state = self.0.capturing.state.fetch_or(OURS | HAS_BEEN, SeqCst);
        match begin(Blocking(is_blocking)) {
            Ok(Some((begun, capture))) => {
                slot.put(Some(capture));
                Ok(Some(begun))
            }
            other => {
                if state & OURS == 0 {
                    self.0.capturing.state.fetch_and(!OURS, Relaxed);
                }
                other.map(|_| None)
            }
        }
    }

    /// A capture has the stream, since the driver has made it part of that; false if it has it already, or another one has.
    pub(crate) fn has_begun_capture(&self, capture: Arc<dyn Exposed>) -> bool {
        let slot = self.0.capturing.capture.lock();
        if slot.value().is_some_and(|capture| !capture.is_over()) {
            return false;
        }
        self.0.capturing.state.fetch_or(OURS | HAS_BEEN, SeqCst);
        slot.put(Some(capture));
        true
    }

    /// Keeps captures of this library's from beginning in the stream; `None` if one has it.
    pub(crate) fn hold_captures(&self) -> Option<NoCapture<'_>> {
        let mut slot = self.0.capturing.capture.lock();
        if slot.value().is_some_and(|capture| !capture.is_over()) {
            return None;
        }
        // One that is over leaves it now, since whoever asks about it would wait for this lock.
        self.0.capturing.state.fetch_and(!OURS, Relaxed);
        let before = slot.replace(None);
        Some(NoCapture { _slot: slot, _before: before })
    }

    /// A builder has made the stream for itself.
    pub(crate) fn belongs_to_builder(&self) {
        self.0.capturing.state.fetch_or(OF_BUILDER, Relaxed);
    }

    /// Whether a builder has made it for itself.
    pub(crate) fn is_of_builder(&self) -> bool {
        self.0.capturing.state.load(Relaxed) & OF_BUILDER != 0
    }

    /// Refuses an operation that came too late for the capture of a builder's own stream.
    #[cold]
    pub(crate) fn check_not_late(&self) -> Result<(), Error> {
        if !self.is_of_builder() {
            return Ok(());
        }
        let refusal = format!(
            "the capture of {self} is over, and the stream is the builder's alone; use another stream"
        );
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self))
    }

    /// A capture that had it is over. Another one that has begun since has it all the same: as soon as the first is known to be over,
    /// another thread may have the stream captured anew.
    pub(crate) fn capture_ends(&self) {
        let slot = self.0.capturing.capture.lock();
        if slot.value().is_some_and(|capture| !capture.is_over()) {
            return;
        }
        self.0.capturing.state.fetch_and(!OURS, Relaxed);
        slot.put(None);
    }

    /// Refuses, for a stream under capture, what would invalidate that.
    #[inline]
    pub(crate) fn check_not_capturing(&self, what: &str) -> Result<(), Error> {
        if self.may_be_capturing() && self.is_capturing()? { Err(self.under_capture(what)) } else { Ok(()) }
    }

    /// Begins a call that would invalidate a capture of the stream: refused while it is captured. Its context is current from then on if it
    /// is a default stream.
    // A call of its own, with what it answers in memory, took 30 of the 175 instructions of a query.
    #[inline(always)]
    pub(crate) fn enter_uncaptured(&self, what: &str) -> Result<Option<Current>, Error> {
        let current = self.enter_if_default()?;
        if self.may_be_capturing() {
            self.check_uncaptured_there(what)?;
        }
        Ok(current)
    }

    #[inline(never)]
    fn check_uncaptured_there(&self, what: &str) -> Result<(), Error> {
        let state = self.0.capturing.state.load(Relaxed);
        if state & OURS != 0 || (state & ASK != 0 && self.asked_there()?) {
            return Err(self.under_capture(what));
        }
        Ok(())
    }

    /// The refusal of something that would invalidate the capture of the stream.
    #[cold]
    pub(crate) fn under_capture(&self, why: &str) -> Error {
        let refusal = format!("{self} is being captured, and {why}. The capture is still valid");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::stream::StreamOptions;
    use std::sync::atomic::AtomicBool;

    /// A capture, and whether it is over.
    #[derive(Default)]
    struct Fake(AtomicBool);

    impl Exposed for Fake {
        fn is_known_to_others(&self) {}

        fn is_over(&self) -> bool {
            self.0.load(Relaxed)
        }
    }

    fn begin(stream: &Stream) -> Result<Arc<Fake>, Error> {
        let capture = Arc::new(Fake::default());
        stream.capture_begins(|_| Ok((Arc::clone(&capture), capture as Arc<dyn Exposed>)))
    }

    fn is_captured_by(stream: &Stream, capture: &Arc<Fake>) -> bool {
        matches!(stream.captured_by::<Fake>(), Ok(CapturedBy::Us(by)) if Arc::ptr_eq(&by, capture))
    }

    #[test]
    fn a_capture_that_ends_late_leaves_the_stream_to_the_next() {
        let context = Context::on_softcuda();
        let stream = Stream::create(&context, &StreamOptions::default()).expect("there is room");
        let first = begin(&stream).expect("nothing has it");
        assert!(begin(&stream).is_err());
        first.0.store(true, Relaxed);
        let second = begin(&stream).expect("the first is over");
        stream.capture_ends();
        assert!(is_captured_by(&stream, &second));
        second.0.store(true, Relaxed);
        stream.capture_ends();
        assert!(!stream.may_be_capturing());
    }
}
