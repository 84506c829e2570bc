//! How resources are made.
//!
//! @header cushim.h
//! @task choose where memory comes from

use super::handle::cushim_resource;
use crate::capi::context::cushim_context;
use crate::capi::device::cushim_device;
use crate::capi::driver_types::CUmemoryPool;
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::handles::{self, hold, owned, ownership};
use crate::capi::location::{cushim_location, location_of};
use crate::capi::memory::pinned_options;
use crate::capi::{options, out};
use crate::memory::{
    DevicePoolOptions, ManagedResourceOptions, PinnedForm, PinnedResourceOptions, PoolChoice, Resource,
};
use crate::object::error::{Error, Status};

/// Which memory pool of a device.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pool_choice {
    /// The device's current pool at the time of the call (`cuDeviceGetMemPool`), which all users in the process
    /// share.
    CUSHIM_POOL_CURRENT = 0,
    /// The device's default pool (`cuDeviceGetDefaultMemPool`), which all users in the process share.
    CUSHIM_POOL_DEFAULT = 1,
    /// A new pool, which is destroyed with the resource.
    CUSHIM_POOL_OWN = 2,
}

/// Options of `cushim_resource_create_device_pool`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_device_pool_options {
    /// Bytes of this struct, `sizeof(cushim_device_pool_options)`.
    pub struct_size: usize,
    /// @field[enum(cushim_pool_choice)] Which pool.
    pub choice: i32,
    /// @field[flags(CUmemAllocationHandleType)] How other processes can share a new pool.
    pub handle_types: i32,
    /// The most bytes that a new pool can have, less than 2^47; 0 for no limit. The driver rounds it up: branch 580
    /// to a multiple of 32 MiB (measured). Needs CUDA 12.2.
    pub max_size: usize,
}

/// Creates a resource of a memory pool of a device, which is stream-ordered, except on a device without pools.
///
/// A pool keeps no unused memory by default: what is free when a stream, event or context is synchronised goes back
/// to the system, and the next allocation has to get it from there again. A program that synchronises between its
/// allocations sets `CUSHIM_POOL_RELEASE_THRESHOLD` to what the pool may keep
/// (`cushim_resource_set_attribute(resource, CUSHIM_POOL_RELEASE_THRESHOLD, UINT64_MAX)`: all of it), as frameworks
/// do for the default pool; allocating and freeing then takes a seventh to a fourteenth of the time (measured, driver
/// 580). The setting is the pool's, for all who use it.
///
/// On a device without pools (`cushim_device_supports` "memory-pools") the resource allocates and frees
/// synchronously, in the primary context; `cushim_resource_get_kind` tells.
///
/// @param[in] device The device.
/// @param[in, nullable] options The options.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a size or handle types together with a shared pool;
///   `CUSHIM_ERROR_UNSUPPORTED` for a size or handle types on a device without pools, and for a size before CUDA
///   12.2.
/// @driver none
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
        *resource = owned(|| Resource::device_pool(&hold(device)?, &options))?;
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

/// Wraps a memory pool of a device that was created elsewhere. The resource is stream-ordered.
///
/// @param[in] device The device of the pool.
/// @param[in] native The pool. A borrowed one must outlive the resource and its buffers.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is to be owned and a resource owns it already.
/// @callback refused
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
    call_taking(|lending| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        let ownership = self::ownership(ownership)?;
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "native must not be NULL"));
        }
        // SAFETY: the caller vouches for the pool.
        *resource =
            owned(|| unsafe { Resource::take_in_pool(&hold(device)?, native, lending.taking(ownership)) })?;
        Ok(())
    })
}

/// Whether page-locked memory comes from a memory pool.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pinned_form {
    /// From a pool if the driver has pools of host memory (CUDA 13.0), otherwise synchronous.
    CUSHIM_PINNED_ANY = 0,
    /// Always synchronous (`cuMemHostAlloc`).
    CUSHIM_PINNED_SYNCHRONOUS = 1,
    /// From a pool; otherwise `CUSHIM_ERROR_UNSUPPORTED`.
    CUSHIM_PINNED_POOL = 2,
}

/// Options of `cushim_resource_create_pinned`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_pinned_options {
    /// Bytes of this struct, `sizeof(cushim_pinned_options)`.
    pub struct_size: usize,
    /// @field[enum(cushim_pinned_form)] Whether the memory comes from a pool.
    pub form: i32,
    /// @field[flags(cushim_host_flags)] Flags for memory that does not come from a pool.
    pub flags: u32,
    /// 1 for a new pool on the NUMA node `numa_node`; 0 for the host's pool, which all users in the process share,
    /// or, with a size or handle types, for a new pool on the host's NUMA node that is the device's.
    pub own_pool: i32,
    /// The operating system's number of a NUMA node.
    pub numa_node: i32,
    /// The most bytes that a new pool can have, less than 2^47; 0 for no limit. The driver rounds it up.
    pub max_size: usize,
    /// @field[flags(CUmemAllocationHandleType)] How other processes can share a new pool.
    pub handle_types: i32,
    /// Zero.
    pub reserved: i32,
}

/// Creates a resource of page-locked host memory, which is stream-ordered if it is a pool, by default from CUDA 13.0
/// on; on older drivers it allocates and frees synchronously.
///
/// `cushim_resource_get_properties` tells which. A program that always passes a stream works with both. Where the
/// memory does not come from a pool, `own_pool` and `numa_node` are ignored.
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for options that contradict each other; `CUSHIM_ERROR_UNSUPPORTED` if they
///   need a pool (`CUSHIM_PINNED_POOL`, a size, handle types) and there is none.
/// @driver none
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
        *resource = owned(|| Resource::pinned(&hold(context)?, &options))?;
        Ok(())
    })
}

