//! What an instance kept for its nodes, until they were set to something else.

use crate::event::{Event, EventOptions};
use crate::object::callback::{ask_until, later};
use crate::op::node::Holds;
use crate::stream::Stream;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// In which stream an instance was launched last, and what is kept for the launches until now.
#[derive(Default)]
pub(super) struct Launches {
    last: Weak<Stream>,
    /// Whether it was launched at all.
    any: bool,
    /// What goes when they are done, if there is something.
    retired: Option<Arc<Retired>>,
}

/// What goes together, when the same launches are done; `None` once they are.
struct Retired(Mutex<Option<Vec<Holds>>>);

impl Retired {
    /// Waits for what is in the stream by now. `None` if nobody can tell when that is done.
    fn after(stream: &Arc<Stream>) -> Option<Arc<Self>> {
        let done = mark(stream)?;
        let retired = Arc::new(Self(Mutex::new(Some(Vec::new()))));
        let waiting = Arc::clone(&retired);
        ask_until(move || {
            // After an error of the device nothing runs any more.
            let is_done = done.query().unwrap_or(true);
            if is_done {
                let gone = waiting.0.lock().take();
                drop(gone); // outside of the lock: objects may end with it
            }
            is_done
        });
        Some(retired)
    }

    fn add(&self, holds: impl Iterator<Item = Holds>) {
        let mut list = self.0.lock();
        if let Some(list) = &mut *list {
            return list.extend(holds);
        }
        drop(list);
        later(holds.collect::<Vec<_>>());
    }
}

impl Launches {
    /// It was launched in this stream.
    #[inline]
    pub(super) fn was_launched(&mut self, stream: &Arc<Stream>) {
        self.any = true;
        self.retired = None;
        if !std::ptr::eq(self.last.as_ptr(), Arc::as_ptr(stream)) {
            self.last = Arc::downgrade(stream);
        }
    }

    /// Lets go of what only the launches until now use, when they are done: one event and one question serve all that is retired between
    /// two launches. If nobody can tell when they are done, because the stream is gone or is being captured, it comes back.
    pub(super) fn retire(&mut self, holds: impl IntoIterator<Item = Holds>) -> Vec<Holds> {
        let mut holds = holds.into_iter().filter(|holds| !holds.is_empty()).peekable();
        if holds.peek().is_none() {
            return Vec::new();
        }
        if !self.any {
            later(holds.collect::<Vec<_>>());
            return Vec::new();
        }
        if self.retired.is_none() {
            // Launches of one instance run one after the other: the last is done last.
            self.retired = self.last.upgrade().and_then(|stream| Retired::after(&stream));
        }
        match &self.retired {
            Some(retired) => retired.add(holds),
            None => return holds.collect(),
        }
        Vec::new()
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
