//! Page-locked host memory.

use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::{options, out};
use crate::error::Error;
use crate::memory::{PinnedMemory, PinnedOptions};
use std::ffi::c_void;

/// How page-locked memory is allocated.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_host_flags {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    CUSHIM_HOST_PORTABLE = 1,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    CUSHIM_HOST_MAPPED = 2,
    /// The host writes it past its caches: faster for the device to read, very slow for the host to read.
    CUSHIM_HOST_WRITE_COMBINED = 4,
}

/// Allocates page-locked host memory. Copies in a stream are asynchronous to such memory only. What it holds is not
/// defined.
///
/// @param context The context.
/// @param bytes How many; 0 gives NULL.
/// @param flags A combination of `cushim_host_flags`.
/// @param address Receives the address; NULL on failure. Must not be NULL. Give it back with
///   `cushim_context_free_host`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the
/// driver's. Threads: any.
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

/// Frees page-locked host memory at once.
///
/// @param context The context.
/// @param address What `cushim_context_allocate_host` gave, or `cuMemHostAlloc` or `cuMemAllocHost`; may be NULL,
///   which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED`
/// on the driver "none"; the driver's. Threads: any.
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
