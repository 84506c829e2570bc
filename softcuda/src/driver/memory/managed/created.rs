//! Managed memory that is allocated at once. `cuMemFree` frees it.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_ATTACH_GLOBAL, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2, CUresult,
};
use crate::driver::capture;
use crate::driver::context::Activation;
use crate::driver::context::current::current;
use crate::driver::memory::attachment::Visibility;
use crate::driver::memory::pages::{self, Pages};
use crate::driver::memory::table::{self, Allocation, Kind};
use crate::driver::space::host_pages::HostPages;
use std::sync::Arc;

/// May be larger than the device's memory.
pub(crate) fn cuMemAllocManaged(dptr: Out<CUdeviceptr_v2>, bytesize: usize, flags: u32) -> Answer {
    let owner = current()?;
    dptr.check()?;
    if bytesize == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let visibility = Visibility::of(flags)?;
    capture::check_unsafe()?;
    dptr.set(add(owner, bytesize, visibility)?.address as u64)
}

/// New memory for a managed variable of loaded code. It stays as long as its context.
pub(crate) fn variable(owner: &Arc<Activation>, size: usize) -> Result<Arc<Allocation>, CUresult> {
    add(Arc::clone(owner), size, Visibility::of(CU_MEM_ATTACH_GLOBAL.0 as u32)?)
}

fn add(owner: Arc<Activation>, bytes: usize, visibility: Visibility) -> Result<Arc<Allocation>, CUresult> {
    let size = bytes.checked_next_multiple_of(pages::SIZE).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let memory = HostPages::map(size).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let (address, pages) = (memory.address, Pages::new(visibility, None));
    let kind = Kind::Managed(memory);
    let allocation = Allocation::managed(address, bytes, address as *mut u8, kind, pages, owner);
    table::insert(Arc::clone(&allocation));
    Ok(allocation)
}
