//! The stream in whose order a buffer's memory is freed.

use crate::context::Context;
use crate::error::Error;
use crate::event::{Event, EventOptions};
use crate::stream::{Stream, StreamKind, StreamOptions};
use std::sync::Arc;
use std::thread::ThreadId;

/// A stream, and which one it means: a default stream means that of its context, and the per-thread one that of a thread.
#[derive(Clone)]
pub(super) struct Order {
    stream: Arc<Stream>,
    /// The thread on which the stream was named, if it means another one on each.
    thread: Option<ThreadId>,
    /// The point in that thread's stream after which the memory may go.
    mark: Option<Arc<Event>>,
    /// The context in which the memory came, if that is another one than the stream's: with it the memory goes.
    origin: Option<Arc<Context>>,
}

impl Order {
    pub(super) fn of(stream: &Arc<Stream>) -> Self {
        let thread = (stream.kind() == StreamKind::PerThread).then(|| std::thread::current().id());
        Self { stream: Arc::clone(stream), thread, mark: None, origin: None }
    }

    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The context in which the memory came.
    pub(super) fn origin(&self) -> &Arc<Context> {
        self.origin.as_ref().unwrap_or(self.stream.context())
    }

    /// The same order for memory that came in that of another.
    pub(super) fn in_place_of(self, before: &Self) -> Self {
        let origin = before.origin();
        Self { origin: (!Arc::ptr_eq(origin, self.stream.context())).then(|| Arc::clone(origin)), ..self }
    }

    fn is_here(&self) -> bool {
        self.thread.is_none_or(|thread| thread == std::thread::current().id())
    }

    /// This order, if only this thread can mark where it is in the stream.
    pub(super) fn to_mark(&self) -> Option<Self> {
        (self.thread.is_some() && self.is_here()).then(|| self.clone())
    }

    /// The same order, with a mark at where the thread's stream is now.
    pub(super) fn marked(mut self) -> Result<Self, Error> {
        let event = Event::create(self.stream.context(), &EventOptions::default())?;
        event.record(&self.stream)?;
        self.mark = Some(event);
        Ok(self)
    }

    /// Makes another stream wait for what is in this one by now, or, where only another thread can name it, for the mark.
    pub(super) fn wait_in(&self, other: &Stream) -> Result<(), Error> {
        match &self.mark {
            _ if self.is_here() => other.wait_stream(&self.stream),
            Some(mark) => other.wait_event(mark),
            None => self.stream.context().synchronize(),
        }
    }

    /// A stream in which the memory can be freed, here and now.
    ///
    /// Another thread's stream cannot be named. A new stream then takes its place, which waits for the mark, and goes on by
    /// itself after it is destroyed; where there is no mark, all work of the context is waited for. What was in a stream that
    /// went with its context is over.
    pub(super) fn stream_to_free_on(&self) -> Result<Arc<Stream>, Error> {
        if self.origin.is_some() && self.stream.context().is_gone() {
            return Stream::create(self.origin(), &StreamOptions::default());
        }
        if self.is_here() {
            return Ok(Arc::clone(&self.stream));
        }
        let context = self.stream.context();
        let stand_in = Stream::create(context, &StreamOptions::default())?;
        match &self.mark {
            Some(mark) => stand_in.wait_event(mark)?,
            None => context.synchronize()?,
        }
        Ok(stand_in)
    }
}
