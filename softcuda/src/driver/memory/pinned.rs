//! Host memory that the device reaches: allocated page-locked, or the caller's own, registered. Its device pointer is its
//! own address.

use super::plain::{check_current_is_not_dead, free};
use super::table::{self, Allocation, Kind};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::reach;
use crate::abi::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2, CUresult,
};
use crate::driver::capture;
use crate::driver::context::current::current;
use crate::driver::space::host_pages::HostPages;
use std::ffi::c_void;

const PAGE: usize = 4096;
const ALLOCATION_FLAGS: u32 =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
/// Registering I/O memory is refused, as for all memory that is not I/O memory.
const REGISTRATION_FLAGS: u32 =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

pub(crate) fn cuMemHostAlloc(pp: Out<*mut c_void>, bytesize: usize, Flags: u32) -> Answer {
    let owner = current()?;
    pp.check()?;
    if Flags & !ALLOCATION_FLAGS != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    capture::check_unsafe()?;
    if bytesize == 0 {
        return pp.set(std::ptr::null_mut());
    }
    let size = bytesize.checked_next_multiple_of(PAGE).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let pages = HostPages::map(size).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let address = pages.address;
    let kind = Kind::Pinned(pages, Flags);
    table::insert(Allocation::new(address, bytesize, address as *mut u8, kind, owner));
    pp.set(address as *mut c_void)
}

pub(crate) fn cuMemAllocHost_v2(pp: Out<*mut c_void>, bytesize: usize) -> Answer {
    cuMemHostAlloc(pp, bytesize, 0)
}

pub(crate) fn cuMemFreeHost(p: *mut c_void) -> Answer {
    check_current_is_not_dead()?;
    capture::check_unsafe()?;
    if p.is_null() {
        return Ok(());
    }
    free(p as usize, |kind| matches!(kind, Kind::Pinned(..)))
}

pub(crate) fn cuMemHostRegister(p: *mut c_void, bytesize: usize, Flags: u32) -> Answer {
    cuMemHostRegister_v2(p, bytesize, Flags)
}

pub(crate) fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, Flags: u32) -> Answer {
    let owner = current()?;
    let address = p as usize;
    let end = address.checked_add(bytesize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    // What the host may not write needs the flag for that.
    let writes = Flags & CU_MEMHOSTREGISTER_READ_ONLY == 0;
    if p.is_null()
        || bytesize == 0
        || Flags & !REGISTRATION_FLAGS != 0
        || !reach::is_mapped(address, end, writes)
    {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    capture::check_unsafe()?;
    let allocation = Allocation::new(address, bytesize, p.cast(), Kind::Registered(Flags), owner);
    table::insert_disjoint(allocation).map_err(|other| match other.kind {
        Kind::Registered(_) => CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        Kind::Device(_)
        | Kind::Variable(_)
        | Kind::Opened(_)
        | Kind::Pooled(_)
        | Kind::Graph(_)
        | Kind::Pinned(..)
        | Kind::Managed(_)
        | Kind::Reserved(_) => CUDA_ERROR_INVALID_VALUE,
    })
}

pub(crate) fn cuMemHostUnregister(p: *mut c_void) -> Answer {
    check_current_is_not_dead()?;
    if !p.is_null() && table::find(p as usize).is_none() {
        return Err(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }
    free(p as usize, |kind| matches!(kind, Kind::Registered(_)))
}

pub(crate) fn cuMemHostGetDevicePointer_v2(pdptr: Out<CUdeviceptr_v2>, p: *mut c_void, Flags: u32) -> Answer {
    current()?;
    pdptr.check()?;
    host_flags(p)?;
    if Flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    pdptr.set(p as u64)
}

pub(crate) fn cuMemHostGetFlags(pFlags: Out<u32>, p: *mut c_void) -> Answer {
    current()?;
    pFlags.set(host_flags(p)?)
}

/// The flags of the host memory that the pointer lies in, as the measured driver reports them: always mapped, and
/// portable only where the memory is write-combined or registered.
fn host_flags(p: *mut c_void) -> Result<u32, CUresult> {
    let allocation = table::find(p as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let shown = match allocation.kind {
        Kind::Device(_)
        | Kind::Opened(_)
        | Kind::Variable(_)
        | Kind::Pooled(_)
        | Kind::Graph(_)
        | Kind::Reserved(_) => {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Kind::Managed(_) => CU_MEMHOSTALLOC_DEVICEMAP,
        Kind::Pinned(_, flags) if flags & CU_MEMHOSTALLOC_WRITECOMBINED != 0 => flags,
        Kind::Pinned(..) => 0,
        Kind::Registered(flags) => flags & CU_MEMHOSTREGISTER_PORTABLE,
    };
    Ok(shown | CU_MEMHOSTALLOC_DEVICEMAP)
}
