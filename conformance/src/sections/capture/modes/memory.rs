//! Memory that is allocated, registered, mapped, managed.

use super::super::scene::SIZE;
use super::Row;
use crate::driver::{Answer, Cu, call};
use crate::sections::managed::DEVICE;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
    CUdeviceptr, CUmemAccessDesc, CUmemAllocationProp, CUstream,
};
use std::alloc::{Layout, alloc_zeroed};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

const SMALL: usize = 64;
const PAGE: usize = 4096;
/// What the device maps at a time.
const BLOCK: usize = 2 << 20;

/// A page of memory, for ever.
fn page() -> *mut c_void {
    let layout = Layout::from_size_align(PAGE, PAGE).expect("a page is a power of two");
    // SAFETY: the size is not zero.
    unsafe { alloc_zeroed(layout) }.cast()
}

/// Memory of the device, or 0.
fn device(cu: &Cu) -> CUdeviceptr {
    cu.memory(SMALL).unwrap_or(0)
}

/// Managed memory, or 0.
fn managed(cu: &Cu) -> CUdeviceptr {
    let mut address = 0;
    let _ = call!(cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1));
    address
}

/// Memory of the default pool, or 0.
fn pooled(cu: &Cu, stream: CUstream) -> CUdeviceptr {
    let mut address = 0;
    let _ = call!(cu, cuMemAllocAsync_11020(&raw mut address, SMALL, stream))
        .and(|| call!(cu, cuStreamSynchronize_2000(stream)));
    address
}

/// Frees it; a second time, if the question has done so.
fn free(cu: &Cu, address: CUdeviceptr) {
    if address != 0 {
        let _ = call!(cu, cuMemFree_3020(address));
    }
}

pub(super) const PLAIN: &[Row] = &[
    ("cuMemAlloc", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemAlloc_3020(&raw mut address, SMALL)));
        free(&s.cu, address);
    }),
    ("cuMemAlloc of 0 bytes", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemAlloc_3020(&raw mut address, 0)));
    }),
    ("cuMemAllocPitch", |s, ask| {
        let (mut address, mut pitch) = (0, 0);
        ask.call(|| call!(s.cu, cuMemAllocPitch_3020(&raw mut address, &raw mut pitch, SMALL, 2, 4)));
        free(&s.cu, address);
    }),
    ("cuMemFree", |s, ask| {
        let address = device(&s.cu);
        ask.call(|| call!(s.cu, cuMemFree_3020(address)));
    }),
    ("cuMemFree NULL", |s, ask| ask.call(|| call!(s.cu, cuMemFree_3020(0)))),
    ("cuMemAllocHost", |s, ask| {
        let mut host = null_mut();
        ask.call(|| call!(s.cu, cuMemAllocHost_3020(&raw mut host, SMALL)));
        let _ = call!(s.cu, cuMemFreeHost_2000(host));
    }),
    ("cuMemHostAlloc", |s, ask| {
        let mut host = null_mut();
        ask.call(|| call!(s.cu, cuMemHostAlloc_2020(&raw mut host, SMALL, 0)));
        let _ = call!(s.cu, cuMemFreeHost_2000(host));
    }),
    ("cuMemFreeHost", |s, ask| {
        let mut host = null_mut();
        let _ = call!(s.cu, cuMemAllocHost_3020(&raw mut host, SMALL));
        ask.call(|| call!(s.cu, cuMemFreeHost_2000(host)));
    }),
    ("cuMemFreeHost NULL", |s, ask| ask.call(|| call!(s.cu, cuMemFreeHost_2000(null_mut())))),
    ("cuMemHostRegister", |s, ask| {
        let host = page();
        ask.call(|| call!(s.cu, cuMemHostRegister_6050(host, PAGE, 0)));
        let _ = call!(s.cu, cuMemHostUnregister_4000(host));
    }),
    ("cuMemHostUnregister", |s, ask| {
        let host = page();
        let _ = call!(s.cu, cuMemHostRegister_6050(host, PAGE, 0));
        ask.call(|| call!(s.cu, cuMemHostUnregister_4000(host)));
    }),
    ("cuMemHostGetDevicePointer", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemHostGetDevicePointer_3020(&raw mut address, s.pinned, 0)));
    }),
    ("cuMemAllocAsync other stream", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemAllocAsync_11020(&raw mut address, SMALL, s.side)));
        free(&s.cu, address);
    }),
    ("cuMemFreeAsync other stream", |s, ask| {
        let address = pooled(&s.cu, s.side);
        ask.call(|| call!(s.cu, cuMemFreeAsync_11020(address, s.side)));
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
    }),
    ("cuMemFreeAsync NULL other stream", |s, ask| {
        ask.call(|| call!(s.cu, cuMemFreeAsync_11020(0, s.side)));
    }),
    ("cuMemFree of a pool's memory", |s, ask| {
        let address = pooled(&s.cu, s.side);
        ask.call(|| call!(s.cu, cuMemFree_3020(address)));
    }),
    ("cuMemGetInfo", |s, ask| {
        let (mut free, mut total) = (0, 0);
        ask.call(|| call!(s.cu, cuMemGetInfo_3020(&raw mut free, &raw mut total)));
    }),
    ("cuMemGetAddressRange", |s, ask| {
        let (mut base, mut size) = (0, 0);
        ask.call(|| call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, s.memory)));
    }),
    ("cuPointerGetAttribute", |s, ask| {
        let mut value = 0u32;
        let kind = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        ask.call(|| call!(s.cu, cuPointerGetAttribute_4000((&raw mut value).cast(), kind, s.memory)));
    }),
    ("cuPointerSetAttribute", |s, ask| {
        let (address, on) = (device(&s.cu), 1u32);
        let which = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
        ask.call(|| call!(s.cu, cuPointerSetAttribute_6000((&raw const on).cast(), which, address)));
        free(&s.cu, address);
    }),
    ("cuIpcGetMemHandle", |s, ask| {
        // SAFETY: it is made of numbers.
        let mut handle = unsafe { std::mem::zeroed() };
        ask.call(|| call!(s.cu, cuIpcGetMemHandle_4010(&raw mut handle, s.memory)));
    }),
];

