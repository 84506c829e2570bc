//! Contexts: primary ones, created ones, and those of others.

use crate::callback;
use crate::device::Device;
use crate::driver::calls::context::{self as calls, Current, RawContext};
use crate::driver::{CallError, Driver, Table, sys};
use crate::error::{Error, Status, Subject};
use crate::handle::{Header, object};
use crate::ownership::Ownership;
use crate::registry::Registry;
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// A context of a device. It stays alive as long as an object in it does.
///
/// No function here leaves another context current than the caller had, except those that say so.
pub struct Context {
    header: Header,
    device: Arc<Device>,
    kind: ContextKind,
    ownership: Ownership,
    /// `None` only while it is being released.
    raw: Option<RawContext>,
    /// By this it is told from a later one at the same address; `None` before driver 12.0.
    id: Option<u64>,
    /// The error that the driver answered, after which nothing in the context works; 0 if none.
    lost: AtomicI32,
}

object!(Context: Context, header);

/// What a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A context as the driver hands it back.
#[derive(Debug)]
pub struct NativeContext {
    /// The driver's handle.
    pub native: sys::CUcontext,
    /// The object that owns it; `None` if it is somebody else's.
    pub object: Option<Arc<Context>>,
}

/// The contexts that were retained or created here, or taken over.
static KNOWN: Registry<Context> = Registry::new();

/// Every object that stands for a context, also those that do not own it: several may stand for the same one, and all go
/// with it.
static ALL: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

impl Context {
    pub(crate) fn retain_primary(device: &Arc<Device>) -> Result<Arc<Self>, Error> {
        let raw = RawContext::retain_primary(device.driver().object_table(), device.native())
            .map_err(|error| device.failed(error))?;
        Ok(Self::new(device, ContextKind::Primary, Ownership::Owned, raw))
    }

