//! The C ABI: checks arguments, looks handles up, calls, translates errors. No logic.

#![allow(non_camel_case_types)]

pub mod batch;
pub mod buffer;
pub mod callback;
pub mod context;
pub mod device;
pub mod dlpack;
pub mod driver;
mod driver_object;
pub mod driver_types;
pub mod error;
pub mod error_object;
pub mod event;
pub mod handles;
mod input;
pub mod kernel;
pub mod location;
pub mod log;
pub mod managed;
pub mod memory;
mod options;
mod out;
pub mod peer_access;
pub mod resource;
pub mod stream;
mod text;
