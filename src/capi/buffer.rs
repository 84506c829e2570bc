//! Buffers: memory that frees itself, wherever it comes from.

use super::callback::{cushim_owner, lent};
use super::context::cushim_context;
use super::device::cushim_device;
use super::driver::cushim_driver;
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, borrowed, claim, end_claim, enter, get, hold, hold_if_given};
use super::memory::fill_of;
use super::resource::{cushim_memory_properties, cushim_resource};
use super::stream::cushim_stream;
use super::{options, out};
use crate::callback::{Owner, check_allowed};
use crate::error::{Error, Status};
use crate::memory::{Buffer, DevicePointer, Home};
use crate::release;
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::Arc;

/// Memory of any kind, with what becomes of it when the last hold on it goes. Claims hold it, and so does what uses it.
///
/// Memory of a stream-ordered resource is then freed in the order of the *deallocation stream*: at first that of the
/// allocation, then the one that was set last, or named in a destroy. The buffer keeps that stream alive, and the
/// context in which the memory came. No path ever picks a default stream.
pub type cushim_buffer = *mut cushim_buffer_s;

/// Never given a body.
pub struct cushim_buffer_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_buffer_s {
    type Object = Buffer;
}

/// Allocates memory from the resource, as a buffer. What it holds is not defined.
///
/// @param resource The resource, which the buffer holds.
/// @param bytes How many; 0 gives a buffer whose pointer is 0.
/// @param stream The stream in whose order the memory comes, and goes unless another is set; may be NULL if the resource is not
///   stream-ordered, and is then only checked.
/// @param buffer Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream
/// of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a stream that is being captured, if the resource is
/// stream-ordered (the capture stays valid); `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on
/// the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the driver's; that of an allocate function. Threads: any.
///
/// # Safety
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create(
    resource: cushim_resource,
    bytes: usize,
    stream: cushim_stream,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (resource, stream) = (hold(resource)?, hold_if_given(stream)?);
        *buffer = claim(Buffer::create(&resource, bytes, stream.as_ref())?)?;
        Ok(())
    })
}

/// Takes in memory that was allocated elsewhere: to be freed by a resource, to be kept by an owner, or neither, and then its
/// lender keeps it until the buffer is gone and what uses it is done.
///
/// @param driver The driver with whose memory it is used.
/// @param pointer Where the memory starts; 0 only if it has no bytes.
/// @param bytes How many there are.
/// @param resource The resource that frees it; NULL: none does.
/// @param owner Is released when the buffer is gone; NULL: none is. Not together with a resource. Read during the call only. If
///   the call fails, nothing is released.
/// @param stream The stream in whose order a stream-ordered resource frees the memory, unless another is set; may be NULL
///   otherwise. Without a stream-ordered resource none is recorded, and a deallocate function gets NULL, for "no stream".
/// @param buffer Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered; `CUSHIM_ERROR_INVALID_HANDLE`, also for a
/// resource or a stream of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a resource together with an owner, or for
/// memory that starts at 0 or reaches past the end of all addresses; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the
/// driver's. Threads: any.
///
/// # Safety
/// The memory is what is said of it; with a resource, nobody else frees it. `owner` is NULL or a valid owner; `buffer` is NULL
/// or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_wrap(
    driver: cushim_driver,
    pointer: u64,
    bytes: usize,
    resource: cushim_resource,
    owner: *const cushim_owner,
    stream: cushim_stream,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (driver, resource) = (hold(driver)?, hold_if_given(resource)?);
        let stream = hold_if_given(stream)?;
        if resource.is_some() && !owner.is_null() {
            let refusal =
                "resource and owner are both given; memory is freed by the one or kept by the other";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        // SAFETY: the caller vouches for the owner.
        let owner = unsafe { lent(owner) };
        let home = match (resource, owner) {
            (Some(resource), _) => Home::Resource(resource),
            (None, Some(owner)) => Home::Owner(owner),
            (None, None) => Home::Lender,
        };
        let pointer = DevicePointer(pointer);
        // SAFETY: the caller vouches for the memory.
        let made = unsafe { Buffer::wrap(&driver.driver, pointer, bytes, home, stream.as_ref()) };
        *buffer = claim(made.map_err(|(failure, home)| given_back(failure, home))?)?;
        Ok(())
    })
}

