//! How resources are made.

use super::handle::cushim_resource;
use crate::capi::context::cushim_context;
use crate::capi::device::cushim_device;
use crate::capi::driver_types::CUmemoryPool;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{claim, hold, ownership};
use crate::capi::location::{cushim_location, location_of};
use crate::capi::memory::pinned_options;
use crate::capi::{options, out};
use crate::error::{Error, Status};
use crate::memory::{
    DevicePoolOptions, ManagedResourceOptions, PinnedForm, PinnedResourceOptions, PoolChoice, Resource,
};

/// Which pool of a device.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pool_choice {
    /// The one from which `cuMemAllocAsync` allocates when the resource is made, shared by all users in the process.
    CUSHIM_POOL_CURRENT = 0,
    /// The one that the device has from the start, shared as well.
    CUSHIM_POOL_DEFAULT = 1,
    /// One of its own, destroyed with the resource.
    CUSHIM_POOL_OWN = 2,
}

/// Options of `cushim_resource_create_device_pool`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_device_pool_options {
    /// Bytes of this struct, `sizeof(cushim_device_pool_options)`.
    pub struct_size: usize,
    /// A `cushim_pool_choice`.
    pub choice: i32,
    /// How other processes may take part in a pool of its own: `CU_MEM_HANDLE_TYPE_*`, combined.
    pub handle_types: i32,
    /// Bytes that a pool of its own hands out at most, less than 2^47; 0 for no limit. The driver rounds it up: 580 to 32 MiB
    /// (measured). Since driver 12.2.
    pub max_size: usize,
}

/// Makes a resource of a pool of the device's memory. It is stream-ordered.
///
/// Where the device has no pools (`cushim_device_supports` "memory-pools"), memory that comes and goes at once stands in for
/// it, in the primary context; `cushim_resource_get_kind` tells.
///
/// @param device The device.
/// @param options NULL for the defaults. Read during the call only.
/// @param resource Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a size or handle types of a shared pool;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` for a size or handle types on a device
/// without pools, and for a size before driver 12.2; the driver's. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_device_pool(
    device: cushim_device,
    options: *const cushim_device_pool_options,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = device_pool_options(unsafe { options::read(options, "options") }?)?;
        *resource = claim(Resource::device_pool(&hold(device)?, &options)?)?;
        Ok(())
    })
}

fn device_pool_options(given: cushim_device_pool_options) -> Result<DevicePoolOptions, Error> {
    let choice = match given.choice {
        n if n == cushim_pool_choice::CUSHIM_POOL_CURRENT as i32 => PoolChoice::Current,
        n if n == cushim_pool_choice::CUSHIM_POOL_DEFAULT as i32 => PoolChoice::Default,
        n if n == cushim_pool_choice::CUSHIM_POOL_OWN as i32 => PoolChoice::Own,
        n => return Err(unknown("choice", n, "CUSHIM_POOL_CURRENT, _DEFAULT and _OWN")),
    };
    Ok(DevicePoolOptions { choice, max_size: given.max_size, handle_types: given.handle_types })
}

fn unknown(what: &str, number: i32, known: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{what} is {number}; use one of {known}"))
}

/// Makes a resource of a pool of the device's memory that somebody else created. It is stream-ordered.
///
/// @param device The device whose memory it is.
/// @param native The pool. A borrowed one stays alive until the resource and its last buffer are gone. Must not be NULL.
/// @param ownership A `cushim_ownership`.
/// @param resource Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is as described; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_wrap_pool(
    device: cushim_device,
    native: CUmemoryPool,
    ownership: i32,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        let ownership = self::ownership(ownership)?;
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "native must not be NULL"));
        }
        // SAFETY: the caller vouches for the pool.
        *resource = claim(unsafe { Resource::wrap_pool(&hold(device)?, native, ownership) }?)?;
        Ok(())
    })
}

/// Whether page-locked memory comes from a pool.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pinned_form {
    /// From a pool where the driver has pools of host memory (13.0), else at once.
    CUSHIM_PINNED_ANY = 0,
    /// At once, on every driver.
    CUSHIM_PINNED_PAGE_LOCKED = 1,
    /// From a pool, or not at all.
    CUSHIM_PINNED_POOL = 2,
}

