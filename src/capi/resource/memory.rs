//! Memory directly from a resource.

use super::handle::cushim_resource;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{hold, hold_if_given};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::memory::DevicePointer;

/// Allocates memory: in the stream's order if the resource is stream-ordered, else at once. What it holds is not defined.
///
/// @param resource The resource.
/// @param bytes How many; 0 gives the pointer 0, of every resource, and neither driver nor functions are asked.
/// @param stream The stream in whose order the memory comes; may be NULL if the resource is not stream-ordered, and is then
///   only checked.
/// @param pointer Receives the address; 0 on failure. Must not be NULL. Give it back with `cushim_resource_deallocate`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream
/// of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a stream that is being captured, if the resource is
/// stream-ordered (the capture stays valid); `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on
/// the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the driver's; that of an allocate function. Threads: any.
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_allocate(
    resource: cushim_resource,
    bytes: usize,
    stream: cushim_stream,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        let (resource, stream) = (hold(resource)?, hold_if_given(stream)?);
        *pointer = resource.allocate(bytes, stream.as_ref())?.0;
        Ok(())
    })
}

/// Frees memory: in the stream's order if the resource is stream-ordered. Otherwise at once, after waiting for the stream if
/// there is one.
///
/// @param resource The resource.
/// @param pointer What `cushim_resource_allocate` gave; 0 does nothing.
/// @param bytes The bytes that were asked for.
/// @param stream The stream in whose order the memory goes, not necessarily the one in which it came; may be NULL if the
///   resource is not stream-ordered.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream
/// of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured, if the resource is stream-ordered;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of the stream's earlier work; that of a deallocate
/// function. Threads: any.
///
/// # Safety
/// `pointer` is 0 or such an allocation, which nobody frees any more, and whose uses come before in the stream's order or are
/// done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_deallocate(
    resource: cushim_resource,
    pointer: u64,
    bytes: usize,
    stream: cushim_stream,
) -> cushim_status {
    call(|| {
        let (resource, stream) = (hold(resource)?, hold_if_given(stream)?);
        // SAFETY: the caller vouches for the allocation.
        unsafe { resource.deallocate(DevicePointer(pointer), bytes, stream.as_ref()) }
    })
}
