//! How the host waits for what devices do with memory that it reaches, too.

use super::memory::Access;
use crate::event::{Event, EventOptions};
use crate::object::error::Error;
use crate::stream::Stream;
use parking_lot::Mutex;

/// Work that the host has to wait for: an event for each stream that uses the memory.
pub(super) struct HostUse(Mutex<Vec<Mark>>);

struct Mark {
    stream: Stream,
    event: Event,
    pending: Pending,
}

/// What is enqueued in a stream, and was not waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// The event was recorded after it.
    Work(Access),
    /// Nothing tells when it is done but the stream.
    Unmarked,
}

impl HostUse {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Sees to it that what is about to be enqueued can be marked.
    pub(super) fn begins(&self, stream: &Stream) -> Result<(), Error> {
        let mut marks = self.0.lock();
        if !marks.iter().any(|mark| mark.stream == *stream) {
            let event = Event::create(stream.context(), &EventOptions::default())?;
            marks.push(Mark { stream: stream.clone(), event, pending: Pending::Nothing });
        }
        Ok(())
    }

    /// It was enqueued.
    pub(super) fn was_used(&self, stream: &Stream, access: Access) -> Result<(), Error> {
        let mut marks = self.0.lock();
        let Some(mark) = marks.iter_mut().find(|mark| mark.stream == *stream) else {
            return Ok(());
        };
        let recorded = mark.event.record(stream);
        mark.pending = match (mark.pending, &recorded) {
            (Pending::Unmarked, _) | (_, Err(_)) => Pending::Unmarked,
            (Pending::Work(Access::Write), Ok(())) => Pending::Work(Access::Write),
            (_, Ok(())) => Pending::Work(access),
        };
        recorded
    }

    /// Waits until the host may read the memory, or write it, too.
    pub(super) fn wait(&self, access: Access) -> Result<(), Error> {
        for mark in self.0.lock().iter_mut() {
            match mark.pending {
                Pending::Nothing => continue,
                Pending::Work(Access::Read) if access == Access::Read => continue,
                Pending::Work(_) => mark.event.synchronize()?,
                Pending::Unmarked => mark.stream.synchronize()?,
            }
            mark.pending = Pending::Nothing;
        }
        Ok(())
    }
}
