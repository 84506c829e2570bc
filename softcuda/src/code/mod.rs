//! Code: what a program loads, and the kernels in it.
//!
//! | file | concept |
//! |---|---|
//! | `image` | what an image is: PTX, a cubin, a fatbin |
//! | `jit` | the compiler's options and logs |
//! | `program` | an image, compiled; no context is concerned |
//! | `instance` | a program in a context, with its variables |
//! | `library`, `module` | how callers load either |
//! | `kernel`, `function` | a kernel of a library, and one of an instance |
//! | `attributes` | what a kernel is, and what may be set |
//! | `arguments`, `shape`, `launch`, `running` | launches, asked for and run |
//! | `native` | functions of a test that run in place of kernels |
//! | `occupancy` | how much of a device a kernel fills |

mod arguments;
mod attributes;
pub(crate) mod function;
pub(crate) mod image;
mod instance;
mod jit;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod module;
pub(crate) mod native;
pub(crate) mod occupancy;
mod program;
mod running;
mod shape;

pub(crate) use instance::forget;
