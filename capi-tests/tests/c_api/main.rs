//! What the programs of `tests/programs/` do not see of the C ABI: its headers, libraries and data, examples and bindings,
//! and what becomes of it when calls are random or fail. `cargo test -p capi-tests --test c_api header` runs one of these.
#![cfg(target_os = "linux")]

mod abi;
mod capture;
mod cdef;
mod compile;
mod cpp;
mod devices;
mod dlpack;
mod examples;
mod exports;
mod fault_sweep;
mod forms;
mod fuzz;
mod glibc;
mod go;
mod header;
mod install;
mod interface;
mod interpreters;
mod kernels;
mod linking;
mod python;
mod scoreboard;
mod softcuda;
