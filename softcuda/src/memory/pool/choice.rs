//! Which pool a device allocates from: its own, or one that it was given.

use super::Pool;
use crate::device::{self, Device};
use crate::error::Answer;
use crate::memory::location;
use crate::pointer::Out;
use crate::sys::{
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE,
    CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdevice, CUmemAllocationType, CUmemLocation,
    CUmemoryPool, CUresult,
};
use parking_lot::Mutex;
use std::sync::{Arc, LazyLock};

/// A device's pools.
struct Choice {
    own: Arc<Pool>,
    current: Mutex<Arc<Pool>>,
}

static CHOICES: LazyLock<Vec<Choice>> = LazyLock::new(|| Device::all().map(Choice::new).collect());

impl Choice {
    fn new(device: Device) -> Self {
        let own = Pool::new(device, true, device::total_memory() as usize);
        Self { current: Mutex::new(Arc::clone(&own)), own }
    }
}

fn of(device: Device) -> &'static Choice {
    &CHOICES[device.ordinal()]
}

/// The pool that a device allocates from.
pub(super) fn current(device: Device) -> Arc<Pool> {
    Arc::clone(&of(device).current.lock())
}

/// A pool is destroyed: the device that uses it goes back to its own.
pub(super) fn forget(pool: &Arc<Pool>) {
    let choice = of(pool.device);
    let mut current = choice.current.lock();
    if Arc::ptr_eq(&current, pool) {
        *current = Arc::clone(&choice.own);
    }
}

fn set(device: Device, pool: CUmemoryPool) -> Answer {
    let pool = Pool::of(pool)?;
    if pool.device != device {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    *of(device).current.lock() = pool;
    Ok(())
}

pub(crate) fn cuDeviceGetDefaultMemPool(pool_out: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool_out.check()?;
    pool_out.set(of(Device::of(dev)?).own.handle())
}

pub(crate) fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.check()?;
    pool.set(current(Device::of(dev)?).handle())
}

pub(crate) fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> Answer {
    set(Device::of(dev)?, pool)
}

/// The device that a location means; pools are only there.
fn device_at(location: Out<CUmemLocation>, kind: CUmemAllocationType) -> Result<Device, CUresult> {
    let place = location.item(0)?;
    match (place.type_, kind) {
        (CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED) => location::device_at(place),
        (
            CU_MEM_LOCATION_TYPE_DEVICE
            | CU_MEM_LOCATION_TYPE_HOST
            | CU_MEM_LOCATION_TYPE_HOST_NUMA
            | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
            CU_MEM_ALLOCATION_TYPE_PINNED | CU_MEM_ALLOCATION_TYPE_MANAGED,
        ) => Err(CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuMemGetDefaultMemPool(
    pool_out: Out<CUmemoryPool>,
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
) -> Answer {
    pool_out.check()?;
    pool_out.set(of(device_at(location, type_)?).own.handle())
}

pub(crate) fn cuMemGetMemPool(
    pool_out: Out<CUmemoryPool>,
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
) -> Answer {
    pool_out.check()?;
    pool_out.set(current(device_at(location, type_)?).handle())
}

pub(crate) fn cuMemSetMemPool(
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Answer {
    set(device_at(location, type_)?, pool)
}
