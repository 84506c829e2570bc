//! Memory that goes to other processes, by a file descriptor.

use super::physical::Physical;
use super::properties::Properties;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_UNKNOWN, CUmemAllocationHandleType,
    CUmemGenericAllocationHandle_v1, CUresult,
};
use crate::driver::sharing::Board;
use crate::driver::space::shared::SharedMemory;
use std::ffi::c_void;
use std::os::fd::{IntoRawFd, RawFd};

/// Refuses every way but by a file descriptor: no memory is created for another one.
fn check(kind: CUmemAllocationHandleType) -> Answer {
    if kind == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub(crate) fn cuMemExportToShareableHandle(
    shareableHandle: *mut c_void,
    handle: CUmemGenericAllocationHandle_v1,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> Answer {
    let descriptor = Out::<RawFd>::untyped(shareableHandle);
    descriptor.check()?;
    check(handleType)?;
    let memory = Physical::of(handle)?;
    if flags != 0 || !memory.properties.is_shareable {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let lent = memory.memory.lend().ok_or(CUDA_ERROR_OPERATING_SYSTEM)?;
    descriptor.set(lent.into_raw_fd())
}

/// The descriptor stays the caller's. A pool's is not supported, and whatever else is none of such memory an unknown error (measured).
pub(crate) fn cuMemImportFromShareableHandle(
    handle: Out<CUmemGenericAllocationHandle_v1>,
    osHandle: *mut c_void,
    shHandleType: CUmemAllocationHandleType,
) -> Answer {
    handle.check()?;
    check(shHandleType)?;
    let descriptor = RawFd::try_from(osHandle as isize).map_err(|_| CUDA_ERROR_UNKNOWN)?;
    let opened = SharedMemory::open(descriptor);
    let (memory, label) = opened.ok_or_else(|| refusal(descriptor))?;
    let properties = Properties::read(&label).ok_or(CUDA_ERROR_UNKNOWN)?;
    handle.set(Physical::import(memory, properties).handle())
}

/// Why a descriptor is none of an allocation.
fn refusal(descriptor: RawFd) -> CUresult {
    match Board::of_pool(descriptor) {
        Some(_) => CUDA_ERROR_NOT_SUPPORTED,
        None => CUDA_ERROR_UNKNOWN,
    }
}
