//! Streams: queues of work that runs in order.

use crate::context::Context;
use crate::driver::calls::stream::RawStream;
use crate::driver::{CallError, Driver, sys};
use crate::error::{Error, Status};
use crate::event::{Event, EventOptions};
use crate::handle::{Header, object};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to create a stream.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Order the stream with the legacy default stream, as the driver does unless told otherwise. Off by default: a
    /// stream that nobody can block by accident.
    pub blocking: bool,
    /// The priority, between those of [`Context::stream_priorities`]; a smaller number is preferred. 0 by default.
    pub priority: i32,
}

/// A stream of a context.
///
/// Every function may be called from every thread. A stream keeps its context alive.
pub struct Stream {
    header: Header,
    context: Arc<Context>,
    origin: Origin,
    /// `None` only while it is being released.
    raw: Option<RawStream>,
}

object!(Stream: Stream, header);

/// Where a stream came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Created,
    /// Somebody else's.
    Borrowed,
    /// The driver's token of the legacy default stream.
    Legacy,
    /// The driver's token of the calling thread's default stream.
    PerThread,
}

impl Stream {
    /// Creates a stream in the context.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a priority that the context does not have (the driver would change it silently);
    /// the driver's.
    pub fn create(context: &Arc<Context>, options: &StreamOptions) -> Result<Arc<Self>, Error> {
        if options.priority != 0 {
            check_priority(context, options.priority)?;
        }
        let raw = RawStream::create(context.raw(), !options.blocking, options.priority)
            .map_err(|error| context.failed(error, context.as_ref()))?;
        Ok(Self::new(context, Origin::Created, raw))
    }

    /// The legacy default stream of the context, which waits for all blocking streams and they for it.
    #[must_use]
    pub fn legacy(context: &Arc<Context>) -> Arc<Self> {
        Self::token(context, Origin::Legacy, LEGACY)
    }

    /// The default stream that each thread has for itself in the context.
    #[must_use]
    pub fn per_thread(context: &Arc<Context>) -> Arc<Self> {
        Self::token(context, Origin::PerThread, PER_THREAD)
    }

    fn token(context: &Arc<Context>, origin: Origin, token: usize) -> Arc<Self> {
        let raw = RawStream::adopt(context.raw().table(), std::ptr::without_provenance_mut(token));
        Self::new(context, origin, raw)
    }

