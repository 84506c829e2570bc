//! The C ABI: checks arguments, looks handles up, calls, translates errors. No logic.

#![allow(non_camel_case_types)]

pub mod driver;
mod driver_object;
pub mod error;
mod options;
mod out;
