//! Pools of memory.

use super::super::scene::Scene;
use super::Row;
use crate::driver::{Cu, call};
use crate::sections::managed::DEVICE;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
    CUmemAccessDesc, CUmemPoolProps, CUmemoryPool,
};
use std::ptr::null_mut;

/// What a pool of the device's memory is asked for with.
pub(in crate::sections::capture) fn properties() -> CUmemPoolProps {
    // SAFETY: zero is a value of every field.
    let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = DEVICE;
    properties
}

/// A pool, or NULL.
pub(in crate::sections::capture) fn pool(cu: &Cu) -> CUmemoryPool {
    let (mut pool, properties) = (null_mut(), properties());
    let _ = call!(cu, cuMemPoolCreate_11020(&raw mut pool, &raw const properties));
    pool
}

fn default_pool(s: &Scene) -> CUmemoryPool {
    s.cu.default_pool().unwrap_or(null_mut())
}

pub(super) const ROWS: &[Row] = &[
    ("cuMemPoolCreate", |s, ask| {
        let (mut pool, properties) = (null_mut(), properties());
        ask.call(|| call!(s.cu, cuMemPoolCreate_11020(&raw mut pool, &raw const properties)));
        let _ = call!(s.cu, cuMemPoolDestroy_11020(pool));
    }),
    ("cuMemPoolDestroy", |s, ask| {
        let pool = pool(&s.cu);
        ask.call(|| call!(s.cu, cuMemPoolDestroy_11020(pool)));
    }),
    ("cuMemPoolTrimTo", |s, ask| {
        let pool = default_pool(s);
        ask.call(|| call!(s.cu, cuMemPoolTrimTo_11020(pool, 0)));
    }),
    ("cuMemPoolSetAttribute threshold", |s, ask| {
        let (pool, mut value) = (default_pool(s), 0u64);
        let (which, value) = (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut value).cast());
        ask.call(|| call!(s.cu, cuMemPoolSetAttribute_11020(pool, which, value)));
    }),
    ("cuMemPoolGetAttribute", |s, ask| {
        let (pool, mut value) = (default_pool(s), 0u64);
        let (which, value) = (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut value).cast());
        ask.call(|| call!(s.cu, cuMemPoolGetAttribute_11020(pool, which, value)));
    }),
    ("cuMemPoolSetAccess", |s, ask| {
        let pool = pool(&s.cu);
        let access = CUmemAccessDesc { location: DEVICE, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        ask.call(|| call!(s.cu, cuMemPoolSetAccess_11020(pool, &raw const access, 1)));
        let _ = call!(s.cu, cuMemPoolDestroy_11020(pool));
    }),
    ("cuMemPoolGetAccess", |s, ask| {
        let (pool, mut place, mut flags) = (default_pool(s), DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        ask.call(|| call!(s.cu, cuMemPoolGetAccess_11020(&raw mut flags, pool, &raw mut place)));
    }),
    ("cuMemAllocFromPoolAsync other stream", |s, ask| {
        let (pool, mut address) = (default_pool(s), 0);
        ask.call(|| call!(s.cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 64, pool, s.side)));
        if address != 0 {
            let _ = call!(s.cu, cuMemFree_3020(address));
        }
    }),
    ("cuDeviceGetMemPool", |s, ask| {
        let mut pool = null_mut();
        ask.call(|| call!(s.cu, cuDeviceGetMemPool_11020(&raw mut pool, 0)));
    }),
    ("cuDeviceSetMemPool", |s, ask| {
        let pool = default_pool(s);
        ask.call(|| call!(s.cu, cuDeviceSetMemPool_11020(0, pool)));
    }),
    ("cuDeviceGraphMemTrim", |s, ask| ask.call(|| call!(s.cu, cuDeviceGraphMemTrim_11040(0)))),
    ("cuDeviceGetGraphMemAttribute", |s, ask| {
        let mut value = 0u64;
        let which = cushim::driver::sys::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT;
        ask.call(|| call!(s.cu, cuDeviceGetGraphMemAttribute_11040(0, which, (&raw mut value).cast())));
    }),
    ("cuDeviceSetGraphMemAttribute", |s, ask| {
        let mut value = 0u64;
        let which = cushim::driver::sys::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
        ask.call(|| call!(s.cu, cuDeviceSetGraphMemAttribute_11040(0, which, (&raw mut value).cast())));
    }),
];