    /// Creates a context; `flags` are the driver's `CU_CTX_*`. Prefer the primary context, which other libraries share.
    ///
    /// The new context is not made current.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(device: &Arc<Device>, flags: u32) -> Result<Arc<Self>, Error> {
        let raw = RawContext::create(device.driver().object_table(), flags, device.native())
            .map_err(|error| device.failed(error))?;
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
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn wrap(
        device: &Arc<Device>,
        native: sys::CUcontext,
        ownership: Ownership,
    ) -> Result<Arc<Self>, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native context is NULL"));
        }
        if let Some(known) = Self::find(device.driver(), native) {
            return known.again(ownership);
        }
        let raw = RawContext::adopt(device.driver().object_table(), native);
        Ok(Self::new(device, ContextKind::Wrapped, ownership, raw))
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
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn wrap_green(
        device: &Arc<Device>,
        native: sys::CUgreenCtx,
        ownership: Ownership,
    ) -> Result<Arc<Self>, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native green context is NULL"));
        }
        let raw = RawContext::of_green(device.driver().object_table(), native)
            .map_err(|error| device.failed(error))?;
        if let Some(known) = Self::find(device.driver(), raw.handle()) {
            return known.again(ownership);
        }
        Ok(Self::new(device, ContextKind::Green, ownership, raw))
    }

    fn new(device: &Arc<Device>, kind: ContextKind, ownership: Ownership, raw: RawContext) -> Arc<Self> {
        let (native, id) = (raw.handle(), raw.id().ok());
        let context = Arc::new(Self {
            header: Header::new::<Self>(),
            device: Arc::clone(device),
            kind,
            ownership,
            raw: Some(raw),
            id,
            lost: AtomicI32::new(0),
        });
        if ownership == Ownership::Owned {
            KNOWN.add(device.driver(), native, &context);
        }
        let mut all = ALL.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&context));
        drop(all);
        context
    }

    /// The object that owns the native handle.
    fn find(driver: &Driver, native: sys::CUcontext) -> Option<Arc<Self>> {
        let known = KNOWN.find(driver, native)?;
        // After a reset by others the driver uses the address for another context.
        let is_another = |id| is_another(id, calls::id(driver.object_table(), native));
        (!known.id.is_some_and(is_another)).then_some(known)
    }

    /// This object once more, for a native handle that it owns.
    fn again(self: Arc<Self>, ownership: Ownership) -> Result<Arc<Self>, Error> {
        ownership.once(self.as_ref())?;
        Ok(self)
    }

    /// The device that the context belongs to.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The driver that the context belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.device.driver()
    }

    /// The driver's own handle. After a reset of the primary context the driver may use the same address again.
    #[must_use]
    pub fn native(&self) -> sys::CUcontext {
        self.raw().handle()
    }

    /// What the context is.
    #[must_use]
    pub fn kind(&self) -> ContextKind {
        self.kind
    }

    /// The error after which nothing in the context works any more: one that is sticky, or
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) after a reset. Known once a call met it, or if the reset happened here.
    #[must_use]
    pub fn lost(&self) -> Option<Status> {
        match self.lost.load(Relaxed) {
            0 => None,
            code => Some(Status(code)),
        }
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
        self.here(|raw| raw.limit(limit))
    }

    /// Sets a limit of the context; the driver may round it.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), Error> {
        self.here(|raw| raw.set_limit(limit, value))
    }

    /// Waits until all work in the context is done. Invalidates any capture that is under way in it.
    ///
    /// # Errors
    /// The driver's; an error of earlier work may appear here.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.here(RawContext::synchronize)
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_current(&self) -> Result<(), Error> {
        self.here(|raw| calls::set_current(raw.table(), raw.handle()))
    }

    /// Puts the context on top of this thread's stack, which makes it current.
    ///
    /// # Errors
    /// The driver's.
    pub fn push(&self) -> Result<(), Error> {
        self.here(|raw| calls::push(raw.table(), raw.handle()))
    }

    /// Takes the topmost context off this thread's stack and answers with it; the one below becomes current.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` if the stack is empty; the driver's.
    pub fn pop(driver: &Driver) -> Result<NativeContext, Error> {
        let native = calls::pop(driver.object_table()).map_err(|error| Error::of_call(driver, error))?;
        Ok(Self::handed_back(driver, native))
    }

    /// The context that is current on this thread, if one is.
    ///
    /// # Errors
    /// The driver's.
    pub fn current(driver: &Driver) -> Result<Option<NativeContext>, Error> {
        let native = calls::current(driver.object_table()).map_err(|error| Error::of_call(driver, error))?;
        Ok((!native.is_null()).then(|| Self::handed_back(driver, native)))
    }

    fn handed_back(driver: &Driver, native: sys::CUcontext) -> NativeContext {
        NativeContext { native, object: Self::find(driver, native) }
    }

    /// Makes no context current on this thread.
    ///
    /// # Errors
    /// The driver's.
    pub fn clear_current(driver: &Driver) -> Result<(), Error> {
        calls::set_current(driver.object_table(), std::ptr::null_mut())
            .map_err(|error| Error::of_call(driver, error))
    }

    /// Names the context in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.header.label()
    }

    /// The driver's functions.
    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        self.driver().object_table()
    }

    /// The native context, whether it is still there or not.
    fn raw(&self) -> &RawContext {
        self.raw.as_ref().expect("a context has its handle until it is dropped")
    }

    /// The native context, for a call on `object`, which belongs to it: refused if it is known to be gone.
    #[inline]
    pub(crate) fn live(&self, object: &dyn Subject) -> Result<&RawContext, Error> {
        self.check_there(object)?;
        Ok(self.raw())
    }

    /// Makes the context current until the result is dropped.
    pub(crate) fn enter(&self) -> Result<Current, Error> {
        self.here(RawContext::enter)
    }

    /// Calls the driver with the context.
    pub(crate) fn here<T>(&self, call: impl FnOnce(&RawContext) -> Result<T, CallError>) -> Result<T, Error> {
        call(self.live(self)?).map_err(|error| self.failed(error, self))
    }

    /// Refuses a call on `object`, which belongs to this context, if the context is known to be gone. The driver may use
    /// its address for another one, and on driver 580 some calls on what was in it crash then.
    #[inline]
    pub(crate) fn check_there(&self, object: &dyn Subject) -> Result<(), Error> {
        if self.is_known_gone() { Err(self.gone(object)) } else { Ok(()) }
    }

    /// The refusal of a call on `object`: this context, or something in it.
    #[cold]
    fn gone(&self, object: &dyn Subject) -> Error {
        let status = Status(DESTROYED);
        let what = if std::ptr::addr_eq(object, self) { "gone" } else { "in a context that is gone" };
        Error::new(status, format!("{object} is {what}{}", advice(status).unwrap_or_default())).about(object)
    }

    /// Whether the context is known to be gone; costs one read.
    #[inline]
    pub(crate) fn is_known_gone(&self) -> bool {
        self.lost.load(Relaxed) == DESTROYED
    }

    /// Whether what was in the context went with it, so that nothing is left to release.
    pub(crate) fn is_gone(&self) -> bool {
        // A reset by others shows in the number.
        if !self.is_known_gone() && self.id.is_some_and(|id| is_another(id, self.raw().id())) {
            self.was_reset();
        }
        self.is_known_gone()
    }

    /// Whether it is certainly another context that the driver says is gone. Before 12.0 the driver cannot be asked whether
    /// this one is what it was, only whether the one that is current here is any.
    fn another_is_gone(&self) -> bool {
        if self.id.is_some() {
            return !self.is_gone();
        }
        let current = calls::current(self.table()).unwrap_or(std::ptr::null_mut());
        !current.is_null() && current != self.native() && !calls::is_known(self.table(), current)
    }

    /// The error of a call on `object`, which belongs to this context; notes if the context is lost.
    #[cold]
    pub(crate) fn failed(&self, error: CallError, object: &dyn Subject) -> Error {
        let mut failure = Error::of_call(self.driver(), error).about(object);
        if failure.status.0 == DESTROYED && self.another_is_gone() {
            failure.message.push_str(
                ". This context is as it was: one that is gone is current on this thread, or another argument belongs to it",
            );
        } else if let Some(advice) = advice(failure.status) {
            self.lost.store(failure.status.0, Relaxed);
            callback::abandon(self);
            failure.message.push_str(advice);
        }
        failure
    }

    /// What is left to say of the release of `object`, which belongs to this context: nothing if it went with a reset.
    pub(crate) fn released(&self, result: Result<(), CallError>, object: &dyn Subject) -> Result<(), Error> {
        let went_before = |error: &CallError| {
            error.result() == Some(sys::CUDA_ERROR_CONTEXT_IS_DESTROYED)
                && self.lost() == Some(Status(DESTROYED))
        };
        match result {
            Err(error) if went_before(&error) => Ok(()),
            result => result.map_err(|error| self.failed(error, object)),
        }
    }

    /// Refuses `object`, which belongs to the context `of`, if that is another one.
    pub(crate) fn has(&self, of: &Self, object: &dyn Subject) -> Result<(), Error> {
        if std::ptr::eq(self, of) {
            return Ok(());
        }
        let refusal = format!("{object} belongs to {of}, and not to {self}; name its own context");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object))
    }

    /// Notes that the native context was reset or destroyed, on every object that stands for it.
    pub(crate) fn went(driver: &Driver, native: sys::CUcontext) {
        let all: Vec<_> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
        for context in all.iter().filter(|context| context.native() == native && context.driver() == driver) {
            context.was_reset();
        }
    }

    /// Notes that everything in the context was destroyed.
    fn was_reset(&self) {
        KNOWN.remove(self.driver(), self.native(), self);
        self.lost.store(DESTROYED, Relaxed);
        callback::abandon(self);
    }
}

