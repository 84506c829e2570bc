//! Page-locked host memory.
//!
//! @header cushim.h
//! @task use page-locked host memory

use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::{options, out};
use crate::memory::{PinnedMemory, PinnedOptions};
use crate::object::error::Error;
use std::ffi::c_void;

/// Flags for page-locked memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_host_flags {
    /// All contexts treat the memory as page-locked (`CU_MEMHOSTALLOC_PORTABLE`). The supported drivers always do so.
    CUSHIM_HOST_PORTABLE = 1,
    /// The memory has a device pointer (`CU_MEMHOSTALLOC_DEVICEMAP`). The supported drivers always give it one.
    CUSHIM_HOST_MAPPED = 2,
    /// Write-combined (`CU_MEMHOSTALLOC_WRITECOMBINED`): faster for the device to read, very slow for the host to
    /// read.
    CUSHIM_HOST_WRITE_COMBINED = 4,
}

/// Allocates page-locked host memory. Its contents are undefined. Copies in a stream are asynchronous only with such
/// memory.
///
/// @param[in] context The context.
/// @param[in, example(64)] bytes The size in bytes; 0 returns NULL.
/// @param[in, flags(cushim_host_flags)] flags Flags.
/// @param[out, freed_by(cushim_context_free_host)] address The address.
/// @errors `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver any
///
/// # Safety
/// `address` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_allocate_host(
    context: cushim_context,
    bytes: usize,
    flags: u32,
    address: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `address`.
        let address = unsafe { out::cleared(address, std::ptr::null_mut(), "address") }?;
        let options = pinned_options(flags)?;
        *address = PinnedMemory::allocate(&hold(context)?, bytes, options)?.into_address();
        Ok(())
    })
}

/// Frees page-locked host memory, as `cuMemFreeHost` does.
///
/// @param[in] context Any context of the driver that allocated the memory.
/// @param[in, freed, nullable] address An address from `cushim_context_allocate_host`, `cuMemHostAlloc` or
///   `cuMemAllocHost`; NULL does nothing.
/// @driver any
/// @sync context
///
/// # Safety
/// `address` is NULL or the start of such memory, which nobody uses or frees any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_free_host(
    context: cushim_context,
    address: *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `address`.
        unsafe { PinnedMemory::from_address(&hold(context)?, address, 0) }.free()
    })
}

pub(in crate::capi) fn pinned_options(flags: u32) -> Result<PinnedOptions, Error> {
    let has = |flag: cushim_host_flags| flags & flag as u32 != 0;
    options::check_flags(flags, 7)?;
    Ok(PinnedOptions {
        portable: has(cushim_host_flags::CUSHIM_HOST_PORTABLE),
        mapped: has(cushim_host_flags::CUSHIM_HOST_MAPPED),
        write_combined: has(cushim_host_flags::CUSHIM_HOST_WRITE_COMBINED),
    })
}
