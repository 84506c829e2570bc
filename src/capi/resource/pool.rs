//! Pools: what they tell of themselves and are told, trimming, and peers.
//!
//! @header cushim.h
//! @task choose where memory comes from

use super::handle::cushim_resource;
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, borrowed, hold, hold_all, keep};
use crate::capi::input::{each, slice_of_at_most};
use crate::capi::out;
use crate::capi::pointer::MOST_LOCATIONS;
use crate::device::Device;
use crate::memory::{PoolAttribute, Resource};
use crate::object::error::{Error, Status};

/// An attribute of a memory pool. The numbers are those of `CUmemPool_attribute`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pool_attribute {
    /// Whether a stream may reuse memory that another stream freed, if an event orders the two. 0 or 1.
    CUSHIM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    /// Whether a stream may reuse memory that another stream freed, if the free is already done. 0 or 1.
    CUSHIM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    /// Whether the driver may make a stream wait for another stream's free in order to reuse memory. 0 or 1.
    CUSHIM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    /// The bytes that the pool keeps when a stream, event or context is synchronised; unused memory beyond that is
    /// released. Initially 0.
    CUSHIM_POOL_RELEASE_THRESHOLD = 4,
    /// The bytes that the pool has reserved. Read-only.
    CUSHIM_POOL_RESERVED_CURRENT = 5,
    /// The most bytes that it has ever reserved. Can be set to 0, which starts anew.
    CUSHIM_POOL_RESERVED_HIGH = 6,
    /// The bytes that are allocated from the pool. Read-only.
    CUSHIM_POOL_USED_CURRENT = 7,
    /// The most bytes that were ever allocated from it. Can be set to 0, which starts anew.
    CUSHIM_POOL_USED_HIGH = 8,
    /// The kind of its memory, a `cushim_pool_memory`. Read-only, CUDA 13.2, as all that follow.
    CUSHIM_POOL_ALLOCATION_TYPE = 9,
    /// How it can be shared with other processes: `CU_MEM_HANDLE_TYPE_*`, combined.
    CUSHIM_POOL_HANDLE_TYPES = 10,
    /// The ordinal of the device, or the number of the NUMA node, where its memory is.
    CUSHIM_POOL_LOCATION_ID = 11,
    /// What its location is, a `cushim_location_kind`.
    CUSHIM_POOL_LOCATION_KIND = 12,
    /// The most bytes that it can have; 0 for no limit.
    CUSHIM_POOL_MAX_SIZE = 13,
    /// Whether its memory is for decompression by hardware. 0 or 1.
    CUSHIM_POOL_HARDWARE_DECOMPRESSION = 14,
}

fn attribute_of(number: i32) -> Result<PoolAttribute, Error> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| PoolAttribute::ALL.get(index)).copied().ok_or_else(|| {
        let refusal = format!("pool_attribute is {number}; a cushim_pool_attribute is 1 to 14");
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

/// Returns an attribute of a resource's memory pool.
///
/// @param[in] resource The resource.
/// @param[in, enum(cushim_pool_attribute), example(CUSHIM_POOL_RELEASE_THRESHOLD)] pool_attribute Which attribute.
/// @param[out] value The value.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the resource is not a pool, and for an attribute that the driver is too old
///   for.
/// @driver any
///
/// # Safety
/// `value` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_attribute(
    resource: cushim_resource,
    pool_attribute: i32,
    value: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `value`.
    unsafe {
        handles::ask(resource, value, "value", |resource| resource.attribute(attribute_of(pool_attribute)?))
    }
}

/// Sets an attribute of a resource's memory pool, for all its users.
///
/// @param[in] resource The resource.
/// @param[in, enum(cushim_pool_attribute), example(CUSHIM_POOL_RELEASE_THRESHOLD)] pool_attribute Which attribute.
/// @param[in, example(2048)] value The value.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a value that the attribute cannot have; `CUSHIM_ERROR_UNSUPPORTED` if
///   the resource is not a pool.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_set_attribute(
    resource: cushim_resource,
    pool_attribute: i32,
    value: u64,
) -> cushim_status {
    call(|| hold(resource)?.set_attribute(attribute_of(pool_attribute)?, value))
}

