//! `libsoftcuda_compilers.so`: has NVRTC and nvJitLink hand out PTX in place of machine code, which softcuda does not execute.
//!
//! `softcuda-run` names it in `LD_AUDIT`, so the loader asks it about each library that a program opens (`audit`). In place of NVRTC and
//! nvJitLink it names a copy of itself (`copy`), which needs the real library: functions that are here come first, and all others are the
//! real one's. No file of an installed package is changed.
//!
//! - `audit`: what the loader asks;
//! - `copy`, `places`, `elf`: how a copy of this library comes to stand for another one;
//! - `real`: the functions of the library for which this copy stands;
//! - `nvrtc`, `nvjitlink`, `versions`: the functions that are done differently;
//! - `options`: the options of both;
//! - `cubin`: what is handed out in place of machine code.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)] // functions have the names that the libraries give them
#![allow(unreachable_pub)] // what is exported is so to C

mod audit;
mod copy;
pub mod cubin;
mod elf;
mod nvjitlink;
mod nvrtc;
mod options;
mod places;
mod real;
mod versions;
