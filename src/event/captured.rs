//! Events that were recorded in a stream under capture: they stand for a place in a graph, and not for work that runs.

use super::Event;
use crate::object::error::{Error, Status};
use crate::object::slot::{Exposed, Slot};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A capture of this library's has recorded it last.
const OURS: u8 = 1;
/// Others may have recorded it last, perhaps in a capture of theirs.
const OTHERS: u8 = 2;

/// In which capture an event was recorded last.
pub(super) struct Mark {
    state: AtomicU8,
    /// The capture, of a type that a later floor knows.
    capture: Slot<dyn Exposed>,
}

impl Mark {
    /// `is_shared`: whether others have the native event, too.
    pub(super) fn new(is_shared: bool) -> Self {
        Self { state: AtomicU8::new(if is_shared { OTHERS } else { 0 }), capture: Slot::new() }
    }
}

impl Event {
    /// Whether waiting for it may make a stream part of a capture.
    #[inline]
    pub(crate) fn may_be_captured(&self) -> bool {
        self.mark.state.load(Relaxed) != 0
    }

    /// Whether somebody else may have recorded it last.
    pub(crate) fn may_be_recorded_by_others(&self) -> bool {
        self.mark.state.load(Relaxed) & OTHERS != 0
    }

    /// The native event was handed out, or it was recorded in somebody else's capture.
    pub(crate) fn is_shared(&self) {
        if !self.may_be_recorded_by_others() {
            self.mark.state.fetch_or(OTHERS, Relaxed);
        }
    }

    /// The native handle is about to be handed out.
    pub(super) fn is_known_to_others(&self) {
        self.is_shared();
        if self.is_captured()
            && let Some(capture) = self.mark.capture.value()
        {
            capture.is_known_to_others();
        }
    }

    /// The capture of this library's that has recorded it last, if one has.
    pub(crate) fn captured_in<T: Exposed>(&self) -> Option<Arc<T>> {
        if self.is_captured() { self.mark.capture.get() } else { None }
    }

    fn is_captured(&self) -> bool {
        self.mark.state.load(Relaxed) & OURS != 0
    }

    /// A capture has recorded it.
    pub(crate) fn was_captured(&self, capture: Arc<dyn Exposed>) {
        drop(self.mark.capture.replace(Some(capture)));
        self.mark.state.fetch_or(OURS, Relaxed);
    }

    /// It was recorded in a stream that is not under capture.
    #[cold]
    pub(crate) fn was_recorded_outside(&self) {
        if self.is_captured() {
            self.mark.state.fetch_and(!OURS, Relaxed);
            drop(self.mark.capture.replace(None));
        }
    }

    /// Refuses to ask whether a captured event is done: the driver would invalidate the capture.
    #[inline]
    pub(super) fn check_not_captured(&self) -> Result<(), Error> {
        if self.is_captured() { Err(self.captured()) } else { Ok(()) }
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
