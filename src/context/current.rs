//! Which context is current on a thread.

use super::Context;
#[cfg(feature = "capi")]
use super::ContextObject;
#[cfg(feature = "capi")]
use crate::driver::Table;
use crate::driver::calls::context::{self as calls, Current, RawContext};
use crate::driver::{CallError, Driver, sys};
use crate::object::error::Error;
#[cfg(feature = "capi")]
use crate::object::handle::Shared as _;
#[cfg(feature = "capi")]
use crate::object::handle::{self, Guard, Token};
#[cfg(feature = "capi")]
use std::cell::Cell;

#[cfg(feature = "capi")]
thread_local! {
    /// The context that this thread was told of last. Most threads ask for the same one again and again.
    static FOUND: Cell<Found> = const { Cell::new(Found { table: 0, native: 0, id: 0, handle: Token::NULL }) };
}

/// A context as it was found once.
#[cfg(feature = "capi")]
#[derive(Clone, Copy)]
struct Found {
    /// The address of the driver's table.
    table: usize,
    native: usize,
    id: u64,
    handle: Token,
}

#[cfg(feature = "capi")]
impl Found {
    /// The handle, if the driver says that this is the same context still, and there is an object for it.
    #[inline]
    fn handle(self, table: &Table, native: sys::CUcontext, guard: &Guard) -> Option<Token> {
        let is_this = self.native == native.addr()
            && self.table == std::ptr::from_ref(table).addr()
            && calls::id(table, native).is_ok_and(|id| id == self.id);
        let is_there =
            || guard.find::<ContextObject>(self.handle).is_some_and(|context| !context.is_known_gone());
        (is_this && is_there()).then_some(self.handle)
    }
}

/// A context as the driver hands it back.
#[derive(Debug)]
pub struct NativeContext {
    /// The driver's handle.
    pub native: sys::CUcontext,
    /// The object that stands for it; `None` if there is none.
    pub object: Option<Context>,
}

impl Context {
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

    /// The borrowed handle of the context that is current on this thread, and its own; NULL if none is, no handle if there is no
    /// object for it.
    ///
    /// # Errors
    /// The driver's; that there are too many handles.
    #[cfg(feature = "capi")]
    pub(crate) fn current_handle(
        driver: &Driver,
        guard: &Guard,
    ) -> Result<(sys::CUcontext, Option<Token>), Error> {
        let table = driver.object_table();
        let native = calls::current(table).map_err(|error| Error::of_call(driver, error))?;
        if native.is_null() {
            return Ok((native, None));
        }
        if let Some(handle) = FOUND.get().handle(table, native, guard) {
            return Ok((native, Some(handle)));
        }
        let Some(object) = Self::find(driver, native) else { return Ok((native, None)) };
        let handle = handle::borrowed(object.object())?;
        if let Some(id) = object.0.id {
            FOUND.set(Found { table: std::ptr::from_ref(table).addr(), native: native.addr(), id, handle });
        }
        Ok((native, Some(handle)))
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

    /// Makes the context current until the result is dropped, for a call of the driver that fails like this one.
    #[inline]
    pub(crate) fn entered(&self) -> Result<Current, CallError> {
        self.raw().enter()
    }

    /// Makes the context current until the result is dropped.
    pub(crate) fn enter(&self) -> Result<Current, Error> {
        self.here(RawContext::enter)
    }
}
