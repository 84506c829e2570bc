//! How much of a device a kernel fills.
//!
//! @header cushim.h
//! @task choose the size of a launch

use super::launch::{Config, cushim_launch_config};
use super::object::cushim_kernel;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::kernel::{DynamicShared, Kernel, LaunchConfig};
use crate::object::callback::Foreign;
use crate::object::error::Error;
use crate::stream::Stream;
use std::ffi::c_void;

/// A function that returns the bytes of dynamic shared memory that a block of `threads` threads needs. It must not
/// throw C++ exceptions.
pub type cushim_block_shared_memory = Option<unsafe extern "C" fn(data: *mut c_void, threads: u32) -> usize>;

/// Returns how many blocks of a kernel one multiprocessor of its context's device can run at the same time.
///
/// @param[in] kernel The kernel.
/// @param[in, example(32)] threads The threads of a block.
/// @param[in] shared_bytes The bytes of dynamic shared memory of a block.
/// @param[out] blocks The number; 0 if not even one block fits.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) for a block without threads.
/// @driver any
///
/// # Safety
/// `blocks` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_active_blocks(
    kernel: cushim_kernel,
    threads: u32,
    shared_bytes: usize,
    blocks: *mut u32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `blocks`.
        let blocks = unsafe { out::cleared(blocks, 0, "blocks") }?;
        *blocks = hold(kernel)?.active_blocks(threads, shared_bytes)?;
        Ok(())
    })
}

/// Returns the block size with which a kernel has the highest occupancy of its context's device.
///
/// @param[in] kernel The kernel.
/// @param[in] shared_bytes The bytes of dynamic shared memory of a block. Ignored if there is a `shared_memory`.
/// @param[in, nullable] shared_memory Returns the bytes for a block, if they depend on its threads; called several
///   times during the call, on this thread. NULL: `shared_bytes` for every block.
/// @param[in, nullable] data Passed to `shared_memory`.
/// @param[in] limit The most threads of a block; 0: as many as the kernel can have.
/// @param[out] threads The threads of a block.
/// @param[out, nullable] blocks The smallest number of such blocks that reaches the highest occupancy.
/// @driver any
///
/// # Safety
/// `shared_memory` may be called with `data` during the call; `threads` and `blocks` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_suggest_block_size(
    kernel: cushim_kernel,
    shared_bytes: usize,
    shared_memory: cushim_block_shared_memory,
    data: *mut c_void,
    limit: u32,
    threads: *mut u32,
    blocks: *mut u32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (blocks, threads) = unsafe {
            out::both(out::cleared_if_given(blocks, 0, "blocks"), out::cleared(threads, 0, "threads"))
        }?;
        let kernel = hold(kernel)?;
        let found = match shared_memory {
            // SAFETY: the caller vouches for the function.
            Some(function) => kernel.suggest_block_size(
                DynamicShared::PerBlock(&mut |threads| unsafe { function.call((data, threads)) }),
                limit,
            ),
            None => kernel.suggest_block_size(DynamicShared::Bytes(shared_bytes), limit),
        }?;
        *threads = found.threads;
        out::put(blocks, found.blocks);
        Ok(())
    })
}

/// Returns how much dynamic shared memory a block can have if several are to run on one multiprocessor at the same
/// time.
///
/// @param[in] kernel The kernel.
/// @param[in, example(1)] blocks The number of blocks.
/// @param[in, example(32)] threads The threads of a block.
/// @param[out] bytes The bytes.
/// @driver any
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_available_shared_memory(
    kernel: cushim_kernel,
    blocks: u32,
    threads: u32,
    bytes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `bytes`.
        let bytes = unsafe { out::cleared(bytes, 0, "bytes") }?;
        *bytes = hold(kernel)?.available_shared_memory(blocks, threads)?;
        Ok(())
    })
}

/// Returns the number of blocks in the largest cluster with which a kernel can be launched in a stream.
///
/// @param[in] kernel The kernel.
/// @param[in] stream The stream.
/// @param[in, nullable] config The launch. NULL: one block of one thread.
/// @param[out] blocks The number of blocks.
/// @driver 11.8
///
/// # Safety
/// `config` is NULL or valid for the bytes that its `struct_size` names; `blocks` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_largest_cluster(
    kernel: cushim_kernel,
    stream: cushim_stream,
    config: *const cushim_launch_config,
    blocks: *mut u32,
) -> cushim_status {
    // SAFETY: the caller vouches for all of them.
    unsafe { ask(kernel, stream, config, blocks, "blocks", Kernel::largest_cluster) }
}

/// Returns how many clusters of a launch can run on a stream's device at the same time.
///
/// @param[in] kernel The kernel.
/// @param[in] stream The stream.
/// @param[in, nullable] config The launch, with its cluster. NULL: one block of one thread.
/// @param[out] clusters The number of clusters.
/// @driver 11.8
///
/// # Safety
/// `config` is NULL or valid for the bytes that its `struct_size` names; `clusters` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_active_clusters(
    kernel: cushim_kernel,
    stream: cushim_stream,
    config: *const cushim_launch_config,
    clusters: *mut u32,
) -> cushim_status {
    // SAFETY: the caller vouches for all of them.
    unsafe { ask(kernel, stream, config, clusters, "clusters", Kernel::active_clusters) }
}

/// # Safety
/// `config` is NULL or valid for the bytes that its `struct_size` names; `answer` is NULL or valid for writes.
unsafe fn ask(
    kernel: cushim_kernel,
    stream: cushim_stream,
    config: *const cushim_launch_config,
    answer: *mut u32,
    what: &str,
    question: unsafe fn(&Kernel, &Stream, &LaunchConfig<'_>) -> Result<u32, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `answer`.
        let answer = unsafe { out::cleared(answer, 0, what) }?;
        let guard = enter()?;
        let kernel = get(&guard, kernel)?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for `config`.
        let config = unsafe { Config::read(&guard, config) }?;
        // SAFETY: the caller vouches for the attributes.
        *answer = unsafe { question(&kernel, &stream, &config.launch()) }?;
        Ok(())
    })
}
