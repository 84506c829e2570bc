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
//! Where things are:
//!
//! - `exports` (generated): the functions, one per exported name; `names` (generated): the same as data;
//!   `entry`: what every call passes through; `pointer`: the callers' pointers;
//! - `settings`, `versions`, `getter`, `shell`: which driver this is, and how its functions are found;
//! - `init`, `device`, `device_attributes`, `context`, `memory`, `peer`, `logs`: the driver;
//! - `code`: what a program loads, and its kernels;
//! - `stream`, `event`, `host_function`, `graph`, and `executor`, which runs what they are given;
//! - `ptx`: kernels, an engine of its own that knows nothing of the rest;
//! - `control`: what a test can ask and arrange, the `softcuda_*` functions; `calls`, `fault`, `pattern`, `trace`, `live`.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)] // functions and parameters have the names that the driver API gives them

mod calls;
mod code;
mod context;
mod control;
mod device;
mod device_attributes;
mod entry;
mod error;
mod event;
mod executor;
mod exports;
mod fault;
mod getter;
mod graph;
mod handle;
mod host_function;
mod init;
mod live;
mod locate;
mod logs;
mod memory;
mod names;
mod pattern;
mod peer;
mod pointer;
pub mod ptx;
mod settings;
mod shell;
mod stream;
#[allow(dead_code, unreachable_pub)] // the whole interface, generated
mod sys;
mod trace;
mod versions;

pub use locate::{library_path, shell_path};
pub use versions::VERSIONS;
