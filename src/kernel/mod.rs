//! Kernels: loaded from an image, looked at, launched in a stream.
//!
//! | file | concept |
//! |---|---|
//! | `image` | code as it comes: PTX, cubin, fatbin |
//! | `library` | code that the driver loaded |
//! | `object` | one kernel of it, or one of somebody else's |
//! | `arguments` | what a launch gives to a kernel, held against what the kernel takes |
//! | `launch` | launches |
//! | `refusal` | why the driver refused one, with the limit that it met |
//! | `occupancy` | how much of a device a kernel fills |

mod arguments;
mod image;
mod launch;
mod library;
mod object;
mod occupancy;
mod refusal;

pub use crate::driver::calls::kernel::function::Parameter;
pub use arguments::Argument;
pub(crate) use arguments::Arguments;
pub use image::Image;
#[cfg(feature = "capi")]
pub(crate) use launch::release_when_done;
pub use launch::{Launch, MemorySyncDomain, ProgrammaticEvent};
pub use library::{Library, LoadOptions};
pub use object::{Keeper, Kernel, NativeKernel};
pub use occupancy::{BlockSize, DynamicShared};
