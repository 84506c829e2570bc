//! Kernels: loaded from an image, looked at, and how they are launched. [`op::Launch`](crate::op::Launch) launches one.
//!
//! | file | concept |
//! |---|---|
//! | `image` | code as it comes: PTX, cubin, fatbin |
//! | `library` | code that the driver loaded |
//! | `object` | one kernel of it, or one of somebody else's |
//! | `config` | how a kernel is launched |
//! | `refusal` | why the driver refused one, with the limit that it met |
//! | `occupancy` | how much of a device a kernel fills |

mod config;
pub(crate) mod image;
mod library;
mod object;
mod occupancy;
pub(crate) mod refusal;

pub use crate::driver::calls::kernel::function::Parameter;
pub use config::{LaunchConfig, MemorySyncDomain, ProgrammaticEvent};
pub use image::Image;
pub use library::{Library, LoadOptions};
pub use object::{Keeper, Kernel, NativeKernel};
pub use occupancy::{BlockSize, DynamicShared};
