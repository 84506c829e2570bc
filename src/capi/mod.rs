//! The C ABI: checks arguments, looks handles up, calls, translates errors. No logic.
//!
//! The headers declare what is exported in the order in which the modules stand here.

#![allow(non_camel_case_types)]
// Comments of exported functions are C's: `@param[out]` is no link.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links)]

pub mod error;

pub mod driver;

pub mod error_object;

pub mod any;
pub mod handles;

pub mod driver_object;

pub mod device;

pub mod context;
pub mod peer_access;

pub mod stream;
pub mod stream_attributes;

pub mod event;

pub mod memory;

pub mod batch;
pub mod location;
pub mod managed;

pub mod callback;

pub mod resource;

pub mod buffer;
pub mod virtual_memory;

pub mod direct;
pub mod dlpack;
pub mod sharing;

pub mod graphics;

pub mod compile;
pub mod kernel;

pub mod graph;

pub mod log;

pub mod driver_types;
mod input;
mod options;
mod out;
mod pointer;
mod text;
