//! Pools of one device, and the other.

use super::pointers::{attribute, flags};
use super::{SIZE, Scene};
use crate::driver::{Answer, Cu, Outcome, call, need, yes};
use crate::sections::managed::place;
use crate::sections::numa_and_pools::props;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation,
    CUmemoryPool, CUstream,
};
use std::ptr::null_mut;

fn device(id: i32) -> CUmemLocation {
    place(CU_MEM_LOCATION_TYPE_DEVICE, id)
}

fn set(cu: &Cu, pool: CUmemoryPool, whose: &[(i32, i32)]) -> Answer {
    let entries: Vec<CUmemAccessDesc> = whose
        .iter()
        .map(|&(id, access)| CUmemAccessDesc { location: device(id), flags: CUmemAccess_flags(access) })
        .collect();
    call!(cu, cuMemPoolSetAccess_11020(pool, entries.as_ptr(), entries.len()))
}

fn get(cu: &Cu, pool: CUmemoryPool, id: i32) -> Answer {
    let (mut flags, mut location) = (CUmemAccess_flags(99), device(id));
    call!(cu, cuMemPoolGetAccess_11020(&raw mut flags, pool, &raw mut location)).then(|| flags.0)
}

fn pool_of(cu: &Cu, id: i32) -> Outcome<CUmemoryPool> {
    let mut pool = null_mut();
    need!(cu, cuDeviceGetDefaultMemPool_11020(&raw mut pool, id))?;
    Ok(pool)
}

fn allocate(cu: &Cu, pool: CUmemoryPool, stream: CUstream) -> Outcome<CUdeviceptr> {
    let mut address = 0;
    need!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, SIZE, pool, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    Ok(address)
}

fn created(cu: &Cu, location: CUmemLocation) -> Outcome<CUmemoryPool> {
    let mut pool = null_mut();
    let props = props(CU_MEM_ALLOCATION_TYPE_PINNED, location);
    need!(cu, cuMemPoolCreate_11020(&raw mut pool, &raw const props))?;
    Ok(pool)
}

pub(super) fn access(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let pool = created(cu, device(0))?;
    let memory = allocate(cu, pool, s.here.stream)?;
    t.line("access of the other device at first", || get(cu, pool, 1));
    s.enter(&s.there)?;
    t.line("  of memory that is there", || flags(cu, memory));
    s.enter(&s.here)?;
    for access in [1, 3, 0, 2, 4] {
        t.line(&format!("set to {access}"), || set(cu, pool, &[(1, access)]));
        t.line("  get", || get(cu, pool, 1));
        s.enter(&s.there)?;
        t.line("  of memory that was there", || flags(cu, memory));
        s.enter(&s.here)?;
    }
    t.line("set for both to 3", || set(cu, pool, &[(0, 3), (1, 3)]));
    t.line("set for both to 0", || set(cu, pool, &[(1, 0), (0, 0)]));
    t.line("  get", || get(cu, pool, 1));
    t.line("set for the other to 3, for device 99 to 3", || set(cu, pool, &[(1, 0), (99, 3)]));
    t.line("  get", || get(cu, pool, 1));
    t.line("set for the other to 0, then to 3", || set(cu, pool, &[(1, 0), (1, 3)]));
    t.line("  get", || get(cu, pool, 1));
    t.line("set for none", || set(cu, pool, &[]));
    t.line("get of device 99", || get(cu, pool, 99));
    s.enter(&s.there)?;
    t.line("the other fills it with access", || {
        call!(cu, cuMemsetD8Async_3020(memory, 1, SIZE, s.there.stream))
    });
    need!(cu, cuStreamSynchronize_2000(s.there.stream))?;
    set(cu, pool, &[(1, 0)]).must("cuMemPoolSetAccess")?;
    t.line("the other fills it without access", || {
        call!(cu, cuMemsetD8Async_3020(memory, 1, SIZE, s.there.stream))
    });
    t.line("  its stream", || call!(cu, cuStreamSynchronize_2000(s.there.stream)));
    t.line("the other copies it without access", || {
        call!(cu, cuMemcpyDtoDAsync_3020(s.there.memory, memory, SIZE, s.there.stream))
    });
    t.line("  its stream after that", || call!(cu, cuStreamSynchronize_2000(s.there.stream)));
    t.line("the other copies it to the host", || {
        let mut host = [0u8; SIZE];
        call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), memory, SIZE))
    });
    t.line("cuMemcpyPeer of it without access", || {
        let (here, there) = (&s.here, &s.there);
        call!(cu, cuMemcpyPeer_4000(there.memory, there.context, memory, here.context, SIZE))
    });
    s.enter(&s.here)?;
    t.line("contexts' access does not count: enable", || {
        call!(cu, cuCtxEnablePeerAccess_4000(s.there.context, 0))
    });
    s.enter(&s.there)?;
    need!(cu, cuCtxEnablePeerAccess_4000(s.here.context, 0))?;
    t.line("  access to the pool's memory", || flags(cu, memory));
    // NULL where there are none yet.
    let host = created(cu, place(CU_MEM_LOCATION_TYPE_HOST, 0)).unwrap_or(null_mut());
    t.line("a pool of the host: access of the first", || get(cu, host, 0));
    t.line("  of the second", || get(cu, host, 1));
    t.line("  set for the second", || set(cu, host, &[(1, 3)]));
    t.line("  set for the first to read", || set(cu, host, &[(0, 1)]));
    t.line("  of the first then", || get(cu, host, 0));
    t.line("  of the second then", || get(cu, host, 1));
    Ok(())
}

