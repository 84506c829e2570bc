//! What a resource is, and its handle.
//!
//! @header cushim.h
//! @task choose where memory comes from

use crate::capi::driver::cushim_driver;
use crate::capi::driver_object::driver_handle;
use crate::capi::driver_types::CUmemoryPool;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, enter_anywhere, get};
use crate::capi::options::OutStruct;
use crate::memory::{Properties, ResourceKind, ResourceObject};

/// A source of memory: a memory pool, the driver's synchronous functions, or functions of the program's. Buffers keep
/// their resource alive.
pub type cushim_resource = *mut cushim_resource_s;

/// Never given a body.
pub struct cushim_resource_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_resource_s {
    type Object = ResourceObject;
}

/// What a resource is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_resource_kind {
    /// A memory pool of a device.
    CUSHIM_RESOURCE_DEVICE_POOL = 1,
    /// A memory pool of page-locked host memory.
    CUSHIM_RESOURCE_PINNED_POOL = 2,
    /// Page-locked host memory, synchronous.
    CUSHIM_RESOURCE_PINNED = 3,
    /// Managed memory, synchronous.
    CUSHIM_RESOURCE_MANAGED = 4,
    /// A memory pool of managed memory.
    CUSHIM_RESOURCE_MANAGED_POOL = 5,
    /// Device memory, synchronous.
    CUSHIM_RESOURCE_DEVICE = 6,
    /// Functions of the program's.
    CUSHIM_RESOURCE_CUSTOM = 7,
    /// Memory of graphs, allocated in streams under capture.
    CUSHIM_RESOURCE_GRAPH = 8,
    /// A block of device memory that graphs share.
    CUSHIM_RESOURCE_ARENA = 9,
    /// Virtual memory.
    CUSHIM_RESOURCE_VIRTUAL = 10,
}

/// Who can use memory, and how.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_memory_properties {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// The ordinal of the device whose memory it is; -1 for memory of the host, and for managed memory.
    pub device: i32,
    /// 1 if devices can access it by its address.
    pub device_accessible: i32,
    /// 1 if the host can access it by its address.
    pub host_accessible: i32,
    /// 1 for managed memory.
    pub managed: i32,
    /// 1 if it is allocated and freed in stream order, which requires a stream.
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

/// Returns one more owning handle of a resource.
///
/// @param[in] resource The resource.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owning handle of a resource. The resource is released when nothing uses it any more, buffers included.
///
/// A pool of its own is destroyed when its memory is back with the driver: memory that is freed in a stream's order
/// is back once the stream, or an event recorded after the free, was synchronized, or the stream destroyed. Memory
/// that is never freed keeps the pool. Errors of a destruction after this call are logged.
///
/// @param[in, ended, nullable] resource The handle; NULL does nothing.
/// @errors the driver's, if this destroys a pool.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_destroy(resource: cushim_resource) -> cushim_status {
    handles::destroy(resource)
}

/// Returns the driver of a resource.
///
/// @param[in] resource The resource.
/// @param[out, borrowed] driver The driver, valid until the process ends.
///
/// # Safety
/// `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_driver(
    resource: cushim_resource,
    driver: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `driver`.
    unsafe { handles::tell(resource, driver, "driver", |resource| driver_handle(resource.driver())) }
}

/// Tells what a resource is: what is really used, if the device or the driver has no pools.
///
/// @param[in] resource The resource.
/// @param[out, enum(cushim_resource_kind)] kind The kind.
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
        ResourceKind::Pinned => cushim_resource_kind::CUSHIM_RESOURCE_PINNED,
        ResourceKind::Managed => cushim_resource_kind::CUSHIM_RESOURCE_MANAGED,
        ResourceKind::ManagedPool => cushim_resource_kind::CUSHIM_RESOURCE_MANAGED_POOL,
        ResourceKind::Device => cushim_resource_kind::CUSHIM_RESOURCE_DEVICE,
        ResourceKind::Custom => cushim_resource_kind::CUSHIM_RESOURCE_CUSTOM,
        ResourceKind::Graph => cushim_resource_kind::CUSHIM_RESOURCE_GRAPH,
        ResourceKind::Arena => cushim_resource_kind::CUSHIM_RESOURCE_ARENA,
        ResourceKind::Virtual => cushim_resource_kind::CUSHIM_RESOURCE_VIRTUAL,
    }
}

/// Tells who can use the memory of a resource, and whether it requires a stream.
///
/// @param[in] resource The resource.
/// @param[inout] properties Receives the properties.
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
        let out = unsafe { OutStruct::cleared(properties, "properties") }?;
        let guard = enter_anywhere()?;
        out.fill(&cushim_memory_properties::from(get(&guard, resource)?.properties()));
        Ok(())
    })
}

/// Returns the driver's own handle of a resource's memory pool.
///
/// @param[in] resource The resource.
/// @param[out] native The pool, which cushim keeps; NULL if there is none.
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
