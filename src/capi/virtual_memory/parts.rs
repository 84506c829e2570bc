//! Virtual memory of other processes (Linux): a buffer is exported in parts, each of which was created at once.
//!
//! @header cushim.h
//! @task share events and memory with other processes

use super::allocation::cushim_allocation;
use super::resource::{cushim_virtual_options, virtual_options};
use crate::capi::buffer::cushim_buffer;
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, hold, hold_all, keep, keep_if_given, owned, reserve};
use crate::capi::pointer::MOST_LOCATIONS;
use crate::capi::resource::cushim_resource;
use crate::capi::sharing::{export_with_file, given, room, write};
use crate::capi::stream::cushim_stream;
use crate::capi::{input, out};
use crate::memory::{Allocation, Buffer};
use crate::object::descriptor::DESCRIPTOR_BYTES;
use crate::object::error::{Error, Status};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Exports physical memory that was created with `CUSHIM_SHAREABLE_POSIX_FD`. It stays as long as one of the processes
/// has it.
///
/// @param[in] allocation The allocation.
/// @param[out, bytes(size)] descriptor Receives the descriptor, for `cushim_allocation_import`.
/// @param[in] size Bytes of the room, at least `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[out] file Receives a new file descriptor, which goes to the other process with the bytes; close it after
///   that.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that was created otherwise, and for imported memory.
/// @driver any
///
/// # Safety
/// `descriptor` is NULL or valid for writes of `size` bytes, `file` NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_export(
    allocation: cushim_allocation,
    descriptor: *mut c_void,
    size: usize,
    file: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { export_with_file(allocation, descriptor, size, file, |allocation| allocation.export()) }
}

/// Imports physical memory of another process, or of this one. Imported again it is another allocation of the same
/// memory. The last process that has the memory frees it.
///
/// @param[in] device The memory's device; for memory of the host, any device of the driver.
/// @param[in, nullable] options What may use the memory here: access, peers and their access. The location may be
///   given, as it is; the other members are ignored.
/// @param[in, bytes(size)] descriptor The descriptor, as it was exported; a part of a buffer is one, too.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES`.
/// @param[in] file The file descriptor that came with it. It stays the caller's, who may close it after the call.
/// @param[out, owned] allocation The allocation, of the size that was exported.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no descriptor of virtual memory, memory of another
///   device or of another size than the bytes say, and a file descriptor that is not open or is a regular file's, a
///   pipe's or a socket's; as `cushim_resource_create_virtual` for the options.
/// @driver any
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says; `descriptor`
/// is NULL or valid for reads of `size` bytes; `allocation` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_allocation_import(
    device: cushim_device,
    options: *const cushim_virtual_options,
    descriptor: *const c_void,
    size: usize,
    file: i32,
    allocation: *mut cushim_allocation,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `allocation`.
        let allocation = unsafe { out::cleared(allocation, null_mut(), "allocation") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { virtual_options(options) }?;
        // SAFETY: the caller vouches for `descriptor`.
        let descriptor = unsafe { given(descriptor, size, "descriptor") }?;
        *allocation = owned(|| Allocation::import(&hold(device)?, &options, descriptor, file))?;
        Ok(())
    })
}

/// Returns in how many parts a buffer of virtual memory was created: one, and one more each time that it grew.
///
/// @param[in] buffer The buffer, of a virtual resource.
/// @param[out] count The number of parts.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for a buffer of another resource; `CUSHIM_ERROR_INVALID_ARGUMENT` for memory
///   that was wrapped with the resource and is not of it.
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_part_count(
    buffer: cushim_buffer,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `count`.
    unsafe { handles::tell(buffer, count, "count", |buffer| buffer.part_count()) }
}

