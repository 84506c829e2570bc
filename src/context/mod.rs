//! Contexts: primary ones, created ones, and those of others.
//!
//! | file | concept |
//! |---|---|
//! | `primary` | the primary context of a device |
//! | `captures` | captures that are under way in a context |
//! | `own_events` | events of the library's own, by which it tells when work is done |
//! | `default_streams` | its default streams, as long as handles own it |
//! | `direct` | what other devices have written into a context's memory |
//! | `current` | which context is current on a thread |
//! | `state` | whether a context is valid, corrupted or destroyed |
//! | `peer_access` | access of one context to another's memory |

mod captures;
mod current;
mod default_streams;
mod direct;
mod own_events;
mod peer_access;
mod primary;
mod state;

pub use current::NativeContext;
pub use direct::FlushScope;
pub(crate) use own_events::OwnEvent;

use crate::check;
use crate::device::Device;
use crate::driver::calls::context::{self as calls, RawContext};
use crate::driver::{CallError, Driver, Table, sys};
use crate::object::error::{Error, Status, Subject};
use crate::object::handle::Object as _;
use crate::object::handle::{Header, object};
use crate::object::native::{self, Place};
use crate::object::owning::{Ownership, Owning, Taking};
use crate::object::registry::Registry;
use captures::Captures;
use default_streams::DefaultStreams;
use own_events::OwnEvents;
pub(crate) use state::forgiven_if_corrupted;
use state::{DESTROYED, is_another};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering::Relaxed};

/// A context of a device. It stays alive as long as an object in it does.
///
/// No function here leaves another context current than the caller had, except those that say so.
pub struct Context(Arc<ContextObject>);

/// What handles of contexts name.
pub(crate) struct ContextObject {
    header: Header,
    device: Device,
    kind: AtomicU8,
    /// Whether this is to be destroyed, or given back, with the object.
    owning: Owning,
    /// `None` only while it is being released.
    raw: Option<RawContext>,
    /// By this it is told from a later one at the same address; `None` before driver 12.0.
    id: Option<u64>,
    /// The error that the driver answered, after which nothing in the context works; 0 if none.
    lost: AtomicI32,
    /// The default streams of the context, once somebody asked for them.
    streams: DefaultStreams,
    /// The captures of this library's that are under way in it.
    captures: Captures,
    /// Events by which the library tells when work in it is done, and that nobody uses now.
    own_events: OwnEvents,
}

object!(ContextObject as Context: Context, header, claimed, let_go; tell_label);

/// What a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ContextKind {
    /// The one that all users of CUDA in a process share.
    Primary,
    /// One that was created here.
    Created,
    /// One that somebody else created.
    Wrapped,
    /// One that stands for a green context.
    Green,
}

/// The contexts for which there are objects.
static KNOWN: Registry<Context> = Registry::new();

