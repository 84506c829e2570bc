//! Device memory, allocated and freed at once or in a stream's order, and how much of it there is.
//!
//! @header cushim.h
//! @task allocate memory

use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::memory::DevicePointer;

/// Allocates device memory, as `cuMemAlloc` does. Its contents are undefined; it is aligned to at least 256 bytes.
///
/// @param[in] context The context.
/// @param[in, example(64)] bytes The size in bytes; 0 returns the pointer 0.
/// @param[out, freed_by(cushim_context_free)] pointer The device pointer.
/// @errors `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver any
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

/// Frees device memory, as `cuMemFree` does. Does nothing if the memory was already freed with its context (a reset).
///
/// The driver frees memory of a pool (`cushim_stream_allocate`, `cuMemAllocAsync`) at once, also while work uses it,
/// which then fails with `CUDA_ERROR_ILLEGAL_ADDRESS` (700): free it with `cushim_stream_free`.
///
/// @param[in] context The context.
/// @param[in, freed] pointer A pointer from `cushim_context_allocate` or `cuMemAlloc`; 0 does nothing.
/// @errors `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) if the context was reset and the memory is another's that is still
///   there: it is not freed.
/// @driver any
/// @sync context
///
/// # Safety
/// `pointer` is 0 or the start of an allocation, which nobody uses or frees any more; of memory that no pool gave, work that
/// was submitted before may still use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_free(context: cushim_context, pointer: u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        unsafe { hold(context)?.free(DevicePointer(pointer)) }
    })
}

/// Allocates device memory in stream order, from the current pool of the stream's device. Its contents are undefined.
///
/// The memory can be used by work that comes later in the stream, and by work that waits for such work. In a stream
/// that is being captured it is an allocation node of the graph, as in `cushim_graph_add_allocation`, and the pointer
/// is good in the launches of that graph.
///
/// @param[in] stream The stream.
/// @param[in, example(64)] bytes The size in bytes; 0 returns the pointer 0.
/// @param[out, freed_by(cushim_stream_free)] pointer The device pointer.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the device has no memory pools; `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver any
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

/// Frees device memory in stream order: after the work that is in the stream now. Does nothing if the memory was
/// already freed with its context (a reset). In a stream that is being captured it is a free node of the graph.
///
/// A reset that was not made through cushim is not noticed: see `cushim_context_retain_primary`.
///
/// @param[in] stream The stream; it need not be the one in which the memory was allocated.
/// @param[in, freed] pointer A pointer from `cushim_stream_allocate` or `cuMemAllocAsync`; 0 does nothing.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the device has no memory pools; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) if
///   the stream's context was reset and the memory is still there, as memory of a pool is, or of another context: it
///   is not freed. Free it in a stream of another context.
/// @driver any
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

/// Returns how much memory of the context's device is free, and how much it has.
///
/// @param[in] context The context.
/// @param[out] free The free bytes.
/// @param[out] total All bytes.
/// @driver any
/// @task choose a device
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
