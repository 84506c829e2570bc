//! Events, pools and memory of other processes (Linux).
//!
//! A process exports, which gives a *descriptor*: `CUSHIM_DESCRIPTOR_BYTES` plain bytes, without addresses or handles
//! of the process. They go to another process of the same user by any means, which imports them. A pool needs a file
//! descriptor besides, which goes by `SCM_RIGHTS` or is inherited.
//!
//! Descriptors that were cut or changed on the way, of another kind, of this process, or of a larger size than the
//! memory has are refused before the driver uses them. cushim does not detect a descriptor that was forged on purpose: the driver trusts it, and
//! driver branch 580 may end the process. Import only from processes that you trust.
//!
//! Nothing here orders work. Memory is used in another process after an event of both was awaited, or after a message
//! that was sent when the work was done. A process that ends leaves what others have imported of it; if it ends
//! before its work reaches the record of an event, waiting for that event never ends.
//!
//! @header cushim.h
//! @task share events and memory with other processes

use super::buffer::cushim_buffer;
use super::context::cushim_context;
use super::device::cushim_device;
use super::error::{call, cushim_status};
use super::event::cushim_event;
use super::handles::{HandleOf, Incomplete, hold, hold_all, keep, keep_if_given, reserve};
use super::resource::cushim_resource;
use super::stream::cushim_stream;
use super::{input, out};
use crate::event::Event;
use crate::memory::{Buffer, Resource};
use crate::object::descriptor::{DESCRIPTOR_BYTES, DescriptorBytes};
use crate::object::error::{Error, Status};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The size of every descriptor.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_descriptor_size {
    /// Bytes of a descriptor of an event, a pool or a buffer.
    CUSHIM_DESCRIPTOR_BYTES = 160,
}

const _: () = assert!(cushim_descriptor_size::CUSHIM_DESCRIPTOR_BYTES as usize == DESCRIPTOR_BYTES);

/// The caller's room for a descriptor, all zero.
///
/// # Safety
/// `descriptor` is NULL or valid for writes of `size` bytes, for as long as the result is used.
pub(super) unsafe fn room<'a>(
    descriptor: *mut c_void,
    size: usize,
    what: &str,
) -> Result<&'a mut [u8], Error> {
    super::pointer::check(descriptor.cast::<u8>(), what)?;
    // SAFETY: as the caller vouches.
    unsafe { out::array(descriptor.cast::<u8>(), size, 0, what) }
}

/// Refuses room that is too small.
pub(super) fn check_room(room: &[u8]) -> Result<(), Error> {
    if room.len() >= DESCRIPTOR_BYTES {
        return Ok(());
    }
    let refusal = format!(
        "there is room for {} bytes, and a descriptor has {DESCRIPTOR_BYTES} (CUSHIM_DESCRIPTOR_BYTES)",
        room.len()
    );
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

pub(super) fn write(room: &mut [u8], descriptor: &DescriptorBytes) {
    room[..DESCRIPTOR_BYTES].copy_from_slice(descriptor);
}

/// Exports what has a file of its own, as pools and allocations do.
///
/// # Safety
/// As for [`room`]; `file` is NULL or valid for writes.
pub(super) unsafe fn export_with_file<S: Incomplete>(
    handle: *mut S,
    descriptor: *mut c_void,
    size: usize,
    file: *mut i32,
    export: impl FnOnce(&HandleOf<S>) -> Result<(i32, DescriptorBytes), Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (descriptor, file) =
            unsafe { out::both(room(descriptor, size, "descriptor"), out::cleared(file, 0, "file")) }?;
        let object = hold(handle)?;
        check_room(descriptor)?;
        let (exported, bytes) = export(&object)?;
        write(descriptor, &bytes);
        *file = exported;
        Ok(())
    })
}

/// A caller's descriptor.
///
/// # Safety
/// `descriptor` is NULL or valid for reads of `size` bytes, for as long as the result is used.
pub(super) unsafe fn given<'a>(
    descriptor: *const c_void,
    size: usize,
    what: &str,
) -> Result<&'a [u8], Error> {
    let descriptor = descriptor.cast::<u8>();
    super::pointer::check(descriptor, what)?;
    // SAFETY: as the caller vouches.
    unsafe { input::slice(descriptor, size, what) }
}

/// Exports an event that was created with `CUSHIM_EVENT_INTERPROCESS`: other processes can record it, wait for it and
/// query it while it exists. Every export gives the same event.
///
/// @param[in] event The event.
/// @param[out, bytes(size)] descriptor Receives the descriptor, for `cushim_event_import`.
/// @param[in] size Bytes of the room, at least `CUSHIM_DESCRIPTOR_BYTES`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an event of this process only, and for an imported one.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_export(
    event: cushim_event,
    descriptor: *mut c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { room(descriptor, size, "descriptor") }?;
        let event = hold(event)?;
        check_room(descriptor)?;
        write(descriptor, &event.export()?);
        Ok(())
    })
}

/// Imports an event of another process. It belongs to the context; its flags are `CUSHIM_EVENT_INTERPROCESS`, and how
/// else it was created is unknown. It counts as recorded. A second import is another object for the same event.
///
/// @param[in] context A context of the event's device.
/// @param[in, bytes(size)] descriptor The descriptor, as it was exported.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[out, owned] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no descriptor of an event, and for an event of this
///   process; `CUDA_ERROR_MAP_FAILED` (205) if the event is gone.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for reads of `size` bytes, and comes from a process that is trusted with it; `event`
/// is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_import(
    context: cushim_context,
    descriptor: *const c_void,
    size: usize,
    event: *mut cushim_event,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `event`.
        let event = unsafe { out::cleared(event, null_mut(), "event") }?;
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { given(descriptor, size, "descriptor") }?;
        let (context, reserved) = (hold(context)?, reserve()?);
        // SAFETY: the caller vouches for where the bytes come from.
        *event = reserved.of(unsafe { Event::import(&context, descriptor) }?);
        Ok(())
    })
}