/// Memory of one device in the order of the other's stream.
pub(super) fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (mut address, mut other) = (0, 0);
    t.line("allocate in the other's stream", || {
        call!(cu, cuMemAllocAsync_11020(&raw mut address, SIZE, s.there.stream))
    });
    t.line("  device", || attribute(cu, address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
    t.line("  free it in the own stream", || call!(cu, cuMemFreeAsync_11020(address, s.here.stream)));
    let (mine, its) = (pool_of(cu, 0)?, pool_of(cu, 1)?);
    t.line("from the own pool in the other's stream", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, SIZE, mine, s.there.stream))
    });
    t.line("  device", || attribute(cu, address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
    t.line("from the other's pool in the own stream", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut other, SIZE, its, s.here.stream))
    });
    t.line("  device", || attribute(cu, other, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
    t.line("  fill it there", || call!(cu, cuMemsetD8Async_3020(other, 1, SIZE, s.here.stream)));
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.here.stream)));
    let memory = allocate(cu, its, s.there.stream)?;
    t.line("free the other's in the own stream", || call!(cu, cuMemFreeAsync_11020(memory, s.here.stream)));
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.here.stream)));
    let memory = allocate(cu, its, s.there.stream)?;
    t.line("free the other's in the NULL stream", || call!(cu, cuMemFreeAsync_11020(memory, null_mut())));
    let memory = allocate(cu, its, s.there.stream)?;
    t.line("free the other's at once", || call!(cu, cuMemFree_3020(memory)));
    t.line("the other's cuMemAlloc memory in the own stream", || {
        call!(cu, cuMemFreeAsync_11020(s.there.memory, s.here.stream))
    });
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.here.stream)));
    Ok(())
}

/// The pool that a device takes from.
pub(super) fn current(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (mine, mut found) = (pool_of(cu, 0)?, null_mut());
    let its = created(cu, device(1))?;
    t.line("set the other's pool for the own device", || call!(cu, cuDeviceSetMemPool_11020(0, its)));
    t.line("  the own device's is the default one", || {
        call!(cu, cuDeviceGetMemPool_11020(&raw mut found, 0)).then(|| yes(found == mine))
    });
    t.line("set it for its device", || call!(cu, cuDeviceSetMemPool_11020(1, its)));
    t.line("  its device's is that", || {
        call!(cu, cuDeviceGetMemPool_11020(&raw mut found, 1)).then(|| yes(found == its))
    });
    t.line("  destroy it", || call!(cu, cuMemPoolDestroy_11020(its)));
    let default = pool_of(cu, 1)?;
    t.line("  its device's is the default one", || {
        call!(cu, cuDeviceGetMemPool_11020(&raw mut found, 1)).then(|| yes(found == default))
    });
    Ok(())
}