/// Options of `cushim_resource_create_pinned`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_pinned_options {
    /// Bytes of this struct, `sizeof(cushim_pinned_options)`.
    pub struct_size: usize,
    /// A `cushim_pinned_form`.
    pub form: i32,
    /// A combination of `cushim_host_flags`, for memory that does not come from a pool.
    pub flags: u32,
    /// 1 for a pool of its own on the NUMA node `numa_node`; 0 for the host's pool, which all users in the process share.
    pub own_pool: i32,
    /// A NUMA node of the host, by the operating system's number.
    pub numa_node: i32,
    /// Bytes that a pool of its own hands out at most, less than 2^47; 0 for no limit. The driver rounds it up.
    pub max_size: usize,
    /// How other processes may take part in a pool of its own: `CU_MEM_HANDLE_TYPE_*`, combined.
    pub handle_types: i32,
    /// Zero.
    pub reserved: i32,
}

/// Makes a resource of page-locked host memory, which devices reach by its address.
///
/// It is stream-ordered if it is a pool; `cushim_resource_get_properties` tells. A program that always names a stream runs
/// with both. The properties of a pool (`own_pool` and what goes with it) are ignored where memory does not come from one,
/// except a size and handle types, which are then refused.
///
/// @param context The context.
/// @param options NULL for the defaults. Read during the call only.
/// @param resource Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for options that contradict each other;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if only a pool can do what is asked and
/// there is none; the driver's. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_pinned(
    context: cushim_context,
    options: *const cushim_pinned_options,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = pinned_resource_options(unsafe { options::read(options, "options") }?)?;
        *resource = claim(Resource::pinned(&hold(context)?, &options)?)?;
        Ok(())
    })
}

fn pinned_resource_options(given: cushim_pinned_options) -> Result<PinnedResourceOptions, Error> {
    options::check_reserved(given.reserved as u32)?;
    options::check_flags(given.own_pool as u32, 1)?;
    let form = match given.form {
        n if n == cushim_pinned_form::CUSHIM_PINNED_ANY as i32 => PinnedForm::Any,
        n if n == cushim_pinned_form::CUSHIM_PINNED_PAGE_LOCKED as i32 => PinnedForm::PageLocked,
        n if n == cushim_pinned_form::CUSHIM_PINNED_POOL as i32 => PinnedForm::Pool,
        n => return Err(unknown("form", n, "CUSHIM_PINNED_ANY, _PAGE_LOCKED and _POOL")),
    };
    Ok(PinnedResourceOptions {
        form,
        numa_node: (given.own_pool != 0).then_some(given.numa_node),
        page_locked: pinned_options(given.flags)?,
        max_size: given.max_size,
        handle_types: given.handle_types,
    })
}

/// How managed memory is allocated.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_managed_flags {
    /// Only the host may use the memory until a stream is told otherwise (`CU_MEM_ATTACH_HOST`).
    CUSHIM_MANAGED_ATTACH_HOST = 1,
}

/// Options of `cushim_resource_create_managed`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_managed_options {
    /// Bytes of this struct, `sizeof(cushim_managed_options)`.
    pub struct_size: usize,
    /// A combination of `cushim_managed_flags`.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Where the memory of a pool of its own is at first. Unset for no pool, which is the default: driver 580 refuses advice
    /// on memory of pools.
    pub pool: cushim_location,
}

/// Makes a resource of managed memory, allocated at once with `cuMemAllocManaged`, on every driver; or, if a location is
/// given, a pool, which is stream-ordered and needs driver 13.0 ("managed-memory-pools").
///
/// @param context The context.
/// @param options NULL for the defaults. Read during the call only.
/// @param resource Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a location that there is not;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` for a pool before driver 13.0; the driver's.
/// Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_managed(
    context: cushim_context,
    options: *const cushim_managed_options,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = managed_options(unsafe { options::read(options, "options") }?)?;
        *resource = claim(Resource::managed(&hold(context)?, &options)?)?;
        Ok(())
    })
}

fn managed_options(given: cushim_managed_options) -> Result<ManagedResourceOptions, Error> {
    let attach_host = cushim_managed_flags::CUSHIM_MANAGED_ATTACH_HOST as u32;
    options::check_reserved(given.reserved)?;
    options::check_flags(given.flags, attach_host)?;
    let pool = Some(location_of(&given.pool)).filter(|location| !location.is_unset());
    Ok(ManagedResourceOptions { attach_host: given.flags & attach_host != 0, pool })
}

/// Makes a resource of device memory that is allocated and freed at once: the driver may wait for all work of the device
/// when it frees.
///
/// @param context The context.
/// @param resource Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_synchronous(
    context: cushim_context,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        *resource = claim(Resource::synchronous(&hold(context)?))?;
        Ok(())
    })
}
