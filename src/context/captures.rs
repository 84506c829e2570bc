//! Captures that are under way in a context, and what they forbid for all of it.

use super::Context;
use crate::driver::calls::capture_mode;
use crate::object::error::{Error, Status};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many captures of this library's are under way in a context.
#[derive(Default)]
pub(super) struct Captures {
    all: AtomicUsize,
    /// Streams among them that wait for the legacy default stream, and it for them.
    blocking: AtomicUsize,
}

impl Context {
    /// One more capture of this library's is under way in the context.
    pub(crate) fn capture_began(&self) {
        capture_mode::capture_began();
        self.captures.all.fetch_add(1, Relaxed);
    }

    /// One is over.
    pub(crate) fn capture_ended(&self) {
        capture_mode::capture_ended();
        self.captures.all.fetch_sub(1, Relaxed);
    }

    /// A blocking stream is under capture.
    pub(crate) fn blocking_stream_captured(&self) {
        self.captures.blocking.fetch_add(1, Relaxed);
    }

    /// It is no more.
    pub(crate) fn blocking_stream_released(&self) {
        self.captures.blocking.fetch_sub(1, Relaxed);
    }

    /// Refuses to wait for the whole context while something is captured in it.
    pub(super) fn check_no_capture(&self) -> Result<(), Error> {
        if self.captures.all.load(Relaxed) == 0 {
            return Ok(());
        }
        Err(self.capture_goes_on(
            "a builder captures in it, and waiting for the whole context would invalidate that, whatever its mode: synchronise \
             streams or events",
        ))
    }

    /// Refuses work in the legacy default stream while a stream is captured that waits for that.
    #[inline]
    pub(crate) fn check_legacy(&self) -> Result<(), Error> {
        if self.captures.blocking.load(Relaxed) == 0 { Ok(()) } else { Err(self.legacy_is_blocked()) }
    }

    #[cold]
    fn legacy_is_blocked(&self) -> Error {
        self.capture_goes_on(
            "a blocking stream is being captured, and work in the legacy default stream would invalidate that: use another stream",
        )
    }

    #[cold]
    fn capture_goes_on(&self, why: &str) -> Error {
        Error::new(Status::INVALID_ARGUMENT, format!("{self}: {why}. The capture is still valid")).about(self)
    }
}
