//! Page-locked host memory.

use super::{Block, DevicePointer, Place, check_not_reset, is_out_of_memory, went_with_reset};
use crate::callback;
use crate::context::Context;
use crate::driver::calls::memory::host::{self as calls, RawPinned};
use crate::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

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
pub struct PinnedMemory {
    /// `None` only while it is being released.
    raw: Option<RawPinned>,
    bytes: usize,
    context: Arc<Context>,
}

impl PinnedMemory {
    /// Allocates memory; of no bytes it is NULL. What it holds is not defined.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate(context: &Arc<Context>, bytes: usize, options: PinnedOptions) -> Result<Self, Error> {
        check_not_reset(context)?;
        let raw = RawPinned::allocate(context.raw(), bytes, options.flags()).map_err(|error| {
            let mut failure = context.failed(error, context.as_ref());
            if is_out_of_memory(&failure) {
                failure.message.push_str(&format!(". {bytes} bytes of host memory were asked for"));
            }
            failure
        })?;
        Ok(Self { raw: Some(raw), bytes, context: Arc::clone(context) })
    }

    /// Takes over memory that the driver allocated for somebody else.
    ///
    /// # Safety
    /// `address` is what `cuMemHostAlloc` or `cuMemAllocHost` of this driver gave, or NULL, and nobody else frees it.
    #[must_use]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn from_address(context: &Arc<Context>, address: *mut c_void, bytes: usize) -> Self {
        let raw = RawPinned::adopt(context.raw().table(), address);
        Self { raw: Some(raw), bytes, context: Arc::clone(context) }
    }

    /// Gives the memory up: the caller frees it.
    #[must_use = "nobody else frees the memory"]
    pub fn into_address(mut self) -> *mut c_void {
        let address = self.address();
        self.raw = None;
        address
    }

    /// Where the memory starts.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.raw.as_ref().map_or(std::ptr::null_mut(), RawPinned::address)
    }

    /// The memory's start, as an end of a copy.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::Host(self.address())
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context that the memory was allocated in.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The address by which the device reaches the memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn device_pointer(&self) -> Result<DevicePointer, Error> {
        self.context.device_pointer(self.address())
    }

    /// Frees the memory at once.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`](crate::Status::IN_CALLBACK) inside a host function, where it happens soon afterwards instead; the driver's. The memory is
    /// given up all the same.
    pub fn free(mut self) -> Result<(), Error> {
        callback::check_allowed()?;
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let block = self.block();
        match self.raw.take() {
            Some(raw) if !went_with_reset(&self.context) => self.context.released(raw.free(), &block),
            _ => Ok(()),
        }
    }

    fn block(&self) -> Block {
        Block { what: "page-locked memory", bytes: self.bytes, address: self.address().addr() as u64 }
    }
}

impl Context {
    /// The address by which the context's device reaches host memory: page-locked or registered, at its start or within.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_INVALID_VALUE` (1) if the device does not reach it.
    pub fn device_pointer(&self, address: *mut c_void) -> Result<DevicePointer, Error> {
        let pointer = calls::device_pointer(self.raw(), address).map_err(|error| self.failed(error, self))?;
        Ok(DevicePointer(pointer))
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if callback::is_inside() {
            // The driver frees nothing there.
            let (raw, bytes, context) = (self.raw.take(), self.bytes, Arc::clone(&self.context));
            return callback::later(Self { raw, bytes, context });
        }
        let result = self.release();
        crate::release::report(self.context.driver(), result);
    }
}

impl fmt::Display for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.block().fmt(f)
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedMemory")
            .field("address", &self.address())
            .field("bytes", &self.bytes)
            .field("context", &self.context)
            .finish()
    }
}