/// Whether a handle means another context than that of the number `id`, by what the driver says of its number now.
fn is_another(id: u64, now: Result<u64, CallError>) -> bool {
    match now {
        Ok(now) => now != id,
        // The driver does not know the handle any more. Another failure tells nothing.
        Err(error) => matches!(
            error.result(),
            Some(sys::CUDA_ERROR_CONTEXT_IS_DESTROYED | sys::CUDA_ERROR_INVALID_CONTEXT)
        ),
    }
}

const DESTROYED: i32 = sys::CUDA_ERROR_CONTEXT_IS_DESTROYED.0;

/// What to do after an answer that the driver gives to every later call in the context, too.
fn advice(status: Status) -> Option<&'static str> {
    match status.0 {
        700 | 702 | 710 | 714..=719 => Some(
            ". Nothing in this context works any more, and no new one can be had: end the process and start again",
        ),
        DESTROYED => Some(
            ". The device was reset, or the context destroyed, and what was made in it is gone: get the context anew, and \
             make in it what is still needed",
        ),
        _ => None,
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        if self.ownership == Ownership::Borrowed {
            return;
        }
        KNOWN.remove(self.driver(), raw.handle(), self);
        if callback::is_inside() {
            // The driver lets nothing go there.
            return callback::later(Self {
                header: Header::new::<Self>(),
                device: Arc::clone(&self.device),
                raw: Some(raw),
                lost: AtomicI32::new(*self.lost.get_mut()),
                ..*self
            });
        }
        let result = match self.kind {
            // The hold counts even if what was held was reset.
            ContextKind::Primary => raw.release_primary(self.device.native()),
            _ if self.lost() == Some(Status(DESTROYED)) => return,
            _ => {
                let native = raw.handle();
                let result = raw.destroy();
                // One that the driver refused to destroy is still there.
                if result.is_ok() {
                    Self::went(self.driver(), native);
                }
                result
            }
        };
        crate::release::report(self.driver(), self.released(result, self));
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
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
            .field("device", &self.device)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
