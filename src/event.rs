//! Events: marks in a stream that others wait for, and that measure time.

mod awaited;
mod captured;
mod shared;

pub(crate) use awaited::{NoneRecorded, awaited_in_captures, none_is_recorded};
pub(crate) use captured::HeldMark;

use crate::context::Context;
use crate::driver::calls::event::RawEvent;
use crate::driver::{CallError, Driver, Kind as DriverKind, sys};
use crate::object::error::{Error, Status};
use crate::object::handle::Object as _;
use crate::object::handle::{Header, object};
use crate::object::in_place::arc_of;
use crate::object::native::{self, Handle, HasNative, Native};
use crate::object::owning::{Ownership, Taking};
use crate::object::registry::Registry;
use crate::object::setters::setters;
use crate::stream::wait_until;
use captured::Mark;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// How to create an event.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct EventOptions {
    /// Measure time. Off by default: recording is cheaper without.
    pub timing: bool,
    /// Let a thread that waits for the event sleep instead of spin.
    pub blocking_sync: bool,
    /// Let other processes open the event; excludes `timing`.
    pub interprocess: bool,
}

setters!(EventOptions { timing: bool, blocking_sync: bool, interprocess: bool });

/// An event of a context.
///
/// Every function may be called from every thread. An event keeps its context alive. Recording again replaces what was
/// recorded; who waits already keeps waiting for the earlier record.
pub struct Event(Arc<EventObject>);

/// What handles of events name.
pub(crate) struct EventObject {
    header: Header,
    wrapped: bool,
    /// Whether another process has created it.
    imported: bool,
    /// `CU_EVENT_*`, as it was created; of a wrapped event, all that was said of it.
    flags: AtomicU32,
    /// Whether it was recorded through this object. Unknown for wrapped events.
    recorded: AtomicBool,
    mark: Mark,
    /// Whether it is among those that are found by their native handle.
    listed: AtomicBool,
    native: Native<RawEvent>,
}

object!(EventObject as Event: Event, header; tell_label);

/// The events that are found by their native handle: those whose handle others may have. Most events are created, recorded and
/// destroyed without that.
static KNOWN: Registry<Event> = Registry::new();

impl Handle for RawEvent {
    type Place = Context;

    fn address(&self) -> usize {
        self.handle().addr()
    }

    fn destroy(self) -> Result<(), CallError> {
        Self::destroy(self)
    }
}

impl EventObject {
    fn tell_label(&self, label: Option<&str>) {
        self.native.place().driver().tell_label(self.native.handle().address(), label);
    }
}

impl HasNative for EventObject {
    type Handle = RawEvent;

    fn native_handle(&self) -> &Native<RawEvent> {
        &self.native
    }

    fn native_handle_mut(&mut self) -> &mut Native<RawEvent> {
        &mut self.native
    }

    fn known() -> &'static Registry<Event> {
        &KNOWN
    }

    fn is_listed(&mut self) -> bool {
        *self.listed.get_mut()
    }

    #[inline]
    fn was_captured(&self) -> bool {
        self.mark.may_have_been_captured()
    }
}

impl Event {
    /// Creates an event in the context.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an event that is both timed and for several processes; the driver's.
    pub fn create(context: &Context, options: &EventOptions) -> Result<Self, Error> {
        Self::create_in(context.clone(), options)
    }

