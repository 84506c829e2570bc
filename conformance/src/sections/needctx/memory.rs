//! Memory with no current context.

use super::Question;
use crate::driver::{LEGACY, call};
use cushim::driver::sys::{
    CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
    CUmemAccess_flags, CUmemAccessDesc_v1, CUmemLocation_v1, CUmemLocation_v1_u4, CUmemPoolProps_v1,
};
use std::ptr::null_mut;

const DEVICE: CUmemLocation_v1 =
    CUmemLocation_v1 { type_: CU_MEM_LOCATION_TYPE_DEVICE, u4: CUmemLocation_v1_u4 { id: 0 } };

/// What allocates, frees and describes.
const PLAIN: &[Question] = &[
    ("cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
    }),
    ("cuMemAllocPitch", |s| {
        let (mut address, mut pitch) = (0, 0);
        call!(s.cu, cuMemAllocPitch_3020(&raw mut address, &raw mut pitch, 64, 4, 4))
    }),
    ("cuMemAllocAsync on legacy", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, LEGACY))
    }),
    ("cuMemFreeAsync on legacy", |s| call!(s.cu, cuMemFreeAsync_11020(s.memory, LEGACY))),
    ("cuMemGetInfo", |s| {
        let (mut free, mut total) = (0, 0);
        call!(s.cu, cuMemGetInfo_3020(&raw mut free, &raw mut total))
    }),
    ("cuMemGetAddressRange", |s| {
        let (mut base, mut size) = (0, 0);
        call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, s.memory))
    }),
    ("cuPointerGetAttribute", |s| {
        let mut kind = 0u32;
        call!(
            s.cu,
            cuPointerGetAttribute_4000((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.memory)
        )
    }),
    ("cuPointerGetAttribute of the device pointer", |s| {
        let mut pointer = 1u64;
        call!(
            s.cu,
            cuPointerGetAttribute_4000(
                (&raw mut pointer).cast(),
                CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                s.memory
            )
        )
    }),
    ("cuPointerGetAttributes", |s| {
        let (mut attributes, mut kind) = ([CU_POINTER_ATTRIBUTE_MEMORY_TYPE], 0u32);
        let mut places = [(&raw mut kind).cast()];
        call!(s.cu, cuPointerGetAttributes_7000(1, attributes.as_mut_ptr(), places.as_mut_ptr(), s.memory))
    }),
    ("cuPointerGetAttributes of the device pointer", |s| {
        let (mut attributes, mut pointer) = ([CU_POINTER_ATTRIBUTE_DEVICE_POINTER], 1u64);
        let mut places = [(&raw mut pointer).cast()];
        call!(s.cu, cuPointerGetAttributes_7000(1, attributes.as_mut_ptr(), places.as_mut_ptr(), s.memory))
            .then(|| if pointer == s.memory { "it" } else { "0" })
    }),
    ("cuPointerSetAttribute", |s| {
        let on = 1u32;
        call!(
            s.cu,
            cuPointerSetAttribute_6000((&raw const on).cast(), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, s.memory)
        )
    }),
];

/// Pinned memory.
const HOST: &[Question] = &[
    ("cuMemHostAlloc", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))
    }),
    ("cuMemAllocHost", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemAllocHost_3020(&raw mut host, 64))
    }),
    ("cuMemHostGetDevicePointer", |s| {
        let mut address = 0;
        call!(s.cu, cuMemHostGetDevicePointer_3020(&raw mut address, s.host, 0))
    }),
    ("cuMemHostGetFlags", |s| {
        let mut flags = 0;
        call!(s.cu, cuMemHostGetFlags_2030(&raw mut flags, s.host))
    }),
    ("cuMemHostRegister", |s| call!(s.cu, cuMemHostRegister_6050(s.pageable, 4096, 0))),
    ("cuMemHostUnregister", |s| call!(s.cu, cuMemHostUnregister_4000(s.registered))),
    ("cuMemFreeHost", |s| call!(s.cu, cuMemFreeHost_2000(s.host))),
];

/// Pools.
const POOLS: &[Question] = &[
    ("cuDeviceGetDefaultMemPool", |s| {
        let mut pool = null_mut();
        call!(s.cu, cuDeviceGetDefaultMemPool_11020(&raw mut pool, 0))
    }),
    ("cuDeviceGetMemPool", |s| {
        let mut pool = null_mut();
        call!(s.cu, cuDeviceGetMemPool_11020(&raw mut pool, 0))
    }),
    ("cuDeviceSetMemPool", |s| call!(s.cu, cuDeviceSetMemPool_11020(0, s.pool))),
    ("cuMemPoolGetAttribute", |s| {
        let mut value = 0u64;
        call!(
            s.cu,
            cuMemPoolGetAttribute_11020(s.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut value).cast())
        )
    }),
    ("cuMemPoolSetAttribute", |s| {
        let mut value = 0u64;
        call!(
            s.cu,
            cuMemPoolSetAttribute_11020(s.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut value).cast())
        )
    }),
    ("cuMemPoolTrimTo", |s| call!(s.cu, cuMemPoolTrimTo_11020(s.pool, 0))),
    ("cuMemPoolGetAccess", |s| {
        let (mut flags, mut place) = (Default::default(), DEVICE);
        call!(s.cu, cuMemPoolGetAccess_11020(&raw mut flags, s.pool, &raw mut place))
    }),
    ("cuMemPoolSetAccess", |s| {
        let access = CUmemAccessDesc_v1 { location: DEVICE, flags: CUmemAccess_flags(3) };
        call!(s.cu, cuMemPoolSetAccess_11020(s.pool, &raw const access, 1))
    }),
    ("cuMemPoolCreate", |s| {
        // SAFETY: a structure of numbers and pointers, for which zero is a value.
        let mut properties: CUmemPoolProps_v1 = unsafe { std::mem::zeroed() };
        (properties.allocType, properties.location) = (CU_MEM_ALLOCATION_TYPE_PINNED, DEVICE);
        let mut pool = null_mut();
        match call!(s.cu, cuMemPoolCreate_11020(&raw mut pool, &raw const properties)) {
            answer if answer.succeeded() => call!(s.cu, cuMemPoolDestroy_11020(pool)),
            answer => answer,
        }
    }),
    ("cuMemGetDefaultMemPool", |s| {
        let (mut pool, mut place) = (null_mut(), DEVICE);
        call!(
            s.cu,
            cuMemGetDefaultMemPool_13000(&raw mut pool, &raw mut place, CU_MEM_ALLOCATION_TYPE_PINNED)
        )
    }),
    ("cuMemGetMemPool", |s| {
        let (mut pool, mut place) = (null_mut(), DEVICE);
        call!(s.cu, cuMemGetMemPool_13000(&raw mut pool, &raw mut place, CU_MEM_ALLOCATION_TYPE_PINNED))
    }),
    ("cuMemSetMemPool", |s| {
        let mut place = DEVICE;
        call!(s.cu, cuMemSetMemPool_13000(&raw mut place, CU_MEM_ALLOCATION_TYPE_PINNED, s.pool))
    }),
];

/// Each runs in a process of its own.
pub(super) const GROUPS: &[&[Question]] = &[PLAIN, HOST, POOLS];
