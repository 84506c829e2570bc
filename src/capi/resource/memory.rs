//! Memory directly from a resource.
//!
//! @header cushim.h
//! @task allocate memory

use super::handle::cushim_resource;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{hold_all, keep, keep_if_given};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::memory::DevicePointer;

/// Allocates memory of a resource: in stream order if the resource is stream-ordered, otherwise synchronously. Its
/// contents are undefined.
///
/// @param[in] resource The resource.
/// @param[in, nullable] stream The stream. May be NULL if the resource is not stream-ordered: a stream that is given
///   is checked, and the memory is there when the call returns.
/// @param[in, example(64)] bytes The size in bytes; 0 returns the pointer 0.
/// @param[out, freed_by(cushim_resource_free)] pointer The address.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   stream that is being captured, if the resource is stream-ordered (the capture stays valid);
///   `CUDA_ERROR_OUT_OF_MEMORY`; the status of an allocate function.
/// @driver any
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_allocate(
    resource: cushim_resource,
    stream: cushim_stream,
    bytes: usize,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        let (resource, stream) =
            hold_all(|guard| Ok((keep(guard, resource)?, keep_if_given(guard, stream)?)))?;
        *pointer = resource.allocate(bytes, stream.as_ref())?.0;
        Ok(())
    })
}

/// Frees memory of a resource: in stream order if the resource is stream-ordered, otherwise synchronously, after
/// waiting for the stream if there is one.
///
/// @param[in] resource The resource.
/// @param[in, nullable] stream The stream; it need not be the one in which the memory was allocated. May be NULL if
///   the resource is not stream-ordered: a stream that is given is checked, and waited for before the memory is
///   freed.
/// @param[in, freed] pointer A pointer from `cushim_resource_allocate`; 0 does nothing.
/// @param[in, example(64)] bytes The size that was allocated.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   stream that is being captured, if the resource is stream-ordered; the status of a free function.
/// @driver none
/// @sync context if the resource is not stream-ordered
///
/// # Safety
/// `pointer` is 0 or such an allocation, which nobody frees any more, and whose uses come before in the stream's
/// order or are done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_free(
    resource: cushim_resource,
    stream: cushim_stream,
    pointer: u64,
    bytes: usize,
) -> cushim_status {
    call(|| {
        let (resource, stream) =
            hold_all(|guard| Ok((keep(guard, resource)?, keep_if_given(guard, stream)?)))?;
        // SAFETY: the caller vouches for the allocation.
        unsafe { resource.free(DevicePointer(pointer), bytes, stream.as_ref()) }
    })
}
