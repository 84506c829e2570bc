//! Managed memory that is allocated at once. `cuMemFree` frees it.

use super::pages;
use crate::context::current::current;
use crate::error::Answer;
use crate::memory::table::{self, Allocation, HostPages, Kind};
use crate::pointer::Out;
use crate::stream::capture;
use crate::sys::{
    CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
    CUdeviceptr_v2,
};

const GLOBAL: u32 = CU_MEM_ATTACH_GLOBAL.0 as u32;
const HOST: u32 = CU_MEM_ATTACH_HOST.0 as u32;

/// May be larger than the device's memory.
pub(crate) fn cuMemAllocManaged(dptr: Out<CUdeviceptr_v2>, bytesize: usize, flags: u32) -> Answer {
    let owner = current()?;
    dptr.check()?;
    if bytesize == 0 || !matches!(flags, GLOBAL | HOST) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    capture::check_unsafe()?;
    let size = bytesize.checked_next_multiple_of(pages::SIZE).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let pages = HostPages::map(size).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let address = pages.address;
    let kind = Kind::Managed(pages);
    table::insert(Allocation::managed(address, bytesize, address as *mut u8, kind, owner));
    dptr.set(address as u64)
}
