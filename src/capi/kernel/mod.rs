//! Kernels: libraries, kernels, launches, occupancy.

mod arguments;
mod launch;
mod library;
mod object;
mod occupancy;

pub use arguments::*;
pub use launch::*;
pub use library::*;
pub use object::*;
pub use occupancy::*;
