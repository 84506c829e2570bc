//! Memory without addresses, for programs that manage addresses themselves.
//!
//! @header cushim.h
//! @task use virtual memory, which grows and sleeps

use super::resource::{cushim_virtual_options, virtual_options};
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, hold, owned};
use crate::capi::location::cushim_location;
use crate::capi::out;
use crate::memory::{Allocation, AllocationObject};

/// Physical memory, which has no address until it is mapped (`cushim_reservation_map`). It is freed when no
/// owning handle is left and it is mapped nowhere.
pub type cushim_allocation = *mut cushim_allocation_s;

/// Never given a body.
pub struct cushim_allocation_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_allocation_s {
    type Object = AllocationObject;
}

/// Creates physical memory (`cuMemCreate`).
///
/// @param[in] device The device.
/// @param[in, example(64)] bytes The size in bytes, which is rounded up to the granularity.
/// @param[in, nullable] options The options. Every mapping starts with the access that they name.
///   Alignment and address hint are ignored.
/// @param[out, owned] allocation The allocation.
/// @errors as `cushim_resource_create_virtual`: `CUSHIM_ERROR_UNSUPPORTED`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
///   also for 0 bytes; `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says;
/// `allocation` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_create(
    device: cushim_device,
    bytes: usize,
    options: *const cushim_virtual_options,
    allocation: *mut cushim_allocation,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `allocation`.
        let allocation = unsafe { out::cleared(allocation, std::ptr::null_mut(), "allocation") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { virtual_options(options) }?;
        *allocation = owned(|| Allocation::create(&hold(device)?, bytes, &options))?;
        Ok(())
    })
}

/// Returns one more owning handle of an allocation.
///
/// @param[in] allocation The allocation.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_ref(
    allocation: cushim_allocation,
    reference: *mut cushim_allocation,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(allocation, reference) }
}

/// Destroys an owning handle of an allocation. Existing mappings stay valid.
///
/// @param[in, ended, nullable] allocation The handle; NULL does nothing.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_allocation_destroy(allocation: cushim_allocation) -> cushim_status {
    handles::destroy(allocation)
}

/// Returns the size of an allocation.
///
/// @param[in] allocation The allocation.
/// @param[out] bytes The size in bytes, a multiple of the granularity.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_get_size(
    allocation: cushim_allocation,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe { handles::tell(allocation, bytes, "bytes", |allocation| Ok(allocation.bytes())) }
}

/// Returns where an allocation is.
///
/// @param[in] allocation The allocation.
/// @param[out] location The location.
///
/// # Safety
/// `location` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_get_location(
    allocation: cushim_allocation,
    location: *mut cushim_location,
) -> cushim_status {
    // SAFETY: the caller vouches for `location`.
    unsafe { handles::tell(allocation, location, "location", |allocation| Ok(allocation.location().into())) }
}

/// Returns the driver's handle of an allocation.
///
/// @param[in] allocation The allocation.
/// @param[out] native The `CUmemGenericAllocationHandle`, valid as long as an owning handle is left.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_native(
    allocation: cushim_allocation,
    native: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(allocation, native, "native", |allocation| Ok(allocation.native())) }
}
