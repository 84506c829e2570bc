//! Finds the CUDA driver at run time and resolves its versioned symbols into a dispatch table.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod driver;
