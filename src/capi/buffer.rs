//! Buffers: memory that frees itself, wherever it comes from.
//!
//! @header cushim.h
//! @task use buffers, which free themselves

use super::callback::{cushim_owner, lent};
use super::context::cushim_context;
use super::device::cushim_device;
use super::driver::cushim_driver;
use super::error::{call, call_taking, cushim_status};
use super::handles::{
    self, Incomplete, borrowed, end_owning, enter, enter_anywhere, get, hold, hold_all, keep, keep_if_given,
    owned, reserve, reserve_within,
};
use super::options::OutStruct;
use super::resource::{cushim_memory_properties, cushim_resource};
use super::stream::cushim_stream;
use super::{out, pointer};
use crate::memory::{Buffer, BufferObject, DevicePointer, Home};
use crate::object::callback::check_allowed;
use crate::object::error::{Error, Status};
use crate::object::handle::Released;
use crate::object::handle::Shared as _;
use crate::object::release;
use std::ptr::null_mut;

/// Memory of any kind that is freed when no owning handle is left, nor an object or tensor made from it. Work in a
/// stream does not keep it.
///
/// Memory of a stream-ordered resource is freed in the order of its *deallocation stream*: the stream in which it was
/// allocated, unless `cushim_buffer_set_stream`, `cushim_buffer_destroy_on` or `cushim_buffer_destroy_scratch` has
/// replaced it. It is never a default stream that nobody asked for. A buffer keeps its deallocation stream and the
/// context of its memory alive.
pub type cushim_buffer = *mut cushim_buffer_s;

/// Never given a body.
pub struct cushim_buffer_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_buffer_s {
    type Object = BufferObject;
}

/// Allocates a buffer from a resource: in stream order if the resource is stream-ordered, otherwise synchronously.
/// Its contents are undefined.
///
/// @param[in] resource The resource.
/// @param[in, nullable] stream The stream, which is also the deallocation stream. May be NULL if the resource is not
///   stream-ordered: a stream that is given is checked, and is not the deallocation stream; one that
///   `cushim_buffer_set_stream` or `cushim_buffer_destroy_on` names is waited for before the memory is freed.
/// @param[in, example(64)] bytes The size in bytes; 0 gives a buffer whose pointer is 0.
/// @param[out, owned] buffer The buffer.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   stream that is being captured, if the resource is stream-ordered (the capture stays valid);
///   `CUSHIM_ERROR_OUT_OF_MEMORY` if an arena has too few bytes left; `CUDA_ERROR_OUT_OF_MEMORY`; the status of an
///   allocate function.
/// @driver any
///
/// # Safety
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create(
    resource: cushim_resource,
    stream: cushim_stream,
    bytes: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (resource, stream, reserved) = hold_all(|guard| {
            Ok((keep(guard, resource)?, keep_if_given(guard, stream)?, reserve_within(guard)?))
        })?;
        *buffer = reserved.of(Buffer::create_from(resource, bytes, stream)?);
        Ok(())
    })
}

