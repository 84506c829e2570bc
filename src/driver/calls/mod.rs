//! The driver's functions as the objects use them: one function per operation, whatever ABI this driver has for it.
//!
//! The types here own a handle of the driver. They are neither `Copy` nor `Clone`, and destroying takes them by value: so
//! their functions are safe to call.

pub(crate) mod capture_mode;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod graphics;
pub(crate) mod host_function;
pub(crate) mod kernel;
pub(crate) mod logs;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod sharing;
pub(crate) mod stream;

use super::{CallError, Driver, call, sys};
use std::ffi::CStr;

/// The driver's answer to a question: "not ready" is `false`, not an error.
fn ready(result: Result<(), CallError>) -> Result<bool, CallError> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.result() == Some(sys::CUDA_ERROR_NOT_READY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// At the end of a process the driver shuts down before the last objects go; what they held is gone then.
fn gone_at_exit(result: Result<(), CallError>) -> Result<(), CallError> {
    match result {
        Err(error) if error.result() == Some(sys::CUDA_ERROR_DEINITIALIZED) => Ok(()),
        result => result,
    }
}

impl Driver {
    /// The driver's own name of a result, for one that this version of cushim does not know. Valid for ever, as the
    /// driver is never unloaded.
    pub(crate) fn result_name(&self, result: i32) -> Option<&'static CStr> {
        let mut name = std::ptr::null();
        // SAFETY: the function writes a pointer to a string of the driver's, or NULL.
        unsafe {
            call!(self.table(), cuGetErrorName_6000(sys::CUresult(result), &raw mut name)).ok()?;
            (!name.is_null()).then(|| CStr::from_ptr(name))
        }
    }
}
