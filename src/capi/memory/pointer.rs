//! What the driver knows of an address.
//!
//! @header cushim.h
//! @task ask about an address

use super::check_address;
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUcontext, CUmemoryPool};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::options::OutStruct;
use crate::capi::out;
use crate::memory::{DevicePointer, PointerAttributes};
use std::ffi::c_void;

/// What the driver knows about an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_pointer_attributes {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// @field[enum(CUmemorytype)] Where the memory is; managed memory counts as device memory. 0 for an address that
    ///   the driver does not know: pageable host memory, NULL, freed memory.
    pub memory_type: i32,
    /// The ordinal of the device for which it was allocated or registered; -1 if there is none.
    pub device: i32,
    /// @field[nullable] The context in which it was allocated or registered; NULL if there is none, as for memory of
    ///   a pool.
    pub context: CUcontext,
    /// The address by which the context's device reaches it; 0 if it cannot, as for memory of another device without
    /// peer access (`cushim_context_enable_peer_access`).
    pub device_pointer: u64,
    /// @field[nullable] The address by which the host reaches it; NULL if it cannot, or for an address that the
    ///   driver does not know.
    pub host_pointer: *mut c_void,
    /// @field[nullable] The memory pool; NULL if it is not from a pool.
    pub pool: CUmemoryPool,
    /// The start of the allocation; 0 if there is none.
    pub range_start: u64,
    /// The size of the allocation in bytes.
    pub range_bytes: usize,
    /// The unique id of the allocation in this process; 0 if it has none.
    pub buffer_id: u64,
    /// 1 for managed memory. For memory of a managed pool: 1 with CUDA 13.0, not necessarily with others.
    pub managed: i32,
    /// 1 if the address maps to an allocation.
    pub mapped: i32,
    /// 1 if synchronous operations on it always synchronise (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
    pub synchronous: i32,
    /// 1 if `cuIpcGetMemHandle` can share it with other processes.
    pub ipc_capable: i32,
    /// 1 if other devices of the machine can reach it by GPUDirect RDMA.
    pub rdma_capable: i32,
    /// Zero.
    pub reserved: i32,
}

/// Returns the address by which the context's device reaches page-locked or registered host memory.
///
/// @param[in] context The context.
/// @param[in] address The host's address: the start of the memory, or an address in it.
/// @param[out] pointer The device pointer.
/// @errors `CUDA_ERROR_INVALID_VALUE` if the device cannot reach it.
/// @driver any
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

/// Returns what the driver knows about an address. It succeeds for every address, those in other devices' memory
/// included.
///
/// @param[in] context The context.
/// @param[in, address] address A device pointer or an address of the host.
/// @param[inout] attributes Receives the facts.
/// @driver any
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
        let out = unsafe { OutStruct::cleared(attributes, "attributes") }?;
        out.fill(&cushim_pointer_attributes::from(hold(context)?.pointer_attributes(address)?));
        Ok(())
    })
}

/// Returns the allocation in which an address lies: device memory, or host memory that the device can reach.
///
/// An allocation of another device is found only with peer access; `cushim_context_get_pointer_attributes` needs
/// none.
///
/// @param[in] context The context.
/// @param[in, address] pointer The device pointer.
/// @param[out] start The start of the allocation.
/// @param[out] bytes The size of the allocation in bytes.
/// @errors `CUDA_ERROR_NOT_FOUND` if it lies in no allocation that the context can reach.
/// @driver any
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
