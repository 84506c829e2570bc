//! The pool that a device has from the beginning, and when a pool gives its memory back.

use super::Section;
use super::managed::DEVICE;
use super::numa_and_pools::props;
use crate::code::FAULTS;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
    CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
    CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
    CU_MEMPOOL_ATTR_USED_MEM_HIGH, CUdeviceptr, CUmemPool_attribute, CUmemoryPool, CUstream,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "pools", parts: 5, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    match part {
        0 => default_pool(t, cu),
        1 => memory_given_back(t, cu),
        2 => {
            let function = cu.function(cu.module(FAULTS)?, c"store")?;
            freed_at_once(t, cu, "a kernel", |stream, address| cu.launch_at(function, stream, address))
        }
        3 => freed_at_once(t, cu, "a fill", |stream, address| {
            call!(cu, cuMemsetD8Async_3020(address, 1, 64, stream))
        }),
        _ => freed_before_its_turn(t, cu),
    }
}

/// What uses memory of a pool that is freed at once before the work has its turn: that ends the context.
fn freed_at_once(
    t: &mut Lines,
    cu: &Cu,
    user: &'static str,
    make: impl Fn(CUstream, CUdeviceptr) -> Answer,
) -> Outcome {
    let (stream, warm) = (cu.stream(NON_BLOCKING)?, cu.memory(64)?);
    // So that no work below is the first of its kind, for which a driver may have to wait.
    make(stream, warm).must(user)?;
    let mut address = 0;
    need!(cu, cuMemAllocAsync_11020(&raw mut address, 64, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    let gate = Gate::close(cu, stream)?;
    t.line(&format!("memory of a pool, on a busy stream: {user}"), || make(stream, address));
    // Else a driver that waits would wait for ever.
    gate.open_later();
    t.line("  the memory is freed at once", || call!(cu, cuMemFree_3020(address)));
    t.line("  the stream is busy", || call!(cu, cuStreamQuery_2000(stream)));
    gate.open();
    t.line("  synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  the context", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

/// The allocation itself is ahead.
fn freed_before_its_turn(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, mut address) = (cu.stream(NON_BLOCKING)?, 0);
    let gate = Gate::close(cu, stream)?;
    need!(cu, cuMemAllocAsync_11020(&raw mut address, 64, stream))?;
    gate.open_later();
    t.line("freed at once, before it is allocated", || call!(cu, cuMemFree_3020(address)));
    t.line("  the stream is busy", || call!(cu, cuStreamQuery_2000(stream)));
    gate.open();
    t.line("  synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    Ok(())
}

fn default_pool(t: &mut Lines, cu: &Cu) -> Outcome {
    let pool = cu.default_pool()?;
    let mut other = null_mut();
    t.line("current pool is the default one", || {
        call!(cu, cuDeviceGetMemPool_11020(&raw mut other, 0)).then(|| yes(other == pool))
    });
    t.line("default pool of device 99", || call!(cu, cuDeviceGetDefaultMemPool_11020(&raw mut other, 99)));
    t.line("default pool to NULL", || call!(cu, cuDeviceGetDefaultMemPool_11020(null_mut(), 0)));
    t.line("default release threshold", || wide(cu, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    t.line("reuse: event dependencies", || narrow(cu, pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES));
    t.line("reuse: opportunistic", || narrow(cu, pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC));
    t.line("reuse: internal dependencies", || {
        narrow(cu, pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
    });
    t.line("set used current", || set(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0));
    t.line("set used high 5", || set(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 5));
    t.line("set used high 0", || set(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0));
    t.line("set attribute 9999", || set(cu, pool, CUmemPool_attribute(9999), 0));
    t.line("attribute 9999", || wide(cu, pool, CUmemPool_attribute(9999)));
    t.line("attribute to NULL", || {
        call!(cu, cuMemPoolGetAttribute_11020(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, null_mut()))
    });
    t.line("set release threshold", || set(cu, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 1 << 20));
    t.line("  reads back", || wide(cu, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    need_threshold(cu, pool)?;
    usage(t, cu, pool)?;
    t.line("destroy default pool", || call!(cu, cuMemPoolDestroy_11020(pool)));
    t.line("destroy NULL", || call!(cu, cuMemPoolDestroy_11020(null_mut())));
    Ok(())
}

/// Puts the threshold back, by which the pool gives unused memory back at the next synchronisation.
fn need_threshold(cu: &Cu, pool: CUmemoryPool) -> Outcome {
    let mut zero = 0u64;
    need!(cu, cuMemPoolSetAttribute_11020(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut zero).cast()))
}

fn usage(t: &mut Lines, cu: &Cu, pool: CUmemoryPool) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    let used = |attribute| -> u64 { wide(cu, pool, attribute).to_string().parse().unwrap_or(u64::MAX) };
    let mut address = 0;
    t.line("used before", || wide(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    need!(cu, cuMemAllocAsync_11020(&raw mut address, 5000, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("allocated 5000: used", || wide(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    t.line("  used high", || wide(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    t.line("  used <= reserved", || {
        yes(used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) <= used(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT))
    });
    t.line("  reserved", || wide(cu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    t.line("trim while in use", || call!(cu, cuMemPoolTrimTo_11020(pool, 0)));
    need!(cu, cuMemFreeAsync_11020(address, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("freed: used", || wide(cu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    t.line("  reserved", || wide(cu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    t.line("trim", || call!(cu, cuMemPoolTrimTo_11020(pool, 0)));
    t.line("  reserved", || wide(cu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    t.line("allocate from it by name", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 64, pool, stream))
    });
    t.line("  free", || call!(cu, cuMemFreeAsync_11020(address, stream)));
    t.line("allocate from pool NULL", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 64, null_mut(), stream))
    });
    need!(cu, cuStreamSynchronize_2000(stream))
}

/// Memory that was freed in a stream's order is a pool's until somebody waits for the free; trimming does not help before.
fn memory_given_back(t: &mut Lines, cu: &Cu) -> Outcome {
    let (stream, other) = (cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?);
    let (mut pool, freed) = (null_mut(), cu.event(2)?);
    let properties = props(CU_MEM_ALLOCATION_TYPE_PINNED, DEVICE);
    need!(cu, cuMemPoolCreate_11020(&raw mut pool, &raw const properties))?;
    let has_memory = || {
        call!(cu, cuMemPoolTrimTo_11020(pool, 0))
            .then(|| yes(wide(cu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT).to_string() != "0"))
    };
    let allocate = || -> Outcome<CUdeviceptr> {
        let mut address = 0;
        need!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 5000, pool, stream))?;
        need!(cu, cuStreamSynchronize_2000(stream))?;
        Ok(address)
    };
    let free = |address| -> Outcome {
        need!(cu, cuMemFreeAsync_11020(address, stream))?;
        need!(cu, cuEventRecord_2000(freed, stream))
    };
    let is_done = || cu.settled(|| call!(cu, cuEventQuery_2000(freed)));
    let address = allocate()?;
    t.line("in use: has memory, trimmed", has_memory);
    free(address)?;
    is_done();
    t.line("freed, the event queried: has memory, trimmed", has_memory);
    need!(cu, cuStreamSynchronize_2000(other))?;
    t.line("  another stream synchronized", has_memory);
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("  its stream synchronized", has_memory);
    free(allocate()?)?;
    need!(cu, cuEventSynchronize_2000(freed))?;
    t.line("freed, the event synchronized: has memory, trimmed", has_memory);
    need!(cu, cuMemFree_3020(allocate()?))?;
    t.line("freed at once: has memory, trimmed", has_memory);
    free(allocate()?)?;
    is_done();
    need!(cu, cuStreamDestroy_4000(stream))?;
    t.line("freed, its stream destroyed: has memory, trimmed", has_memory);
    t.line("destroy it", || call!(cu, cuMemPoolDestroy_11020(pool)));
    Ok(())
}

fn wide(cu: &Cu, pool: CUmemoryPool, attribute: CUmemPool_attribute) -> Answer {
    let mut value = 0u64;
    call!(cu, cuMemPoolGetAttribute_11020(pool, attribute, (&raw mut value).cast())).then(|| value)
}

fn narrow(cu: &Cu, pool: CUmemoryPool, attribute: CUmemPool_attribute) -> Answer {
    let mut value = 0i32;
    call!(cu, cuMemPoolGetAttribute_11020(pool, attribute, (&raw mut value).cast())).then(|| value)
}

fn set(cu: &Cu, pool: CUmemoryPool, attribute: CUmemPool_attribute, mut value: u64) -> Answer {
    call!(cu, cuMemPoolSetAttribute_11020(pool, attribute, (&raw mut value).cast()))
}