/// The failure of a call that took nothing.
pub(super) fn given_back(failure: Error, home: Home) -> Error {
    if let Home::Owner(owner) = home {
        Owner::disarm(owner);
    }
    failure
}

/// Gives the buffer one more handle, which holds it as well.
///
/// @param buffer The buffer.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// Ends a claim on the buffer. If it was the last hold, the memory is freed: in the order of the deallocation stream, or at once.
/// Otherwise that happens when the last hold goes; of a per-thread deallocation stream, where it is now is marked by an event.
///
/// It answers for the free if that happens inside it. A later one that fails goes to the log, with pointer, bytes and stream, and
/// is counted by `cushim_driver_get_unreported_errors`.
///
/// @param buffer The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`;
/// `CUSHIM_ERROR_INVALID_ARGUMENT` if the deallocation stream is being captured, and nothing is destroyed;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work; that of a deallocate function.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_destroy(buffer: cushim_buffer) -> cushim_status {
    call(|| if buffer.is_null() { Ok(()) } else { end(buffer, |_| Ok(None)) })
}

/// The same, with another deallocation stream: the memory is freed after what is in that stream by now, whenever the last hold
/// goes. Memory that is not stream-ordered is freed at once then, after waiting for the stream.
///
/// @param buffer The claim.
/// @param stream The stream.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle or a stream of
/// another driver; `CUSHIM_ERROR_ALREADY_DESTROYED`; `CUSHIM_ERROR_INVALID_ARGUMENT` if the stream is being captured, and
/// nothing is destroyed; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work; that of a
/// deallocate function. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_destroy_on(buffer: cushim_buffer, stream: cushim_stream) -> cushim_status {
    call(|| end(buffer, |_| hold(stream).map(Some)))
}

/// Ends a claim. What can be wrong is found first; then the claim ends, and only then does the stream change.
fn end(
    buffer: cushim_buffer,
    stream: impl FnOnce(&Buffer) -> Result<Option<Arc<crate::stream::Stream>>, Error>,
) -> Result<(), Error> {
    check_allowed()?;
    let held = match hold(buffer) {
        Ok(held) => held,
        // One that was destroyed says so.
        Err(_) => return end_claim(buffer).map(drop),
    };
    let stream = stream(&held)?;
    let standing = held.check_destroy(stream.as_ref())?;
    let released = end_claim(buffer)?;
    release::collect(|| {
        if let Some(stream) = &stream {
            // Checked above.
            let _ = held.set_stream(stream);
        }
        drop(released);
        held.let_go_knowing(standing);
    })
}

/// Names the buffer in messages.
///
/// @param buffer The buffer.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_set_label(
    buffer: cushim_buffer,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(buffer, label) }
}

/// The name that messages use for the buffer; empty if it has none.
///
/// @param of The buffer.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT` for a buffer that is NULL and has a size;
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_label(
    of: cushim_buffer,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(of, buffer, size, needed) }
}

/// Where the memory starts: an address for devices, for the host, or for both, as `cushim_buffer_get_properties` says.
///
/// @param buffer The buffer.
/// @param pointer Receives the address; 0 on failure, and of a buffer without bytes. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// How many bytes the buffer has.
///
/// @param buffer The buffer.
/// @param bytes Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_size(buffer: cushim_buffer, bytes: *mut usize) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe { handles::tell(buffer, bytes, "bytes", |buffer| Ok(buffer.bytes())) }
}

/// What may be done with the memory: as its resource says, or else the driver. Managed is what the driver or the resource says is.
///
/// @param buffer The buffer.
/// @param properties Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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
        unsafe { options::check_out(properties, "properties") }?;
        let guard = enter()?;
        let full = cushim_memory_properties::from(get(&guard, buffer)?.properties()?);
        // SAFETY: the caller vouches for `properties`.
        unsafe { options::write_out(properties, &full, "properties") }
    })
}

