//! Device memory, allocated and freed at once or in a stream's order, and how much of it there is.

use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::memory::DevicePointer;

/// Allocates device memory at once, aligned to at least 256 bytes. What it holds is not defined.
///
/// @param context The context.
/// @param bytes How many; 0 gives the pointer 0.
/// @param pointer Receives the device pointer; 0 on failure. Must not be NULL. Give it back with
///   `cushim_context_free`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the
/// driver's. Threads: any.
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_allocate(
    context: cushim_context,
    bytes: usize,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        *pointer = hold(context)?.allocate(bytes)?.0;
        Ok(())
    })
}

/// Frees device memory at once. The driver may first wait for all work of the device. Memory whose context is gone, by a
/// reset or with its owner, went with it: this then does nothing.
///
/// @param context The context.
/// @param pointer What `cushim_context_allocate` gave, or `cuMemAlloc`; 0 does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED`
/// on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `pointer` is 0 or the start of an allocation, which nobody uses or frees any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_free(context: cushim_context, pointer: u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        unsafe { hold(context)?.free(DevicePointer(pointer)) }
    })
}

/// Allocates device memory in the stream's order, from the current pool of its device. Work that is enqueued in the
/// stream afterwards may use it, and so may what waits for such work. What it holds is not defined.
///
/// @param stream The stream.
/// @param bytes How many; 0 gives the pointer 0.
/// @param pointer Receives the device pointer; 0 on failure. Must not be NULL. Give it back with
///   `cushim_stream_free`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if the device has no pools;
/// `CUDA_ERROR_OUT_OF_MEMORY` and others of the driver's. Threads: any.
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_allocate(
    stream: cushim_stream,
    bytes: usize,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        let guard = enter()?;
        *pointer = get(&guard, stream)?.allocate(bytes)?.0;
        Ok(())
    })
}

/// Frees device memory after the work that is in the stream by now. Memory whose context is known to be gone, by a reset
/// or with its owner, went with it: this then does nothing. A reset that others made is not asked about, as in all calls on
/// a stream (see `cushim_context_retain_primary`).
///
/// @param stream The stream; not necessarily the one that it was allocated in.
/// @param pointer What `cushim_stream_allocate` gave, or `cuMemAllocAsync`; 0 does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none" and if the device has no pools; the driver's.
/// Threads: any.
///
/// # Safety
/// `pointer` is 0 or the start of an allocation, which nobody frees any more, and whose uses come before in the
/// stream's order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_free(stream: cushim_stream, pointer: u64) -> cushim_status {
    call(|| {
        let guard = enter()?;
        // SAFETY: the caller vouches for `pointer`.
        unsafe { get(&guard, stream)?.free(DevicePointer(pointer)) }
    })
}

/// How much of the device's memory is free, for whomever, and how much there is.
///
/// @param context The context.
/// @param free Receives the free bytes; 0 on failure. Must not be NULL.
/// @param total Receives all bytes; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `free` and `total` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_memory_info(
    context: cushim_context,
    free: *mut usize,
    total: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let outs = unsafe { (out::cleared(free, 0, "free"), out::cleared(total, 0, "total")) };
        let (free, total) = (outs.0?, outs.1?);
        let guard = enter()?;
        (*free, *total) = get(&guard, context)?.memory_info()?;
        Ok(())
    })
}