/// Wraps memory that was allocated elsewhere. A resource frees it, or an owner is released, or neither: then the
/// memory must outlive the buffer and the work that uses it.
///
/// @param[in] driver The driver.
/// @param[in, nullable] stream The deallocation stream, if the resource is stream-ordered. Otherwise it may be NULL:
///   a stream that is given is checked, and is not the deallocation stream.
/// @param[in, address] pointer The start of the memory; 0 only if it has no bytes.
/// @param[in, example(64)] bytes The size in bytes.
/// @param[in, nullable] resource The resource that frees the memory. NULL: none does.
/// @param[in, taken, nullable] owner Released after the last use of the buffer. NULL: nothing is. Must be NULL if
///   there is a resource.
/// @param[out, owned] buffer The buffer.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   resource together with an owner, and for memory that starts at 0 or reaches past the last address.
/// @driver none
///
/// # Safety
/// The memory is what is said of it; with a resource, nobody else frees it. `owner` is NULL or a valid owner;
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_wrap(
    driver: cushim_driver,
    stream: cushim_stream,
    pointer: u64,
    bytes: usize,
    resource: cushim_resource,
    owner: *const cushim_owner,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (driver, resource, stream) = hold_all(|guard| {
            Ok((keep(guard, driver)?, keep_if_given(guard, resource)?, keep_if_given(guard, stream)?))
        })?;
        pointer::check_if_given(owner, "owner")?;
        if resource.is_some() && !owner.is_null() {
            let refusal =
                "resource and owner are both given; memory is freed by the one or kept by the other";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        let reserved = reserve()?;
        // SAFETY: the caller vouches for the owner.
        let owner = unsafe { lent(lending, owner) };
        let home = match (resource, owner) {
            (Some(resource), _) => Home::Resource(resource),
            (None, Some(owner)) => Home::Owner(owner),
            (None, None) => Home::Lender,
        };
        let pointer = DevicePointer(pointer);
        // SAFETY: the caller vouches for the memory.
        let made = unsafe { Buffer::wrap(&driver.driver, pointer, bytes, home, stream.as_ref()) };
        *buffer = reserved.of(made.map_err(|(failure, _)| failure)?);
        Ok(())
    })
}

/// Returns one more owning handle of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_ref(
    buffer: cushim_buffer,
    reference: *mut cushim_buffer,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(buffer, reference) }
}

/// Destroys an owning handle of a buffer. When no other handle, graph or tensor has the buffer, the memory is freed:
/// in the order of the deallocation stream, or synchronously if it is not stream-ordered.
///
/// Work that uses it in another stream is the caller's to order: by `cushim_buffer_destroy_on`, or by
/// `cushim_stream_wait_stream`, with the deallocation stream as the one that waits.
///
/// If something else still has the buffer, the memory is freed later; a failure is then logged and counted by
/// `cushim_driver_get_unreported_errors`. If the deallocation stream is a per-thread default stream, the memory is
/// freed after the work that is in the calling thread's stream now.
///
/// While the deallocation stream is being captured, memory of a pool is freed once the capture is over.
///
/// @param[in, ended, nullable] buffer The handle; NULL does nothing.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the deallocation stream is being captured and the memory is not of a
///   pool, unless it is not stream-ordered and a graph still uses it: nothing is destroyed then; the status of a
///   free function.
/// @driver none
/// @sync context if the memory is not stream-ordered
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_destroy(buffer: cushim_buffer) -> cushim_status {
    call(|| if buffer.is_null() { Ok(()) } else { end_in_order(buffer) })
}

/// Destroys an owning handle of a buffer, and makes a stream the deallocation stream: the memory is freed after the
/// work that is in the stream now.
///
/// @param[in, ended] buffer The handle.
/// @param[in] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the stream is being captured: nothing is destroyed then; the status of
///   a free function.
/// @driver none
/// @sync context if the memory is not stream-ordered
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_destroy_on(buffer: cushim_buffer, stream: cushim_stream) -> cushim_status {
    call(|| end(buffer, |_| hold(stream).map(Some)))
}

/// Ends an owning handle of a buffer that keeps its deallocation stream: as [`end`], within one call where nothing
/// about the stream can be wrong.
fn end_in_order(buffer: cushim_buffer) -> Result<(), Error> {
    let guard = enter()?;
    let found = get(&guard, buffer).map(|held| held.standing_in_order());
    // One that was destroyed says so.
    let Ok(standing) = found else { return end_owning(guard, buffer).map(drop) };
    let Some(standing) = standing else {
        drop(guard);
        return end(buffer, |_| Ok(None));
    };
    let released = end_owning(guard, buffer)?;
    release::collect(|| {
        if let Released::Now(last) = released
            && let Some(held) = last.let_go()
        {
            Buffer::of(held).let_go_knowing(standing);
        }
    })
}

