//! Which pool memory of a kind comes from where a call names none: the one that it began with, or one that it was given.

use super::{Home, Pool};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdevice,
    CUmemAllocationType, CUmemLocation, CUmemoryPool,
};
use crate::driver::capture;
use crate::driver::device::Device;
use parking_lot::Mutex;
use std::sync::Arc;

/// The pools of one kind of memory.
struct Choice {
    own: Arc<Pool>,
    current: Arc<Pool>,
}

/// Those that somebody has asked for.
static CHOICES: Mutex<Vec<Choice>> = Mutex::new(Vec::new());

/// Looks at the pools of a kind of memory.
fn with<T>(home: Home, look: impl FnOnce(&mut Choice) -> T) -> T {
    let mut choices = CHOICES.lock();
    if let Some(choice) = choices.iter_mut().find(|choice| choice.own.home == home) {
        return look(choice);
    }
    let own = Pool::new(home, true, home.most());
    let mut choice = Choice { current: Arc::clone(&own), own };
    let seen = look(&mut choice);
    choices.push(choice);
    seen
}

fn own(home: Home) -> CUmemoryPool {
    with(home, |choice| choice.own.handle())
}

fn current_of(home: Home) -> Arc<Pool> {
    with(home, |choice| Arc::clone(&choice.current))
}

/// The pool that a device allocates from.
pub(crate) fn current(device: Device) -> Arc<Pool> {
    current_of(Home::Device(device))
}

/// A pool is destroyed: who uses it goes back to the one that it began with.
pub(super) fn forget(pool: &Arc<Pool>) {
    with(pool.home, |choice| {
        if Arc::ptr_eq(&choice.current, pool) {
            choice.current = Arc::clone(&choice.own);
        }
    });
}

fn set(home: Home, pool: CUmemoryPool) -> Answer {
    let pool = Pool::of(pool)?;
    if pool.home != home || pool.importing().is_some() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    capture::check_unsafe()?;
    with(home, |choice| choice.current = pool);
    Ok(())
}

pub(crate) fn cuDeviceGetDefaultMemPool(pool_out: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool_out.check()?;
    pool_out.set(own(Home::Device(Device::of(dev)?)))
}

pub(crate) fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.check()?;
    pool.set(current(Device::of(dev)?).handle())
}

pub(crate) fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> Answer {
    set(Home::Device(Device::of(dev)?), pool)
}

/// The node where the calling thread runs has no pool of its own (measured).
fn check_default(location: CUmemLocation) -> Answer {
    match location.type_ {
        CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Err(CUDA_ERROR_NOT_SUPPORTED),
        _ => Ok(()),
    }
}

pub(crate) fn cuMemGetDefaultMemPool(
    pool_out: Out<CUmemoryPool>,
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
) -> Answer {
    pool_out.check()?;
    let location = location.item(0)?;
    check_default(location)?;
    pool_out.set(own(Home::of(type_, location)?))
}

pub(crate) fn cuMemGetMemPool(
    pool_out: Out<CUmemoryPool>,
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
) -> Answer {
    pool_out.check()?;
    let location = location.item(0)?;
    check_default(location)?;
    pool_out.set(current_of(Home::of(type_, location)?).handle())
}

pub(crate) fn cuMemSetMemPool(
    location: Out<CUmemLocation>,
    type_: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Answer {
    let location = location.item(0)?;
    check_default(location)?;
    set(Home::of(type_, location)?, pool)
}