/// The resource that frees the buffer's memory.
///
/// @param buffer The buffer.
/// @param resource Receives the borrowed handle; NULL on failure, and if no resource frees it. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// Whether an owner keeps the buffer's memory, and which one.
///
/// @param buffer The buffer.
/// @param owned Receives 1 if there is an owner, else 0; 0 on failure. Must not be NULL.
/// @param data Receives the owner's `data`; NULL on failure, and if there is none; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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
    let data = unsafe { out::cleared_if_given(data, null_mut()) };
    // SAFETY: the caller vouches for `owned`.
    unsafe {
        handles::tell(buffer, owned, "owned", |buffer| {
            let Home::Owner(owner) = buffer.home() else { return Ok(0) };
            out::put(data, owner.data());
            Ok(1)
        })
    }
}

/// The context in which the memory was allocated, or else that of its deallocation stream.
///
/// @param buffer The buffer.
/// @param context Receives the borrowed handle; NULL on failure, and if it has neither. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The deallocation stream.
///
/// @param buffer The buffer.
/// @param stream Receives the borrowed handle; NULL on failure, and if there is none. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// Sets the deallocation stream. For memory that is not stream-ordered it is the stream that is waited for before the memory is
/// freed.
///
/// @param buffer The buffer.
/// @param stream The stream.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_set_stream(buffer: cushim_buffer, stream: cushim_stream) -> cushim_status {
    call(|| hold(buffer)?.set_stream(&hold(stream)?))
}

/// Copies all of a buffer to another of the same size, after the work that is in the stream by now. The buffers may be of any
/// kinds, and of two devices, neither of which need reach the other's memory; for memory that was wrapped without a resource
/// `cushim_stream_copy_peer` does that. A part is copied by `cushim_stream_copy`, from and to places of the kind
/// `CUSHIM_PLACE_BUFFER`.
///
/// @param stream The stream.
/// @param to The destination.
/// @param from The source.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL; `CUSHIM_ERROR_INVALID_HANDLE`, also for a buffer of another driver;
/// `CUSHIM_ERROR_INVALID_ARGUMENT` for buffers of different sizes; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the
/// driver's. Threads: any.
///
/// # Safety
/// Both stay until the stream has passed the copy; until then nobody writes the source, and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_buffer(
    stream: cushim_stream,
    to: cushim_buffer,
    from: cushim_buffer,
) -> cushim_status {
    call(|| {
        let (stream, to, from) = (hold(stream)?, hold(to)?, hold(from)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.copy_buffer(&to, &from) }
    })
}

/// Fills a buffer with one value, repeated, after the work that is in the stream by now. Of no values, nothing is looked at.
///
/// @param stream The stream.
/// @param buffer The buffer.
/// @param offset Bytes before the first value; a multiple of the value's size.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param count Number of values.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL; `CUSHIM_ERROR_INVALID_HANDLE`, also for a buffer of another driver;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for values that reach past the end of the buffer; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// The buffer stays until the stream has passed the fill; until then nobody else uses those bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill_buffer(
    stream: cushim_stream,
    buffer: cushim_buffer,
    offset: u64,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let (stream, buffer) = (hold(stream)?, hold(buffer)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.fill_buffer(&buffer, offset, value, count) }
    })
}

/// Makes a new buffer from the same resource with the same bytes, which are copied after the work that is in the stream by
/// now. The stream is its deallocation stream, if the resource is stream-ordered.
///
/// @param buffer The source.
/// @param stream The stream.
/// @param copy Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL; `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a buffer without a resource; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's; that of an allocate function. Threads: any.
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
        let (buffer, stream) = (hold(buffer)?, hold(stream)?);
        // SAFETY: the caller vouches for the memory.
        *copy = claim(unsafe { buffer.create_copy(&stream) }?)?;
        Ok(())
    })
}

