//! What a kernel is, and what may be set of it.

use super::adjusted::Adjusted;
use super::program::Entry;
use crate::abi::Answer;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, CU_FUNC_ATTRIBUTE_NUM_REGS,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_FUNC_ATTRIBUTE_PTX_VERSION,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE,
    CUfunc_cache, CUfunction_attribute, CUresult,
};
use crate::driver::device::attributes::value;
use std::sync::atomic::Ordering::Relaxed;

/// A kernel's attributes: what the code says, and what was set.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) kernel: &'a Entry,
    pub(crate) adjusted: &'a Adjusted,
}

impl Attributes<'_> {
    /// Threads that a block may have.
    pub(crate) fn most_threads(self) -> u32 {
        self.kernel.most_threads
    }

    /// Bytes of dynamic shared memory that a block may have.
    pub(crate) fn dynamic_shared(self) -> u32 {
        let usual = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) as u32;
        match self.adjusted.dynamic_shared.load(Relaxed) {
            -1 => usual.saturating_sub(self.kernel.static_shared),
            set => set as u32,
        }
    }

    /// Blocks that a cluster may have.
    pub(crate) fn most_cluster(self) -> u32 {
        if self.adjusted.wide_clusters.load(Relaxed) == 0 { 8 } else { 16 }
    }

    /// The cluster that every launch has, if the code or a setting says so.
    pub(crate) fn cluster(self) -> Option<[u32; 3]> {
        let set = self.adjusted.cluster.each_ref().map(|size| size.load(Relaxed) as u32);
        if set != [0; 3] { Some(set) } else { self.kernel.cluster }
    }

    pub(crate) fn get(self, attribute: CUfunction_attribute) -> Result<i32, CUresult> {
        let (kernel, adjusted) = (self.kernel, self.adjusted);
        let cluster = self.cluster().unwrap_or([0; 3]);
        Ok(match attribute {
            CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => self.most_threads() as i32,
            CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => kernel.static_shared as i32,
            CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => kernel.constant_bytes as i32,
            CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => kernel.local_bytes as i32,
            CU_FUNC_ATTRIBUTE_NUM_REGS => kernel.registers as i32,
            CU_FUNC_ATTRIBUTE_PTX_VERSION => kernel.target as i32,
            CU_FUNC_ATTRIBUTE_BINARY_VERSION => 90,
            CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => 0,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => self.dynamic_shared() as i32,
            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => adjusted.carveout.load(Relaxed),
            CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => i32::from(kernel.cluster.is_some()),
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => cluster[0] as i32,
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => cluster[1] as i32,
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => cluster[2] as i32,
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => adjusted.wide_clusters.load(Relaxed),
            CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => adjusted.scheduling.load(Relaxed),
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        })
    }

    pub(crate) fn set(self, attribute: CUfunction_attribute, number: i32) -> Answer {
        let adjusted = self.adjusted;
        // What the code requires stays (measured).
        let size_of = |index: usize| {
            self.kernel.cluster.map_or(0..=i32::MAX, |size| size[index] as i32..=size[index] as i32)
        };
        let (place, allowed) = match attribute {
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
                (&adjusted.dynamic_shared, 0..=most - self.kernel.static_shared as i32)
            }
            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => (&adjusted.carveout, -1..=100),
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => (&adjusted.wide_clusters, 0..=i32::MAX),
            CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => (&adjusted.scheduling, 0..=2),
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => (&adjusted.cluster[0], size_of(0)),
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => (&adjusted.cluster[1], size_of(1)),
            CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => (&adjusted.cluster[2], size_of(2)),
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        if !allowed.contains(&number) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        place.store(number, Relaxed);
        Ok(())
    }
}

/// How a kernel would like the cache to be divided: a preference, which makes no difference here.
pub(crate) fn check_cache(config: CUfunc_cache) -> Answer {
    if (0..4).contains(&config.0) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