fn properties() -> CUmemAllocationProp {
    // SAFETY: zero is a value of every field.
    let mut properties: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    properties.type_ = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = DEVICE;
    properties
}

/// A range of addresses and memory that can be mapped there.
struct Mapping<'a> {
    cu: &'a Cu,
    address: CUdeviceptr,
    memory: u64,
    mapped: Cell<bool>,
}

impl<'a> Mapping<'a> {
    fn new(cu: &'a Cu) -> Self {
        let (mut address, mut memory, properties) = (0, 0, properties());
        let _ = call!(cu, cuMemAddressReserve_10020(&raw mut address, BLOCK, 0, 0, 0));
        let _ = call!(cu, cuMemCreate_10020(&raw mut memory, BLOCK, &raw const properties, 0));
        Self { cu, address, memory, mapped: Cell::new(false) }
    }

    fn map(&self) -> Answer {
        let answer = call!(self.cu, cuMemMap_10020(self.address, BLOCK, 0, self.memory, 0));
        self.mapped.set(answer.succeeded());
        answer
    }

    fn unmap(&self) -> Answer {
        let answer = call!(self.cu, cuMemUnmap_10020(self.address, BLOCK));
        self.mapped.set(!answer.succeeded());
        answer
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        if self.mapped.get() {
            let _ = self.unmap();
        }
        if self.memory != 0 {
            let _ = call!(self.cu, cuMemRelease_10020(self.memory));
        }
        if self.address != 0 {
            let _ = call!(self.cu, cuMemAddressFree_10020(self.address, BLOCK));
        }
    }
}