/// Trims a resource's memory pool: releases unused memory, keeping at least `bytes`.
///
/// @param[in] resource The resource.
/// @param[in, example(64)] bytes The bytes to keep.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the resource is not a pool.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_trim(resource: cushim_resource, bytes: usize) -> cushim_status {
    call(|| hold(resource)?.trim(bytes))
}

/// Returns the devices, other than its own, that can access a memory pool. The driver is asked each time.
///
/// @param[in] resource The resource.
/// @param[out, borrowed, array(capacity), nullable_if_zero(capacity)] devices Receives the first `capacity` devices,
///   by ordinal.
/// @param[in] capacity The number of handles that there is room for.
/// @param[out] count The number of devices, which may be greater than `capacity`.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the resource is not a pool.
/// @driver any
/// @task reach another device's memory
///
/// # Safety
/// `devices` is valid for writes of `capacity` handles; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_peers(
    resource: cushim_resource,
    devices: *mut cushim_device,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        // SAFETY: the caller vouches for the array.
        let devices = unsafe { out::array(devices, capacity, std::ptr::null_mut(), "devices") }?;
        let peers = hold(resource)?.peers()?;
        let handles: Vec<cushim_device> =
            peers.iter().take(capacity).map(borrowed).collect::<Result<_, _>>()?;
        devices.iter_mut().zip(handles).for_each(|(place, handle)| *place = handle);
        *count = peers.len();
        Ok(())
    })
}

/// Sets which devices can access a memory pool, and no others: memory that is allocated, and will be. The pool's own
/// device always can, and does not count.
///
/// All devices are checked first; then the driver is called once, or not at all if nothing changes.
///
/// @param[in] resource The resource.
/// @param[in, array(device_count), nullable_if_zero(device_count)] devices The devices.
/// @param[in] device_count The number of devices.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a device that cannot access the pool's device;
///   `CUSHIM_ERROR_UNSUPPORTED` if the resource is not a pool.
/// @driver any
/// @task reach another device's memory
///
/// # Safety
/// `devices` is valid for reads of `device_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_set_peers(
    resource: cushim_resource,
    devices: *const cushim_device,
    device_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: as the caller vouches.
        let (resource, devices) = unsafe { resource_and_peers(resource, devices, device_count) }?;
        resource.set_peers(&devices)
    })
}

/// Lets these devices access a memory pool as well. Otherwise as `cushim_resource_set_peers`.
///
/// @param[in] resource The resource.
/// @param[in, array(device_count), nullable_if_zero(device_count)] devices The devices.
/// @param[in] device_count The number of devices.
/// @errors as `cushim_resource_set_peers`: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
/// @task reach another device's memory
///
/// # Safety
/// `devices` is valid for reads of `device_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_add_peers(
    resource: cushim_resource,
    devices: *const cushim_device,
    device_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: as the caller vouches.
        let (resource, devices) = unsafe { resource_and_peers(resource, devices, device_count) }?;
        resource.add_peers(&devices)
    })
}

/// No longer lets these devices access a memory pool. Otherwise as `cushim_resource_set_peers`.
///
/// @param[in] resource The resource.
/// @param[in, array(device_count), nullable_if_zero(device_count)] devices The devices.
/// @param[in] device_count The number of devices.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the resource is not a pool.
/// @driver any
/// @task reach another device's memory
///
/// # Safety
/// `devices` is valid for reads of `device_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_remove_peers(
    resource: cushim_resource,
    devices: *const cushim_device,
    device_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: as the caller vouches.
        let (resource, devices) = unsafe { resource_and_peers(resource, devices, device_count) }?;
        resource.remove_peers(&devices)
    })
}

/// # Safety
/// `devices` is valid for reads of `device_count` handles.
unsafe fn resource_and_peers(
    resource: cushim_resource,
    devices: *const cushim_device,
    device_count: usize,
) -> Result<(Resource, Vec<Device>), Error> {
    hold_all(|guard| {
        // SAFETY: as the caller vouches.
        let devices = unsafe { slice_of_at_most(MOST_LOCATIONS, devices, device_count, "devices") }?;
        let devices = each(devices, |device| keep(guard, *device))?;
        Ok((keep(guard, resource)?, devices))
    })
}