/// Brings a host array to the device for the time of a launch: allocates memory in the stream, and copies so many bytes into it.
/// `cushim_buffer_destroy_scratch` brings them back.
///
/// @param resource The resource; NULL: that of the stream's device.
/// @param from The host memory, of any kind; ordinary memory is read before the call returns. NULL: nothing is copied.
/// @param bytes How many.
/// @param stream The stream, which is the buffer's deallocation stream, also if the resource is not stream-ordered.
/// @param buffer Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy_scratch`, or
///   `cushim_buffer_destroy`, which brings nothing back.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL; `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a stream that is being captured, if the resource is stream-ordered;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none";
/// `CUDA_ERROR_OUT_OF_MEMORY` and others of the driver's; that of an allocate function. Threads: any.
///
/// # Safety
/// `from` is NULL or holds so many bytes; if it is page-locked, until the stream has passed the copy. `buffer` is NULL or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_create_scratch(
    resource: cushim_resource,
    from: *const std::ffi::c_void,
    bytes: usize,
    stream: cushim_stream,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (resource, stream) = (hold_if_given(resource)?, hold(stream)?);
        // SAFETY: the caller vouches for the memory.
        *buffer = claim(unsafe { Buffer::create_scratch(resource.as_ref(), from, bytes, &stream) }?)?;
        Ok(())
    })
}

/// Brings a buffer's bytes back to the host, and ends the claim: copy and free are in the stream's order. If that is another one
/// than the deallocation stream, it waits for what is in that by now. The bytes have arrived when the stream has passed the copy.
///
/// If the copy is refused, the claim ends all the same, and the memory is freed as `cushim_buffer_destroy` would.
///
/// @param buffer The claim.
/// @param to The host memory, of any kind; a copy to ordinary memory may block until it is done. NULL: nothing is copied.
/// @param stream The stream.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL; `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle or a stream of
/// another driver; `CUSHIM_ERROR_ALREADY_DESTROYED`; `CUSHIM_ERROR_INVALID_ARGUMENT` if the stream is being captured, and nothing
/// is destroyed; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work; that of a deallocate
/// function. Threads: any.
///
/// # Safety
/// `to` is NULL or has room for the buffer's bytes until the stream has passed the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_destroy_scratch(
    buffer: cushim_buffer,
    to: *mut std::ffi::c_void,
    stream: cushim_stream,
) -> cushim_status {
    call(|| {
        check_allowed()?;
        let Ok(held) = hold(buffer) else { return end_claim(buffer).map(drop) };
        let stream = hold(stream)?;
        held.check_destroy(Some(&stream))?;
        let released = end_claim(buffer)?;
        drop(released); // `held` is left
        held.end_scratch(to, &stream)
    })
}

/// The device's resource: the one that was set, or the pool that is current when it is first asked for.
///
/// @param device The device.
/// @param resource Receives the borrowed handle; NULL on failure. Must not be NULL. It is good until another resource is set.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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

/// Sets the device's resource, for every user of the device in this process. The device holds it.
///
/// @param device The device.
/// @param resource The resource; NULL: the pool that is current when it is next asked for.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a resource of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT` for one whose
/// memory the device does not reach, as far as is known; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_set_resource(
    device: cushim_device,
    resource: cushim_resource,
) -> cushim_status {
    call(|| hold(device)?.set_resource(hold_if_given(resource)?))
}

/// Allocates a buffer from the device's resource, as `cushim_buffer_create` does.
///
/// @param device The device.
/// @param bytes How many; 0 gives a buffer whose pointer is 0.
/// @param stream The stream in whose order the memory comes, and goes unless another is set; may be NULL if the resource is not
///   stream-ordered, as a pool is.
/// @param buffer Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: as for `cushim_buffer_create`: `CUSHIM_ERROR_STREAM_REQUIRED` if the resource is stream-ordered;
/// `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_OUT_OF_MEMORY` and others of the driver's. Threads: any.
///
/// # Safety
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_allocate(
    device: cushim_device,
    bytes: usize,
    stream: cushim_stream,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (device, stream) = (hold(device)?, hold_if_given(stream)?);
        *buffer = claim(device.allocate(bytes, stream.as_ref())?)?;
        Ok(())
    })
}
