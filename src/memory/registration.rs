//! The caller's own host memory, page-locked.

use super::DevicePointer;
use super::host::{HostRange, block};
use crate::context::Context;
use crate::driver::calls::memory::host::{HostKind, RawHost};
use crate::driver::sys;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;
use crate::op::{Endpoint, check_range};
use std::ffi::c_void;
use std::fmt;

/// How to register host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RegistrationOptions {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    pub portable: bool,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    pub mapped: bool,
    /// It is memory of an I/O device, mapped into this process.
    pub io_memory: bool,
    /// The device only reads it; needed for memory that the process may not write.
    pub read_only: bool,
}

setters!(RegistrationOptions { portable: bool, mapped: bool, io_memory: bool, read_only: bool });

impl RegistrationOptions {
    fn flags(self) -> u32 {
        u32::from(self.portable)
            | u32::from(self.mapped) << 1
            | u32::from(self.io_memory) << 2
            | u32::from(self.read_only) << 3
    }
}

/// Host memory of the caller's that is page-locked as long as this lives.
///
/// It keeps its context alive. Work that uses the memory must be done before the registration ends. Every function may be
/// called from every thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
/// use cushim::memory::{Registration, RegistrationOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let mut bytes = vec![0u8; 1 << 16];
/// let options = RegistrationOptions::default();
/// // SAFETY: the vector outlives the registration.
/// let registration =
///     unsafe { Registration::register(&context, bytes.as_mut_ptr().cast(), bytes.len(), options) }?;
/// assert!(!registration.device_pointer()?.is_null());
/// registration.unregister()?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Registration(HostRange);

impl Registration {
    /// Page-locks a range of the process's memory.
    ///
    /// # Safety
    /// The range stays mapped until the registration ends.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a range that is NULL or empty; the driver's:
    /// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` (712) if a part of it is registered, `CUDA_ERROR_NOT_SUPPORTED` (801)
    /// if the device does not register memory, or not as the options say.
    pub unsafe fn register(
        context: &Context,
        address: *mut c_void,
        bytes: usize,
        options: RegistrationOptions,
    ) -> Result<Self, Error> {
        check_range("range to register", address.addr() as u64, bytes as u64)?;
        if bytes == 0 {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the range to register is empty"));
        }
        let there = context.live(context)?;
        // SAFETY: the caller vouches for the range.
        let raw = unsafe { RawHost::register(there, address, bytes, options.flags()) }.map_err(|error| {
            explain(context.failed(error, &block(HostKind::Registered, address, bytes)), address)
        })?;
        Ok(Self(HostRange::new(context, raw, bytes)))
    }

    /// Takes over a registration that was made elsewhere.
    ///
    /// # Safety
    /// `address` is the start of a range that is registered with this driver, nobody else unregisters it, and the range
    /// stays mapped until the registration ends.
    #[must_use]
    pub unsafe fn from_address(context: &Context, address: *mut c_void, bytes: usize) -> Self {
        // SAFETY: as the caller vouches.
        Self(unsafe { HostRange::adopt(context, address, HostKind::Registered, bytes) })
    }

    /// Gives the registration up: the caller ends it.
    #[must_use = "nobody else ends the registration"]
    pub fn into_address(self) -> *mut c_void {
        self.0.into_address()
    }

    /// Where the range starts.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.0.address()
    }

    /// The memory from so many bytes on, for an operation that does not reach past its end.
    #[must_use]
    pub fn at(&self, offset: usize) -> Endpoint<'_> {
        self.0.at(offset)
    }

    /// How many bytes the range has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The context that the range was registered in.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.context()
    }

    /// The address by which the device reaches the range.
    ///
    /// # Errors
    /// The driver's.
    pub fn device_pointer(&self) -> Result<DevicePointer, Error> {
        self.0.device_pointer()
    }

    /// Ends the registration at once.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where it happens soon afterwards instead; the driver's. The registration is
    /// given up all the same.
    pub fn unregister(self) -> Result<(), Error> {
        self.0.end()
    }
}

/// A driver says no more than that it does not like an argument.
#[cold]
fn explain(mut failure: Error, address: *mut c_void) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(&format!(
            ". A part of the range from {address:p} on is not memory of this process, or cannot be page-locked"
        ));
    }
    failure
}

impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug("Registration", f)
    }
}
