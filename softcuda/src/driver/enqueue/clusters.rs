//! How many clusters fill a device, for a launch as it is configured.

use super::launch::Configuration;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CUDA_ERROR_INVALID_VALUE, CUfunction, CUlaunchConfig, CUresult,
};
use crate::driver::device::attributes::value;
use crate::driver::kernel::found::Found;
use crate::driver::kernel::occupancy::active_blocks;
use crate::driver::stream::Stream;

/// A function in the context of the configuration's stream, and how it is to be launched.
fn configured(func: CUfunction, config: In<CUlaunchConfig>) -> Result<(Found, Configuration), CUresult> {
    if func.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let config = config.get()?;
    let found = Found::of(func, &Stream::of(config.hStream)?.context)?;
    let mut configuration = Configuration::read(&config)?;
    configuration.shape = configuration.shape.with_required_cluster(found.attributes())?;
    Ok((found, configuration))
}

/// The portable size, or the larger one where the kernel allows it; 0 if not even one block fits.
pub(crate) fn cuOccupancyMaxPotentialClusterSize(
    clusterSize: Out<i32>,
    func: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    clusterSize.check()?;
    let (found, Configuration { shape, .. }) = configured(func, config)?;
    let attributes = found.attributes();
    // Of the sizes, the block's may be anything (measured) that is no negative number (measured of 2^32 - 1).
    shape.check_grid()?;
    if shape.block.iter().any(|size| i32::try_from(*size).is_err()) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    shape.check_cluster(attributes)?;
    let fits = active_blocks(attributes, shape.threads().max(1), shape.shared as usize) > 0;
    clusterSize.set(if fits { attributes.most_cluster() as i32 } else { 0 })
}

/// 0 if the configuration has no cluster.
pub(crate) fn cuOccupancyMaxActiveClusters(
    numClusters: Out<i32>,
    func: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    numClusters.check()?;
    let (found, configuration) = configured(func, config)?;
    configuration.checked_events()?;
    let shape = configuration.shape;
    shape.check(found.attributes())?;
    let Some(cluster) = shape.cluster else { return numClusters.set(0) };
    let each = active_blocks(found.attributes(), shape.threads(), shape.shared as usize);
    let blocks = each * value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) as u64;
    let cluster: u64 = cluster.iter().map(|size| u64::from(*size)).product();
    numClusters.set((blocks / cluster) as i32)
}
