//! Streams: queues of work that runs in order.

mod attributes;
mod capturing;
mod checked;

pub(crate) use capturing::{Blocking, CapturedBy};

use crate::context::Context;
use crate::driver::calls::context::Current;
use crate::driver::calls::stream::RawStream;
use crate::driver::{CallError, Driver, Kind as DriverKind, sys};
use crate::object::callback;
use crate::object::error::{Error, Status, Subject};
use crate::object::handle::Object as _;
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::object::handle::{DefaultStream, Header, object};
use crate::object::native::{self, Handle, HasNative, Native};
use crate::object::owning::{Ownership, Taking};
use crate::object::registry::Registry;
use crate::object::setters::setters;
use crate::object::thread_end::{at_end, has_ended};
use capturing::Capturing;
use std::cell::RefCell;
use std::fmt;
use std::mem::ManuallyDrop;
#[cfg(feature = "capi")]
use std::ptr::NonNull;
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

setters!(StreamOptions { blocking: bool, priority: i32 });

/// A stream of a context.
///
/// Every function may be called from every thread. A stream keeps its context alive.
pub struct Stream(Arc<StreamObject>);

/// What handles of streams name.
pub(crate) struct StreamObject {
    header: Header,
    kind: StreamKind,
    native: Native<RawStream>,
    capturing: Capturing,
}

object!(StreamObject as Stream: Stream, header; tell_label);

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

/// The streams for which there are objects, except default streams.
static KNOWN: Registry<Stream> = Registry::new();

impl Handle for RawStream {
    type Place = Context;

    fn address(&self) -> usize {
        self.handle().addr()
    }

    fn destroy(self) -> Result<(), CallError> {
        Self::destroy(self)
    }
}

impl StreamObject {
    fn new(context: &Context, kind: StreamKind, ownership: Ownership, raw: RawStream) -> Self {
        Self {
            header: Header::new::<StreamObject>(),
            kind,
            native: Native::new(context.clone(), raw, ownership),
            capturing: Capturing::new(kind != StreamKind::Created, context.driver().checks_order()),
        }
    }

    /// The handle of a default stream means another one in each context.
    fn tell_label(&self, label: Option<&str>) {
        if matches!(self.kind, StreamKind::Created | StreamKind::Wrapped) {
            self.native.place().driver().tell_label(self.native.handle().address(), label);
        }
    }
}

impl HasNative for StreamObject {
    type Handle = RawStream;

    fn native_handle(&self) -> &Native<RawStream> {
        &self.native
    }

    fn native_handle_mut(&mut self) -> &mut Native<RawStream> {
        &mut self.native
    }

    fn known() -> &'static Registry<Stream> {
        &KNOWN
    }

    #[inline]
    fn was_captured(&self) -> bool {
        self.capturing.has_been()
    }
}

impl Stream {
    /// Creates a stream in the context.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a priority that the context does not have (the driver would change it silently);
    /// the driver's.
    pub fn create(context: &Context, options: &StreamOptions) -> Result<Self, Error> {
        if options.priority != 0 {
            check_priority(context, options.priority)?;
        }
        let raw = context.here(|there| RawStream::create(there, !options.blocking, options.priority))?;
        Ok(native::listed(StreamObject::new(context, StreamKind::Created, Ownership::Owned, raw)))
    }

    /// The legacy default stream of the context, which waits for all blocking streams and they for it. The same object
    /// each time, while somebody holds it.
    #[must_use]
    pub fn legacy(context: &Context) -> Self {
        Self::default_of(context, DefaultStream::Legacy)
    }

    /// The default stream that each thread has for itself in the context. The same object each time, while somebody holds
    /// it.
    #[must_use]
    pub fn per_thread(context: &Context) -> Self {
        Self::default_of(context, DefaultStream::PerThread)
    }

