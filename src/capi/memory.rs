//! Memory: allocation, copies, fills, host memory, and what the driver knows of an address.

use super::context::cushim_context;
use super::driver_types::{CUarray, CUcontext, CUmemoryPool};
use super::error::{call, cushim_status};
use super::handles::{enter, get, hold};
use super::stream::cushim_stream;
use super::{options, out};
use crate::error::{Error, Status};
use crate::memory::{
    DeviceMemory, DevicePointer, Extent, Fill, PinnedMemory, PinnedOptions, Place, PointerAttributes, Region,
    Registration, RegistrationOptions,
};
use std::ffi::c_void;

/// What sort of place an end of a copy is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_place_kind {
    /// Host memory of any kind. A copy from ordinary (not page-locked) memory in a stream reads it before it returns; one to
    /// it may block until it is done.
    CUSHIM_PLACE_HOST = 1,
    /// Device memory, or host memory by the address by which the device reaches it.
    CUSHIM_PLACE_DEVICE = 2,
    /// A `CUarray`.
    CUSHIM_PLACE_ARRAY = 3,
    /// An address of either kind; the driver finds out which.
    CUSHIM_PLACE_AUTO = 4,
}

/// One end of a copy. Nothing is guessed from the bits of an address unless that is asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_place {
    /// A `cushim_place_kind`.
    pub kind: i32,
    /// Zero.
    pub reserved: u32,
    /// The address, or the array.
    pub address: u64,
    /// Bytes from there on; of an array 0.
    pub offset: u64,
}

/// A box at one end of a copy: rows in a pitch, slices of rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_region {
    /// Where the memory starts, or the array.
    pub place: cushim_place,
    /// Bytes before the box in each row.
    pub x: usize,
    /// Rows before the box in each slice.
    pub y: usize,
    /// Slices before the box.
    pub z: usize,
    /// Bytes from row to row; 0 for rows that end where the box ends. Means nothing for an array.
    pub pitch: usize,
    /// Rows from slice to slice; 0 for slices that end where the box ends. Means nothing for an array.
    pub rows: usize,
}

/// The size of a box.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_extent {
    /// Bytes in a row.
    pub width: usize,
    /// Rows in a slice.
    pub height: usize,
    /// Slices; of a rectangle 1.
    pub depth: usize,
}

/// How page-locked memory is allocated.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_host_flags {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    CUSHIM_HOST_PORTABLE = 1,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    CUSHIM_HOST_MAPPED = 2,
    /// The host writes it past its caches: faster for the device to read, very slow for the host to read.
    CUSHIM_HOST_WRITE_COMBINED = 4,
}

/// How host memory is registered.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_register_flags {
    /// Every context takes it for page-locked, not only its own. Drivers of the versions supported here do so anyway.
    CUSHIM_REGISTER_PORTABLE = 1,
    /// The device reaches it by a device pointer. Drivers of the versions supported here see to that anyway.
    CUSHIM_REGISTER_MAPPED = 2,
    /// It is memory of an I/O device, mapped into this process.
    CUSHIM_REGISTER_IO_MEMORY = 4,
    /// The device only reads it; needed for memory that the process may not write.
    CUSHIM_REGISTER_READ_ONLY = 8,
}

/// What the driver knows of an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_pointer_attributes {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// Where the memory lives, a `CUmemorytype`: managed memory lives on the device. 0 if the address is none of the
    /// driver's: ordinary host memory, NULL, or memory that was freed.
    pub memory_type: i32,
    /// The ordinal of the device that it was allocated or registered for; -1 if there is none.
    pub device: i32,
    /// The context that it was allocated or registered in; NULL if there is none, as for memory of a pool.
    pub context: CUcontext,
    /// The address by which the context's device reaches it; 0 if it does not.
    pub device_pointer: u64,
    /// The address by which the host reaches it; NULL if it does not, or if the address is none of the driver's.
    pub host_pointer: *mut c_void,
    /// The pool that it comes from; NULL if from none.
    pub pool: CUmemoryPool,
    /// The start of the allocation that it lies in; 0 if it lies in none.
    pub range_start: u64,
    /// That allocation's bytes.
    pub range_bytes: usize,
    /// A number of the allocation that no other has in this process; 0 if it has none.
    pub buffer_id: u64,
    /// 1 if it is managed memory. Memory of a managed pool says so on driver 13.0, and need not on others.
    pub managed: i32,
    /// 1 if there is memory behind the address.
    pub mapped: i32,
    /// 1 if synchronous operations on it always synchronise.
    pub synchronous: i32,
    /// 1 if it can be shared with other processes by `cuIpcGetMemHandle`.
    pub ipc_capable: i32,
    /// 1 if other devices of the machine can reach it by GPUDirect RDMA.
    pub rdma_capable: i32,
    /// Zero.
    pub reserved: i32,
}

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
        *pointer = DeviceMemory::allocate(&hold(context)?, bytes)?.into_pointer().0;
        Ok(())
    })
}