impl Context {
    /// Creates a context; `flags` are the driver's `CU_CTX_*`. Prefer the primary context, which other libraries share.
    ///
    /// The new context is not made current.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(device: &Device, flags: u32) -> Result<Self, Error> {
        let raw = RawContext::create(device.driver().object_table(), flags, device.native())
            .map_err(|error| explain_flags(device.failed(error), flags))?;
        Ok(Self::new(device, ContextKind::Created, Ownership::Owned, raw))
    }

    /// Takes in a context that somebody else created. One that is owned here already gives its object again.
    ///
    /// # Safety
    /// `native` is a context of `device`, alive until the last object that is made in it here is gone. (Driver 580 crashes
    /// in calls on streams of a context that was destroyed.) If it is to be owned, nobody else destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL, or is to be owned and already is.
    pub unsafe fn wrap(device: &Device, native: sys::CUcontext, ownership: Ownership) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in(device, native, ownership.into()) }
    }

    /// As [`wrap`](Self::wrap).
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in(
        device: &Device,
        native: sys::CUcontext,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native context is NULL"));
        }
        Self::find_or_wrap(device, native, || {
            // SAFETY: the caller vouches for the handle.
            let raw = unsafe { RawContext::adopt(device.driver().object_table(), native) };
            Ok(Self::borrowed(device, ContextKind::Wrapped, raw))
        })?
        .again(taking)
    }

    /// Takes in a green context, by way of the context that stands for it.
    ///
    /// Streams in it get its share of the device, and must be non-blocking.
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL, or is to be owned and already is; [`Status::UNSUPPORTED`] before
    /// driver 12.4; the driver's.
    pub unsafe fn wrap_green(
        device: &Device,
        native: sys::CUgreenCtx,
        ownership: Ownership,
    ) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in_green(device, native, ownership.into()) }
    }

    /// As [`wrap_green`](Self::wrap_green).
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in_green(
        device: &Device,
        native: sys::CUgreenCtx,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native green context is NULL"));
        }
        // SAFETY: the caller vouches for the handle.
        let raw = || unsafe { RawContext::of_green(device.driver().object_table(), native) };
        let raw = || raw().map_err(|error| device.failed(error));
        Self::find_or_wrap(device, raw()?.handle(), || {
            Ok(Self::borrowed(device, ContextKind::Green, raw()?))
        })?
        .again(taking)
    }

    /// The object that stands for the native handle, or else a new one, listed; the same one for all threads that ask at once.
    fn find_or_wrap(
        device: &Device,
        native: sys::CUcontext,
        make: impl Fn() -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        KNOWN.find_or_add(device.driver(), native.addr(), |known| known.is_still(native), make)
    }

    /// Whether it stands for its native handle still; notes if it does not.
    fn is_still(&self, native: sys::CUcontext) -> bool {
        let is_another = self.is_before_another(native);
        if is_another {
            self.was_reset();
        }
        !is_another
    }

    /// Whether the driver uses the address for another context, after a reset by others.
    fn is_before_another(&self, native: sys::CUcontext) -> bool {
        let now = || calls::id(self.driver().object_table(), native);
        self.0.id.is_some_and(|id| is_another(id, now()))
    }

    /// A context that is not destroyed here, and that is not listed yet.
    fn borrowed(device: &Device, kind: ContextKind, raw: RawContext) -> Self {
        Self::unlisted(device, kind, Ownership::Borrowed, raw)
    }

    fn new(device: &Device, kind: ContextKind, ownership: Ownership, raw: RawContext) -> Self {
        let native = raw.handle();
        // Whatever had this address before is gone.
        Self::went(device.driver(), native);
        let context = Self::unlisted(device, kind, ownership, raw);
        KNOWN.add(device.driver(), native.addr(), &context);
        context
    }

    fn unlisted(device: &Device, kind: ContextKind, ownership: Ownership, raw: RawContext) -> Self {
        let id = raw.id().ok();
        Self(Arc::new(ContextObject {
            header: Header::new::<ContextObject>(),
            device: device.clone(),
            kind: AtomicU8::new(kind as u8),
            owning: Owning::new(ownership),
            raw: Some(raw),
            id,
            lost: AtomicI32::new(0),
            streams: DefaultStreams::default(),
            captures: Captures::default(),
            own_events: OwnEvents::default(),
        }))
    }

    /// The object that stands for the native handle.
    fn find(driver: &Driver, native: sys::CUcontext) -> Option<Self> {
        KNOWN.find(driver, native.addr()).filter(|known| !known.is_before_another(native))
    }

    /// The object that stands for a native handle that the driver has just named; `None` if there is none.
    pub(crate) fn of_native(driver: &Driver, native: sys::CUcontext) -> Option<Self> {
        if native.is_null() { None } else { KNOWN.find(driver, native.addr()) }
    }

    /// This object once more, for its native handle, which it may take over.
    fn again(self, taking: Taking<'_>) -> Result<Self, Error> {
        taking.take(&self.0, |context| &context.owning, &self)?;
        Ok(self)
    }

    /// The device that the context belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver that the context belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.device.driver()
    }

    /// The driver's own handle. After a reset of the primary context the driver may use the same address again.
    #[must_use]
    pub fn native(&self) -> sys::CUcontext {
        self.raw().handle()
    }

    /// What the context is.
    #[must_use]
    pub fn kind(&self) -> ContextKind {
        self.0.kind()
    }

    /// The number by which the driver tells contexts apart; never used again.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.0; the driver's.
    pub fn id(&self) -> Result<u64, Error> {
        self.here(RawContext::id)
    }

    /// The flags (`CU_CTX_*`) of the context.
    ///
    /// # Errors
    /// The driver's.
    pub fn flags(&self) -> Result<u32, Error> {
        self.here(RawContext::flags)
    }

    /// The least and the greatest priority that streams of the context may have; the greatest is the smaller number.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream_priorities(&self) -> Result<(i32, i32), Error> {
        self.here(RawContext::stream_priorities)
    }

    /// A limit of the context (`CU_LIMIT_*`), in the unit of that limit.
    ///
    /// # Errors
    /// The driver's.
    pub fn limit(&self, limit: sys::CUlimit) -> Result<usize, Error> {
        self.here(|raw| raw.limit(limit)).map_err(|failure| explain_limit(failure, limit, None))
    }

    /// Sets a limit of the context; the driver may round it.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), Error> {
        self.here(|raw| raw.set_limit(limit, value))
            .map_err(|failure| explain_limit(failure, limit, Some(value)))
    }

    /// Waits until all work in the context is done. Invalidates the captures that others have under way in it, in every mode and from
    /// every thread.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] while a builder captures in the context; the driver's; an error of earlier work may appear here.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.wait_for_all(|| self.here(RawContext::synchronize))?;
        if self.driver().checks_order() {
            check::waited_for_all();
        }
        Ok(())
    }

    /// Names the context in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    /// The driver's functions.
    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        self.driver().object_table()
    }

    /// The native context, whether it is still there or not.
    fn raw(&self) -> &RawContext {
        self.0.raw()
    }

    /// The native context, for a call on `object`, which belongs to it: refused if it is known to be gone.
    #[inline]
    pub(crate) fn live(&self, object: &dyn Subject) -> Result<&RawContext, Error> {
        self.check_there(object)?;
        Ok(self.raw())
    }

    /// Calls the driver with the context.
    pub(crate) fn here<T>(&self, call: impl FnOnce(&RawContext) -> Result<T, CallError>) -> Result<T, Error> {
        call(self.live(self)?).map_err(|error| self.failed(error, self))
    }

    /// Refuses `object`, which belongs to the context `of`, if that is another one.
    pub(crate) fn has(&self, of: &Self, object: &dyn Subject) -> Result<(), Error> {
        if self == of {
            return Ok(());
        }
        let refusal = format!("{object} belongs to {of}, and not to {self}; name its own context");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object))
    }
}

