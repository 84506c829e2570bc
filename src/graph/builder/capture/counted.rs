//! Streams that are about to be captured, and who has to leave them first.

use crate::object::handle;
use crate::stream::Stream;
use std::time::Duration;

/// How long calls of other threads are waited for, most of which take less: some wait for this thread.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);

/// The same before a stream joins a capture, which happens more often, and while others wait for that.
pub(super) const PATIENCE_OF_JOIN: Duration = Duration::from_micros(200);

/// Whoever else has the stream may be about to enqueue something, and believe that it is done at once, or to ask what would invalidate
/// the capture.
pub(super) fn let_others_leave(stream: &Stream, patience: Duration) {
    if !stream.is_of_builder() {
        handle::let_others_leave(patience);
    }
}

/// A stream of a capture that its context knows of, also before the driver does; not any more, if it did not begin.
pub(super) struct Counted<'a> {
    stream: &'a Stream,
    is_blocking: bool,
}

impl<'a> Counted<'a> {
    pub(super) fn new(stream: &'a Stream, is_blocking: bool, patience: Duration) -> Self {
        stream.context().capture_begins(is_blocking, patience);
        Self { stream, is_blocking }
    }

    /// It has begun.
    pub(super) fn stay(self) {
        std::mem::forget(self);
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.stream.context().capture_ended(self.is_blocking);
    }
}