/// Exports a pool that was created with `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR` in its `handle_types`.
///
/// @param[in] resource The pool.
/// @param[out, bytes(size)] descriptor Receives the descriptor, for `cushim_resource_import`.
/// @param[in] size Bytes of the room, at least `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[out] file Receives a new file descriptor, which goes to the other process with the bytes; close it after
///   that.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a pool without that handle type, and for an imported one;
///   `CUSHIM_ERROR_UNSUPPORTED` if the resource is no pool.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for writes of `size` bytes, `file` NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_export(
    resource: cushim_resource,
    descriptor: *mut c_void,
    size: usize,
    file: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { export_with_file(resource, descriptor, size, file, |resource| resource.export()) }
}

/// Imports a pool of another process. It allocates nothing, and has neither attributes nor trimming: buffers come from
/// `cushim_buffer_import`. Imported again it is the same pool of the driver's, which is destroyed here with the last
/// resource and the last buffer. A pool that this process has exported is its own resource.
///
/// @param[in] device The device of the pool; for a pool of page-locked memory, any device of the driver.
/// @param[in, bytes(size)] descriptor The descriptor, as it was exported.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[in] file The file descriptor that came with it. It stays the caller's, who may close it after the call.
/// @param[out, owned] resource The pool.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no descriptor of a pool, a pool of another device, and a
///   file descriptor that is not open or is a regular file's, a pipe's or a socket's.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for reads of `size` bytes; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_import(
    device: cushim_device,
    descriptor: *const c_void,
    size: usize,
    file: i32,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { given(descriptor, size, "descriptor") }?;
        let (device, reserved) = (hold(device)?, reserve()?);
        *resource = reserved.of(Resource::import(&device, descriptor, file)?);
        Ok(())
    })
}

/// Exports the memory of a buffer: of a pool that can be exported, for `cushim_buffer_import`, or of a synchronous
/// device resource (`cuMemAlloc`), for `cushim_buffer_open`. The buffer must outlive what others import of it.
///
/// @param[in] buffer The buffer.
/// @param[out, bytes(size)] descriptor Receives the descriptor.
/// @param[in] size Bytes of the room, at least `CUSHIM_DESCRIPTOR_BYTES`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an empty buffer, an imported one, and memory that is neither.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_export(
    buffer: cushim_buffer,
    descriptor: *mut c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { room(descriptor, size, "descriptor") }?;
        let buffer = hold(buffer)?;
        check_room(descriptor)?;
        write(descriptor, &buffer.export()?);
        Ok(())
    })
}

/// Imports a buffer of another process from its imported pool. Imported again it is the same memory at the same
/// address, which is freed here when the last of these buffers is gone.
///
/// @param[in] resource The imported pool.
/// @param[in] stream The initial deallocation stream. Nothing else is ordered by it.
/// @param[in, bytes(size)] descriptor The descriptor, as it was exported.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[out, owned] buffer The buffer, of the size that was exported.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` without a stream; `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no
///   descriptor of a pool's buffer, for a buffer of this process or of another pool, and for a size larger than the
///   memory; `CUDA_ERROR_INVALID_VALUE` if the memory was freed.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for reads of `size` bytes, and comes from a process that is trusted with it; `buffer`
/// is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_import(
    resource: cushim_resource,
    stream: cushim_stream,
    descriptor: *const c_void,
    size: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { given(descriptor, size, "descriptor") }?;
        let (resource, stream) = hold_all(|guard| Ok((keep(guard, resource)?, keep(guard, stream)?)))?;
        let reserved = reserve()?;
        // SAFETY: the caller vouches for where the bytes come from.
        *buffer = reserved.of(unsafe { Buffer::import(&resource, descriptor, &stream) }?);
        Ok(())
    })
}

/// Opens memory of another process that is no pool's (`cuIpcOpenMemHandle`). Opened again it is at the same address,
/// and is closed with the last of these buffers. Closing waits for the deallocation stream, and for the context's
/// work.
///
/// @param[in] context A context of the memory's device.
/// @param[in, nullable] stream The initial deallocation stream.
/// @param[in, bytes(size)] descriptor The descriptor, as it was exported.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[out, owned] buffer The buffer, of the size that was exported.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no descriptor of such memory, for memory of this process
///   or of another device, and for a size larger than the memory; `CUDA_ERROR_INVALID_VALUE` if the memory was freed.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for reads of `size` bytes, and comes from a process that is trusted with it; `buffer`
/// is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_open(
    context: cushim_context,
    stream: cushim_stream,
    descriptor: *const c_void,
    size: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { given(descriptor, size, "descriptor") }?;
        let (context, stream) = hold_all(|guard| Ok((keep(guard, context)?, keep_if_given(guard, stream)?)))?;
        let reserved = reserve()?;
        // SAFETY: the caller vouches for where the bytes come from.
        *buffer = reserved.of(unsafe { Buffer::open(&context, descriptor, stream.as_ref()) }?);
        Ok(())
    })
}
