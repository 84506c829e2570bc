//! What an instance kept for its nodes, until they were set to something else.

use crate::event::{Event, EventOptions};
use crate::object::callback::{ask_until, later};
use crate::op::node::Holds;
use crate::stream::Stream;
use std::sync::{Arc, Weak};

/// In which stream an instance was launched last.
#[derive(Default)]
pub(super) struct Launches {
    last: Weak<Stream>,
    /// Whether it was launched at all.
    any: bool,
}

impl Launches {
    /// It was launched in this stream.
    #[inline]
    pub(super) fn was_launched(&mut self, stream: &Arc<Stream>) {
        self.any = true;
        if !std::ptr::eq(self.last.as_ptr(), Arc::as_ptr(stream)) {
            self.last = Arc::downgrade(stream);
        }
    }

    /// Lets go of what only the launches until now use, when they are done. If nobody can tell when that is, because the stream is gone or
    /// is being captured, it comes back.
    pub(super) fn retire(&self, holds: Holds) -> Option<Holds> {
        if holds.is_empty() {
            return None;
        }
        if !self.any {
            later(holds);
            return None;
        }
        let Some(done) = self.last.upgrade().and_then(|stream| mark(&stream)) else { return Some(holds) };
        // Launches of one instance run one after the other: the last is done last.
        let mut holds = Some(holds);
        ask_until(move || {
            // After an error of the device nothing runs any more.
            let is_done = done.query().unwrap_or(true);
            if is_done {
                drop(holds.take());
            }
            is_done
        });
        None
    }
}

/// An event that is done when what is in the stream by now is done.
fn mark(stream: &Arc<Stream>) -> Option<Arc<Event>> {
    if stream.is_capturing().unwrap_or(true) {
        return None;
    }
    let event = Event::create(stream.context(), &EventOptions::default()).ok()?;
    event.record(stream).ok()?;
    Some(event)
}
