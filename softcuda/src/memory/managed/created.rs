//! Managed memory that is allocated at once. `cuMemFree` frees it.

use super::attach::Visibility;
use super::pages::{self, Pages};
use crate::context::current::current;
use crate::error::Answer;
use crate::memory::table::{self, Allocation, HostPages, Kind};
use crate::pointer::Out;
use crate::stream::capture;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2};

/// May be larger than the device's memory.
pub(crate) fn cuMemAllocManaged(dptr: Out<CUdeviceptr_v2>, bytesize: usize, flags: u32) -> Answer {
    let owner = current()?;
    dptr.check()?;
    if bytesize == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let visibility = Visibility::of(flags)?;
    capture::check_unsafe()?;
    let size = bytesize.checked_next_multiple_of(pages::SIZE).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let memory = HostPages::map(size).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let (address, pages) = (memory.address, Pages::new(visibility, None));
    let kind = Kind::Managed(memory);
    table::insert(Allocation::managed(address, bytesize, address as *mut u8, kind, pages, owner));
    dptr.set(address as u64)
}
