//! softcuda: a CUDA driver in software.
//!
//! `libsoftcuda.so` exports the functions of the CUDA driver API and runs them on the CPU, so that programs which
//! orchestrate a GPU (contexts, streams, events, memory, graphs, kernels) can be tested on a machine that has none. It
//! impersonates a driver version (`SOFTCUDA_VERSION`, see [`VERSIONS`]): the symbols, flags and error codes are those of
//! that version. What it does not model it refuses with `CUDA_ERROR_NOT_SUPPORTED`. It cannot serve `libcudart`.
//!
//! As a Rust library it only tells where the shared libraries are: a test depends on this crate, so that cargo builds
//! them, and opens what [`library_path`] or [`shell_path`] names. The driver's own state lives in the shared library.
//!
//! Where things are, from the top floor down (`tests/layering.rs` proves it):
//!
//! - `interface`: how a program reaches the driver: exports (generated), what every call passes through, the getter, shells,
//!   and the `softcuda_*` functions, by which a test asks and arranges;
//! - `driver`: the driver's objects, and the calls on them;
//! - `executor`: queues and work, and nothing of what they are for;
//! - `check`: in which order work is, and which uses of memory have none (`SOFTCUDA_CHECK`);
//! - `ptx`: kernels, an engine of its own that knows nothing of the rest;
//! - `instruments`: settings, faults, counts, traces, the log, what lives;
//! - `abi`: names, types, versions and result codes, as data.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)] // functions and parameters have the names that the driver API gives them

mod abi;
mod check;
mod driver;
mod executor;
mod instruments;
mod interface;
mod locate;
pub mod ptx;

pub use abi::versions::VERSIONS;
pub use locate::{library_path, shell_path};
