//! How much of a device a kernel fills. The arithmetic is that of NVIDIA's occupancy calculator for compute capability
//! 9.0; the registers of a kernel are estimated here, so that they limit less than they would on a GPU.

use super::attributes::Attributes;
use super::found::Found;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, CUDA_ERROR_INVALID_VALUE, CUfunction,
    CUoccupancyB2DSize, CUresult,
};
use crate::driver::context::current::current;
use crate::driver::device::attributes::value;
use crate::instruments::foreign;
use std::ffi::c_void;

/// Shared memory is given out in units of this.
const SHARED_UNIT: u64 = 128;
/// Registers are given to warps in units of this.
const REGISTER_UNIT: u64 = 256;
const WARP: u64 = 32;

fn limit(attribute: crate::abi::sys::CUdevice_attribute) -> u64 {
    value(attribute) as u64
}

/// How many blocks one multiprocessor holds. What the kernel's own directives say of threads does not count (measured).
pub(crate) fn active_blocks(attributes: Attributes<'_>, threads: u64, dynamic: usize) -> u64 {
    let kernel = attributes.kernel;
    // The driver reads a signed number of 32 bits here (measured).
    let dynamic = u64::try_from(dynamic as i32).unwrap_or(0);
    if threads > limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        || dynamic > u64::from(attributes.dynamic_shared())
    {
        return 0;
    }
    let warps = threads.div_ceil(WARP);
    let by_threads = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * WARP);
    let registers = (u64::from(kernel.registers) * WARP).next_multiple_of(REGISTER_UNIT).max(REGISTER_UNIT);
    let by_registers = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (registers * warps);
    let shared = (u64::from(kernel.static_shared)
        + dynamic
        + limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK))
    .next_multiple_of(SHARED_UNIT);
    let by_shared = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared;
    let most = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    most.min(by_threads).min(by_registers).min(by_shared)
}

fn found(func: CUfunction) -> Result<Found, CUresult> {
    Found::of(func, &current()?)
}

fn positive(number: i32) -> Result<u64, CUresult> {
    if number > 0 { Ok(number as u64) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    numBlocks: Out<i32>,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
) -> Answer {
    numBlocks.check()?;
    let found = found(func)?;
    numBlocks.set(active_blocks(found.attributes(), positive(blockSize)?, dynamicSMemSize) as i32)
}

/// The flag, on caching, makes no difference here.
pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    numBlocks: Out<i32>,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
    flags: u32,
) -> Answer {
    check_flags(flags)?;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize, dynamicSMemSize)
}

fn check_flags(flags: u32) -> Answer {
    if flags & !1 == 0 { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// The largest block that keeps most threads on a multiprocessor.
pub(crate) fn cuOccupancyMaxPotentialBlockSize(
    minGridSize: Out<i32>,
    blockSize: Out<i32>,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
) -> Answer {
    minGridSize.check()?;
    blockSize.check()?;
    if blockSizeLimit < 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let found = found(func)?;
    let attributes = found.attributes();
    let all = u64::from(attributes.most_threads());
    let most = if blockSizeLimit > 0 { all.min(blockSizeLimit as u64) } else { all };
    let dynamic = |threads: u64| match blockSizeToDynamicSMemSize {
        // SAFETY: the caller gave the function to be asked so.
        Some(function) => unsafe { foreign::call(function as *const c_void, [threads as usize]) },
        None => dynamicSMemSize,
    };
    let sizes = (1..=most.div_ceil(WARP)).rev().map(|warps| (warps * WARP).min(most));
    // Of equal ones the first, which is the largest.
    let mut best = (0, 0, 0);
    for threads in sizes {
        let blocks = active_blocks(attributes, threads, dynamic(threads));
        if blocks * threads > best.0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    let (_, threads, blocks) = best;
    blockSize.set(threads as i32)?;
    minGridSize.set((blocks * limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) as i32)
}

pub(crate) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    minGridSize: Out<i32>,
    blockSize: Out<i32>,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
    flags: u32,
) -> Answer {
    check_flags(flags)?;
    cuOccupancyMaxPotentialBlockSize(
        minGridSize,
        blockSize,
        func,
        blockSizeToDynamicSMemSize,
        dynamicSMemSize,
        blockSizeLimit,
    )
}

pub(crate) fn cuOccupancyAvailableDynamicSMemPerBlock(
    dynamicSmemSize: Out<usize>,
    func: CUfunction,
    numBlocks: i32,
    blockSize: i32,
) -> Answer {
    dynamicSmemSize.check()?;
    let found = found(func)?;
    let (blocks, threads) = (positive(numBlocks)?, positive(blockSize)?);
    let attributes = found.attributes();
    if active_blocks(attributes, threads, 0) < blocks {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let each =
        limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks / SHARED_UNIT * SHARED_UNIT;
    // Driver 580 takes nothing off for itself here (measured).
    let left = each.saturating_sub(u64::from(attributes.kernel.static_shared));
    dynamicSmemSize.set(left.min(u64::from(attributes.dynamic_shared())) as usize)
}