/// Frees device memory at once. The driver may first wait for all work of the device.
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
        unsafe { DeviceMemory::from_pointer(&hold(context)?, DevicePointer(pointer), 0) }.free()
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
        *pointer = DeviceMemory::allocate_on(&hold(stream)?, bytes)?.into_pointer().0;
        Ok(())
    })
}

/// Frees device memory after the work that is in the stream by now.
///
/// @param stream The stream; not necessarily the one that it was allocated in.
/// @param pointer What `cushim_stream_allocate` gave, or `cuMemAllocAsync`; 0 does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `pointer` is 0 or the start of an allocation, which nobody frees any more, and whose uses come before in the
/// stream's order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_free(stream: cushim_stream, pointer: u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        unsafe { DeviceMemory::from_pointer_on(&hold(stream)?, DevicePointer(pointer), 0) }.free()
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

/// Copies so many bytes between any two places after the work that is in the stream by now. It returns before they have
/// arrived, unless one end is ordinary host memory: then it may wait for them.
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

/// Fills device memory with one value, repeated, after the work that is in the stream by now. Of no values, nothing is
/// looked at.
///
/// @param stream The stream.
/// @param pointer The memory.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param count Number of values.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a pointer that is 0, reaches past the end of all addresses or is not a multiple of the value's size;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's.
/// Threads: any.
///
/// # Safety
/// The memory holds so many values, and stays good until the stream has passed the fill; until then nobody else uses
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill(
    stream: cushim_stream,
    pointer: u64,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let stream = hold(stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.fill(DevicePointer(pointer), value, count) }
    })
}

/// Fills rows of device memory with one value, repeated, after the work that is in the stream by now. Of no values,
/// nothing is looked at; of one row, the pitch does not matter.
///
/// @param stream The stream.
/// @param pointer The start of the first row.
/// @param pitch Bytes from row to row.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param width Values in a row.
/// @param height Rows.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a pointer that is 0, reaches past the end of all addresses or is not a multiple of the value's size, or for
/// a pitch that is smaller than a row or no such multiple; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// The memory holds so many values, and stays good until the stream has passed the fill; until then nobody else uses
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill_2d(
    stream: cushim_stream,
    pointer: u64,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let stream = hold(stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.fill_2d(DevicePointer(pointer), pitch, value, width, height) }
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

/// Fills device memory with one value, repeated; it is done when this returns. It waits for the legacy default stream
/// of the context, and so for the blocking streams. Of no values, nothing is looked at.
///
/// @param context The context.
/// @param pointer The memory.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param count Number of values.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a pointer that is 0, reaches past
/// the end of all addresses or is not a multiple of the value's size; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's, also of earlier work. Threads:
/// any.
///
/// # Safety
/// The memory holds so many values, and nobody else uses it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill(
    context: cushim_context,
    pointer: u64,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.fill(DevicePointer(pointer), value, count) }
    })
}

/// Fills rows of device memory with one value, repeated; it is done when this returns. It waits for the legacy default
/// stream of the context, and so for the blocking streams. Of no values, nothing is looked at; of one row, the pitch
/// does not matter.
///
/// @param context The context.
/// @param pointer The start of the first row.
/// @param pitch Bytes from row to row.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param width Values in a row.
/// @param height Rows.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a pointer that is 0, reaches past
/// the end of all addresses or is not a multiple of the value's size, or for a pitch that is smaller than a row or no
/// such multiple; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none";
/// the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// The memory holds so many values, and nobody else uses it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill_2d(
    context: cushim_context,
    pointer: u64,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.fill_2d(DevicePointer(pointer), pitch, value, width, height) }
    })
}

/// Allocates page-locked host memory. Copies in a stream are asynchronous to such memory only. What it holds is not
/// defined.
///
/// @param context The context.
/// @param bytes How many; 0 gives NULL.
/// @param flags A combination of `cushim_host_flags`.
/// @param address Receives the address; NULL on failure. Must not be NULL. Give it back with
///   `cushim_context_free_host`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the
/// driver's. Threads: any.
///
/// # Safety
/// `address` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_allocate_host(
    context: cushim_context,
    bytes: usize,
    flags: u32,
    address: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `address`.
        let address = unsafe { out::cleared(address, std::ptr::null_mut(), "address") }?;
        let options = pinned_options(flags)?;
        *address = PinnedMemory::allocate(&hold(context)?, bytes, options)?.into_address();
        Ok(())
    })
}

