//! The caller's own host memory, page-locked.
//!
//! @header cushim.h
//! @task use page-locked host memory

use super::check_address;
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::options;
use crate::memory::{Registration, RegistrationOptions};
use crate::object::error::Error;
use std::ffi::c_void;

/// Flags for registered memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_register_flags {
    /// All contexts treat the memory as page-locked (`CU_MEMHOSTREGISTER_PORTABLE`). The supported drivers always do
    /// so.
    CUSHIM_REGISTER_PORTABLE = 1,
    /// The memory has a device pointer (`CU_MEMHOSTREGISTER_DEVICEMAP`). The supported drivers always give it one.
    CUSHIM_REGISTER_MAPPED = 2,
    /// Memory of an I/O device that is mapped into the process (`CU_MEMHOSTREGISTER_IOMEMORY`).
    CUSHIM_REGISTER_IO_MEMORY = 4,
    /// The device only reads it (`CU_MEMHOSTREGISTER_READ_ONLY`); needed for memory that the process cannot write.
    CUSHIM_REGISTER_READ_ONLY = 8,
}

/// Page-locks host memory of the process until `cushim_context_unregister_host`.
///
/// @param[in] context The context.
/// @param[in, freed_by(cushim_context_unregister_host)] address The start of the range.
/// @param[in, example(64)] bytes The size in bytes; not 0.
/// @param[in, flags(cushim_register_flags)] flags Flags.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an empty range; `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if a part
///   of it is registered.
/// @driver any
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

/// Ends the registration of host memory.
///
/// @param[in] context The context.
/// @param[in, freed] address The start of the range.
/// @errors `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED`.
/// @driver any
/// @sync context
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
