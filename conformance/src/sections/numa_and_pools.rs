//! The host's NUMA nodes as preference, and pools of memory that is not a device's.

use super::Section;
use super::managed::{
    CURRENT_NODE, DEVICE, HOST, INVALID, NODE, SIZE, last_prefetch, managed, place, preferred,
};
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
    CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_LOCATION_TYPE_DEVICE, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemPoolProps, CUmemoryPool, CUstream,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "numa_and_pools", parts: 5 + LIMITS.len(), devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    if part >= 5 {
        return limit(t, cu, &LIMITS[part - 5]);
    }
    cu.start()?;
    match part {
        0 => preference(t, cu),
        1 => managed_pool(t, cu),
        2 => host_pool(t, cu),
        3 => rounding(t, cu),
        _ => {
            creation(t, cu);
            of_places(t, cu);
            Ok(())
        }
    }
}

fn preference(t: &mut Lines, cu: &Cu) -> Outcome {
    let memory = managed(cu)?;
    for (name, to) in [
        ("device", DEVICE),
        ("numa 0", NODE),
        ("device", DEVICE),
        ("numa current", CURRENT_NODE),
        ("host", HOST),
        ("numa 0", NODE),
    ] {
        t.line(&format!("preferred <- {name}"), || {
            call!(cu, cuMemAdvise_12020(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, to))
        });
        t.line("  ordinal,type,id", || preferred(cu, memory));
    }
    t.line("pageable memory access", || {
        let mut value = 0;
        let which = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
        call!(cu, cuDeviceGetAttribute_2000(&raw mut value, which, 0)).then(|| value)
    });
    Ok(())
}

pub(super) fn props(kind: CUmemAllocationType, location: CUmemLocation) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: kind,
        handleTypes: CUmemAllocationHandleType(0),
        location,
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        gpuDirectRDMACapable: 0,
        reserved: [0; 53],
    }
}

fn create(cu: &Cu, pool: &mut CUmemoryPool, props: &CUmemPoolProps) -> Answer {
    call!(cu, cuMemPoolCreate_11020(pool, props))
}

fn narrow(cu: &Cu, address: CUdeviceptr, which: cushim::driver::sys::CUpointer_attribute) -> Answer {
    let mut value = 0u32;
    call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, address)).then(|| value)
}

