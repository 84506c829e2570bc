//! The caller's own host memory, page-locked.

use super::check_address;
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::options;
use crate::error::Error;
use crate::memory::{Registration, RegistrationOptions};
use std::ffi::c_void;

/// How host memory is registered.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_register_flags {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    CUSHIM_REGISTER_PORTABLE = 1,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    CUSHIM_REGISTER_MAPPED = 2,
    /// It is memory of an I/O device, mapped into this process.
    CUSHIM_REGISTER_IO_MEMORY = 4,
    /// The device only reads it; needed for memory that the process may not write.
    CUSHIM_REGISTER_READ_ONLY = 8,
}

/// Page-locks a range of the process's memory, until it is unregistered.
///
/// @param context The context.
/// @param address The start of the range. Must not be NULL.
/// @param bytes Its bytes; not 0.
/// @param flags A combination of `cushim_register_flags`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an empty range;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none";
/// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if a part of it is registered, and others of the driver's. Threads: any.
///
/// # Safety
/// The range stays mapped until it is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_register_host(
    context: cushim_context,
    address: *mut c_void,
    bytes: usize,
    flags: u32,
) -> cushim_status {
    call(|| {
        check_address(address)?;
        let options = registration_options(flags)?;
        // SAFETY: the caller vouches for the range.
        let made = unsafe { Registration::register(&hold(context)?, address, bytes, options) }?;
        let _ = made.into_address();
        Ok(())
    })
}

/// Ends the registration of a range.
///
/// @param context The context.
/// @param address The start of the range. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED` and
/// others of the driver's. Threads: any.
///
/// # Safety
/// Work that uses the range is done, and nobody else unregisters it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_unregister_host(
    context: cushim_context,
    address: *mut c_void,
) -> cushim_status {
    call(|| {
        check_address(address)?;
        // SAFETY: the caller vouches for the range.
        unsafe { Registration::from_address(&hold(context)?, address, 0) }.unregister()
    })
}

fn registration_options(flags: u32) -> Result<RegistrationOptions, Error> {
    let has = |flag: cushim_register_flags| flags & flag as u32 != 0;
    options::check_flags(flags, 15)?;
    Ok(RegistrationOptions {
        portable: has(cushim_register_flags::CUSHIM_REGISTER_PORTABLE),
        mapped: has(cushim_register_flags::CUSHIM_REGISTER_MAPPED),
        io_memory: has(cushim_register_flags::CUSHIM_REGISTER_IO_MEMORY),
        read_only: has(cushim_register_flags::CUSHIM_REGISTER_READ_ONLY),
    })
}