fn pinned_resource_options(given: cushim_pinned_options) -> Result<PinnedResourceOptions, Error> {
    options::check_reserved(given.reserved as u32)?;
    options::check_flags(given.own_pool as u32, 1)?;
    let form = match given.form {
        n if n == cushim_pinned_form::CUSHIM_PINNED_ANY as i32 => PinnedForm::Any,
        n if n == cushim_pinned_form::CUSHIM_PINNED_SYNCHRONOUS as i32 => PinnedForm::Synchronous,
        n if n == cushim_pinned_form::CUSHIM_PINNED_POOL as i32 => PinnedForm::Pool,
        n => return Err(unknown("form", n, "CUSHIM_PINNED_ANY, _SYNCHRONOUS and _POOL")),
    };
    Ok(PinnedResourceOptions {
        form,
        numa_node: (given.own_pool != 0).then_some(given.numa_node),
        page_locked: pinned_options(given.flags)?,
        max_size: given.max_size,
        handle_types: given.handle_types,
    })
}

/// Flags for managed memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_managed_flags {
    /// The memory is attached to the host at first (`CU_MEM_ATTACH_HOST`): no stream may use it until it is attached
    /// to one (`cushim_stream_attach`).
    CUSHIM_MANAGED_ATTACH_HOST = 1,
}

/// Options of `cushim_resource_create_managed`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_managed_options {
    /// Bytes of this struct, `sizeof(cushim_managed_options)`.
    pub struct_size: usize,
    /// @field[flags(cushim_managed_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Where the memory of a new pool is at first. Unset, the default, means no pool: driver branch 580 accepts no
    /// advice on memory of pools.
    pub pool_location: cushim_location,
}

/// Creates a resource of managed memory, which by default allocates synchronously (`cuMemAllocManaged`), on every
/// driver; with `options.pool` it is a memory pool, which is stream-ordered and needs CUDA 13.0
/// ("managed-memory-pools").
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a location that does not exist; `CUSHIM_ERROR_UNSUPPORTED` for a pool
///   before CUDA 13.0.
/// @driver none
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
        *resource = owned(|| Resource::managed(&hold(context)?, &options))?;
        Ok(())
    })
}

fn managed_options(given: cushim_managed_options) -> Result<ManagedResourceOptions, Error> {
    let attach_host = cushim_managed_flags::CUSHIM_MANAGED_ATTACH_HOST as u32;
    options::check_reserved(given.reserved)?;
    options::check_flags(given.flags, attach_host)?;
    let pool = Some(location_of(&given.pool_location)).filter(|location| !location.is_unset());
    Ok(ManagedResourceOptions { attach_host: given.flags & attach_host != 0, pool })
}

/// Creates a resource of device memory that is allocated and freed synchronously (`cuMemAlloc`, `cuMemFree`).
///
/// @param[in] context The context.
/// @param[out, owned] resource The resource.
/// @callback refused
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_device(
    context: cushim_context,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        *resource = owned(|| Ok(Resource::device(&hold(context)?)))?;
        Ok(())
    })
}

/// Creates a resource of the memory of graphs: in a stream under capture, what is allocated becomes an allocation
/// node of the graph, and what is freed a free node. In other streams nothing is allocated.
///
/// A buffer does not keep the graph. Destroyed before the end of the capture, it is freed in the graph that allocated
/// it, after all that was captured by then, in forks and other streams of the capture, too: it may outlive the fork
/// that created it. Destroyed afterwards, nothing is freed: what the graph does not free itself can be used after
/// each launch, and has to be freed before the next (`cushim_resource_free` of another resource does not do that; the
/// driver's `cuMemFree` does) unless the exec has `CUSHIM_EXEC_AUTO_FREE`.
///
/// @param[in] device The device.
/// @param[out, owned] resource The resource.
/// @driver none
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_graph(
    device: cushim_device,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        *resource = owned(|| Ok(Resource::graph(&hold(device)?)))?;
        Ok(())
    })
}

/// Creates an arena: one block of device memory at fixed addresses, from which streams under capture allocate. Graphs
/// with allocation nodes can be neither cloned nor embedded, and have one exec at a time; graphs that use an arena
/// can. Each capture has the whole block, and its graph keeps it; graphs that share an arena must not run at the same
/// time, nor be part of each other. In other streams nothing is allocated.
///
/// The block, and each buffer of it, has a multiple of 512 bytes. A buffer that is destroyed in the capture in which
/// it was created makes room for later ones, in streams that come after all that was captured while it was there;
/// after the capture its destroy frees nothing.
///
/// With `bytes` 0 the arena measures: it serves every capture, and `cushim_resource_get_arena_bytes` tells how large
/// a block the same calls need. The memory of each buffer goes with the buffer and the graph then.
///
/// @param[in] context The context.
/// @param[in, example(4096)] bytes The size of the block; 0 to measure.
/// @param[out, owned] resource The resource.
/// @driver none
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_arena(
    context: cushim_context,
    bytes: usize,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        *resource = owned(|| Resource::arena(&hold(context)?, bytes))?;
        Ok(())
    })
}

/// The most bytes that one capture needed of an arena by now.
///
/// @param[in] resource The resource.
/// @param[out] bytes The bytes; 0 for a resource that is no arena.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_arena_bytes(
    resource: cushim_resource,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe {
        handles::tell(resource, bytes, "bytes", |resource| {
            Ok(resource.arena_needed().unwrap_or_default() as usize)
        })
    }
}