/// Frees page-locked host memory at once.
///
/// @param context The context.
/// @param address What `cushim_context_allocate_host` gave, or `cuMemHostAlloc` or `cuMemAllocHost`; may be NULL,
///   which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED`
/// on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `address` is NULL or the start of such memory, which nobody uses or frees any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_free_host(
    context: cushim_context,
    address: *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `address`.
        unsafe { PinnedMemory::from_address(&hold(context)?, address, 0) }.free()
    })
}

/// Page-locks a range of the process's memory, until it is unregistered.
///
/// @param context The context.
/// @param address The start of the range. Must not be NULL.
/// @param bytes Its bytes; not 0.
/// @param flags A combination of `cushim_register_flags`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an empty range;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none";
/// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if a part of it is registered, and others of the driver's. Threads: any.
///
/// # Safety
/// The range stays mapped until it is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_register_host(
    context: cushim_context,
    address: *mut c_void,
    bytes: usize,
    flags: u32,
) -> cushim_status {
    call(|| {
        check_address(address)?;
        let options = registration_options(flags)?;
        // SAFETY: the caller vouches for the range.
        let made = unsafe { Registration::register(&hold(context)?, address, bytes, options) }?;
        let _ = made.into_address();
        Ok(())
    })
}

/// Ends the registration of a range.
///
/// @param context The context.
/// @param address The start of the range. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED` and
/// others of the driver's. Threads: any.
///
/// # Safety
/// Work that uses the range is done, and nobody else unregisters it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_unregister_host(
    context: cushim_context,
    address: *mut c_void,
) -> cushim_status {
    call(|| {
        check_address(address)?;
        // SAFETY: the caller vouches for the range.
        unsafe { Registration::from_address(&hold(context)?, address, 0) }.unregister()
    })
}

/// The address by which the context's device reaches host memory: page-locked or registered, at its start or within.
///
/// @param context The context.
/// @param address The host's address. Must not be NULL.
/// @param pointer Receives the device pointer; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_INVALID_VALUE` if the device
/// does not reach it, and others of the driver's. Threads: any.
///
/// # Safety
/// `pointer` is NULL or valid for writes. Nothing is read through `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_device_pointer(
    context: cushim_context,
    address: *mut c_void,
    pointer: *mut u64,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        check_address(address)?;
        let guard = enter()?;
        *pointer = get(&guard, context)?.device_pointer(address)?.0;
        Ok(())
    })
}

/// What the driver knows of an address, be it a device pointer or a host address. It answers for every address.
///
/// @param context The context.
/// @param address The address.
/// @param attributes Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `attributes` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_pointer_attributes(
    context: cushim_context,
    address: u64,
    attributes: *mut cushim_pointer_attributes,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::check_out(attributes, "attributes") }?;
        let found = hold(context)?.pointer_attributes(address)?;
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::write_out(attributes, &cushim_pointer_attributes::from(found), "attributes") }
    })
}

/// The allocation that a pointer lies in, device memory or host memory that the device reaches.
///
/// @param context The context.
/// @param pointer The device pointer.
/// @param start Receives the start of the allocation; 0 on failure. Must not be NULL.
/// @param bytes Receives its bytes; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_NOT_FOUND` if it lies in none,
/// and others of the driver's. Threads: any.
///
/// # Safety
/// `start` and `bytes` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_address_range(
    context: cushim_context,
    pointer: u64,
    start: *mut u64,
    bytes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let outs = unsafe { (out::cleared(start, 0, "start"), out::cleared(bytes, 0, "bytes")) };
        let (start, bytes) = (outs.0?, outs.1?);
        let guard = enter()?;
        let (pointer, length) = get(&guard, context)?.address_range(DevicePointer(pointer))?;
        (*start, *bytes) = (pointer.0, length);
        Ok(())
    })
}

fn check_address(address: *mut c_void) -> Result<(), Error> {
    if address.is_null() {
        return Err(Error::new(Status::INVALID_ARGUMENT, "address must not be NULL"));
    }
    Ok(())
}

/// A struct of the caller's that must be there.
///
/// # Safety
/// `value` is NULL or valid for reads.
unsafe fn given<T: Copy>(value: *const T, what: &str) -> Result<T, Error> {
    if value.is_null() {
        return Err(Error::new(Status::INVALID_ARGUMENT, format!("{what} must not be NULL")));
    }
    // SAFETY: the caller vouches for it.
    Ok(unsafe { value.read_unaligned() })
}

