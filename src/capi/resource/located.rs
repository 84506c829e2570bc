//! Pools by the location and the kind of their memory.
//!
//! @header cushim.h
//! @task allocate memory

use super::create::cushim_pool_choice;
use super::cushim_resource;
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{hold, hold_all, keep, keep_if_given, owned};
use crate::capi::location::{cushim_location, location};
use crate::capi::out;
use crate::memory::{PoolChoice, PoolMemory, Resource};
use crate::object::error::{Error, Status};

/// What kind of memory a pool has. The numbers are those of `CUmemAllocationType`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pool_memory {
    /// It stays where it is: a device's own memory, or page-locked memory of the host.
    CUSHIM_POOL_PINNED = 1,
    /// Managed memory, which is at the location at first.
    CUSHIM_POOL_MANAGED = 2,
}

fn memory_of(number: i32) -> Result<PoolMemory, Error> {
    match number {
        n if n == cushim_pool_memory::CUSHIM_POOL_PINNED as i32 => Ok(PoolMemory::Pinned),
        n if n == cushim_pool_memory::CUSHIM_POOL_MANAGED as i32 => Ok(PoolMemory::Managed),
        n => Err(unknown("memory", n, "CUSHIM_POOL_PINNED and CUSHIM_POOL_MANAGED")),
    }
}

fn unknown(what: &str, number: i32, known: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{what} is {number}; use one of {known}"))
}

/// Creates a resource from a pool of a location: the current one, from which everybody in the process allocates who
/// names no pool (`cuMemGetMemPool`), the one that is there from the start (`cuMemGetDefaultMemPool`), or a new one.
///
/// Before CUDA 13.0 a device has pools of its own memory only.
///
/// @param[in] device The device, for a location of its driver. It gets access to memory of the host.
/// @param[in] place A device, the host or a NUMA node of the host.
/// @param[in, enum(cushim_pool_memory), example(CUSHIM_POOL_PINNED)] memory The kind of memory.
/// @param[in, enum(cushim_pool_choice), example(CUSHIM_POOL_DEFAULT)] choice Which pool.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a location that does not exist; `CUSHIM_ERROR_UNSUPPORTED` for one
///   that needs CUDA 13.0.
/// @driver any
///
/// # Safety
/// `location` is NULL or valid for reads; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_location_pool(
    device: cushim_device,
    place: *const cushim_location,
    memory: i32,
    choice: i32,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `place`.
        let place = unsafe { location(place, "place") }?;
        let memory = memory_of(memory)?;
        let choice = match choice {
            n if n == cushim_pool_choice::CUSHIM_POOL_CURRENT as i32 => PoolChoice::Current,
            n if n == cushim_pool_choice::CUSHIM_POOL_DEFAULT as i32 => PoolChoice::Default,
            n if n == cushim_pool_choice::CUSHIM_POOL_OWN as i32 => PoolChoice::Own,
            n => return Err(unknown("choice", n, "CUSHIM_POOL_CURRENT, _DEFAULT and _OWN")),
        };
        *resource = owned(|| Resource::pool_at(&hold(device)?, place, memory, choice))?;
        Ok(())
    })
}

/// Makes a pool the current one of a location, for all users in the process (`cuMemSetMemPool`; below CUDA 13.0
/// `cuDeviceSetMemPool`). `cuMemAllocAsync` allocates from the current pool of the device's own memory. What was
/// allocated before stays in its pool.
///
/// A pool of a resource goes with that; the pool from the start is current then. What others have allocated from it
/// must be freed before.
///
/// @param[in] device The device, for a location of its driver.
/// @param[in] place A device, the host or a NUMA node of the host.
/// @param[in, enum(cushim_pool_memory), example(CUSHIM_POOL_PINNED)] memory The kind of memory.
/// @param[in, nullable] resource The pool, of such memory at the location. NULL: the pool from the start.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a location that does not exist; `CUSHIM_ERROR_UNSUPPORTED` for one
///   that needs CUDA 13.0, and for a resource that is no pool; `CUDA_ERROR_INVALID_VALUE` for a pool of other memory.
/// @driver any
///
/// # Safety
/// `place` is NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_set_location_pool(
    device: cushim_device,
    place: *const cushim_location,
    memory: i32,
    resource: cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `place`.
        let place = unsafe { location(place, "place") }?;
        let memory = memory_of(memory)?;
        let (device, resource) =
            hold_all(|guard| Ok((keep(guard, device)?, keep_if_given(guard, resource)?)))?;
        device.set_pool_at(place, memory, resource.as_ref())
    })
}
