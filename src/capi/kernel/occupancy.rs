//! How much of a device a kernel fills.

use super::launch::{Config, cushim_launch_config};
use super::object::cushim_kernel;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::error::Error;
use crate::kernel::{DynamicShared, Kernel, Launch};
use crate::stream::Stream;
use std::ffi::c_void;

/// Answers how many bytes of dynamic shared memory a block of so many threads needs. It must not unwind.
pub type cushim_block_shared_memory = Option<unsafe extern "C" fn(data: *mut c_void, threads: u32) -> usize>;

/// How many blocks of a kernel one multiprocessor of its context's device holds at a time.
///
/// @param kernel The kernel.
/// @param threads Threads of a block.
/// @param shared_bytes Bytes of dynamic shared memory of a block.
/// @param blocks Receives the number, 0 if there is no room for one; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_INVALID_VALUE` (1) for a block of no threads, and others of the driver's.
/// Threads: any.
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

/// The block with which a kernel fills its context's device best.
///
/// @param kernel The kernel.
/// @param shared_bytes Bytes of dynamic shared memory of a block; of no concern where `shared_memory` is given.
/// @param shared_memory Answers how many bytes a block needs, where that depends on its threads; called several times
///   during the call, on this thread. NULL: `shared_bytes`.
/// @param data Given to `shared_memory`. May be NULL.
/// @param limit The most threads that a block may have; 0: as many as the kernel takes.
/// @param threads Receives the threads of a block; 0 on failure. Must not be NULL.
/// @param blocks Receives the least number of such blocks that fills the device; 0 on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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
        // SAFETY: the caller vouches for `blocks`.
        let blocks = unsafe { out::cleared_if_given(blocks, 0) };
        // SAFETY: the caller vouches for `threads`.
        let threads = unsafe { out::cleared(threads, 0, "threads") }?;
        let kernel = hold(kernel)?;
        let found = match shared_memory {
            // SAFETY: the caller vouches for the function.
            Some(function) => kernel.suggest_block_size(
                DynamicShared::PerBlock(&mut |threads| unsafe { function(data, threads) }),
                limit,
            ),
            None => kernel.suggest_block_size(DynamicShared::Bytes(shared_bytes), limit),
        }?;
        *threads = found.threads;
        out::put(blocks, found.blocks);
        Ok(())
    })
}

/// How much dynamic shared memory each of several blocks on one multiprocessor can have.
///
/// @param kernel The kernel.
/// @param blocks How many blocks.
/// @param threads Threads of a block.
/// @param bytes Receives the bytes; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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

/// Blocks of the largest cluster in which a kernel can be launched on a stream's device.
///
/// @param kernel The kernel.
/// @param stream The stream.
/// @param config How it is to be launched; NULL: one block of one thread. Read during the call only.
/// @param blocks Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` before driver 11.8; the driver's.
/// Threads: any. Driver: 11.8.
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

/// How many clusters of a launch a stream's device holds at a time.
///
/// @param kernel The kernel.
/// @param stream The stream.
/// @param config How it is to be launched, with the cluster. Read during the call only; NULL: one block of one thread.
/// @param clusters Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` before driver 11.8; the driver's.
/// Threads: any. Driver: 11.8.
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
    question: impl FnOnce(&Kernel, &Stream, &Launch<'_>) -> Result<u32, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `answer`.
        let answer = unsafe { out::cleared(answer, 0, what) }?;
        let guard = enter()?;
        let kernel = get(&guard, kernel)?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for `config`.
        let config = unsafe { Config::read(&guard, config) }?;
        *answer = question(&kernel, &stream, &config.launch())?;
        Ok(())
    })
}
