//! Finds the CUDA driver at run time, resolves its versioned functions, and orders work through checked objects.
//!
//! One binary runs with drivers of CUDA 11.4 to 13.x, or with none: a missing driver or function, or a wrong argument, is a
//! value with a sentence, never a crash.
//!
//! - [`Device`], [`Context`], [`Stream`] and [`Event`], [`memory`] and [`managed`] are the objects;
//!   `include/cushim.h` is the same for C.
//! - [`driver`] is the raw tier, a table of the driver's functions; `include/cushim_driver.h` is the same for C.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::memory::{DeviceMemory, Fill, Place};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let memory = DeviceMemory::allocate(&context, 64)?;
//! let mut bytes = [0u8; 64];
//! // SAFETY: the memory and the array have 64 bytes, and stay until the stream is done.
//! unsafe {
//!     stream.fill(memory.pointer(), Fill::U8(7), 64)?;
//!     stream.copy(Place::host(&mut bytes), memory.place(), 64)?;
//! }
//! stream.synchronize()?;
//! assert_eq!(bytes, [7; 64]);
//! # Ok::<(), cushim::Error>(())
//! ```

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
pub mod kernel;
mod location;
#[cfg(feature = "capi")]
mod logging;
pub mod managed;
pub mod memory;
mod ownership;
mod peer_access;
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