/// Ends an owning handle. What can be wrong is found first; then the handle ends, and only then does the stream
/// change.
fn end(
    buffer: cushim_buffer,
    stream: impl FnOnce(&Buffer) -> Result<Option<crate::stream::Stream>, Error>,
) -> Result<(), Error> {
    check_allowed()?;
    let held = match hold(buffer) {
        Ok(held) => held,
        // One that was destroyed says so.
        Err(_) => return end_owning(enter_anywhere()?, buffer).map(drop),
    };
    let stream = stream(&held)?;
    let standing = held.check_destroy(stream.as_ref(), 2)?; // the handle and `held`
    let released = end_owning(enter_anywhere()?, buffer)?;
    release::collect(|| {
        if let Some(stream) = &stream {
            // Checked above.
            let _ = held.set_stream(stream);
        }
        drop(released);
        held.let_go_knowing(standing);
    })
}

/// Returns the start of a buffer's memory. `cushim_buffer_get_properties` tells who can access it.
///
/// @param[in] buffer The buffer.
/// @param[out] pointer The address; NULL if the buffer has no bytes.
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_pointer(
    buffer: cushim_buffer,
    pointer: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `pointer`.
    unsafe { handles::tell(buffer, pointer, "pointer", |buffer| Ok(buffer.pointer().0)) }
}

/// Returns the start of a buffer's memory, like `cushim_buffer_get_pointer`.
///
/// @param[in] buffer The buffer.
/// @return The address; 0 if the buffer has no bytes. 0 after a failure, with the last error set.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_pointer(buffer: cushim_buffer) -> u64 {
    handles::value(enter_anywhere, buffer, |buffer| Ok(buffer.pointer().0))
}

/// Returns the size of a buffer, like `cushim_buffer_get_size`.
///
/// @param[in] buffer The buffer.
/// @return The size in bytes; 0 after a failure, with the last error set.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_size(buffer: cushim_buffer) -> usize {
    handles::value(enter_anywhere, buffer, |buffer| Ok(buffer.bytes()))
}

/// Returns the size of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out] bytes The size in bytes.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_size(buffer: cushim_buffer, bytes: *mut usize) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe { handles::tell(buffer, bytes, "bytes", |buffer| Ok(buffer.bytes())) }
}

/// Tells who can use a buffer's memory: as its resource says, or the driver if it has no resource. `managed` is 1 if
/// either says so.
///
/// @param[in] buffer The buffer.
/// @param[inout] properties Receives the properties.
/// @driver none
///
/// # Safety
/// `properties` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_properties(
    buffer: cushim_buffer,
    properties: *mut cushim_memory_properties,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `properties`.
        let out = unsafe { OutStruct::cleared(properties, "properties") }?;
        let guard = enter()?;
        out.fill(&cushim_memory_properties::from(get(&guard, buffer)?.properties()?));
        Ok(())
    })
}

/// Returns the resource that frees a buffer's memory.
///
/// @param[in] buffer The buffer.
/// @param[out, borrowed] resource The resource; NULL if there is none.
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_resource(
    buffer: cushim_buffer,
    resource: *mut cushim_resource,
) -> cushim_status {
    // SAFETY: the caller vouches for `resource`.
    unsafe {
        handles::tell(buffer, resource, "resource", |buffer| {
            buffer.resource().map_or(Ok(null_mut()), borrowed)
        })
    }
}

/// Tells whether a buffer's memory has an owner, and returns the owner's `data`.
///
/// @param[in] buffer The buffer.
/// @param[out] owned Receives 1 or 0.
/// @param[out, nullable] data The owner's `data`; NULL if there is no owner.
///
/// # Safety
/// `owned` and `data` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_owner(
    buffer: cushim_buffer,
    owned: *mut i32,
    data: *mut *mut std::ffi::c_void,
) -> cushim_status {
    // SAFETY: the caller vouches for `data`.
    let data = unsafe { out::cleared_if_given(data, null_mut(), "data") };
    // SAFETY: the caller vouches for `owned`.
    unsafe {
        handles::tell(buffer, owned, "owned", |buffer| {
            let data = data?;
            let Home::Owner(owner) = buffer.home() else { return Ok(0) };
            out::put(data, owner.data());
            Ok(1)
        })
    }
}