/// Memory through handles and addresses of its own.
pub(super) const VIRTUAL: &[Row] = &[
    ("cuMemAddressReserve", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemAddressReserve_10020(&raw mut address, BLOCK, 0, 0, 0)));
        if address != 0 {
            let _ = call!(s.cu, cuMemAddressFree_10020(address, BLOCK));
        }
    }),
    ("cuMemCreate", |s, ask| {
        let (mut memory, properties) = (0, properties());
        ask.call(|| call!(s.cu, cuMemCreate_10020(&raw mut memory, BLOCK, &raw const properties, 0)));
        if memory != 0 {
            let _ = call!(s.cu, cuMemRelease_10020(memory));
        }
    }),
    ("cuMemMap", |s, ask| {
        let mapping = Mapping::new(&s.cu);
        ask.call(|| mapping.map());
    }),
    ("cuMemSetAccess", |s, ask| {
        let mapping = Mapping::new(&s.cu);
        let _ = mapping.map();
        let access = CUmemAccessDesc { location: DEVICE, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        ask.call(|| call!(s.cu, cuMemSetAccess_10020(mapping.address, BLOCK, &raw const access, 1)));
    }),
    ("cuMemUnmap", |s, ask| {
        let mapping = Mapping::new(&s.cu);
        let _ = mapping.map();
        ask.call(|| mapping.unmap());
    }),
    ("cuMemRelease", |s, ask| {
        let (mut memory, properties) = (0, properties());
        let _ = call!(s.cu, cuMemCreate_10020(&raw mut memory, BLOCK, &raw const properties, 0));
        ask.call(|| call!(s.cu, cuMemRelease_10020(memory)));
    }),
    ("cuMemAddressFree", |s, ask| {
        let mut address = 0;
        let _ = call!(s.cu, cuMemAddressReserve_10020(&raw mut address, BLOCK, 0, 0, 0));
        ask.call(|| call!(s.cu, cuMemAddressFree_10020(address, BLOCK)));
    }),
];

pub(super) const MANAGED: &[Row] = &[
    ("cuMemAllocManaged", |s, ask| {
        let mut address = 0;
        ask.call(|| call!(s.cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1)));
        free(&s.cu, address);
    }),
    ("cuMemFree of managed memory", |s, ask| {
        let address = managed(&s.cu);
        ask.call(|| call!(s.cu, cuMemFree_3020(address)));
    }),
    ("cuMemAdvise", |s, ask| {
        let (address, advice) = (managed(&s.cu), CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
        ask.call(|| call!(s.cu, cuMemAdvise_12020(address, SIZE, advice, DEVICE)));
        free(&s.cu, address);
    }),
    ("cuMemAdvise, the older ABI", |s, ask| {
        let (address, advice) = (managed(&s.cu), CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
        ask.call(|| call!(s.cu, cuMemAdvise_8000(address, SIZE, advice, 0)));
        free(&s.cu, address);
    }),
    ("cuMemPrefetchAsync other", |s, ask| {
        let address = managed(&s.cu);
        ask.call(|| call!(s.cu, cuMemPrefetchAsync_12020(address, SIZE, DEVICE, 0, s.side)));
        free(&s.cu, address);
    }),
    ("cuMemPrefetchAsync other, the older ABI", |s, ask| {
        let address = managed(&s.cu);
        ask.call(|| call!(s.cu, cuMemPrefetchAsync_8000(address, SIZE, 0, s.side)));
        free(&s.cu, address);
    }),
    ("cuMemPrefetchBatchAsync other", |s, ask| {
        let address = managed(&s.cu);
        let (mut one, mut size, mut place, mut start) = (address, SIZE, DEVICE, 0usize);
        let (one, size, place, start) = (&raw mut one, &raw mut size, &raw mut place, &raw mut start);
        ask.call(|| call!(s.cu, cuMemPrefetchBatchAsync_13000(one, size, 1, place, start, 1, 0, s.side)));
        free(&s.cu, address);
    }),
    ("cuMemDiscardBatchAsync other", |s, ask| {
        let address = managed(&s.cu);
        let (mut one, mut size) = (address, SIZE);
        ask.call(|| call!(s.cu, cuMemDiscardBatchAsync_13000(&raw mut one, &raw mut size, 1, 0, s.side)));
        free(&s.cu, address);
    }),
    ("cuMemRangeGetAttribute", |s, ask| {
        let (address, mut value) = (managed(&s.cu), 0i32);
        let (place, which) = ((&raw mut value).cast(), CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
        ask.call(|| call!(s.cu, cuMemRangeGetAttribute_8000(place, 4, which, address, SIZE)));
        free(&s.cu, address);
    }),
    ("cuStreamAttachMemAsync other", |s, ask| {
        const SINGLE: u32 = 4;
        let address = managed(&s.cu);
        ask.call(|| call!(s.cu, cuStreamAttachMemAsync_6000(s.side, address, 0, SINGLE)));
        free(&s.cu, address);
    }),
];
