//! Copies of ranges and boxes, in a stream's order or at once.

use super::place::{cushim_extent, cushim_place, cushim_region, extent_of, place, region};
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::stream::cushim_stream;
use crate::memory::DevicePointer;

/// Copies so many bytes between any two places after the work that is in the stream by now. It returns before they have
/// arrived, unless one end is ordinary host memory: then it may wait for them.
///
/// Memory of another device's pool is copied only if that gives the stream's device access (`cushim_resource_change_peers`), or
/// if both ends are buffers with resources; or by `cushim_stream_copy_peer`. Other memory of other devices is copied always.
///
/// Of no bytes, nothing is looked at.
///
/// @param stream The stream.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param bytes How many.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a place that is NULL or reaches past the end of all addresses; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `to` and `from` are NULL or valid for reads. Both places hold so many bytes, apart from each other, and stay good
/// until the stream has passed the copy; until then nobody writes the source, and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy(
    stream: cushim_stream,
    to: *const cushim_place,
    from: *const cushim_place,
    bytes: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (to, from) = unsafe { (place(to, "to")?, place(from, "from")?) };
        let stream = hold(stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.copy(to, from, bytes) }
    })
}

/// Copies a box between any two places, as `cushim_stream_copy` does: rows of bytes, slices of rows. Of an empty box,
/// nothing is looked at.
///
/// @param stream The stream.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param extent The size of the box. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a place that is NULL or reaches past the end of all addresses, and for rows or slices that are too near to
/// each other for the box; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver
/// "none"; the driver's. Threads: any.
///
/// # Safety
/// `to`, `from` and `extent` are NULL or valid for reads. Both places hold the boxes, apart from each other, and stay
/// good until the stream has passed the copy; until then nobody writes the source, and nobody else uses the
/// destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_box(
    stream: cushim_stream,
    to: *const cushim_region,
    from: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all three.
        let (to, from, extent) = unsafe { (region(to, "to")?, region(from, "from")?, extent_of(extent)?) };
        let stream = hold(stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.copy_box(&to, &from, extent) }
    })
}

/// Copies so many bytes from one context's device memory to another's, as `cushim_stream_copy` does. Where one device
/// reaches the other's memory the copy goes there directly, else by way of the host.
///
/// @param stream The stream.
/// @param to_context The context of the destination.
/// @param to The destination, a device pointer.
/// @param from_context The context of the source.
/// @param from The source, a device pointer.
/// @param bytes How many.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another
/// driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a place that is NULL or reaches past the end of all addresses;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's.
/// Threads: any.
///
/// # Safety
/// Both places hold so many bytes, apart from each other, and stay good until the stream has passed the copy; until
/// then nobody writes the source, and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_peer(
    stream: cushim_stream,
    to_context: cushim_context,
    to: u64,
    from_context: cushim_context,
    from: u64,
    bytes: usize,
) -> cushim_status {
    call(|| {
        let stream = hold(stream)?;
        let (to_context, from_context) = (hold(to_context)?, hold(from_context)?);
        let (to, from) = ((&*to_context, DevicePointer(to)), (&*from_context, DevicePointer(from)));
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.copy_peer(to, from, bytes) }
    })
}

/// Copies a box from one context's memory to another's, as `cushim_stream_copy_box` does.
///
/// @param stream The stream.
/// @param to_context The context of the destination.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from_context The context of the source.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param extent The size of the box. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another
/// driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a place that is NULL or reaches past the end of all addresses, and
/// for rows or slices that are too near to each other for the box; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `to`, `from` and `extent` are NULL or valid for reads. Both places hold the boxes, apart from each other, and stay
/// good until the stream has passed the copy; until then nobody writes the source, and nobody else uses the
/// destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_box_peer(
    stream: cushim_stream,
    to_context: cushim_context,
    to: *const cushim_region,
    from_context: cushim_context,
    from: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all three.
        let (to, from, extent) = unsafe { (region(to, "to")?, region(from, "from")?, extent_of(extent)?) };
        let stream = hold(stream)?;
        let (to_context, from_context) = (hold(to_context)?, hold(from_context)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.copy_box_peer((&to_context, &to), (&from_context, &from), extent) }
    })
}