/// Exports the memory of a buffer of a virtual resource with `CUSHIM_SHAREABLE_POSIX_FD`, in all its parts. The memory
/// stays as long as one of the processes has it. If the buffer sleeps later, the others keep the memory that it had.
///
/// @param[in] buffer The buffer.
/// @param[out, bytes(size)] descriptors Receives the descriptors, one behind the other.
/// @param[in] size Bytes of the room, at least `CUSHIM_DESCRIPTOR_BYTES` for each part.
/// @param[out, array(count), nullable_if_zero(count)] files Receives as many new file descriptors, which go to the
///   other process with the bytes; close them after that.
/// @param[in] count The number of parts, as `cushim_buffer_get_part_count` says.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for a buffer of another resource; `CUSHIM_ERROR_INVALID_ARGUMENT` for another
///   number of parts, for a part that was created otherwise or was imported, with its number as the error's `item`,
///   and for a buffer that sleeps.
/// @driver any
///
/// # Safety
/// `descriptors` is NULL or valid for writes of `size` bytes, `files` NULL or valid for writes of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_export_parts(
    buffer: cushim_buffer,
    descriptors: *mut c_void,
    size: usize,
    files: *mut i32,
    count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (descriptors, files) = unsafe {
            out::both(room(descriptors, size, "descriptors"), out::array(files, count, 0, "files"))
        }?;
        let buffer = hold(buffer)?;
        let parts = buffer.part_count()?;
        if parts != count || descriptors.len() / DESCRIPTOR_BYTES < parts {
            let refusal = format!(
                "there is room for {count} file descriptors and {size} bytes, and {buffer} has {parts} parts \
                 (cushim_buffer_get_part_count), with CUSHIM_DESCRIPTOR_BYTES for each"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&buffer));
        }
        let exported = buffer.export_parts()?;
        for ((descriptor, place), (file, bytes)) in
            descriptors.chunks_exact_mut(DESCRIPTOR_BYTES).zip(files).zip(exported)
        {
            write(descriptor, &bytes);
            *place = file;
        }
        Ok(())
    })
}

/// Imports a buffer of virtual memory of another process, or of this one: all parts that were exported, in their
/// order; or allocations that were exported by themselves, which lie one behind the other then.
///
/// What may use the memory and where its addresses begin are options of the resource, which must be of the same
/// location. The buffer grows as others do, and does not sleep: only the process that created the memory can give it
/// back.
///
/// @param[in] resource A virtual resource of the memory's device.
/// @param[in, nullable] stream The initial deallocation stream. Nothing else is ordered by it.
/// @param[in, bytes(size)] descriptors The descriptors, one behind the other.
/// @param[in] size `CUSHIM_DESCRIPTOR_BYTES` for each part.
/// @param[in, array(count), nullable_if_zero(count)] files The file descriptors that came with them. They stay the
///   caller's, who may close them after the call.
/// @param[in] count The number of parts.
/// @param[out, owned] buffer The buffer.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for another resource; `CUSHIM_ERROR_INVALID_ARGUMENT` for bytes that are no
///   descriptors of virtual memory, parts that are missing or of another buffer, memory of another location or of
///   another size than the bytes say, and file descriptors that are not open or are a regular file's, a pipe's or a
///   socket's, each with the number of the part as the error's `item`.
/// @driver any
///
/// # Safety
/// `descriptors` is NULL or valid for reads of `size` bytes, `files` NULL or valid for reads of `count` numbers;
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_import_parts(
    resource: cushim_resource,
    stream: cushim_stream,
    descriptors: *const c_void,
    size: usize,
    files: *const i32,
    count: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        // SAFETY: the caller vouches for both.
        let (descriptors, files) = unsafe {
            (
                given(descriptors, size, "descriptors")?,
                input::slice_of_at_most(MOST_LOCATIONS, files, count, "files")?,
            )
        };
        let (resource, stream) =
            hold_all(|guard| Ok((keep(guard, resource)?, keep_if_given(guard, stream)?)))?;
        if descriptors.len() != count.saturating_mul(DESCRIPTOR_BYTES) {
            let refusal = format!(
                "there are {count} file descriptors and {size} bytes; pass the {DESCRIPTOR_BYTES} bytes \
                 (CUSHIM_DESCRIPTOR_BYTES) that came with each"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        let parts: Vec<(i32, &[u8])> =
            files.iter().copied().zip(descriptors.chunks_exact(DESCRIPTOR_BYTES)).collect();
        let reserved = reserve()?;
        *buffer = reserved.of(Buffer::import_parts(&resource, &parts, stream.as_ref())?);
        Ok(())
    })
}