    /// A default stream of the context: the same object for all who hold it. The driver's token for it means that of the current
    /// context; this object remembers its context.
    pub(crate) fn default_of(context: &Context, which: DefaultStream) -> Self {
        let mut slot = context.stream_slot(which).lock();
        let kept = slot.get::<KeptDefault>();
        if let Some(known) = kept.as_ref().and_then(|kept| kept.stream.upgrade()) {
            context.hold_default_stream(which, &known.hold());
            return known;
        }
        let (kind, token) = match which {
            DefaultStream::Legacy => (StreamKind::Legacy, LEGACY),
            DefaultStream::PerThread => (StreamKind::PerThread, PER_THREAD),
        };
        // SAFETY: the token is good in every context.
        let raw = unsafe { RawStream::adopt(context.table(), std::ptr::without_provenance_mut(token)) };
        let stream = Self::of(Arc::new(StreamObject::new(context, kind, Ownership::Borrowed, raw)));
        let label = kept.and_then(|kept| kept.label.clone());
        stream.0.header.set_label(label.as_deref());
        drop(slot.replace(Some(Arc::new(KeptDefault { stream: stream.downgrade(), label }))));
        context.hold_default_stream(which, &stream.hold());
        stream
    }

    /// Where the object of a default stream is, if its context holds that: as long as handles own the context.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn held_by(context: &Context, which: DefaultStream) -> Option<NonNull<StreamObject>> {
        NonNull::new(context.held_default_stream(which).cast_mut().cast())
    }

    /// Which default stream this stands for, if it stands for one.
    pub(crate) fn default(&self) -> Option<DefaultStream> {
        match self.0.kind {
            StreamKind::Legacy => Some(DefaultStream::Legacy),
            StreamKind::PerThread => Some(DefaultStream::PerThread),
            StreamKind::Created | StreamKind::Wrapped => None,
        }
    }

    /// Takes in a stream that somebody else created. The values 0 and 1 give the legacy default stream, 2 the calling
    /// thread's; they are never owned. A stream for which there is an object already gives it again.
    ///
    /// # Safety
    /// `native` is a stream of `context`, alive until the returned object is gone. If it is to be owned, nobody else
    /// destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is to be owned and is a default stream or owned already, or belongs to
    /// another context by what is known here.
    pub unsafe fn wrap(
        context: &Context,
        native: sys::CUstream,
        ownership: Ownership,
    ) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in(context, native, ownership.into()) }
    }

    /// As [`wrap`](Self::wrap).
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in(
        context: &Context,
        native: sys::CUstream,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        let default = match native.addr() {
            0 | LEGACY => Self::legacy(context),
            PER_THREAD => Self::per_thread(context),
            // SAFETY: the caller vouches for the handle.
            _ => return unsafe { Self::take_in_created(context, native, taking) },
        };
        if taking.is_to_own() {
            let refusal = format!("the {default} belongs to the driver; wrap it as borrowed");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        Ok(default)
    }

    /// # Safety
    /// As for [`wrap`](Self::wrap).
    unsafe fn take_in_created(
        context: &Context,
        native: sys::CUstream,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        let known = native::find_or_wrap::<StreamObject>(context, native.addr(), || {
            // SAFETY: the caller vouches for the handle.
            let raw = unsafe { RawStream::adopt(context.table(), native) };
            Self::of(Arc::new(StreamObject::new(context, StreamKind::Wrapped, Ownership::Borrowed, raw)))
        });
        context.has(known.context(), &known)?;
        native::take_over(&known.0, taking)?;
        Ok(known)
    }

    /// The context that the stream belongs to.
    #[inline]
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.native.place()
    }

    /// The driver that the stream belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.context().driver()
    }

    /// The driver's own handle, a `CUstream` (the runtime's `cudaStream_t` has the same value). NULL for a stream that was created on the
    /// driver "none": there is none, and who passes it on means no stream of anybody's.
    #[must_use]
    pub fn native(&self) -> sys::CUstream {
        self.is_known_to_others();
        let is_nobodys = self.0.kind == StreamKind::Created && self.driver().kind() == DriverKind::None;
        if is_nobodys { std::ptr::null_mut() } else { self.raw().handle() }
    }

    /// What the stream is.
    #[must_use]
    pub fn kind(&self) -> StreamKind {
        self.0.kind
    }

    /// Whether this stands for a default stream.
    #[inline]
    #[must_use]
    pub fn is_default(&self) -> bool {
        matches!(self.0.kind, StreamKind::Legacy | StreamKind::PerThread)
    }

    /// Whether all work enqueued so far is done.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] while the stream is being captured; the driver's; an error of earlier work may appear here.
    #[inline(always)]
    pub fn query(&self) -> Result<bool, Error> {
        if self.may_be_capturing() { self.query_asking() } else { self.here(RawStream::query) }
    }

    /// Waits until all work enqueued so far is done.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    #[inline(always)]
    pub fn synchronize(&self) -> Result<(), Error> {
        if self.may_be_capturing() { self.synchronize_asking() } else { self.here(RawStream::synchronize) }
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

    /// Whether the stream ignores the legacy default stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_non_blocking(&self) -> Result<bool, Error> {
        self.here_uncaptured(NOT_ASKED, RawStream::is_non_blocking)
    }

    /// The stream's priority.
    ///
    /// # Errors
    /// The driver's.
    pub fn priority(&self) -> Result<i32, Error> {
        // Even this question about the legacy default stream invalidates the capture of a stream that waits for that (580, measured).
        if self.is_default() {
            self.here_uncaptured(NOT_ASKED, RawStream::priority)
        } else {
            self.here(RawStream::priority)
        }
    }

    /// The number by which the driver tells streams apart; never used again, unlike the native handle.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.0; the driver's.
    pub fn id(&self) -> Result<u64, Error> {
        self.here_uncaptured(NOT_ASKED, RawStream::id)
    }

    /// Names the stream in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
        if let Some(which) = self.default() {
            let mut slot = self.context().stream_slot(which).lock();
            if let Some(kept) = slot.get::<KeptDefault>() {
                let kept = KeptDefault { stream: kept.stream.clone(), label: label.map(Arc::from) };
                drop(slot.replace(Some(Arc::new(kept))));
            }
        }
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    #[inline]
    pub(crate) fn raw(&self) -> &RawStream {
        self.0.native.handle()
    }

    /// Calls the driver; a default stream's token means that of the current context, so its context is made current.
    #[inline(always)]
    pub(crate) fn here<T>(&self, call: impl FnOnce(&RawStream) -> Result<T, CallError>) -> Result<T, Error> {
        self.context().check_there(self)?;
        let _current = self.enter_if_default()?;
        call(self.raw()).map_err(|error| self.context().failed(error, self))
    }

    /// The same, refused while the stream is captured, which the call would invalidate.
    #[inline(always)]
    fn here_uncaptured<T>(
        &self,
        what: &str,
        call: impl FnOnce(&RawStream) -> Result<T, CallError>,
    ) -> Result<T, Error> {
        let _current = self.enter_uncaptured(what)?;
        call(self.raw()).map_err(|error| self.context().failed(error, self))
    }

    /// Begins a call on the stream: refused if its context is gone. Makes the context current where the driver would take
    /// the stream for another context's.
    #[inline(always)]
    pub(crate) fn enter_if_default(&self) -> Result<Option<Current>, Error> {
        self.context().check_there(self)?;
        if self.is_default() { self.enter_default().map(Some) } else { Ok(None) }
    }

    /// Of a context that is known to be there.
    #[inline(never)]
    fn enter_default(&self) -> Result<Current, Error> {
        callback::check_allowed()?;
        let context = self.context();
        context.entered().map_err(|error| context.failed(error, context))
    }

    /// Begins a copy in the stream, with its context current. Driver 580 asks whether the current context's device reaches
    /// memory of a pool, and not whether the stream's does; where none is current it crashes on what the stream's does not
    /// reach (measured).
    #[inline(always)]
    pub(crate) fn enter_to_copy(&self) -> Result<Current, Error> {
        if self.is_default() {
            callback::check_allowed()?;
        }
        let entered = self.context().live(self)?.enter();
        entered.map_err(|error| self.context().failed(error, self))
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
    /// Without a destructor of the standard library's, which takes memory that may not be there: see `thread_end`.
    static CURRENT: ManuallyDrop<RefCell<Vec<Pushed>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// A stream that was made current. A default stream is there as long as its context is, whoever holds it.
enum Pushed {
    Stream(Weakly<Stream>),
    Default(Weakly<Context>, DefaultStream),
}

impl Pushed {
    fn new(stream: &Stream) -> Self {
        match stream.default() {
            Some(which) => Self::Default(stream.context().downgrade(), which),
            None => Self::Stream(stream.downgrade()),
        }
    }

    fn upgrade(&self) -> Option<Stream> {
        match self {
            Self::Stream(stream) => stream.upgrade(),
            Self::Default(context, which) => Some(Stream::default_of(&context.upgrade()?, *which)),
        }
    }
}

fn with_current<T>(body: impl FnOnce(&mut Vec<Pushed>) -> T) -> T {
    CURRENT.with(|stack| body(&mut stack.borrow_mut()))
}

/// Forgets the thread's current streams, as the thread ends.
fn forget_current() {
    drop(CURRENT.with(|stack| stack.take()));
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
    pub fn push_current(&self) {
        with_current(|stack| {
            // The first asks that the list is forgotten at the end. A thread that is ending has none.
            if stack.capacity() > 0 || at_end(forget_current) || !has_ended() {
                stack.push(Pushed::new(self));
            }
        });
    }

    /// Takes the thread's current stream away; the one before it becomes current. `None` if it is gone.
    ///
    /// # Errors
    /// [`Status::STREAM_REQUIRED`] if the thread has none.
    pub fn pop_current() -> Result<Option<Self>, Error> {
        let popped = with_current(Vec::pop);
        popped
            .map(|stream| stream.upgrade())
            .ok_or_else(|| no_current("nothing was pushed that could be popped"))
    }

    /// The thread's current stream.
    ///
    /// # Errors
    /// [`Status::STREAM_REQUIRED`] if the thread has none, [`Status::INVALID_HANDLE`] if it is gone.
    pub fn current() -> Result<Self, Error> {
        let top = with_current(|stack| stack.last().map(Pushed::upgrade));
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

/// What a context keeps of one of its default streams. The stream keeps the context alive, and the reverse only while handles own the
/// context: else it is made again when it is asked for again, and has its label again.
struct KeptDefault {
    stream: Weakly<Stream>,
    label: Option<Arc<str>>,
}

/// Why a stream under capture is not asked for flags and number: driver 580 invalidates the capture (measured).
const NOT_ASKED: &str = "the driver would invalidate that if it were asked for this: ask before or after";

/// Why a stream under capture is not waited for.
const NOTHING_RUNS: &str =
    "what is captured does not run, so there is nothing to wait for: end the capture, and launch the graph";

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

impl Drop for StreamObject {
    fn drop(&mut self) {
        native::end(self);
    }
}

impl fmt::Display for StreamObject {
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
            .field("context", self.context())
            .field("kind", &self.0.kind)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "capi"))]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::driver::{Choice, OpenOptions};
    use crate::object::callback::Lending;

    #[test]
    fn a_call_that_fails_takes_no_stream_over_though_its_object_lives_on() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let context = Device::get(&driver, 0).expect("a device").primary_context().expect("its context");
        let (native, lending) = (std::ptr::without_provenance_mut(0x5000), Lending::new());
        // SAFETY: the driver does nothing with it.
        let kept = unsafe { Stream::take_in(&context, native, lending.taking(Ownership::Owned)) };
        lending.settle(false);
        // SAFETY: as above.
        let wrapped = unsafe { Stream::wrap(&context, native, Ownership::Owned) };
        assert!(wrapped.expect("nobody owns it") == kept.expect("it lives on"));
    }
}
