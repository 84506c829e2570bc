//! NVML for softcuda: `libsoftcuda_nvml.so`, which programs find as `libnvidia-ml.so.1` under `softcuda-run`.
//!
//! Devices, their identities and memory are those of the softcuda of the process; what a device without hardware cannot say
//! (temperature, power, fans, ECC) answers `NVML_ERROR_NOT_SUPPORTED`, as GPUs do that lack it. MIG is off. A function that NVML does not
//! have is not exported, so that programs which look it up see that.
//!
//! - `activity`, `identity`, `memory`, `mig`, `system`: the functions, by what they ask for;
//! - `nothing`: what there is none of;
//! - `refused`: the functions that nothing here answers;
//! - `session`: what every call begins with;
//! - `device`, `place`: handles, and where answers are written;
//! - `core`: the softcuda of this process;
//! - `code`: what functions return.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)] // functions have the names that NVML gives them
#![allow(unreachable_pub)] // what is exported is so to C

mod activity;
mod code;
mod core;
mod device;
mod identity;
mod memory;
mod mig;
mod nothing;
mod place;
mod refused;
mod session;
mod system;
