//! What a pointer is.

use super::access;
use super::table::{self, Allocation, Kind};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
    CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
    CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
    CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_P2P_TOKENS, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdeviceptr_v2, CUpointer_attribute,
};
use crate::driver::capture;
use crate::driver::context::current::top;
use crate::driver::space::window;
use crate::instruments::settings::version;
use std::ffi::c_void;
use std::sync::Arc;

/// Mappings are made in units of this.
const BLOCK: usize = 2 << 20;

/// The ordinal of a pointer that belongs to no device, `CU_DEVICE_INVALID`.
const NO_DEVICE: i32 = -2;

/// An attribute's value, with the width that the driver writes.
#[derive(Clone, Copy)]
enum Value {
    Small(u32),
    Large(u64),
    /// The value is written, and the call fails.
    Absent(u64),
}

pub(crate) fn cuPointerGetAttribute(
    data: *mut c_void,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr_v2,
) -> Answer {
    Out::<u32>::untyped(data).check()?;
    check(attribute)?;
    let allocation = find(ptr).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && top().is_none() {
        return write(data, Value::Large(0)).and(Err(CUDA_ERROR_INVALID_CONTEXT));
    }
    if attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && is_out_of_reach(&allocation, ptr) {
        return write(data, Value::Large(0)).and(Err(CUDA_ERROR_INVALID_VALUE));
    }
    write(data, value(&allocation, attribute, ptr)?)
}

