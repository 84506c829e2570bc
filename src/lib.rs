//! Finds the CUDA driver at run time and resolves its versioned symbols into a dispatch table.
//!
//! One binary runs with drivers of CUDA 11.4 to 13.x, or with none: a missing driver or function is a value with a
//! sentence, never a crash. [`driver`] is the raw tier; `include/cushim_driver.h` is the same for C.

#![deny(unsafe_code)]
// Some of what the objects offer inside the crate only the C ABI asks for.
#![cfg_attr(not(feature = "capi"), allow(dead_code))]

pub mod batch;
#[allow(unsafe_code)]
mod callback;
#[cfg(feature = "capi")]
#[allow(unsafe_code)]
pub mod capi;
mod context;
mod device;
#[allow(unsafe_code)]
pub mod driver;
mod driver_log;
mod error;
mod event;
mod feature;
#[allow(unsafe_code)]
pub(crate) mod handle;
mod location;
#[cfg(feature = "capi")]
mod logging;
pub mod managed;
pub mod memory;
mod ownership;
mod registry;
mod release;
mod stream;

pub use callback::{Owner, flush_callbacks};
pub use context::{Context, ContextKind, NativeContext};
pub use device::Device;
pub use error::{Error, Failure, Status};
pub use event::{Event, EventOptions};
pub use feature::Feature;
pub use location::Location;
pub use ownership::Ownership;
pub use release::unreported_release_errors;
pub use stream::{Stream, StreamKind, StreamOptions};