fn managed_pool(t: &mut Lines, cu: &Cu) -> Outcome {
    let (mut pool, mut memory, stream) = (null_mut(), 0, cu.stream(NON_BLOCKING)?);
    t.line("managed pool create", || create(cu, &mut pool, &props(CU_MEM_ALLOCATION_TYPE_MANAGED, DEVICE)));
    t.line("allocate from it", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, SIZE, pool, stream))
    });
    t.line("IS_MANAGED attribute", || narrow(cu, memory, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    t.line("  memory type", || narrow(cu, memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    for (name, advice) in [
        ("advise read mostly on pool memory", CU_MEM_ADVISE_SET_READ_MOSTLY),
        ("advise preferred on pool memory", CU_MEM_ADVISE_SET_PREFERRED_LOCATION),
    ] {
        t.line(name, || call!(cu, cuMemAdvise_12020(memory, SIZE, advice, DEVICE)));
    }
    t.line("  preferred location of pool memory", || preferred(cu, memory));
    t.line("prefetch of pool memory", || {
        call!(cu, cuMemPrefetchAsync_12020(memory, SIZE, DEVICE, 0, stream))
    });
    t.line("  last prefetch of pool memory", || last_prefetch(cu, memory));
    let (mut address, mut size, mut to, mut start) = (memory, SIZE, DEVICE, 0usize);
    t.line("discard of pool memory", || {
        call!(cu, cuMemDiscardBatchAsync_13000(&raw mut address, &raw mut size, 1, 0, stream))
    });
    t.line("batch prefetch of pool memory", || {
        let (address, size) = (&raw mut address, &raw mut size);
        let (to, start) = (&raw mut to, &raw mut start);
        call!(cu, cuMemPrefetchBatchAsync_13000(address, size, 1, to, start, 1, 0, stream))
    });
    t.line("attach pool memory", || call!(cu, cuStreamAttachMemAsync_6000(stream, memory, 0, 1)));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    access(t, cu, pool);
    t.line("free it", || call!(cu, cuMemFreeAsync_11020(memory, stream)));
    need!(cu, cuStreamSynchronize_2000(stream))
}

/// What the device may do with a pool's memory, and whether that can be changed.
fn access(t: &mut Lines, cu: &Cu, pool: CUmemoryPool) {
    let flags = || {
        let (mut flags, mut location) = (CUmemAccess_flags(77), place(CU_MEM_LOCATION_TYPE_DEVICE, 0));
        call!(cu, cuMemPoolGetAccess_11020(&raw mut flags, pool, &raw mut location)).then(|| flags.0)
    };
    t.line("  the device's access", flags);
    for (name, access) in [("read and write", 3), ("none", 0)] {
        let map = CUmemAccessDesc { location: DEVICE, flags: CUmemAccess_flags(access) };
        t.line(&format!("  set it to {name}"), || {
            call!(cu, cuMemPoolSetAccess_11020(pool, &raw const map, 1))
        });
        t.line("  the device's access", flags);
    }
}

fn host_pool(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    for (name, location) in [("host", HOST), ("host_numa 0", NODE)] {
        one_host_pool(t, cu, name, location, stream)?;
    }
    Ok(())
}

fn one_host_pool(t: &mut Lines, cu: &Cu, name: &str, location: CUmemLocation, stream: CUstream) -> Outcome {
    let (mut pool, mut memory) = (null_mut(), 0);
    t.line(&format!("{name} pool create"), || {
        create(cu, &mut pool, &props(CU_MEM_ALLOCATION_TYPE_PINNED, location))
    });
    t.line("  allocate from it", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, 4096, pool, stream))
    });
    t.line("  memory type", || narrow(cu, memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    t.line("  is managed", || narrow(cu, memory, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    t.line("  host pointer is the same", || {
        let mut value: CUdeviceptr = 0;
        let which = CU_POINTER_ATTRIBUTE_HOST_POINTER;
        let asked = call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, memory));
        asked.then(|| yes(value == memory))
    });
    access(t, cu, pool);
    t.line("  free it", || call!(cu, cuMemFreeAsync_11020(memory, stream)));
    t.line("  destroy the pool", || call!(cu, cuMemPoolDestroy_11020(pool)));
    need!(cu, cuStreamSynchronize_2000(stream))
}

/// More than any limit of this section.
fn too_much(cu: &Cu, pool: CUmemoryPool) -> Answer {
    let (mut memory, stream) = (0, LEGACY);
    let asked = call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, 64 << 20, pool, stream));
    if memory != 0 {
        let _ = call!(cu, cuMemFreeAsync_11020(memory, stream));
    }
    asked
}

/// What pools can be created.
fn creation(t: &mut Lines, cu: &Cu) {
    let (pinned, managed) = (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED);
    let shared = |kind, location, handles| CUmemPoolProps {
        handleTypes: CUmemAllocationHandleType(handles),
        ..props(kind, location)
    };
    let limited = |kind, location| CUmemPoolProps { maxSize: 1 << 20, ..props(kind, location) };
    let no_device = place(CU_MEM_LOCATION_TYPE_DEVICE, 99);
    for (name, props) in [
        ("pool of allocation type 0", props(CUmemAllocationType(0), DEVICE)),
        ("pool of device 99", props(pinned, no_device)),
        ("pool of no place", props(pinned, INVALID)),
        ("pool of host_numa_current", props(pinned, CURRENT_NODE)),
        ("pool with a limit", limited(pinned, DEVICE)),
        ("pool with file descriptors", shared(pinned, DEVICE, 1)),
        ("pool with Windows handles", shared(pinned, DEVICE, 2)),
        ("pool with handles 16", shared(pinned, DEVICE, 16)),
        ("host pool with a limit", limited(pinned, HOST)),
        ("host pool with file descriptors", shared(pinned, HOST, 1)),
        ("host_numa pool with file descriptors", shared(pinned, NODE, 1)),
        ("managed pool of no place", props(managed, INVALID)),
        ("managed pool of the host", props(managed, HOST)),
        ("managed pool of host_numa 0", props(managed, NODE)),
        ("managed pool of host_numa_current", props(managed, CURRENT_NODE)),
        ("managed pool with a limit", limited(managed, DEVICE)),
        ("managed pool with file descriptors", shared(managed, DEVICE, 1)),
    ] {
        let mut pool = null_mut();
        t.line(name, || create(cu, &mut pool, &props));
        if props.maxSize != 0 {
            t.line("  allocate 64 MiB from it", || too_much(cu, pool));
        }
        if !pool.is_null() {
            let _ = call!(cu, cuMemPoolDestroy_11020(pool));
        }
    }
}

