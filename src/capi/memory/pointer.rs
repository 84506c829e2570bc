//! What the driver knows of an address.

use super::check_address;
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUcontext, CUmemoryPool};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::{options, out};
use crate::memory::{DevicePointer, PointerAttributes};
use std::ffi::c_void;

/// What the driver knows of an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_pointer_attributes {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// Where the memory lives, a `CUmemorytype`: managed memory lives on the device. 0 if the address is none of the
    /// driver's: ordinary host memory, NULL, or memory that was freed.
    pub memory_type: i32,
    /// The ordinal of the device that it was allocated or registered for; -1 if there is none.
    pub device: i32,
    /// The context that it was allocated or registered in; NULL if there is none, as for memory of a pool.
    pub context: CUcontext,
    /// The address by which the context's device reaches it; 0 if it does not, as memory of another device without access
    /// (`cushim_context_enable_peer_access`).
    pub device_pointer: u64,
    /// The address by which the host reaches it; NULL if it does not, or if the address is none of the driver's.
    pub host_pointer: *mut c_void,
    /// The pool that it comes from; NULL if from none.
    pub pool: CUmemoryPool,
    /// The start of the allocation that it lies in; 0 if it lies in none.
    pub range_start: u64,
    /// That allocation's bytes.
    pub range_bytes: usize,
    /// A number of the allocation that no other has in this process; 0 if it has none.
    pub buffer_id: u64,
    /// 1 if it is managed memory. Memory of a managed pool says so on driver 13.0, and need not on others.
    pub managed: i32,
    /// 1 if there is memory behind the address.
    pub mapped: i32,
    /// 1 if synchronous operations on it always synchronise.
    pub synchronous: i32,
    /// 1 if it can be shared with other processes by `cuIpcGetMemHandle`.
    pub ipc_capable: i32,
    /// 1 if other devices of the machine can reach it by GPUDirect RDMA.
    pub rdma_capable: i32,
    /// Zero.
    pub reserved: i32,
}

/// The address by which the context's device reaches host memory: page-locked or registered, at its start or within.
///
/// @param context The context.
/// @param address The host's address. Must not be NULL.
/// @param pointer Receives the device pointer; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_INVALID_VALUE` if the device
/// does not reach it, and others of the driver's. Threads: any.
///
/// # Safety
/// `pointer` is NULL or valid for writes. Nothing is read through `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_device_pointer(
    context: cushim_context,
    address: *mut c_void,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        check_address(address)?;
        let guard = enter()?;
        *pointer = get(&guard, context)?.device_pointer(address)?.0;
        Ok(())
    })
}

/// What the driver knows of an address, be it a device pointer or a host address. It answers for every address, also in memory
/// of another device.
///
/// @param context The context.
/// @param address The address.
/// @param attributes Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `attributes` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_pointer_attributes(
    context: cushim_context,
    address: u64,
    attributes: *mut cushim_pointer_attributes,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::check_out(attributes, "attributes") }?;
        let found = hold(context)?.pointer_attributes(address)?;
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::write_out(attributes, &cushim_pointer_attributes::from(found), "attributes") }
    })
}

/// The allocation that a pointer lies in, device memory or host memory that the device reaches. Of another device's memory,
/// it is found only with access (`cushim_context_enable_peer_access`); `cushim_context_get_pointer_attributes` tells it without.
///
/// @param context The context.
/// @param pointer The device pointer.
/// @param start Receives the start of the allocation; 0 on failure. Must not be NULL.
/// @param bytes Receives its bytes; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_NOT_FOUND` if it lies in none,
/// or in none that the context reaches, and others of the driver's. Threads: any.
///
/// # Safety
/// `start` and `bytes` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_address_range(
    context: cushim_context,
    pointer: u64,
    start: *mut u64,
    bytes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let outs = unsafe { (out::cleared(start, 0, "start"), out::cleared(bytes, 0, "bytes")) };
        let (start, bytes) = (outs.0?, outs.1?);
        let guard = enter()?;
        let (pointer, length) = get(&guard, context)?.address_range(DevicePointer(pointer))?;
        (*start, *bytes) = (pointer.0, length);
        Ok(())
    })
}

impl From<PointerAttributes> for cushim_pointer_attributes {
    fn from(found: PointerAttributes) -> Self {
        let (start, bytes) = found.range.unwrap_or_default();
        Self {
            struct_size: size_of::<Self>(),
            memory_type: found.memory_type.map_or(0, |kind| kind.0),
            device: found.device.unwrap_or(-1),
            context: found.context,
            device_pointer: found.device_pointer.0,
            host_pointer: found.host_pointer,
            pool: found.pool,
            range_start: start.0,
            range_bytes: bytes,
            buffer_id: found.buffer_id.unwrap_or(0),
            managed: i32::from(found.managed),
            mapped: i32::from(found.mapped),
            synchronous: i32::from(found.synchronous),
            ipc_capable: i32::from(found.ipc_capable),
            rdma_capable: i32::from(found.rdma_capable),
            reserved: 0,
        }
    }
}
