//! Kernels: loaded from an image, looked at, and how they are launched. [`op::Launch`](crate::op::Launch) launches one.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::Device;
//! use cushim::kernel::{Image, Library, LoadOptions};
//!
//! # const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry add(.param .u32 n, .param .u64 x) { ret; }";
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let library = Library::load(&context, &Image::new(PTX)?, &LoadOptions::default().max_registers(32))?;
//! assert_eq!(library.kernel_names()?, ["add"]);
//! let add = library.kernel("add")?;
//! assert_eq!(add.parameters()?.len(), 2);
//! assert!(add.active_blocks(256, 0)? > 0);
//! # Ok::<(), cushim::Error>(())
//! ```

// | file | concept |
// |---|---|
// | `image` | code as it comes: PTX, cubin, fatbin |
// | `library` | code that the driver loaded |
// | `object` | one kernel of it, or one of somebody else's |
// | `config` | how a kernel is launched |
// | `refusal` | why the driver refused one, with the limit that it met |
// | `occupancy` | how much of a device a kernel fills |

mod config;
pub(crate) mod image;
mod library;
mod object;
mod occupancy;
pub(crate) mod refusal;

pub use crate::driver::calls::kernel::function::Parameter;
pub use config::{LaunchConfig, MemorySyncDomain, ProgrammaticEvent};
pub use image::Image;
#[cfg(feature = "capi")]
pub(crate) use library::LibraryObject;
pub(crate) use library::some_of;
pub use library::{Library, LoadOptions};
#[cfg(feature = "capi")]
pub(crate) use object::KernelObject;
pub use object::{Keeper, Kernel, NativeKernel};
pub use occupancy::{BlockSize, DynamicShared};
