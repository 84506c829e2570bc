//! Memory: allocated and freed directly, or from a resource, or as a buffer that frees itself.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::memory::{Buffer, DevicePoolOptions, PoolChoice, Resource};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let device = Device::get(&driver, 0)?;
//! let stream = Stream::create(&device.primary_context()?, &StreamOptions::default())?;
//! let pool = Resource::device_pool(&device, &DevicePoolOptions::default().choice(PoolChoice::Own))?;
//! let buffer = Buffer::create(&pool, 1 << 20, Some(&stream))?;
//! assert_eq!(buffer.bytes(), 1 << 20);
//! Buffer::destroy(buffer)?; // in the order of the stream; dropping it does the same
//! pool.trim(0)?;
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! Copies and memsets are operations ([`op`](crate::op)), whose endpoints these objects give. Addresses are the caller's to
//! keep good: functions that free what they name are `unsafe`.

// | file | concept |
// |---|---|
// | `device` | device memory |
// | `host` | what the next two share |
// | `pinned` | page-locked host memory |
// | `registration` | the caller's own host memory, page-locked |
// | `resource` | where memory comes from: pools, the driver directly, the caller's own functions |
// | `virtual_memory` | addresses and the memory behind them, each for itself |
// | `buffer` | memory that frees itself |

mod buffer;
mod device;
mod host;
mod pinned;
mod registration;
mod resource;
mod shared_file;
mod virtual_memory;

pub use crate::pointer::{DevicePointer, PointerAttributes};
pub(crate) use buffer::BufferObject;
pub use buffer::{Buffer, Contents, Home};
pub use device::DeviceMemory;
pub use pinned::{PinnedMemory, PinnedOptions};
pub use registration::{Registration, RegistrationOptions};
#[cfg(feature = "capi")]
pub(crate) use resource::ResourceObject;
pub use resource::{
    Allocator, DevicePoolOptions, ManagedResourceOptions, PinnedForm, PinnedResourceOptions, PoolAttribute,
    PoolChoice, PoolMemory, Properties, Resource, ResourceKind,
};

pub use virtual_memory::{Access, Allocation, Reservation, ShareableHandle, VirtualOptions};
#[cfg(feature = "capi")]
pub(crate) use virtual_memory::{AllocationObject, ReservationObject};

use crate::object::error::Subject;
use std::fmt;
use std::sync::Arc;

/// A block of memory, as messages have it.
#[derive(Clone, Copy)]
struct Block {
    /// What sort of memory it is: `device memory`.
    what: &'static str,
    bytes: usize,
    address: u64,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            // Memory that was taken over to be freed: nobody said how much it is.
            0 => write!(f, "{} at {:#x}", self.what, self.address),
            bytes => write!(f, "{bytes} bytes of {} at {:#x}", self.what, self.address),
        }
    }
}

impl Subject for Block {
    fn label(&self) -> Option<Arc<str>> {
        None
    }
}