/// # Safety
/// As for [`given`].
unsafe fn place(place: *const cushim_place, what: &str) -> Result<Place, Error> {
    // SAFETY: the caller vouches for it.
    place_of(&unsafe { given(place, what) }?, what)
}

fn place_of(place: &cushim_place, what: &str) -> Result<Place, Error> {
    let refusal = |why: String| Err(Error::new(Status::INVALID_ARGUMENT, format!("{what}: {why}")));
    let cushim_place { kind, reserved, address, offset } = *place;
    let Some(address) = address.checked_add(offset) else {
        return refusal(format!("{address:#x} and {offset} bytes reach past the end of all addresses"));
    };
    let pointer = std::ptr::with_exposed_provenance_mut(address as usize);
    match kind {
        _ if reserved != 0 => refusal(format!("reserved is {reserved}; it must be 0")),
        k if k == cushim_place_kind::CUSHIM_PLACE_HOST as i32 => Ok(Place::Host(pointer)),
        k if k == cushim_place_kind::CUSHIM_PLACE_DEVICE as i32 => Ok(Place::Device(DevicePointer(address))),
        k if k == cushim_place_kind::CUSHIM_PLACE_AUTO as i32 => Ok(Place::Auto(address)),
        k if k == cushim_place_kind::CUSHIM_PLACE_ARRAY as i32 && offset == 0 => {
            Ok(Place::Array(pointer.cast::<()>() as CUarray))
        }
        k if k == cushim_place_kind::CUSHIM_PLACE_ARRAY as i32 => {
            refusal(format!("offset is {offset}; an array has none, use a region's x, y and z"))
        }
        _ => refusal(format!("kind is {kind}; use one of CUSHIM_PLACE_HOST, _DEVICE, _ARRAY and _AUTO")),
    }
}

/// # Safety
/// As for [`given`].
unsafe fn region(region: *const cushim_region, what: &str) -> Result<Region, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_region { place, x, y, z, pitch, rows } = unsafe { given(region, what) }?;
    Ok(Region { place: place_of(&place, what)?, x, y, z, pitch, rows })
}

/// # Safety
/// As for [`given`].
unsafe fn extent_of(extent: *const cushim_extent) -> Result<Extent, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_extent { width, height, depth } = unsafe { given(extent, "extent") }?;
    Ok(Extent { width, height, depth })
}

fn fill_of(value: u32, bytes: i32) -> Result<Fill, Error> {
    match bytes {
        1 => Ok(Fill::U8(value as u8)),
        2 => Ok(Fill::U16(value as u16)),
        4 => Ok(Fill::U32(value)),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("value_bytes is {bytes}; a value has 1, 2 or 4 bytes"),
        )),
    }
}

fn pinned_options(flags: u32) -> Result<PinnedOptions, Error> {
    let has = |flag: cushim_host_flags| flags & flag as u32 != 0;
    options::check_flags(flags, 7)?;
    Ok(PinnedOptions {
        portable: has(cushim_host_flags::CUSHIM_HOST_PORTABLE),
        mapped: has(cushim_host_flags::CUSHIM_HOST_MAPPED),
        write_combined: has(cushim_host_flags::CUSHIM_HOST_WRITE_COMBINED),
    })
}

fn registration_options(flags: u32) -> Result<RegistrationOptions, Error> {
    let has = |flag: cushim_register_flags| flags & flag as u32 != 0;
    options::check_flags(flags, 15)?;
    Ok(RegistrationOptions {
        portable: has(cushim_register_flags::CUSHIM_REGISTER_PORTABLE),
        mapped: has(cushim_register_flags::CUSHIM_REGISTER_MAPPED),
        io_memory: has(cushim_register_flags::CUSHIM_REGISTER_IO_MEMORY),
        read_only: has(cushim_register_flags::CUSHIM_REGISTER_READ_ONLY),
    })
}

impl From<PointerAttributes> for cushim_pointer_attributes {
    fn from(found: PointerAttributes) -> Self {
        let (start, bytes) = found.range.unwrap_or_default();
        Self {
            struct_size: size_of::<Self>(),
            memory_type: found.memory_type.map_or(0, |kind| kind.0),
            device: found.device.unwrap_or(-1),
            context: found.context,
            device_pointer: found.device_pointer.0,
            host_pointer: found.host_pointer,
            pool: found.pool,
            range_start: start.0,
            range_bytes: bytes,
            buffer_id: found.buffer_id.unwrap_or(0),
            managed: i32::from(found.managed),
            mapped: i32::from(found.mapped),
            synchronous: i32::from(found.synchronous),
            ipc_capable: i32::from(found.ipc_capable),
            rdma_capable: i32::from(found.rdma_capable),
            reserved: 0,
        }
    }
}
