//! Streams: queues of work that runs in order.

use crate::callback;
use crate::context::Context;
use crate::driver::calls::context::Current;
use crate::driver::calls::stream::RawStream;
use crate::driver::{CallError, Driver, sys};
use crate::error::{Error, Status, Subject};
use crate::event::{Event, EventOptions};
use crate::handle::{Header, object};
use crate::ownership::Ownership;
use crate::registry::Registry;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Weak};
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
    kind: StreamKind,
    ownership: Ownership,
    /// `None` only while it is being released.
    raw: Option<RawStream>,
}

object!(Stream: Stream, header);

/// What a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// One that was created here.
    Created,
    /// One that somebody else created.
    Wrapped,
    /// The legacy default stream of its context.
    Legacy,
    /// The default stream that the calling thread has in its context.
    PerThread,
}

/// The streams that were created here, or taken over.
static KNOWN: Registry<Stream> = Registry::new();

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
        let raw = context.here(|there| RawStream::create(there, !options.blocking, options.priority))?;
        Ok(Self::new(context, StreamKind::Created, Ownership::Owned, raw))
    }

    /// The legacy default stream of the context, which waits for all blocking streams and they for it.
    #[must_use]
    pub fn legacy(context: &Arc<Context>) -> Arc<Self> {
        Self::token(context, StreamKind::Legacy, LEGACY)
    }

    /// The default stream that each thread has for itself in the context.
    #[must_use]
    pub fn per_thread(context: &Arc<Context>) -> Arc<Self> {
        Self::token(context, StreamKind::PerThread, PER_THREAD)
    }

    fn token(context: &Arc<Context>, kind: StreamKind, token: usize) -> Arc<Self> {
        let raw = RawStream::adopt(context.table(), std::ptr::without_provenance_mut(token));
        Self::new(context, kind, Ownership::Borrowed, raw)
    }

    /// Takes in a stream that somebody else created. The values 0 and 1 give the legacy default stream, 2 the calling
    /// thread's; they are never owned. A stream that is owned here already gives its object again.
    ///
    /// # Safety
    /// `native` is a stream of `context`, alive until the returned object is gone. If it is to be owned, nobody else
    /// destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is to be owned and is a default stream or owned already, or belongs to
    /// another context by what is known here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn wrap(
        context: &Arc<Context>,
        native: sys::CUstream,
        ownership: Ownership,
    ) -> Result<Arc<Self>, Error> {
        let default = match native.addr() {
            0 | LEGACY => Self::legacy(context),
            PER_THREAD => Self::per_thread(context),
            _ => return Self::wrap_created(context, native, ownership),
        };
        if ownership == Ownership::Owned {
            let refusal = format!("the {default} belongs to the driver; wrap it as borrowed");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        Ok(default)
    }

    fn wrap_created(
        context: &Arc<Context>,
        native: sys::CUstream,
        ownership: Ownership,
    ) -> Result<Arc<Self>, Error> {
        let known = KNOWN.find(context.driver(), native);
        // Of a context that is gone, the driver may use the handles again.
        let Some(known) = known.filter(|known| !known.context.is_gone()) else {
            let raw = RawStream::adopt(context.table(), native);
            return Ok(Self::new(context, StreamKind::Wrapped, ownership, raw));
        };
        context.has(&known.context, known.as_ref())?;
        ownership.once(known.as_ref())?;
        Ok(known)
    }

    fn new(context: &Arc<Context>, kind: StreamKind, ownership: Ownership, raw: RawStream) -> Arc<Self> {
        let (header, native) = (Header::new::<Self>(), raw.handle());
        let stream = Arc::new(Self { header, context: Arc::clone(context), kind, ownership, raw: Some(raw) });
        if ownership == Ownership::Owned {
            KNOWN.add(context.driver(), native, &stream);
        }
        stream
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

    /// What the stream is.
    #[must_use]
    pub fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Whether this stands for a default stream.
    #[must_use]
    pub fn is_default(&self) -> bool {
        matches!(self.kind, StreamKind::Legacy | StreamKind::PerThread)
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
    /// that was never recorded. An interprocess event of another context is waited for by way of a stream of that context, made
    /// for the call.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the event belongs to another driver; the driver's.
    pub fn wait_event(&self, event: &Event) -> Result<(), Error> {
        self.same_driver(event.driver(), event)?;
        event.context().check_there(event)?;
        if event.options().interprocess && event.context().native() != self.context.native() {
            return self.wait_by_way_of(event);
        }
        self.here(|raw| raw.wait(event.raw()))
    }

    /// Driver 580 crashes where a stream is to wait for an event that other processes may open, and that belongs to another
    /// context (measured): a stream of that context waits for it, and this one for that.
    #[cold]
    fn wait_by_way_of(&self, event: &Event) -> Result<(), Error> {
        let between = Self::create(event.context(), &StreamOptions::default())?;
        between.here(|raw| raw.wait(event.raw()))?;
        self.wait_stream(&between)
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

    /// Has a function called, once, by a thread of the driver's, when the work enqueued so far is done. Work that is
    /// enqueued later waits until it returns.
    ///
    /// Inside it the driver allows to record and query events, to query streams other than the default ones, and nothing
    /// else. It must not wait for anything that waits for this stream. If it panics, the log says so and the stream goes
    /// on. If the context is lost or reset before its turn, it is dropped uncalled.
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::{Device, Stream, StreamOptions};
    /// use std::sync::mpsc;
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let context = Device::get(&driver, 0)?.primary_context()?;
    /// let stream = Stream::create(&context, &StreamOptions::default())?;
    /// let (sender, receiver) = mpsc::channel();
    /// stream.launch_host_function(move || sender.send("the stream got here").unwrap())?;
    /// assert_eq!(receiver.recv().unwrap(), "the stream got here");
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the stream is being captured: a graph may call its functions many times. The
    /// driver's. The function is dropped uncalled.
    pub fn launch_host_function(&self, function: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        callback::launch(self, Box::new(function), None).map_err(|(error, _)| error)
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

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.header.label()
    }

    pub(crate) fn raw(&self) -> &RawStream {
        self.raw.as_ref().expect("a stream has its handle until it is dropped")
    }

    /// Calls the driver; a default stream's token means that of the current context, so its context is made current.
    #[inline]
    pub(crate) fn here<T>(&self, call: impl FnOnce(&RawStream) -> Result<T, CallError>) -> Result<T, Error> {
        self.context.check_there(self)?;
        let _current = self.enter_if_default()?;
        call(self.raw()).map_err(|error| self.context.failed(error, self))
    }

    /// Begins a call on the stream: refused if its context is gone. Makes the context current where the driver would take
    /// the stream for another context's.
    #[inline]
    pub(crate) fn enter_if_default(&self) -> Result<Option<Current>, Error> {
        self.context.check_there(self)?;
        if !self.is_default() {
            return Ok(None);
        }
        callback::check_allowed()?;
        self.context.enter().map(Some)
    }

    /// Begins a copy in the stream, with its context current. Driver 580 asks whether the current context's device reaches
    /// memory of a pool, and not whether the stream's does; where none is current it crashes on what the stream's does not
    /// reach (measured).
    #[inline]
    pub(crate) fn enter_to_copy(&self) -> Result<Current, Error> {
        if self.is_default() {
            callback::check_allowed()?;
        }
        let entered = self.context.live(self)?.enter();
        entered.map_err(|error| self.context.failed(error, self))
    }

    /// Refuses an object of another driver.
    pub(crate) fn same_driver(&self, other: &Driver, object: &dyn Subject) -> Result<(), Error> {
        if self.driver() == other {
            return Ok(());
        }
        let refusal = format!("{self} and {object} belong to different drivers");
        Err(Error::new(Status::INVALID_HANDLE, refusal).about(object))
    }
}

thread_local! {
    /// This thread's current stream is the last of these. Whoever pushes a stream keeps it alive.
    static CURRENT: RefCell<Vec<Weak<Stream>>> = const { RefCell::new(Vec::new()) };
}

/// A thread that is ending has none: what a process does as it exits may still ask.
fn with_current<T: Default>(body: impl FnOnce(&mut Vec<Weak<Stream>>) -> T) -> T {
    CURRENT.try_with(|stack| body(&mut stack.borrow_mut())).unwrap_or_default()
}

/// The current stream of a thread: a choice that a program makes once and names wherever a stream is asked for.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::{Device, Status, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// stream.push_current();
/// Stream::current()?.synchronize()?;
/// Stream::pop_current()?;
/// assert_eq!(Stream::current().unwrap_err().status, Status::STREAM_REQUIRED);
/// # Ok::<(), cushim::Error>(())
/// ```
impl Stream {
    /// Makes the stream the thread's current one, until it is popped or the thread ends. This does not keep it alive.
    pub fn push_current(self: &Arc<Self>) {
        with_current(|stack| stack.push(Arc::downgrade(self)));
    }

    /// Takes the thread's current stream away; the one before it becomes current. `None` if it is gone.
    ///
    /// # Errors
    /// [`Status::STREAM_REQUIRED`] if the thread has none.
    pub fn pop_current() -> Result<Option<Arc<Self>>, Error> {
        let popped = with_current(Vec::pop);
        popped
            .map(|stream| stream.upgrade())
            .ok_or_else(|| no_current("nothing was pushed that could be popped"))
    }

    /// The thread's current stream.
    ///
    /// # Errors
    /// [`Status::STREAM_REQUIRED`] if the thread has none, [`Status::INVALID_HANDLE`] if it is gone.
    pub fn current() -> Result<Arc<Self>, Error> {
        let top = with_current(|stack| stack.last().map(Weak::upgrade));
        top.ok_or_else(|| no_current("push one, or name the stream"))?.ok_or_else(|| {
            let refusal =
                "the thread's current stream was destroyed; pop it before its last handle is destroyed";
            Error::new(Status::INVALID_HANDLE, refusal)
        })
    }
}

fn no_current(advice: &str) -> Error {
    Error::new(Status::STREAM_REQUIRED, format!("this thread has no current stream: {advice}"))
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
        if self.ownership == Ownership::Owned {
            KNOWN.remove(self.driver(), raw.handle(), self);
            if callback::is_inside() {
                // The driver destroys nothing there.
                return callback::later(Self {
                    header: Header::new::<Self>(),
                    context: Arc::clone(&self.context),
                    raw: Some(raw),
                    ..*self
                });
            }
            if !self.context.is_gone() {
                crate::release::report(self.driver(), self.context.released(raw.destroy(), self));
            }
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            StreamKind::Created => "stream",
            StreamKind::Wrapped => "wrapped stream",
            StreamKind::Legacy => "legacy default stream",
            StreamKind::PerThread => "per-thread default stream",
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
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
