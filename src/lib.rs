//! Finds the CUDA driver at run time and resolves its versioned symbols into a dispatch table.
//!
//! One binary runs with drivers of CUDA 11.4 to 13.x, or with none: a missing driver or function is a value with a
//! sentence, never a crash. [`driver`] is the raw tier; `include/cushim_driver.h` is the same for C.

#![deny(unsafe_code)]

#[cfg(feature = "capi")]
#[allow(unsafe_code)]
pub mod capi;
#[allow(unsafe_code)]
pub mod driver;
mod error;
#[allow(unsafe_code)]
pub(crate) mod handle;

pub use error::{Error, Status};