    /// Takes in a stream that somebody else created. The values 0 and 1 give the legacy default stream, 2 the calling
    /// thread's.
    ///
    /// # Safety
    /// `native` is a stream of `context`, alive until the returned object is gone.
    #[must_use]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn wrap(context: &Arc<Context>, native: sys::CUstream) -> Arc<Self> {
        match native.addr() {
            0 | LEGACY => Self::legacy(context),
            PER_THREAD => Self::per_thread(context),
            _ => Self::new(context, Origin::Borrowed, RawStream::adopt(context.raw().table(), native)),
        }
    }

    fn new(context: &Arc<Context>, origin: Origin, raw: RawStream) -> Arc<Self> {
        Arc::new(Self { header: Header::new::<Self>(), context: Arc::clone(context), origin, raw: Some(raw) })
    }

    /// The context that the stream belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver that the stream belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.context.driver()
    }

    /// The driver's own handle, a `CUstream` (the runtime's `cudaStream_t` has the same value).
    #[must_use]
    pub fn native(&self) -> sys::CUstream {
        self.raw().handle()
    }

    /// Whether this stands for a default stream.
    #[must_use]
    pub fn is_default(&self) -> bool {
        matches!(self.origin, Origin::Legacy | Origin::PerThread)
    }

    /// Whether all work enqueued so far is done.
    ///
    /// # Errors
    /// The driver's; an error of earlier work may appear here.
    pub fn query(&self) -> Result<bool, Error> {
        self.here(RawStream::query)
    }

    /// Waits until all work enqueued so far is done.
    ///
    /// # Errors
    /// The driver's; an error of earlier work may appear here.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.here(RawStream::synchronize)
    }

    /// Waits until all work is done, at most this long; answers whether it is. Zero asks once.
    ///
    /// The driver has no such call: the stream is asked again and again, at first at once and then every so often, up to
    /// half a millisecond apart.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn synchronize_within(&self, timeout: Duration) -> Result<bool, Error> {
        wait_until(timeout, || self.query())
    }

    /// Makes work that is enqueued here from now on wait for what the event recorded last. Nothing waits for an event
    /// that was never recorded.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the event belongs to another driver; the driver's.
    pub fn wait_event(&self, event: &Event) -> Result<(), Error> {
        self.same_driver(event.driver(), event)?;
        self.here(|raw| raw.wait(event.raw()))
    }

    /// Makes work that is enqueued here from now on wait for what is enqueued in `other` by now.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if `other` belongs to another driver; the driver's.
    pub fn wait_stream(&self, other: &Self) -> Result<(), Error> {
        self.same_driver(other.driver(), other)?;
        let event = Event::create(&other.context, &EventOptions::default())?;
        event.record(other)?;
        self.wait_event(&event)
    }

    /// Whether the stream ignores the legacy default stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_non_blocking(&self) -> Result<bool, Error> {
        self.here(RawStream::is_non_blocking)
    }

    /// The stream's priority.
    ///
    /// # Errors
    /// The driver's.
    pub fn priority(&self) -> Result<i32, Error> {
        self.here(RawStream::priority)
    }

    /// The number by which the driver tells streams apart; never used again, unlike the native handle.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.0; the driver's.
    pub fn id(&self) -> Result<u64, Error> {
        self.here(RawStream::id)
    }

    /// Names the stream in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.header.set_label(label);
    }

    pub(crate) fn raw(&self) -> &RawStream {
        self.raw.as_ref().expect("a stream has its handle until it is dropped")
    }

    /// Calls the driver; a default stream's token means that of the current context, so its context is made current.
    #[inline]
    fn here<T>(&self, call: impl FnOnce(&RawStream) -> Result<T, CallError>) -> Result<T, Error> {
        let _current = if self.is_default() { Some(self.context.enter()?) } else { None };
        call(self.raw()).map_err(|error| self.context.failed(error, self))
    }

    /// Makes the context current where the driver would take the stream for another context's.
    pub(crate) fn enter_if_default(&self) -> Result<Option<crate::driver::calls::context::Current>, Error> {
        if self.is_default() { self.context.enter().map(Some) } else { Ok(None) }
    }

    pub(crate) fn same_driver(&self, other: &Driver, object: &dyn fmt::Display) -> Result<(), Error> {
        if self.driver() == other {
            return Ok(());
        }
        Err(Error::new(Status::INVALID_HANDLE, format!("{self} and {object} belong to different drivers")))
    }
}

const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

fn check_priority(context: &Context, priority: i32) -> Result<(), Error> {
    let (least, greatest) = context.stream_priorities()?;
    if (greatest..=least).contains(&priority) {
        return Ok(());
    }
    Err(Error::new(
        Status::INVALID_ARGUMENT,
        format!("the priority is {priority}; {context} has {greatest} (first) to {least} (last)"),
    ))
}

/// Asks until the answer is yes or the time is over, with growing pauses.
pub(crate) fn wait_until(timeout: Duration, ask: impl Fn() -> Result<bool, Error>) -> Result<bool, Error> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(1);
    loop {
        if ask()? {
            return Ok(true);
        }
        let Some(left) = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else {
            return Ok(false);
        };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_micros(500));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        if self.origin == Origin::Created {
            crate::release::report(raw.destroy().map_err(|error| self.context.failed(error, self)));
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.origin {
            Origin::Created => "stream",
            Origin::Borrowed => "wrapped stream",
            Origin::Legacy => "legacy default stream",
            Origin::PerThread => "per-thread default stream",
        };
        match self.header.label() {
            Some(label) => write!(f, "{kind} \"{label}\""),
            None => f.write_str(kind),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("context", &self.context)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
