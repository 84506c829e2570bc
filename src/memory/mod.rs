//! Device memory, host memory that devices reach, copies and fills.
//!
//! What runs in a stream is a function of [`Stream`](crate::Stream); what is done when it returns is one of [`Context`],
//! or allocates or frees outside of any stream. Addresses are the caller's to keep good: functions that read or write
//! through them are `unsafe`.
//!
//! | file | concept |
//! |---|---|
//! | `pointer` | device pointers, and what the driver knows of an address |
//! | `device` | device memory |
//! | `host` | what the next two share |
//! | `pinned` | page-locked host memory |
//! | `registration` | the caller's own host memory, page-locked |
//! | `place` | one end of a copy |
//! | `copy` | copies of ranges and boxes |
//! | `batch_copy` | copies with attributes, one or many |
//! | `peer` | copies between contexts |
//! | `across` | copies between buffers of two devices |
//! | `fill` | fills |
//! | `refusal` | why the driver refused a copy or a fill |
//! | `resource` | where memory comes from: pools, the driver at once, the caller's own |
//! | `buffer` | memory that frees itself |

mod across;
mod batch_copy;
mod buffer;
mod copy;
mod device;
mod fill;
mod host;
mod peer;
mod pinned;
mod place;
mod pointer;
mod refusal;
mod registration;
mod resource;

pub use batch_copy::{BatchCopy, CopyAttributes, SourceAccess};
pub use buffer::{Buffer, Home};
pub use device::DeviceMemory;
pub use fill::Fill;
pub use pinned::{PinnedMemory, PinnedOptions};
pub use place::{Extent, Place, Region};
pub use pointer::{DevicePointer, PointerAttributes};
pub use registration::{Registration, RegistrationOptions};
pub(crate) use resource::DefaultResource;
pub use resource::{
    Allocator, DevicePoolOptions, ManagedResourceOptions, PeerChange, PinnedForm, PinnedResourceOptions,
    PoolAttribute, PoolChoice, Properties, Resource, ResourceKind,
};

use crate::context::Context;
use crate::driver::calls::memory::allocation::RawMemory;
use crate::driver::sys;
use crate::error::{Error, Status, Subject};
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

/// Whether what was made in the context is gone, and its addresses may be those of something else by now.
fn went_with_reset(context: &Context) -> bool {
    context.is_gone()
}

fn is_out_of_memory(failure: &Error) -> bool {
    failure.status.0 == sys::CUDA_ERROR_OUT_OF_MEMORY.0
}

fn invalid(message: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, message)
}

/// Set in the value of every handle, and together in no address of a program: that half is the kernel's.
const NO_ADDRESS: u64 = 1 << 63 | 1 << 55;

/// Refuses an end that is NULL or a handle, or that no address space could hold.
#[inline]
fn check_range(end: &str, address: u64, bytes: u64) -> Result<(), Error> {
    if address != 0 && address & NO_ADDRESS != NO_ADDRESS && address.checked_add(bytes).is_some() {
        return Ok(());
    }
    Err(out_of_range(end, address, bytes))
}

#[cold]
fn out_of_range(end: &str, address: u64, bytes: u64) -> Error {
    invalid(match address {
        0 => format!("the {end} is NULL"),
        _ if address.checked_add(bytes).is_some() => format!(
            "the {end} is {address:#x}, which is a handle's value and no address; a buffer's memory starts where \
             cushim_buffer_get_pointer says"
        ),
        _ => format!("the {end} reaches past the end of all addresses: {bytes} bytes from {address:#x}"),
    })
}