    /// The same for one who holds the context.
    #[inline]
    pub(crate) fn create_in(context: Context, options: &EventOptions) -> Result<Self, Error> {
        if options.timing && options.interprocess {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "an event for several processes cannot measure time; choose one of timing and interprocess",
            ));
        }
        let raw = context.here(|there| RawEvent::create(there, flags(options)))?;
        Ok(Self::new(context, *options, Ownership::Owned, false, raw))
    }

    /// Takes in an event that somebody else created; `options` say how. One for which there is an object already gives it
    /// again: one that was created here with the options that it has, a wrapped one with these besides. That it is
    /// interprocess must be said ([`Stream::wait_event`](crate::Stream::wait_event)).
    ///
    /// # Safety
    /// `native` is an event of `context`, alive until the returned object is gone. If it is to be owned, nobody else
    /// destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL, is to be owned and already is, or belongs to another context by
    /// what is known here.
    pub unsafe fn wrap(
        context: &Context,
        native: sys::CUevent,
        ownership: Ownership,
        options: &EventOptions,
    ) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in(context, native, ownership.into(), options) }
    }

    /// As [`wrap`](Self::wrap).
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in(
        context: &Context,
        native: sys::CUevent,
        taking: Taking<'_>,
        options: &EventOptions,
    ) -> Result<Self, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native event is NULL"));
        }
        let known = native::find_or_wrap::<EventObject>(context, native.addr(), || {
            // SAFETY: the caller vouches for the handle.
            let raw = unsafe { RawEvent::adopt(context.table(), native) };
            Self::new(context.clone(), *options, Ownership::Borrowed, true, raw)
        });
        context.has(known.context(), &known)?;
        native::take_over(&known.0, taking)?;
        known.is_said_to_be(*options);
        Ok(known)
    }

    /// The object of a native handle that the driver has just named; `None` if there is none.
    pub(crate) fn of_native(driver: &Driver, native: sys::CUevent) -> Option<Self> {
        if native.is_null() { None } else { KNOWN.find(driver, native.addr()) }
    }

    /// Another caller wraps the event and may know more of it.
    fn is_said_to_be(&self, options: EventOptions) {
        if self.0.wrapped {
            let known = self.options();
            let all = EventOptions {
                timing: known.timing || options.timing,
                blocking_sync: known.blocking_sync || options.blocking_sync,
                interprocess: known.interprocess || options.interprocess,
            };
            self.0.flags.store(flags(&all), Relaxed);
        }
    }

    #[inline(always)]
    fn new(
        context: Context,
        options: EventOptions,
        ownership: Ownership,
        wrapped: bool,
        raw: RawEvent,
    ) -> Self {
        let mark = Mark::new(wrapped, context.driver().checks_order());
        Self(arc_of(|| EventObject {
            header: Header::new::<EventObject>(),
            wrapped,
            imported: false,
            flags: AtomicU32::new(flags(&options)),
            recorded: AtomicBool::new(wrapped),
            mark,
            // Whoever wraps lists it.
            listed: AtomicBool::new(wrapped),
            native: Native::new(context, raw, ownership),
        }))
    }

    /// Has the event be found by its native handle: before anybody else gets that, or a graph, of which the driver tells it.
    #[inline]
    pub(crate) fn list(&self) {
        if !self.0.listed.load(Relaxed) {
            KNOWN.add(self.driver(), self.raw().handle().addr(), self);
            self.0.listed.store(true, Relaxed);
        }
    }

    /// The context that the event belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.native.place()
    }

    /// The driver that the event belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.context().driver()
    }

    /// How the event was created.
    #[must_use]
    pub fn options(&self) -> EventOptions {
        let flags = self.0.flags.load(Relaxed);
        let has = |flag: sys::CUevent_flags| flags & flag.0 as u32 != 0;
        EventOptions {
            timing: !has(sys::CU_EVENT_DISABLE_TIMING),
            blocking_sync: has(sys::CU_EVENT_BLOCKING_SYNC),
            interprocess: has(sys::CU_EVENT_INTERPROCESS),
        }
    }

    /// The driver's own handle, a `CUevent`. NULL on the driver "none", which has none.
    #[must_use]
    pub fn native(&self) -> sys::CUevent {
        self.is_known_to_others();
        self.list();
        if self.driver().kind() == DriverKind::None { std::ptr::null_mut() } else { self.raw().handle() }
    }

    /// The same for a graph, of which the driver tells it: others do not record the event for that.
    pub(crate) fn native_in_graph(&self) -> sys::CUevent {
        self.list();
        self.raw().handle()
    }

    /// A driver that does not take what belongs to another context says no more than that a handle is not good.
    pub(crate) fn explain_contexts(
        &self,
        mut failure: Error,
        of: &Context,
        why: impl FnOnce() -> String,
    ) -> Error {
        let is_refused = failure.status.0 == sys::CUDA_ERROR_INVALID_HANDLE.0;
        if is_refused && self.context().native() != of.native() {
            failure.message.push_str(&format!(". {self} belongs to {}, but {}", self.context(), why()));
        }
        failure
    }

    /// Whether what was recorded last is done; yes if nothing was recorded.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an event that was last recorded in a stream under capture; the driver's; an error of the
    /// recorded work may appear here.
    #[inline(always)]
    pub fn query(&self) -> Result<bool, Error> {
        if self.may_be_no_work() { self.query_asking() } else { self.here(RawEvent::query) }
    }

    /// Waits until what was recorded last is done.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    #[inline(always)]
    pub fn synchronize(&self) -> Result<(), Error> {
        if self.may_be_no_work() { self.synchronize_asking() } else { self.here(RawEvent::synchronize) }
    }

    /// Waits until what was recorded last is done, at most this long; answers whether it is. Zero asks once. See
    /// [`Stream::synchronize_within`](crate::Stream::synchronize_within).
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn synchronize_within(&self, timeout: Duration) -> Result<bool, Error> {
        wait_until(timeout, || self.query())
    }

    /// The milliseconds between what `start` recorded and what this event recorded, to about half a microsecond.
    /// Negative if this one came first.
    ///
    /// # Errors
    /// [`Status::TIMING_DISABLED`] if one of the two does not measure time, [`Status::NOT_RECORDED`] if one was never
    /// recorded, `CUDA_ERROR_NOT_READY` (600) if one is not done; [`Status::INVALID_HANDLE`] if they belong to different
    /// drivers; the driver's.
    pub fn elapsed_since(&self, start: &Self) -> Result<f32, Error> {
        if start.driver() != self.driver() {
            let refusal = format!("{start} and {self} belong to different drivers");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(start));
        }
        let both = [(start, "start"), (self, "end")];
        both.iter().try_for_each(|(event, _)| event.context().check_there(*event))?;
        both.iter().try_for_each(|(event, which)| event.check_measures(which))?;
        both.iter().try_for_each(|(event, _)| event.check_not_captured())?;
        self.raw().elapsed_since(start.raw()).map_err(|error| match error.result() {
            Some(sys::CUDA_ERROR_NOT_READY) => {
                let mut failure = Error::of_call(self.driver(), error).about(self);
                failure.message.push_str(". Synchronise both events first");
                failure
            }
            _ => {
                let failure =
                    self.explain_contexts(self.context().failed(error, self), start.context(), || {
                        format!("{start} to {}: time is measured within one context", start.context())
                    });
                both.into_iter()
                    .fold(failure, |failure, (event, which)| event.explain_no_record(failure, which))
            }
        })
    }

    /// Adds to a failure that the event was never recorded: graphs record it, and others may, without a word of it here. By itself, an
    /// event fails to be measured for that alone.
    fn explain_no_record(&self, mut failure: Error, which: &str) -> Error {
        let is_invalid = |error: CallError| error.result() == Some(sys::CUDA_ERROR_INVALID_HANDLE);
        if failure.status.0 == sys::CUDA_ERROR_INVALID_HANDLE.0
            && self.raw().elapsed_since(self.raw()).is_err_and(is_invalid)
        {
            let why = if self.is_in_graph() {
                "the graph that records it has not been launched"
            } else {
                "record it in a stream first"
            };
            failure.message.push_str(&format!(". The {which}, {self}, was never recorded: {why}"));
        }
        failure
    }

    /// Refuses an event that has no time to tell; `which` of two it is.
    #[inline]
    fn check_measures(&self, which: &str) -> Result<(), Error> {
        let options = self.options();
        if options.timing && !options.interprocess && self.0.recorded.load(Relaxed) {
            Ok(())
        } else {
            Err(self.measures_nothing(which))
        }
    }

    /// Why it has no time to tell.
    #[cold]
    fn measures_nothing(&self, which: &str) -> Error {
        let (status, why) = if self.options().interprocess {
            let why = "is for several processes, and such events do not measure time; record another event with CUSHIM_EVENT_TIMING";
            (Status::TIMING_DISABLED, why)
        } else if !self.options().timing {
            (Status::TIMING_DISABLED, "does not measure time; create it with timing (CUSHIM_EVENT_TIMING)")
        } else {
            (Status::NOT_RECORDED, "was never recorded; record it in a stream first")
        };
        Error::new(status, format!("the {which}, {self}, {why}")).about(self)
    }

    /// Names the event in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    pub(crate) fn raw(&self) -> &RawEvent {
        self.0.native.handle()
    }

    /// Whether it was recorded through this object; of a wrapped event, yes.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.recorded.load(Relaxed)
    }

    /// Notes that it was recorded.
    #[inline]
    pub(crate) fn was_recorded(&self) {
        if !self.0.recorded.load(Relaxed) {
            self.0.recorded.store(true, Relaxed);
        }
    }

    #[inline(always)]
    fn here<T>(&self, call: impl FnOnce(&RawEvent) -> Result<T, CallError>) -> Result<T, Error> {
        self.context().check_there(self)?;
        call(self.raw()).map_err(|error| self.context().failed(error, self))
    }
}

fn flags(options: &EventOptions) -> u32 {
    let flag = |set: bool, flag: sys::CUevent_flags| if set { flag.0 as u32 } else { 0 };
    flag(!options.timing, sys::CU_EVENT_DISABLE_TIMING)
        | flag(options.blocking_sync, sys::CU_EVENT_BLOCKING_SYNC)
        | flag(options.interprocess, sys::CU_EVENT_INTERPROCESS)
}

impl Drop for EventObject {
    fn drop(&mut self) {
        awaited::forget(self.native.handle());
        native::end(self);
    }
}

impl fmt::Display for EventObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self { imported: true, .. } => "imported event",
            Self { wrapped: true, .. } => "wrapped event",
            _ => "event",
        };
        match self.header.label() {
            Some(label) => write!(f, "{kind} \"{label}\""),
            None => f.write_str(kind),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("context", self.context())
            .field("options", &self.options())
            .finish_non_exhaustive()
    }
}