/// Of a pointer that is none of the driver's, every attribute but its range has a value that says so.
pub(crate) fn cuPointerGetAttributes(
    numAttributes: u32,
    attributes: Out<CUpointer_attribute>,
    data: Out<*mut c_void>,
    ptr: CUdeviceptr_v2,
) -> Answer {
    if numAttributes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let count = numAttributes as usize;
    for i in 0..count {
        check(attributes.item(i)?)?;
        Out::<u32>::untyped(data.item(i)?).check()?;
    }
    let allocation = find(ptr);
    for i in 0..count {
        let (attribute, data) = (attributes.item(i)?, data.item(i)?);
        let value = match &allocation {
            Some(allocation)
                if attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER
                    && (top().is_none() || is_out_of_reach(allocation, ptr)) =>
            {
                Some(Value::Large(0))
            }
            Some(allocation)
                if attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS && is_out_of_reach(allocation, ptr) =>
            {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            Some(allocation) => Some(value(allocation, attribute, ptr)?),
            None if attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS => return Err(CUDA_ERROR_INVALID_VALUE),
            None => foreign_value(attribute, ptr),
        };
        match value {
            Some(Value::Absent(value)) => write(data, Value::Large(value))?,
            Some(value) => write(data, value)?,
            None => {}
        }
    }
    Ok(())
}

pub(crate) fn cuPointerSetAttribute(
    value: *const c_void,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr_v2,
) -> Answer {
    let value = Out::<u32>::untyped(value.cast_mut()).item(0)?;
    if attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // Page-locked memory has it, too; virtual memory has not (measured).
    let allocation = find(ptr).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if allocation.reserved().is_some() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    capture::check_unsafe()?;
    allocation.set_waiting(value != 0);
    Ok(())
}

/// The allocation that a pointer lies in. A graph's is none before a launch has allocated it (measured).
fn find(ptr: CUdeviceptr_v2) -> Option<Arc<Allocation>> {
    table::find(ptr as usize).filter(|found| found.is_there())
}

/// Refuses attributes that the impersonated version does not know.
fn check(attribute: CUpointer_attribute) -> Answer {
    let since = match attribute.0 {
        1..=20 => 0,
        21 => 12080,
        22 => 13040,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    if since > version() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// Whether it is another device's, to which the current context has no access. Its address means nothing there.
fn is_out_of_reach(allocation: &Allocation, ptr: u64) -> bool {
    allocation.is_device(ptr as usize) && !access::is_in_reach(allocation, ptr as usize)
}

fn value(
    allocation: &Allocation,
    attribute: CUpointer_attribute,
    ptr: u64,
) -> Result<Value, crate::abi::sys::CUresult> {
    let out_of_reach = allocation.is_device(ptr as usize) && allocation.pages.is_none();
    let mapping = allocation.mapping(ptr as usize);
    let (start, size) = allocation.piece(ptr as usize);
    // The host's memory begins a mapping of its own (measured, of the first that is allocated).
    let block = if window::contains(start) { start / BLOCK * BLOCK } else { start };
    Ok(match attribute {
        // A graph's is no context's, and neither is a pool's (measured).
        CU_POINTER_ATTRIBUTE_CONTEXT if allocation.of_graph().is_some() || allocation.is_pooled() => {
            Value::Large(0)
        }
        CU_POINTER_ATTRIBUTE_CONTEXT => Value::Large(allocation.owner.context() as u64),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Small(memory_type(allocation, ptr)),
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Value::Large(ptr),
        CU_POINTER_ATTRIBUTE_HOST_POINTER if out_of_reach => Value::Absent(0),
        CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Large(ptr),
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Value::Small(u32::from(allocation.tells_waiting())),
        CU_POINTER_ATTRIBUTE_BUFFER_ID if mapping.is_some() => {
            Value::Large(mapping.map_or(0, |(_, mapping)| mapping.id))
        }
        CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID if mapping.is_some() => {
            Value::Large(mapping.map_or(0, |(_, mapping)| mapping.memory.id))
        }
        CU_POINTER_ATTRIBUTE_BUFFER_ID | CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Value::Large(allocation.id),
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Small(allocation.device(ptr as usize).handle() as u32),
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Value::Large(allocation.address as u64),
        CU_POINTER_ATTRIBUTE_RANGE_SIZE => Value::Large(allocation.size as u64),
        CU_POINTER_ATTRIBUTE_MAPPED => Value::Small(1),
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS if allocation.reserved().is_some() => {
            Value::Small(access::told(allocation, ptr as usize).0 as u32)
        }
        // Whatever the current context may do (measured).
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Small(CU_MEM_ACCESS_FLAGS_PROT_READWRITE.0 as u32),
        CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
            Value::Large((start + size - block).next_multiple_of(BLOCK) as u64)
        }
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => Value::Large(block as u64),
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Value::Large(match &allocation.kind {
            Kind::Pooled(pooled) => pooled.pool().handle() as u64,
            _ => 0,
        }),
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => {
            let shareable = mapping.is_some_and(|(_, mapping)| mapping.memory.properties.is_shareable);
            Value::Large(match &allocation.kind {
                Kind::Pooled(pooled) => pooled.pool().handle_types(),
                _ if shareable => CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0 as u64,
                _ => 0,
            })
        }
        CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Small(u32::from(allocation.pages.is_some())),
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
            let capable = matches!(allocation.kind, Kind::Device(_)) && window::file().is_some();
            Value::Small(u32::from(capable))
        }
        // Features that this driver does not have.
        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => {
            Value::Small(0)
        }
        _ => return Err(CUDA_ERROR_NOT_SUPPORTED),
    })
}

fn memory_type(allocation: &Allocation, ptr: u64) -> u32 {
    let kind = if allocation.is_device(ptr as usize) { CU_MEMORYTYPE_DEVICE } else { CU_MEMORYTYPE_HOST };
    kind.0 as u32
}

/// `None` stays unwritten.
fn foreign_value(attribute: CUpointer_attribute, ptr: u64) -> Option<Value> {
    Some(match attribute {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | CU_POINTER_ATTRIBUTE_RANGE_SIZE => return None,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Small(NO_DEVICE as u32),
        CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Large(ptr),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | CU_POINTER_ATTRIBUTE_IS_MANAGED
        | CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | CU_POINTER_ATTRIBUTE_MAPPED
        | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
        | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Small(0),
        _ => Value::Large(0),
    })
}

fn write(data: *mut c_void, value: Value) -> Answer {
    match value {
        Value::Small(value) => Out::untyped(data).set(value),
        Value::Large(value) => Out::untyped(data).set(value),
        Value::Absent(value) => Out::untyped(data).set(value).and(Err(CUDA_ERROR_INVALID_VALUE)),
    }
}