/// Copies so many bytes between any two places; they have arrived when it returns. It waits for the legacy default
/// stream of the context, and so for the blocking streams; work in other streams goes on beside it.
///
/// Of no bytes, nothing is looked at.
///
/// @param context The context.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param bytes How many.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a place that is NULL or reaches
/// past the end of all addresses; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the
/// driver "none"; the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// `to` and `from` are NULL or valid for reads. Both places hold so many bytes, apart from each other, and nobody else
/// uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy(
    context: cushim_context,
    to: *const cushim_place,
    from: *const cushim_place,
    bytes: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (to, from) = unsafe { (place(to, "to")?, place(from, "from")?) };
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.copy(to, from, bytes) }
    })
}

/// Copies a box between any two places, as `cushim_context_copy` does: rows of bytes, slices of rows. Of an empty box,
/// nothing is looked at.
///
/// @param context The context.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param extent The size of the box. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a place that is NULL or reaches
/// past the end of all addresses, and for rows or slices that are too near to each other for the box;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's,
/// also of earlier work. Threads: any.
///
/// # Safety
/// `to`, `from` and `extent` are NULL or valid for reads. Both places hold the boxes, apart from each other, and nobody
/// else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy_box(
    context: cushim_context,
    to: *const cushim_region,
    from: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all three.
        let (to, from, extent) = unsafe { (region(to, "to")?, region(from, "from")?, extent_of(extent)?) };
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.copy_box(&to, &from, extent) }
    })
}

/// Copies so many bytes from one context's device memory to another's, as `cushim_context_copy` does. Where one device
/// reaches the other's memory the copy goes there directly, else by way of the host.
///
/// @param context The context.
/// @param to_context The context of the destination.
/// @param to The destination, a device pointer.
/// @param from_context The context of the source.
/// @param from The source, a device pointer.
/// @param bytes How many.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also
/// for a place that is NULL or reaches past the end of all addresses; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's, also of earlier work. Threads:
/// any.
///
/// # Safety
/// Both places hold so many bytes, apart from each other, and nobody else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy_peer(
    context: cushim_context,
    to_context: cushim_context,
    to: u64,
    from_context: cushim_context,
    from: u64,
    bytes: usize,
) -> cushim_status {
    call(|| {
        let context = hold(context)?;
        let (to_context, from_context) = (hold(to_context)?, hold(from_context)?);
        let (to, from) = ((&*to_context, DevicePointer(to)), (&*from_context, DevicePointer(from)));
        // SAFETY: the caller vouches for the memory.
        unsafe { context.copy_peer(to, from, bytes) }
    })
}

/// Copies a box from one context's memory to another's, as `cushim_context_copy_box` does.
///
/// @param context The context.
/// @param to_context The context of the destination.
/// @param to The destination. Read during the call only. Must not be NULL.
/// @param from_context The context of the source.
/// @param from The source. Read during the call only. Must not be NULL.
/// @param extent The size of the box. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also
/// for a place that is NULL or reaches past the end of all addresses, and for rows or slices that are too near to each
/// other for the box; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver
/// "none"; the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// `to`, `from` and `extent` are NULL or valid for reads. Both places hold the boxes, apart from each other, and nobody
/// else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy_box_peer(
    context: cushim_context,
    to_context: cushim_context,
    to: *const cushim_region,
    from_context: cushim_context,
    from: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all three.
        let (to, from, extent) = unsafe { (region(to, "to")?, region(from, "from")?, extent_of(extent)?) };
        let context = hold(context)?;
        let (to_context, from_context) = (hold(to_context)?, hold(from_context)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { context.copy_box_peer((&to_context, &to), (&from_context, &from), extent) }
    })
}
