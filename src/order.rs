//! The stream in whose order something is given back: a buffer's memory.

use crate::context::Context;
use crate::event::{Event, EventOptions};
use crate::object::error::Error;
use crate::object::thread::ThreadId;
use crate::stream::{Stream, StreamKind, StreamOptions};

/// A stream, and which one it means: a default stream means that of its context, and the per-thread one that of a thread.
#[derive(Clone)]
pub(crate) struct Order {
    stream: Stream,
    /// The thread on which the stream was named, if it means another one on each.
    thread: Option<ThreadId>,
    /// The point in that thread's stream after which the memory may go.
    mark: Option<Event>,
}

impl Order {
    #[inline]
    pub(crate) fn of(stream: Stream) -> Self {
        let thread = (stream.kind() == StreamKind::PerThread).then(ThreadId::current);
        Self { stream, thread, mark: None }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether the stream is being captured now; one that cannot tell, because its context was reset, is not.
    pub(crate) fn is_capturing(&self) -> bool {
        self.stream.is_capturing().unwrap_or(false)
    }

    /// Whether the stream means the same on each thread, and cannot be under capture.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.thread.is_none() && !self.stream.may_be_capturing()
    }

    fn is_here(&self) -> bool {
        self.thread.is_none_or(|thread| thread == ThreadId::current())
    }

    /// This order, if only this thread can mark where it is in the stream.
    pub(crate) fn to_mark(&self) -> Option<Self> {
        (self.thread.is_some() && self.is_here()).then(|| self.clone())
    }

    /// The same order, with a mark at where the thread's stream is now.
    pub(crate) fn marked(mut self) -> Result<Self, Error> {
        let event = Event::create(self.stream.context(), &EventOptions::default())?;
        event.record(&self.stream)?;
        self.mark = Some(event);
        Ok(self)
    }

    /// Makes another stream wait for what is in this one by now, or, where only another thread can name it, for the mark.
    pub(crate) fn wait_in(&self, other: &Stream) -> Result<(), Error> {
        match &self.mark {
            _ if self.is_here() => other.wait_stream(&self.stream),
            Some(mark) => other.wait_event(mark),
            None => self.stream.context().synchronize(),
        }
    }

    /// A stream in which the memory can be freed, here and now, in place of this one; `None` if this one will do.
    ///
    /// Another thread's stream cannot be named. A new stream then takes its place, which waits for the mark, and goes on by
    /// itself after it is destroyed; where there is no mark, all work of the context is waited for. What was in a stream that
    /// was destroyed with its context is over: a stream of `origin`, the context in which the memory came, takes its place, or, where that
    /// is known to be gone, too, of the device's primary context.
    #[inline]
    pub(crate) fn stand_in_to_free_on(
        &self,
        origin: Option<&Context>,
        is_origin_gone: bool,
    ) -> Result<Option<Stream>, Error> {
        let context = self.stream.context();
        let is_elsewhere = origin.is_some_and(|origin| origin != context);
        if (is_elsewhere || is_origin_gone) && context.is_gone() {
            return stand_in_for(context, origin.filter(|_| !is_origin_gone)).map(Some);
        }
        if self.is_here() { Ok(None) } else { self.stand_in_for_another_thread().map(Some) }
    }

    #[cold]
    fn stand_in_for_another_thread(&self) -> Result<Stream, Error> {
        let context = self.stream.context();
        let stand_in = Stream::create(context, &StreamOptions::default())?;
        match &self.mark {
            Some(mark) => stand_in.wait_event(mark)?,
            None => context.synchronize()?,
        }
        Ok(stand_in)
    }
}

/// A stream to free memory in whose own went with its context, `gone`: one of the living context, or of the primary one of its device,
/// which is retained for as long as that takes. Everything that came before in the stream is over: a reset waits for it (measured).
#[cold]
pub(crate) fn stand_in_for(gone: &Context, living: Option<&Context>) -> Result<Stream, Error> {
    match living {
        Some(living) => Stream::create(living, &StreamOptions::default()),
        None => Stream::create(&gone.device().primary_context()?, &StreamOptions::default()),
    }
}
