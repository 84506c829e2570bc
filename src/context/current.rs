//! Which context is current on a thread.

use super::Context;
use crate::driver::calls::context::{self as calls, Current, RawContext};
use crate::driver::{CallError, Driver, sys};
use crate::object::error::Error;
use std::sync::Arc;

/// A context as the driver hands it back.
#[derive(Debug)]
pub struct NativeContext {
    /// The driver's handle.
    pub native: sys::CUcontext,
    /// The object that stands for it; `None` if there is none.
    pub object: Option<Arc<Context>>,
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
