//! Sizes of launches, held against what the device and the kernel take.

use super::attributes::Attributes;
use super::occupancy;
use crate::abi::Answer;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_VALUE, CUdevice_attribute, CUresult,
};
use crate::driver::device::attributes::value;

/// How large a launch is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    /// The cluster that would be better, which only goes with another.
    pub(crate) preferred: Option<[u32; 3]>,
    pub(crate) cooperative: bool,
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().map(|size| u64::from(*size)).product()
}

impl Shape {
    pub(crate) fn threads(&self) -> u64 {
        product(self.block)
    }

    /// Refuses what does not fit.
    pub(crate) fn check(&self, attributes: Attributes<'_>) -> Answer {
        self.check_grid()?;
        check_block(self.block, attributes)?;
        self.check_cluster(attributes)?;
        if self.shared > attributes.dynamic_shared() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.check_cooperative(attributes)
    }

    /// With the cluster that the kernel requires. A launch gives no other; of a kernel that requires some sizes only, it gives the
    /// rest (measured).
    pub(crate) fn with_required_cluster(mut self, attributes: Attributes<'_>) -> Result<Self, CUresult> {
        let Some(required) = attributes.cluster() else { return Ok(self) };
        let given = *self.cluster.get_or_insert(required);
        let agrees = |(required, given)| required == 0 || required == given;
        if required.into_iter().zip(given).all(agrees) {
            Ok(self)
        } else {
            Err(CUDA_ERROR_INVALID_CLUSTER_SIZE)
        }
    }

    pub(crate) fn check_grid(&self) -> Answer {
        const GRID: [CUdevice_attribute; 3] = [
            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        ];
        if within(self.grid, GRID) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    pub(crate) fn check_cluster(&self, attributes: Attributes<'_>) -> Answer {
        let Some(cluster) = self.cluster else {
            return if self.preferred.is_none() { Ok(()) } else { Err(CUDA_ERROR_INVALID_CLUSTER_SIZE) };
        };
        let divides = (0..3).all(|i| cluster[i] != 0 && self.grid[i].is_multiple_of(cluster[i]));
        if !divides || product(cluster) > u64::from(attributes.most_cluster()) {
            return Err(CUDA_ERROR_INVALID_CLUSTER_SIZE);
        }
        Ok(())
    }

    fn check_cooperative(&self, attributes: Attributes<'_>) -> Answer {
        if !self.cooperative {
            return Ok(());
        }
        let each = occupancy::active_blocks(attributes, self.threads(), self.shared as usize);
        let processors = value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) as u64;
        if product(self.grid) > each * processors {
            return Err(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(())
    }
}

/// Refuses a block that the device, or the kernel, cannot have.
pub(super) fn check_block(block: [u32; 3], attributes: Attributes<'_>) -> Answer {
    const BLOCK: [CUdevice_attribute; 3] = [
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    ];
    let is_exact = attributes.kernel.block.is_none_or(|exact| exact == block);
    let fits = within(block, BLOCK) && product(block) <= u64::from(attributes.most_threads()) && is_exact;
    if fits { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// Whether each size is at least 1 and at most the device's limit.
fn within(sizes: [u32; 3], limits: [CUdevice_attribute; 3]) -> bool {
    (0..3).all(|i| (1..=value(limits[i]) as u32).contains(&sizes[i]))
}
