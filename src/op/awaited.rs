//! What a stream waits for.

use crate::event::Event;
use crate::stream::Stream;
use std::fmt;

/// What a stream waits for: an event, or the end of another stream, for which an event stands that the caller does not know.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Awaited<'a> {
    pub(crate) event: &'a Event,
    pub(super) stream: Option<&'a Stream>,
}

impl<'a> Awaited<'a> {
    /// The event.
    pub(crate) fn of(event: &'a Event) -> Self {
        Self { event, stream: None }
    }
}

impl fmt::Display for Awaited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stream {
            Some(stream) => write!(f, "the end of {stream}"),
            None => self.event.fmt(f),
        }
    }
}
