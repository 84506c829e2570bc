//! Kernels: what a program loads, and the kernels in it.
//!
//! | file | concept |
//! |---|---|
//! | `image`, `cubin`, `file` | what an image is: PTX, a cubin, a fatbin, or what was linked; files with one in them |
//! | `jit` | the compiler's options and logs |
//! | `native` | functions of a test that run in place of kernels |
//! | `program`, `parameter` | an image, compiled; no context is concerned |
//! | `adjusted`, `attributes` | what may be set of a kernel, and what it is |
//! | `instance` | a program in a context, with its variables and functions |
//! | `module`, `library` | how callers load either |
//! | `linker` | several inputs become an image |
//! | `found`, `function`, `kernels` | a kernel that a caller means; the calls of functions and of libraries' kernels |
//! | `prepared`, `preparing` | what is set of a function for the oldest way of launching it, and the calls that set it |
//! | `shape`, `occupancy`, `arguments`, `launch_attribute` | how large a launch is, how much of a device it fills, what it gives to the kernel, what else is said of it |

mod adjusted;
pub(crate) mod arguments;
pub(crate) mod attributes;
mod cubin;
pub(crate) mod declared;
mod file;
pub(crate) mod found;
pub(crate) mod function;
mod image;
pub(crate) mod instance;
mod jit;
pub(crate) mod kernels;
pub(crate) mod launch_attribute;
pub(crate) mod library;
pub(crate) mod linker;
pub(crate) mod module;
pub(crate) mod native;
pub(crate) mod occupancy;
pub(crate) mod parameter;
pub(crate) mod prepared;
pub(crate) mod preparing;
pub(crate) mod program;
pub(crate) mod shape;
