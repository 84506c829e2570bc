//! Finds the CUDA driver at run time, resolves its versioned functions, and orders work through checked objects.
//!
//! One binary runs with drivers of CUDA 11.4 to 13.x, or with none: a missing driver or function, or a wrong argument, is a
//! value with a sentence, never a crash.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::typed::DeviceSlice;
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let mut numbers = DeviceSlice::from_slice(&stream, &[1_u32, 2, 3])?;
//! numbers.range_mut(1..)?.fill(&stream, 7)?;
//! assert_eq!(numbers.to_vec(&stream)?, [1, 7, 7]);
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! - [`typed`] has slices and kernels that are safe by their types: begin there.
//! - [`Device`], [`Context`], [`Stream`] and [`Event`], [`memory`], [`managed`] and [`kernel`] are the objects;
//!   `include/cushim.h` is the same for C.
//! - [`op`] has what streams are asked to do, as values, and [`graph`] what is described once and launched many times.
//! - [`compile`] compiles CUDA C++ with NVRTC, which it finds at run time, too.
//! - [`testing`] has drivers for tests, which need no GPU.
//! - [`driver`] is the raw tier, a table of the driver's functions; `include/cushim_driver.h` is the same for C.
//!
//! Options are made by methods of their fields' names: `StreamOptions::default().priority(-1)`.

// Some of what the objects offer inside the crate only the C ABI asks for.
#![cfg_attr(not(feature = "capi"), allow(dead_code))]

#[cfg(feature = "capi")]
pub mod capi;
mod check;
pub mod compile;
mod context;
mod device;
pub mod driver;
mod event;
mod feature;
pub mod graph;
pub mod graphics;
pub mod kernel;
mod location;
pub mod managed;
pub mod memory;
mod object;
pub mod op;
mod order;
mod pointer;
mod scratch;
mod stream;
pub mod testing;
pub mod typed;

/// The programs of the page are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../docs/start/rust.md")]
mod page {}

pub use context::{Context, ContextKind, FlushScope, NativeContext};
pub use device::Device;
pub use event::{Event, EventOptions};
pub use feature::Feature;
pub use location::Location;
pub use object::callback::{Owner, flush_callbacks};
pub use object::descriptor::{DESCRIPTOR_BYTES, DescriptorBytes};
pub use object::error::{Error, Failure, Status};
pub use object::owning::Ownership;
pub use object::release::unreported_release_errors;
pub use stream::{Stream, StreamKind, StreamOptions};