/// Returns the context in which a buffer's memory was allocated, or else the context of its deallocation stream.
///
/// @param[in] buffer The buffer.
/// @param[out, borrowed] context The context; NULL if there is neither.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_context(
    buffer: cushim_buffer,
    context: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `context`.
    unsafe {
        handles::tell(buffer, context, "context", |buffer| {
            buffer.context().as_ref().map_or(Ok(null_mut()), borrowed)
        })
    }
}

/// Returns the deallocation stream of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out, borrowed] stream The stream; NULL if there is none.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_stream(
    buffer: cushim_buffer,
    stream: *mut cushim_stream,
) -> cushim_status {
    // SAFETY: the caller vouches for `stream`.
    unsafe {
        handles::tell(buffer, stream, "stream", |buffer| {
            buffer.stream().as_ref().map_or(Ok(null_mut()), borrowed)
        })
    }
}

/// Sets the deallocation stream of a buffer. If the memory is not stream-ordered, cushim waits for that stream before
/// it frees the memory.
///
/// @param[in] buffer The buffer.
/// @param[in] stream The stream.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_set_stream(buffer: cushim_buffer, stream: cushim_stream) -> cushim_status {
    call(|| {
        let (buffer, stream) = hold_all(|guard| Ok((keep(guard, buffer)?, keep(guard, stream)?)))?;
        buffer.set_stream(&stream)
    })
}

/// Creates a buffer of the same size from the same resource, and copies the contents, in stream order.
///
/// @param[in] buffer The source.
/// @param[in] stream The stream; also the deallocation stream of the copy, if the resource is stream-ordered.
/// @param[out, owned] copy The new buffer.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a buffer without a resource; the status of an allocate function.
/// @driver none
/// @task copy memory
///
/// # Safety
/// As for `cushim_stream_copy_buffer`; `copy` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create_copy(
    buffer: cushim_buffer,
    stream: cushim_stream,
    copy: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `copy`.
        let copy = unsafe { out::cleared(copy, null_mut(), "copy") }?;
        let (buffer, stream) = hold_all(|guard| Ok((keep(guard, buffer)?, keep(guard, stream)?)))?;
        // SAFETY: the caller vouches for the memory.
        *copy = owned(|| unsafe { buffer.create_copy(&stream) })?;
        Ok(())
    })
}

/// Copies a host array to a new buffer, in stream order, for a launch that uses it. `cushim_buffer_destroy_scratch`
/// copies it back.
///
/// @param[in, nullable] resource The resource. NULL: the resource of the stream's device.
/// @param[in] stream The stream; also the deallocation stream of the buffer, even if the resource is not
///   stream-ordered.
/// @param[in, bytes(bytes), nullable] source The host memory, of any kind; pageable memory is read before the call
///   returns. NULL: nothing is copied.
/// @param[in] bytes The size in bytes.
/// @param[out, owned] buffer The buffer. Destroy it with `cushim_buffer_destroy_scratch`, or with
///   `cushim_buffer_destroy`, which copies nothing.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured, if the resource is stream-ordered,
///   and for a size that a virtual resource rounds up; `CUDA_ERROR_OUT_OF_MEMORY`; the status of an allocate
///   function.
/// @driver any
///
/// # Safety
/// `source` is NULL or holds so many bytes; if it is page-locked, until the stream has passed the copy. `buffer` is
/// NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create_scratch(
    resource: cushim_resource,
    stream: cushim_stream,
    source: *const std::ffi::c_void,
    bytes: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (resource, stream) =
            hold_all(|guard| Ok((keep_if_given(guard, resource)?, keep(guard, stream)?)))?;
        // SAFETY: the caller vouches for the memory.
        *buffer = owned(|| unsafe { Buffer::create_scratch(resource.as_ref(), source, bytes, &stream) })?;
        Ok(())
    })
}