impl ContextObject {
    fn driver(&self) -> &Driver {
        self.device.driver()
    }

    fn tell_label(&self, label: Option<&str>) {
        self.driver().tell_label(self.raw().handle().addr(), label);
    }

    fn kind(&self) -> ContextKind {
        use ContextKind::{Created, Green, Primary, Wrapped};
        let known = [Primary, Created, Wrapped, Green];
        known[usize::from(self.kind.load(Relaxed))]
    }

    #[inline]
    fn raw(&self) -> &RawContext {
        self.raw.as_ref().expect("a context has its handle until it is dropped")
    }
}

impl Place for Context {
    fn driver(&self) -> &Driver {
        Context::driver(self)
    }

    fn is_gone(&self) -> bool {
        Context::is_gone(self)
    }

    fn released(&self, result: Result<(), CallError>, object: &dyn Subject) -> Result<(), Error> {
        Context::released(self, result, object)
    }
}

#[cfg(all(test, not(loom)))]
impl Context {
    /// A new context on the software driver.
    pub(crate) fn on_softcuda() -> Self {
        let options = crate::driver::OpenOptions::new().choice(crate::driver::Choice::Software);
        let driver = options.open().expect("softcuda is beside the tests");
        Device::get(&driver, 0).and_then(|device| Self::create(&device, 0)).expect("there is room")
    }
}

impl Drop for ContextObject {
    fn drop(&mut self) {
        let has_events = self.own_events.has_any();
        // With the context they went.
        let events = (has_events && !self.is_gone()).then(|| std::mem::take(&mut self.own_events));
        let Some(raw) = self.raw.take() else { return };
        KNOWN.remove(self.driver(), raw.handle().addr(), self);
        let is_owned = self.owning.is_owned();
        if !is_owned && events.is_none() {
            return;
        }
        let (device, kind, lost) = (self.device.clone(), self.kind(), self.lost());
        native::release(self.driver(), self, move |context| {
            if let Some(events) = events {
                events.destroy();
            }
            if is_owned { end(raw, &device, kind, lost, context) } else { Ok(()) }
        });
    }
}

/// Destroys a context, or gives it back. One that a sticky error corrupted ends with the process.
fn end(
    raw: RawContext,
    device: &Device,
    kind: ContextKind,
    lost: Option<Status>,
    context: &dyn Subject,
) -> Result<(), Error> {
    let result = match kind {
        // The hold counts even if what was held was reset.
        ContextKind::Primary => raw.release_primary(device.native()),
        _ if lost == Some(Status(DESTROYED)) => return Ok(()),
        _ => raw.destroy(),
    };
    match result {
        Err(error) if lost.is_some() && lost == error.result().map(|result| Status(result.0)) => Ok(()),
        result => result.map_err(|error| Error::of_call(device.driver(), error).about(context)),
    }
}

impl fmt::Display for ContextObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind() {
            ContextKind::Primary => "primary context",
            ContextKind::Created => "context",
            ContextKind::Wrapped => "wrapped context",
            ContextKind::Green => "green context",
        };
        match self.header.label() {
            Some(label) => write!(f, "{kind} \"{label}\" of {}", self.device),
            None => write!(f, "{kind} of {}", self.device),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.0.device)
            .field("kind", &self.kind())
            .finish_non_exhaustive()
    }
}

/// What a driver that refuses a limit does not say.
#[cold]
fn explain_limit(mut failure: Error, limit: sys::CUlimit, value: Option<usize>) -> Error {
    if matches!(
        sys::CUresult(failure.status.0),
        sys::CUDA_ERROR_INVALID_VALUE | sys::CUDA_ERROR_UNSUPPORTED_LIMIT
    ) {
        let to = value.map_or_else(String::new, |value| format!(", or it cannot be {value}"));
        failure.message.push_str(&format!(
            ". This driver knows no limit {}{to}: pass a CUlimit that it knows, from CU_LIMIT_STACK_SIZE (0) on",
            limit.0
        ));
    }
    failure
}

/// What a driver that refuses the flags of a context does not say.
#[cold]
fn explain_flags(mut failure: Error, flags: u32) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(&format!(
            ". flags is {flags:#x}: one of CU_CTX_SCHED_SPIN (1), _YIELD (2) and _BLOCKING_SYNC (4) or none, and any of the others up to {:#x}, \
             as far as this driver knows them",
            sys::CU_CTX_FLAGS_MASK.0
        ));
    }
    failure
}
