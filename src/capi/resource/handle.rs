//! What a resource is, and its handle.

use crate::capi::driver::cushim_driver;
use crate::capi::driver_types::CUmemoryPool;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, enter_anywhere, get};
use crate::capi::options;
use crate::memory::{Properties, Resource, ResourceKind};
use std::ffi::c_char;

/// Where memory comes from: a pool, the driver at once, or the program's own functions. It lives until the last of its
/// buffers is gone.
pub type cushim_resource = *mut cushim_resource_s;

/// Never given a body.
pub struct cushim_resource_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_resource_s {
    type Object = Resource;
}

/// What a resource is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_resource_kind {
    /// A pool of a device's memory.
    CUSHIM_RESOURCE_DEVICE_POOL = 1,
    /// A pool of page-locked host memory.
    CUSHIM_RESOURCE_PINNED_POOL = 2,
    /// Page-locked host memory that comes and goes at once.
    CUSHIM_RESOURCE_PAGE_LOCKED = 3,
    /// Managed memory that comes and goes at once.
    CUSHIM_RESOURCE_MANAGED = 4,
    /// A pool of managed memory.
    CUSHIM_RESOURCE_MANAGED_POOL = 5,
    /// Device memory that comes and goes at once.
    CUSHIM_RESOURCE_SYNCHRONOUS = 6,
    /// The program's own functions.
    CUSHIM_RESOURCE_CUSTOM = 7,
}

/// What may be done with memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_memory_properties {
    /// In: bytes of the caller's struct. Out: bytes that were written.
    pub struct_size: usize,
    /// The ordinal of the device whose memory it is; -1 if it is the host's, or shared.
    pub device: i32,
    /// 1 if devices reach it by its address.
    pub device_accessible: i32,
    /// 1 if the host reaches it by its address.
    pub host_accessible: i32,
    /// 1 if it is managed memory.
    pub managed: i32,
    /// 1 if it comes and goes in the order of a stream, which must then be named.
    pub stream_ordered: i32,
    /// Zero.
    pub reserved: i32,
}

impl From<Properties> for cushim_memory_properties {
    fn from(properties: Properties) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            device: properties.device.unwrap_or(-1),
            device_accessible: i32::from(properties.device_accessible),
            host_accessible: i32::from(properties.host_accessible),
            managed: i32::from(properties.managed),
            stream_ordered: i32::from(properties.stream_ordered),
            reserved: 0,
        }
    }
}

/// Gives the resource one more handle.
///
/// @param resource The resource.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_ref(
    resource: cushim_resource,
    reference: *mut cushim_resource,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(resource, reference) }
}

/// Ends a claim on the resource. It is gone when nothing holds it any more, buffers included.
///
/// @param resource The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, if this released a pool. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_destroy(resource: cushim_resource) -> cushim_status {
    handles::destroy(resource)
}

/// Names the resource in messages.
///
/// @param resource The resource.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_set_label(
    resource: cushim_resource,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(resource, label) }
}

/// The name that messages use for the resource; empty if it has none.
///
/// @param resource The resource.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT` for a buffer that is NULL and has a size;
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_label(
    resource: cushim_resource,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(resource, buffer, size, needed) }
}

/// The driver that the resource belongs to.
///
/// @param resource The resource.
/// @param driver Receives the borrowed handle; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_driver(
    resource: cushim_resource,
    driver: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `driver`.
    unsafe { handles::tell(resource, driver, "driver", |resource| handles::driver_handle(resource.driver())) }
}

/// What the resource is. Where a device or a driver has no pools, this says what stands in for one.
///
/// @param resource The resource.
/// @param kind Receives a `cushim_resource_kind`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `kind` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_kind(
    resource: cushim_resource,
    kind: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `kind`.
    unsafe { handles::tell(resource, kind, "kind", |resource| Ok(kind_number(resource.kind()) as i32)) }
}

fn kind_number(kind: ResourceKind) -> cushim_resource_kind {
    match kind {
        ResourceKind::DevicePool => cushim_resource_kind::CUSHIM_RESOURCE_DEVICE_POOL,
        ResourceKind::PinnedPool => cushim_resource_kind::CUSHIM_RESOURCE_PINNED_POOL,
        ResourceKind::PageLocked => cushim_resource_kind::CUSHIM_RESOURCE_PAGE_LOCKED,
        ResourceKind::Managed => cushim_resource_kind::CUSHIM_RESOURCE_MANAGED,
        ResourceKind::ManagedPool => cushim_resource_kind::CUSHIM_RESOURCE_MANAGED_POOL,
        ResourceKind::Synchronous => cushim_resource_kind::CUSHIM_RESOURCE_SYNCHRONOUS,
        ResourceKind::Custom => cushim_resource_kind::CUSHIM_RESOURCE_CUSTOM,
    }
}

/// What may be done with the resource's memory, and whether it needs a stream.
///
/// @param resource The resource.
/// @param properties Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `properties` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_properties(
    resource: cushim_resource,
    properties: *mut cushim_memory_properties,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `properties`.
        unsafe { options::check_out(properties, "properties") }?;
        let guard = enter_anywhere()?;
        let full = cushim_memory_properties::from(get(&guard, resource)?.properties());
        // SAFETY: the caller vouches for `properties`.
        unsafe { options::write_out(properties, &full, "properties") }
    })
}

/// The driver's own handle of the pool behind the resource.
///
/// @param resource The resource.
/// @param native Receives the handle, which stays the resource's; NULL on failure, and if there is no pool. Must not be
///   NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_native(
    resource: cushim_resource,
    native: *mut CUmemoryPool,
) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(resource, native, "native", |resource| Ok(resource.native_pool())) }
}
