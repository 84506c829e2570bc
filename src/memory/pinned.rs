//! Page-locked host memory.

use super::DevicePointer;
use super::host::HostRange;
use crate::context::Context;
use crate::driver::calls::memory::host::{HostKind, RawHost};
use crate::object::callback::allocating;
use crate::object::error::Error;
use crate::object::setters::setters;
use crate::op::{Endpoint, is_out_of_memory};
use std::ffi::c_void;
use std::fmt;

/// How to allocate page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PinnedOptions {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    pub portable: bool,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    pub mapped: bool,
    /// The host writes it past its caches: faster for the device to read, very slow for the host to read.
    pub write_combined: bool,
}

setters!(PinnedOptions { portable: bool, mapped: bool, write_combined: bool });

impl PinnedOptions {
    fn flags(self) -> u32 {
        u32::from(self.portable) | u32::from(self.mapped) << 1 | u32::from(self.write_combined) << 2
    }
}

/// Page-locked host memory that is freed when this is dropped. Copies in a stream are asynchronous to such memory only.
///
/// It keeps its context alive. Work that uses it must be done before it is freed. Every function may be called from every
/// thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
/// use cushim::memory::{PinnedMemory, PinnedOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let memory = PinnedMemory::allocate(&context, 4096, PinnedOptions::default())?;
/// // SAFETY: the memory is ours, and nothing else uses it.
/// let bytes = unsafe { std::slice::from_raw_parts_mut(memory.address().cast::<u8>(), memory.bytes()) };
/// bytes.fill(1);
/// assert!(!memory.device_pointer()?.is_null());
/// memory.free()?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct PinnedMemory(HostRange);

impl PinnedMemory {
    /// Allocates memory; of no bytes it is NULL. What it holds is not defined.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate(context: &Context, bytes: usize, options: PinnedOptions) -> Result<Self, Error> {
        let there = context.live(context)?;
        let raw = allocating(|| RawHost::allocate(there, bytes, options.flags())).map_err(|error| {
            let mut failure = context.failed(error, context);
            if is_out_of_memory(&failure) {
                failure.message.push_str(&format!(". {bytes} bytes of host memory were asked for"));
            }
            failure
        })?;
        Ok(Self(HostRange::new(context, raw, bytes)))
    }

    /// Takes over memory that the driver allocated for somebody else.
    ///
    /// # Safety
    /// `address` is what `cuMemHostAlloc` or `cuMemAllocHost` of this driver gave, or NULL, and nobody else frees it.
    #[must_use]
    pub unsafe fn from_address(context: &Context, address: *mut c_void, bytes: usize) -> Self {
        // SAFETY: as the caller vouches.
        Self(unsafe { HostRange::adopt(context, address, HostKind::Pinned, bytes) })
    }

    /// Gives the memory up: the caller frees it.
    #[must_use = "nobody else frees the memory"]
    pub fn into_address(self) -> *mut c_void {
        self.0.into_address()
    }

    /// Where the memory starts.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.0.address()
    }

    /// The memory from so many bytes on, for an operation that does not reach past its end.
    #[must_use]
    pub fn at(&self, offset: usize) -> Endpoint<'_> {
        self.0.at(offset)
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The context that the memory was allocated in.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.context()
    }

    /// The address by which the device reaches the memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn device_pointer(&self) -> Result<DevicePointer, Error> {
        self.0.device_pointer()
    }

    /// Frees the memory at once.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`](crate::Status::IN_CALLBACK) inside a host function, where it happens soon afterwards instead; the driver's. The memory is
    /// given up all the same.
    pub fn free(self) -> Result<(), Error> {
        self.0.end()
    }
}

impl fmt::Display for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug("PinnedMemory", f)
    }
}
