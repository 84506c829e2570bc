//! Contexts: primary ones, created ones, and those of others.

use crate::device::Device;
use crate::driver::calls::context::{self as calls, Current, RawContext};
use crate::driver::{CallError, Driver, sys};
use crate::error::{Error, Status};
use crate::handle::{Header, object};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A context of a device. It stays alive as long as an object in it does.
///
/// No function here leaves another context current than the caller had, except those that say so.
pub struct Context {
    header: Header,
    device: Arc<Device>,
    origin: Origin,
    /// `None` only while it is being released.
    raw: Option<RawContext>,
    /// The sticky error that the driver answered, after which nothing in the context works; 0 if none.
    lost: AtomicI32,
}

object!(Context: Context, header);

/// Where a context came from, which decides how it is let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Primary,
    Created,
    /// Somebody else's.
    Borrowed,
}

impl Context {
    pub(crate) fn retain_primary(device: &Arc<Device>) -> Result<Arc<Self>, Error> {
        let table = device.driver().object_table();
        let raw = RawContext::retain_primary(table, device.native())
            .map_err(|error| Error::of_call(device.driver(), error).with_object(device.to_string()))?;
        Ok(Self::new(device, Origin::Primary, raw))
    }

    /// Creates a context; `flags` are the driver's `CU_CTX_*`. Prefer the primary context, which other libraries share.
    ///
    /// The new context is not made current.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(device: &Arc<Device>, flags: u32) -> Result<Arc<Self>, Error> {
        let table = device.driver().object_table();
        let raw = RawContext::create(table, flags, device.native())
            .map_err(|error| Error::of_call(device.driver(), error).with_object(device.to_string()))?;
        Ok(Self::new(device, Origin::Created, raw))
    }

    /// Takes in a context that somebody else created.
    ///
    /// # Safety
    /// `native` is a context of `device`, alive until the last object that is made in it here is gone. (Driver 580 crashes
    /// in calls on streams of a context that was destroyed.)
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn wrap(device: &Arc<Device>, native: sys::CUcontext) -> Result<Arc<Self>, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native context is NULL"));
        }
        let raw = RawContext::adopt(device.driver().object_table(), native);
        Ok(Self::new(device, Origin::Borrowed, raw))
    }

    fn new(device: &Arc<Device>, origin: Origin, raw: RawContext) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new::<Self>(),
            device: Arc::clone(device),
            origin,
            raw: Some(raw),
            lost: AtomicI32::new(0),
        })
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

    /// Whether this is the device's primary context.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.origin == Origin::Primary
    }

    /// The sticky error after which nothing in the context works any more.
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
        self.done(self.raw().id())
    }

    /// The flags (`CU_CTX_*`) of the context.
    ///
    /// # Errors
    /// The driver's.
    pub fn flags(&self) -> Result<u32, Error> {
        self.done(self.raw().flags())
    }

    /// The least and the greatest priority that streams of the context may have; the greatest is the smaller number.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream_priorities(&self) -> Result<(i32, i32), Error> {
        self.done(self.raw().stream_priorities())
    }

    /// A limit of the context (`CU_LIMIT_*`), in the unit of that limit.
    ///
    /// # Errors
    /// The driver's.
    pub fn limit(&self, limit: sys::CUlimit) -> Result<usize, Error> {
        self.done(self.raw().limit(limit))
    }

    /// Sets a limit of the context; the driver may round it.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), Error> {
        self.done(self.raw().set_limit(limit, value))
    }

    /// Waits until all work in the context is done. Invalidates any capture that is under way in it.
    ///
    /// # Errors
    /// The driver's; an error of earlier work may appear here.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.done(self.raw().synchronize())
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_current(&self) -> Result<(), Error> {
        self.done(calls::set_current(self.raw().table(), self.raw().handle()))
    }

    /// Puts the context on top of this thread's stack, which makes it current.
    ///
    /// # Errors
    /// The driver's.
    pub fn push(&self) -> Result<(), Error> {
        self.done(calls::push(self.raw().table(), self.raw().handle()))
    }

    /// Takes the topmost context off this thread's stack; the one below becomes current.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` if the stack is empty; the driver's.
    pub fn pop(driver: &Driver) -> Result<sys::CUcontext, Error> {
        calls::pop(driver.object_table()).map_err(|error| Error::of_call(driver, error))
    }

    /// The driver's handle of the context that is current on this thread; NULL if none is.
    ///
    /// # Errors
    /// The driver's.
    pub fn current(driver: &Driver) -> Result<sys::CUcontext, Error> {
        calls::current(driver.object_table()).map_err(|error| Error::of_call(driver, error))
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

    pub(crate) fn raw(&self) -> &RawContext {
        self.raw.as_ref().expect("a context has its handle until it is dropped")
    }

    /// Makes the context current until the result is dropped.
    pub(crate) fn enter(&self) -> Result<Current, Error> {
        self.done(self.raw().enter())
    }

    fn done<T>(&self, result: Result<T, CallError>) -> Result<T, Error> {
        result.map_err(|error| self.failed(error, self))
    }

    /// The error of a call on `object`, which belongs to this context; notes if the context is lost.
    #[cold]
    pub(crate) fn failed(&self, error: CallError, object: &dyn fmt::Display) -> Error {
        let mut failure = Error::of_call(self.driver(), error).with_object(object.to_string());
        if is_sticky(failure.status) {
            self.lost.store(failure.status.0, Relaxed);
            failure.message.push_str(
                ". Nothing in this context works any more, and no new one can be had: end the process and start again",
            );
        }
        failure
    }
}

/// Whether the driver answers every later call in the context with the same error.
fn is_sticky(status: Status) -> bool {
    matches!(status.0, 700 | 702 | 710 | 714..=719)
}

impl Drop for Context {
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        let result = match self.origin {
            Origin::Primary => raw.release_primary(self.device.native()),
            Origin::Created => raw.destroy(),
            Origin::Borrowed => Ok(()),
        };
        crate::release::report(result.map_err(|error| self.failed(error, self)));
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.origin {
            Origin::Primary => "primary context",
            Origin::Created => "context",
            Origin::Borrowed => "wrapped context",
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
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
