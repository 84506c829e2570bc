//! Kernels: libraries, kernels, launches, occupancy.

mod library;

mod object;

pub(in crate::capi) mod arguments;

mod launch;

mod occupancy;

pub use arguments::*;
pub use launch::*;
pub(in crate::capi) use launch::{Config, launch_config, told_config};
pub use library::*;
pub use object::*;
pub use occupancy::*;
