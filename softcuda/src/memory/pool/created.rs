//! Pools that a program creates and destroys.

use super::{POOLS, Pool, choice};
use crate::device;
use crate::error::Answer;
use crate::memory::location::device_at;
use crate::pointer::{In, Out};
use crate::sys::{
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE,
    CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUmemPoolProps_v1, CUmemoryPool,
};

/// Only pools of device memory that stay in the process.
pub(crate) fn cuMemPoolCreate(pool: Out<CUmemoryPool>, poolProps: In<CUmemPoolProps_v1>) -> Answer {
    pool.check()?;
    let props = poolProps.get()?;
    match (props.allocType, props.location.type_) {
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE) => {}
        (
            CU_MEM_ALLOCATION_TYPE_PINNED | CU_MEM_ALLOCATION_TYPE_MANAGED,
            CU_MEM_LOCATION_TYPE_DEVICE
            | CU_MEM_LOCATION_TYPE_HOST
            | CU_MEM_LOCATION_TYPE_HOST_NUMA
            | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
        ) => return Err(CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    }
    let device = device_at(props.location)?;
    if props.handleTypes != CU_MEM_HANDLE_TYPE_NONE {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let most = if props.maxSize == 0 { device::total_memory() as usize } else { props.maxSize };
    pool.set(Pool::new(device, false, most).handle())
}

/// Returns at once; what is allocated from it stays until it is freed. Devices that use it go back to their own.
pub(crate) fn cuMemPoolDestroy(pool: CUmemoryPool) -> Answer {
    let found = Pool::of(pool)?;
    if found.is_default {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    POOLS.remove(pool as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    choice::forget(&found);
    Ok(())
}