/// Copies a buffer to a host array and destroys the owning handle, as `cushim_buffer_destroy_on` does: the copy and
/// the free are in the stream's order.
///
/// If the stream is not the deallocation stream, it first waits for the work that is in the deallocation stream now.
/// The array has the contents when the copy in the stream is done. If the copy fails, the handle is destroyed all the
/// same.
///
/// @param[in, ended] buffer The handle.
/// @param[in] stream The stream.
/// @param[in, nullable] destination The host memory, of any kind; a copy to pageable memory may block until it is
///   done. NULL: nothing is copied.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the stream is being captured: nothing is destroyed then; the status of
///   a free function.
/// @driver none
/// @sync context if the memory is not stream-ordered
///
/// # Safety
/// `destination` is NULL or has room for the buffer's bytes until the stream has passed the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_destroy_scratch(
    buffer: cushim_buffer,
    stream: cushim_stream,
    destination: *mut std::ffi::c_void,
) -> cushim_status {
    call(|| {
        check_allowed()?;
        let Ok(held) = hold(buffer) else { return end_owning(enter_anywhere()?, buffer).map(drop) };
        let stream = hold(stream)?;
        held.check_end_scratch(destination, &stream, 2)?; // the handle and `held`
        let released = end_owning(enter_anywhere()?, buffer)?;
        drop(released); // `held` is left
        // SAFETY: the caller vouches for the memory.
        unsafe { held.end_scratch(destination, &stream) }
    })
}

/// Returns the resource of a device: the one that was set, or else that of the device's current pool when it is first
/// asked for. By default that pool keeps no unused memory when a stream is synchronised: see
/// `cushim_resource_create_device_pool`.
///
/// @param[in] device The device.
/// @param[out, borrowed] resource The resource, valid until another one is set.
/// @driver none
/// @task choose where memory comes from
///
/// # Safety
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_resource(
    device: cushim_device,
    resource: *mut cushim_resource,
) -> cushim_status {
    // SAFETY: the caller vouches for `resource`.
    unsafe { handles::ask(device, resource, "resource", |device| borrowed(&device.resource()?)) }
}

/// Sets the resource of a device, for all users of the device in the process. The device keeps it alive.
///
/// @param[in] device The device.
/// @param[in, nullable] resource The resource. NULL: that of the device's current pool when it is next asked for.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a resource whose memory the device cannot access, as far as is known,
///   and for one that stands for memory of another process.
/// @callback refused
/// @task choose where memory comes from
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_set_resource(
    device: cushim_device,
    resource: cushim_resource,
) -> cushim_status {
    call(|| {
        let (device, resource) =
            hold_all(|guard| Ok((keep(guard, device)?, keep_if_given(guard, resource)?)))?;
        device.set_resource(resource)
    })
}

/// Allocates a buffer from the resource of a device, as `cushim_buffer_create` does.
///
/// @param[in] device The device.
/// @param[in, nullable] stream The stream, which is also the deallocation stream. May be NULL if the resource is not
///   stream-ordered: a stream that is given is checked, and is not the deallocation stream; one that
///   `cushim_buffer_set_stream` or `cushim_buffer_destroy_on` names is waited for before the memory is freed.
/// @param[in, example(64)] bytes The size in bytes; 0 gives a buffer whose pointer is 0.
/// @param[out, owned] buffer The buffer.
/// @errors as `cushim_buffer_create`: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered;
///   `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver any
/// @task use buffers, which free themselves
///
/// # Safety
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create_default(
    device: cushim_device,
    stream: cushim_stream,
    bytes: usize,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (device, stream) = hold_all(|guard| Ok((keep(guard, device)?, keep_if_given(guard, stream)?)))?;
        *buffer = owned(|| device.allocate(bytes, stream.as_ref()))?;
        Ok(())
    })
}
