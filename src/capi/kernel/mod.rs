//! Kernels: libraries, kernels, launches, occupancy.

mod arguments;
mod kernel;
mod launch;
mod library;
mod occupancy;

pub use arguments::*;
pub use kernel::*;
pub use launch::*;
pub use library::*;
pub use occupancy::*;
