//! Managed memory with no current context.

use super::{Question, Scene};
use crate::driver::{Answer, call};
use cushim::driver::sys::{
    CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ATTACH_GLOBAL, CU_MEM_LOCATION_TYPE_DEVICE,
    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CUmemLocation_v1,
    CUmemLocation_v1_u4, CUmemcpyAttributes_v1,
};
use std::ptr::null_mut;

const DEVICE: CUmemLocation_v1 =
    CUmemLocation_v1 { type_: CU_MEM_LOCATION_TYPE_DEVICE, u4: CUmemLocation_v1_u4 { id: 0 } };
const GLOBAL: u32 = CU_MEM_ATTACH_GLOBAL.0 as u32;
const SIZE: usize = 4096;

impl Scene {
    /// A copy of one batch within managed memory, through the ABI that tells what failed or the later one.
    fn copy_batch(&self, later: bool) -> Answer {
        let (mut to, mut from, mut size) = (self.managed, self.managed + 2048, 64);
        let (mut index, mut failed) = (0, 0);
        let mut attributes = CUmemcpyAttributes_v1 {
            srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            srcLocHint: DEVICE,
            dstLocHint: DEVICE,
            flags: 0,
        };
        let (to, from, size) = (&raw mut to, &raw mut from, &raw mut size);
        let (attributes, index, stream) = (&raw mut attributes, &raw mut index, self.stream);
        match later {
            true => {
                call!(self.cu, cuMemcpyBatchAsync_13000(to, from, size, 1, attributes, index, 1, stream))
            }
            false => call!(
                self.cu,
                cuMemcpyBatchAsync_12080(to, from, size, 1, attributes, index, 1, &raw mut failed, stream)
            ),
        }
    }
}

/// One after the other, of the same memory.
const MANAGED: &[Question] = &[
    ("cuMemAllocManaged", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocManaged_6000(&raw mut address, 64, GLOBAL))
    }),
    ("cuMemAdvise by ordinal", |s| {
        call!(s.cu, cuMemAdvise_8000(s.managed, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0))
    }),
    ("cuMemAdvise", |s| {
        call!(s.cu, cuMemAdvise_12020(s.managed, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, DEVICE))
    }),
    ("cuMemRangeGetAttribute", |s| {
        let mut value = 0u32;
        let place = (&raw mut value).cast();
        call!(
            s.cu,
            cuMemRangeGetAttribute_8000(place, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, s.managed, SIZE)
        )
    }),
    ("cuMemRangeGetAttributes", |s| {
        let (mut value, mut size, mut attribute) = (0u32, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
        let mut place = (&raw mut value).cast();
        let (size, attribute) = (&raw mut size, &raw mut attribute);
        call!(s.cu, cuMemRangeGetAttributes_8000(&raw mut place, size, attribute, 1, s.managed, SIZE))
    }),
    ("cuMemPrefetchAsync by ordinal", |s| call!(s.cu, cuMemPrefetchAsync_8000(s.managed, SIZE, 0, s.stream))),
    ("cuMemPrefetchAsync", |s| call!(s.cu, cuMemPrefetchAsync_12020(s.managed, SIZE, DEVICE, 0, s.stream))),
    ("cuMemPrefetchAsync on legacy", |s| {
        call!(s.cu, cuMemPrefetchAsync_12020(s.managed, SIZE, DEVICE, 0, crate::driver::LEGACY))
    }),
    ("cuStreamAttachMemAsync", |s| call!(s.cu, cuStreamAttachMemAsync_6000(s.stream, s.managed, 0, GLOBAL))),
    ("cuMemFree of managed memory", |s| call!(s.cu, cuMemFree_3020(s.managed))),
];

/// Batches, each of which may be refused or crash for all that is known.
const PREFETCHES: &[Question] = &[("cuMemPrefetchBatchAsync", |s| {
    let (mut address, mut size, mut place, mut index) = (s.managed, SIZE, DEVICE, 0);
    let (place, index) = (&raw mut place, &raw mut index);
    call!(
        s.cu,
        cuMemPrefetchBatchAsync_13000(&raw mut address, &raw mut size, 1, place, index, 1, 0, s.stream)
    )
})];
const DISCARDS: &[Question] = &[
    ("cuMemDiscardBatchAsync", |s| {
        let (mut address, mut size) = (s.managed, SIZE);
        call!(s.cu, cuMemDiscardBatchAsync_13000(&raw mut address, &raw mut size, 1, 0, s.stream))
    }),
    ("cuMemDiscardAndPrefetchBatchAsync", |s| {
        let (mut address, mut size, mut place, mut index) = (s.managed, SIZE, DEVICE, 0);
        let (address, size, place) = (&raw mut address, &raw mut size, &raw mut place);
        let index = &raw mut index;
        call!(s.cu, cuMemDiscardAndPrefetchBatchAsync_13000(address, size, 1, place, index, 1, 0, s.stream))
    }),
];
const COPIES: &[Question] = &[
    ("cuMemcpyBatchAsync, the older way", |s| s.copy_batch(false)),
    ("cuMemcpyBatchAsync", |s| s.copy_batch(true)),
    ("cuMemcpyBatchAsync of nothing", |s| {
        let none = null_mut();
        call!(s.cu, cuMemcpyBatchAsync_13000(none, none, null_mut(), 0, null_mut(), null_mut(), 0, s.stream))
    }),
];

/// Each runs in a process of its own.
pub(super) const GROUPS: &[&[Question]] = &[MANAGED, PREFETCHES, DISCARDS, COPIES];
