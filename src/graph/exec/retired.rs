//! What an instance kept for its nodes, until they were set to something else.

use crate::context::Context;
use crate::driver::calls::capture_mode::Relaxed;
use crate::event::{Event, EventOptions};
use crate::object::callback::{ask_until, hand_over, later};
use crate::object::thread::ThreadId;
use crate::op::node::{Hold, Holds};
use crate::stream::{Stream, StreamKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// What is let go of together. An object is listed once, however often it is exchanged, so an instance that is rebound for ever keeps
/// no more than it used.
#[derive(Default)]
pub(super) struct Leaving {
    objects: HashMap<usize, Hold>,
    rest: Vec<Holds>,
}

impl Leaving {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.rest.is_empty()
    }

    fn append(&mut self, other: Self) {
        self.objects.extend(other.objects);
        self.rest.extend(other.rest);
    }
}

impl Extend<Holds> for Leaving {
    fn extend<I: IntoIterator<Item = Holds>>(&mut self, all: I) {
        for mut holds in all.into_iter().filter(|holds| !holds.is_empty()) {
            match holds.take_only_inner() {
                Some(object) => drop(self.objects.insert(Arc::as_ptr(&object).addr(), object)),
                None => self.rest.push(holds),
            }
        }
    }
}

/// In which stream an instance was launched last, and what is kept for the launches until now.
#[derive(Default)]
pub(super) struct Launches {
    last: Weak<Stream>,
    /// The same stream, if the instance keeps by itself what its launches use: it has to tell when they are done, whoever destroys it.
    kept: Option<Arc<Stream>>,
    /// Whose default stream that is, if it is one that each thread has for itself.
    thread: Option<ThreadId>,
    /// Whether it was launched at all.
    any: bool,
    /// Whether others can launch it.
    by_others: bool,
    /// What goes when they are done, or what went then.
    retired: Option<Arc<Retired>>,
}

/// What goes together, when the same launches are done; `None` once they are.
struct Retired(Mutex<Option<Leaving>>);

impl Retired {
    fn new(leaving: Leaving) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(leaving))))
    }

    /// Goes when the event is done.
    fn after(done: Arc<Event>, leaving: Leaving) -> Arc<Self> {
        let retired = Self::new(leaving);
        let waiting = Arc::clone(&retired);
        ask_until(move || {
            let _relaxed = Relaxed::enter(done.driver().object_table());
            let is_done = done.query().unwrap_or_else(|_| nothing_runs(done.context()));
            if is_done {
                waiting.let_go();
            }
            is_done
        });
        retired
    }

    /// Goes as soon as the worker has time. Until then more joins it, so that the worker has one task at most.
    fn soon(leaving: Leaving) -> Arc<Self> {
        let retired = Self::new(leaving);
        let waiting = Arc::clone(&retired);
        hand_over(Box::new(move || waiting.let_go()));
        retired
    }

    fn let_go(&self) {
        let gone = self.0.lock().take();
        drop(gone); // outside of the lock: objects may end with it
    }

    /// Has more go with it; gives it back if all went before.
    fn add(&self, leaving: Leaving) -> Option<Leaving> {
        match &mut *self.0.lock() {
            Some(list) => list.append(leaving),
            None => return Some(leaving),
        }
        None
    }
}

impl Launches {
    /// It was launched in this stream, which `keeps` has it keep. What it kept instead comes back, to go outside of the lock.
    #[inline]
    pub(super) fn was_launched(&mut self, stream: &Arc<Stream>, keeps: bool) -> Option<Arc<Stream>> {
        self.any = true;
        self.retired = None;
        let is_other = !std::ptr::eq(self.last.as_ptr(), Arc::as_ptr(stream));
        if is_other {
            self.last = Arc::downgrade(stream);
        }
        self.thread = (stream.kind() == StreamKind::PerThread).then(ThreadId::current);
        if !is_other && keeps == self.kept.is_some() {
            return None;
        }
        // Of somebody else's stream nobody knows how long it is there.
        let is_lent = stream.kind() == StreamKind::Wrapped && !stream.is_owned();
        let kept = (keeps && !is_lent).then(|| Arc::clone(stream));
        std::mem::replace(&mut self.kept, kept)
    }

    /// Others can launch it from now on.
    pub(super) fn may_be_by_others(&mut self) {
        self.by_others = true;
    }

    /// Whether they are known to be done, because the stream of the last one has nothing left to do.
    pub(super) fn are_done(&self) -> bool {
        if self.by_others {
            return false;
        }
        if !self.any {
            return true;
        }
        let Some(stream) = self.last_here() else { return false };
        let _relaxed = Relaxed::enter(stream.driver().object_table());
        stream.query().unwrap_or(false)
    }

    /// Whether anybody can tell when the launches until now are done.
    #[inline]
    pub(super) fn can_tell(&self) -> bool {
        !self.by_others && (!self.any || self.last_here().is_some())
    }

    /// Lets go of what only the launches until now use, when they are done: one event and one question serve all that is retired between
    /// two launches. If nobody can tell when they are done, because the stream is gone, is being captured, or is another thread's
    /// own, it comes back.
    pub(super) fn retire(&mut self, leaving: Leaving) -> Leaving {
        if leaving.is_empty() {
            return leaving;
        }
        let (are_done, leaving) = match &self.retired {
            Some(retired) => match retired.add(leaving) {
                Some(leaving) => (true, leaving),
                None => return Leaving::default(),
            },
            None => (!self.any, leaving),
        };
        if are_done {
            self.retired = Some(Retired::soon(leaving));
            return Leaving::default();
        }
        // Launches of one instance run one after the other: the last is done last.
        let Some(done) = self.last_here().and_then(|stream| mark(&stream)) else { return leaving };
        self.retired = Some(Retired::after(done, leaving));
        Leaving::default()
    }
}

impl Launches {
    /// The stream of the last launch, unless that is another thread's own, of which this thread's object means its own.
    fn last_here(&self) -> Option<Arc<Stream>> {
        let is_here = self.thread.is_none_or(|thread| thread == ThreadId::current());
        self.last.upgrade().filter(|_| is_here)
    }

    /// The same, which is not kept here any more.
    pub(super) fn take_last(&mut self) -> Option<Arc<Stream>> {
        let last = self.last_here();
        self.kept = None;
        last
    }
}

/// Whether nothing runs there any more: not after an error of the device, and not where it was reset. Any other error of a question is no
/// answer.
fn nothing_runs(context: &Context) -> bool {
    context.lost().is_some() || context.is_gone()
}

/// Lets go of what came back, now that the instance is gone: when the stream of the last launch tells that it is done. Where none ever can,
/// that is the caller's duty.
pub(super) fn retire_last(stream: Option<Arc<Stream>>, leaving: Leaving) {
    match stream.filter(|stream| stream.kind() != StreamKind::PerThread) {
        Some(stream) if !leaving.is_empty() => when_told(stream, leaving),
        _ => later(leaving),
    }
}

/// Lets go of it when what the stream has by now, or by the end of its capture, is done.
fn when_told(stream: Arc<Stream>, leaving: Leaving) {
    let (mut leaving, mut event) = (Some(leaving), None::<Arc<Event>>);
    ask_until(move || {
        let _relaxed = Relaxed::enter(stream.driver().object_table());
        if stream.is_capturing().unwrap_or(false) {
            return false;
        }
        event = event.take().or_else(|| mark(&stream));
        let told = event.as_ref().map_or_else(|| stream.query(), |event| event.query());
        let is_done = told.unwrap_or_else(|_| nothing_runs(stream.context()));
        if is_done {
            drop(leaving.take());
        }
        is_done
    });
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