/// The pools that places have from the beginning.
fn of_places(t: &mut Lines, cu: &Cu) {
    let (pinned, managed) = (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED);
    let mut device: CUmemoryPool = null_mut();
    for (name, kind, location) in [
        ("device", pinned, DEVICE),
        ("host", pinned, HOST),
        ("host_numa 0", pinned, NODE),
        ("host_numa_current", pinned, CURRENT_NODE),
        ("no place", pinned, INVALID),
        ("device, managed", managed, DEVICE),
        ("host, managed", managed, HOST),
        ("no place, managed", managed, INVALID),
    ] {
        let (mut own, mut now, mut location) = (null_mut(), null_mut(), location);
        let place = &raw mut location;
        t.line(&format!("default pool of {name}"), || {
            call!(cu, cuMemGetDefaultMemPool_13000(&raw mut own, place, kind))
        });
        t.line("  current pool is the same", || {
            call!(cu, cuMemGetMemPool_13000(&raw mut now, place, kind)).then(|| yes(own == now))
        });
        device = if device.is_null() { own } else { device };
    }
    let mut host = HOST;
    t.line("set the device's pool as the host's", || {
        call!(cu, cuMemSetMemPool_13000(&raw mut host, pinned, device))
    });
}

/// A pool that hands out as much as that at most, which may be more than there is. A driver may take its time for it: each has
/// its process. 2^63 and 2^64 - 1 are not asked for: on a machine
/// with two devices driver 580 did not come back (one of 2^64 - 1 with one device: OUT_OF_MEMORY).
struct Limit {
    situation: &'static str,
    location: CUmemLocation,
    bytes: usize,
    /// Whether there is a context before.
    context: bool,
}

const fn of_device(situation: &'static str, bytes: usize) -> Limit {
    Limit { situation, location: DEVICE, bytes, context: true }
}

const fn of_host(situation: &'static str, bytes: usize) -> Limit {
    Limit { location: HOST, ..of_device(situation, bytes) }
}

const fn first(situation: &'static str, bytes: usize) -> Limit {
    Limit { context: false, ..of_device(situation, bytes) }
}

static LIMITS: [Limit; 10] = [
    of_device("pool of at most 2^56", 1 << 56),
    of_device("pool of at most 2^47", 1 << 47),
    of_device("pool of at most 2^45", 1 << 45),
    of_device("pool of at most 2^40", 1 << 40),
    of_host("host pool of at most 2^64 - 1 bytes", usize::MAX),
    of_host("host pool of at most 2^50", 1 << 50),
    of_host("host pool of at most 2^40", 1 << 40),
    first("no context: pool of at most 2^47", 1 << 47),
    first("no context: pool of at most 2^45", 1 << 45),
    first("no context: pool", 0),
];

fn limit(t: &mut Lines, cu: &Cu, limit: &Limit) -> Outcome {
    if limit.context {
        cu.start()?;
    } else {
        need!(cu, cuInit_2000(0))?;
    }
    let asked =
        CUmemPoolProps { maxSize: limit.bytes, ..props(CU_MEM_ALLOCATION_TYPE_PINNED, limit.location) };
    t.line(limit.situation, || create(cu, &mut null_mut(), &asked));
    Ok(())
}

/// How far a greatest size is rounded up: one allocation at a time, from pools that have handed out nothing.
fn rounding(t: &mut Lines, cu: &Cu) -> Outcome {
    const UNIT: usize = 2 << 20;
    let stream = cu.stream(NON_BLOCKING)?;
    for (limit, name) in [(1, "1 byte"), (UNIT, "2 MiB"), (UNIT + 1, "2 MiB + 1")] {
        for (bytes, asked) in [
            (1, "1 byte"),
            (UNIT, "2 MiB"),
            (UNIT + 1, "2 MiB + 1"),
            (2 * UNIT, "4 MiB"),
            (2 * UNIT + 1, "4 MiB + 1"),
            (16 * UNIT, "32 MiB"),
            (16 * UNIT + 1, "32 MiB + 1"),
        ] {
            let (mut pool, mut memory) = (null_mut(), 0);
            let limited = CUmemPoolProps { maxSize: limit, ..props(CU_MEM_ALLOCATION_TYPE_PINNED, DEVICE) };
            let created = create(cu, &mut pool, &limited).succeeded();
            t.line(&format!("pool of at most {name}: allocate {asked}"), || {
                if created {
                    call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, bytes, pool, stream))
                } else {
                    "no pool".into()
                }
            });
            need!(cu, cuMemFreeAsync_11020(memory, stream))?;
            need!(cu, cuStreamSynchronize_2000(stream))?;
            let _ = call!(cu, cuMemPoolDestroy_11020(pool));
        }
    }
    Ok(())
}
