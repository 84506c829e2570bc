//! Memory of each kind, and copies that have it at one end.

use super::launch::Launch;
use super::scene::Scene;
use crate::driver::{Given, given};
use cushim::driver::sys::{
    CU_AD_FORMAT_UNSIGNED_INT32, CU_MEMORYTYPE_HOST, CUDA_ARRAY_DESCRIPTOR, CUDA_MEMCPY3D_v2, CUarray,
    CUdeviceptr,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The program's own memory, which stays: numbers, each of them 5.
pub(super) fn pageable() -> *mut c_void {
    Box::leak(Box::new([5u32; 64])).as_mut_ptr().cast()
}

impl Scene {
    /// Page-locked memory.
    pub(super) fn pinned(&self) -> Given<*mut c_void> {
        let mut host = null_mut();
        given!(self.cu, cuMemHostAlloc_2020(&raw mut host, 4096, 0))?;
        Ok(host)
    }

    /// Memory of the device's pool.
    pub(super) fn pool_memory(&self) -> Given<CUdeviceptr> {
        let mut address = 0;
        given!(self.cu, cuMemAllocAsync_11020(&raw mut address, 4096, self.stream))?;
        Ok(address)
    }

    pub(super) fn managed_memory(&self) -> Given<CUdeviceptr> {
        let mut address = 0;
        given!(self.cu, cuMemAllocManaged_6000(&raw mut address, 4096, 1))?;
        Ok(address)
    }

    /// An array of 64 numbers.
    pub(super) fn array(&self) -> Given<CUarray> {
        let mut array = null_mut();
        let descriptor = CUDA_ARRAY_DESCRIPTOR {
            Width: 64,
            Height: 0,
            Format: CU_AD_FORMAT_UNSIGNED_INT32,
            NumChannels: 1,
        };
        given!(self.cu, cuArrayCreate_3020(&raw mut array, &raw const descriptor))?;
        Ok(array)
    }

    /// A copy of 64 bytes of the host to the other memory.
    pub(super) const fn copying_from_host(&self, host: *const c_void) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 { srcMemoryType: CU_MEMORYTYPE_HOST, srcHost: host, srcDevice: 0, ..self.copying() }
    }

    /// A copy of the first 64 bytes to the host.
    pub(super) const fn copying_to_host(&self, host: *mut c_void) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 { dstMemoryType: CU_MEMORYTYPE_HOST, dstHost: host, dstDevice: 0, ..self.copying() }
    }

    /// A copy of two rows.
    pub(super) const fn copying_rows(&self) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 { srcPitch: 128, dstPitch: 128, Height: 2, ..self.copying() }
    }

    /// The kernel of a node that notes a value.
    pub(super) const fn launch_note(&self, value: u32) -> Launch {
        Launch::new(self.noting, [self.list(), value as u64])
    }
}
