//! Streams.

use super::context::cushim_context;
use super::driver_types::CUstream;
use super::error::{call, cushim_status};
use super::event::cushim_event;
use super::handles::{self, Incomplete, borrowed, claim, enter, enter_anywhere, get};
use super::{options, out};
use crate::error::{Error, Status};
use crate::stream::{Stream, StreamKind, StreamOptions};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

/// A stream of a context. A stream keeps its context alive. Wherever one is asked for, NULL is
/// `CUSHIM_ERROR_STREAM_REQUIRED`: no stream is ever chosen by default.
pub type cushim_stream = *mut cushim_stream_s;

/// Never given a body.
pub struct cushim_stream_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_stream_s {
    type Object = Stream;

    fn meant(stream: cushim_stream) -> Option<Result<Arc<Stream>, Error>> {
        match stream.addr() {
            0 => Some(Err(Error::new(
                Status::STREAM_REQUIRED,
                "a stream is needed, not NULL; for a default stream pass the handle of cushim_stream_wrap_legacy or \
                 cushim_stream_wrap_per_thread, for this thread's current one that of cushim_stream_current",
            ))),
            CURRENT => Some(Stream::current()),
            _ => None,
        }
    }
}

/// The value that stands for the calling thread's current stream. It is built like a handle, of a kind that there is not.
const CURRENT: usize = 1 << 63 | 1 << 55 | 1;

/// What is said of the value that stands for the current stream; `None` for every other value.
pub(super) fn describe_current(handle: *const c_void) -> Option<String> {
    let describe = || match Stream::current() {
        Ok(stream) => format!("the current stream: {stream}"),
        Err(_) => "the current stream: none".to_owned(),
    };
    (handle.addr() == CURRENT).then(describe)
}

/// What `cushim_stream_options.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_stream_flags {
    /// The stream waits for the legacy default stream and it for the stream, as the driver has it unless told otherwise.
    CUSHIM_STREAM_BLOCKING = 1,
}

/// What a stream is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_stream_kind {
    /// One that `cushim_stream_create` made.
    CUSHIM_STREAM_CREATED = 1,
    /// One that was wrapped.
    CUSHIM_STREAM_WRAPPED = 2,
    /// The legacy default stream of its context.
    CUSHIM_STREAM_LEGACY = 3,
    /// The default stream that the calling thread has in its context.
    CUSHIM_STREAM_PER_THREAD = 4,
}

/// Options of `cushim_stream_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_stream_options {
    /// Bytes of this struct, `sizeof(cushim_stream_options)`.
    pub struct_size: usize,
    /// The priority, one of those that `cushim_context_get_stream_priorities` tells; a smaller number is preferred.
    pub priority: i32,
    /// A combination of `cushim_stream_flags`.
    pub flags: u32,
}

/// Creates a stream: unless asked otherwise, one that the legacy default stream cannot block.
///
/// @param context The context.
/// @param options NULL for the defaults. Read during the call only.
/// @param stream Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_stream_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a priority that the context does
/// not have; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_create(
    context: cushim_context,
    options: *const cushim_stream_options,
    stream: *mut cushim_stream,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = stream_options(unsafe { options::read(options, "options") }?)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        *stream = claim(Stream::create(&context, &options)?)?;
        Ok(())
    })
}

fn stream_options(given: cushim_stream_options) -> Result<StreamOptions, Error> {
    let blocking = cushim_stream_flags::CUSHIM_STREAM_BLOCKING as u32;
    options::check_flags(given.flags, blocking)?;
    Ok(StreamOptions { blocking: given.flags & blocking != 0, priority: given.priority })
}

/// Takes in a stream that somebody else created. One that an object here owns already gives that object again. The values
/// 0 and 1 give the legacy default stream, 2 the calling thread's.
///
/// @param context The context of the stream.
/// @param native The stream; the runtime's `cudaStream_t` has the same value. A borrowed one stays alive until the last
///   handle of the object is destroyed. May be NULL, the legacy default stream.
/// @param ownership A `cushim_ownership`; default streams are never owned.
/// @param stream Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_stream_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also if `native` is to be owned and is a
/// default stream or owned already, or belongs to another context as far as is known; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is as described; `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_wrap(
    context: cushim_context,
    native: CUstream,
    ownership: i32,
    stream: *mut cushim_stream,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        let ownership = handles::ownership(ownership)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        // SAFETY: the caller vouches for `native`.
        *stream = claim(unsafe { Stream::wrap(&context, native, ownership) }?)?;
        Ok(())
    })
}

/// The legacy default stream of the context, which waits for all blocking streams and they for it.
///
/// @param context The context.
/// @param stream Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_stream_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_wrap_legacy(
    context: cushim_context,
    stream: *mut cushim_stream,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        let guard = enter_anywhere()?;
        let context = get(&guard, context)?;
        *stream = claim(Stream::legacy(&context))?;
        Ok(())
    })
}

/// The default stream that each thread has for itself in the context: calls on it act on that of the calling thread.
///
/// @param context The context.
/// @param stream Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_stream_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_wrap_per_thread(
    context: cushim_context,
    stream: *mut cushim_stream,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        let guard = enter_anywhere()?;
        let context = get(&guard, context)?;
        *stream = claim(Stream::per_thread(&context))?;
        Ok(())
    })
}

/// The handle that stands, wherever a stream is asked for, for the calling thread's current stream. The same value each
/// time and on every thread. Where the thread has none, what it is passed to answers `CUSHIM_ERROR_STREAM_REQUIRED`.
///
/// @return The handle, which is borrowed and good until the process ends.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_current() -> cushim_stream {
    std::ptr::without_provenance_mut(CURRENT)
}

/// Makes the stream the calling thread's current one, until it is popped or the thread ends.
///
/// @param stream The stream. This does not keep it alive: pop it before its last handle is destroyed.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_push_current(stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        get(&guard, stream)?.push_current();
        Ok(())
    })
}

/// Takes the calling thread's current stream away; the one that was pushed before it becomes current.
///
/// @param stream Receives the borrowed handle of the stream; NULL if it is gone, and on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the thread has no current stream; `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_pop_current(stream: *mut cushim_stream) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared_if_given(stream, std::ptr::null_mut()) };
        let _guard = enter_anywhere()?;
        if let Some(popped) = Stream::pop_current()? {
            out::put(stream, borrowed(&popped)?);
        }
        Ok(())
    })
}

/// The calling thread's current stream itself.
///
/// @param stream Receives the borrowed handle of the stream; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` if the thread has no current stream; `CUSHIM_ERROR_INVALID_HANDLE` if it is
/// gone; `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_current(stream: *mut cushim_stream) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        let _guard = enter_anywhere()?;
        *stream = borrowed(&Stream::current()?)?;
        Ok(())
    })
}

/// Gives the stream one more handle.
///
/// @param stream The stream.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_stream_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_ref(
    stream: cushim_stream,
    reference: *mut cushim_stream,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(stream, reference) }
}

/// Ends a claim on the stream. With the last hold the stream is destroyed, unless it is borrowed; its work goes on.
///
/// @param stream The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_destroy(stream: cushim_stream) -> cushim_status {
    handles::destroy(stream)
}

/// Names the stream in messages.
///
/// @param stream The stream.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_set_label(
    stream: cushim_stream,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(stream, label) }
}

/// The name that messages use for the stream; empty if it has none.
///
/// @param stream The stream.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_label(
    stream: cushim_stream,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(stream, buffer, size, needed) }
}

/// The context that the stream belongs to.
///
/// @param stream The stream.
/// @param context Receives the borrowed handle, good as long as the stream; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_context(
    stream: cushim_stream,
    context: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `context`.
    unsafe { handles::tell(stream, context, "context", |stream| borrowed(stream.context())) }
}

/// What the stream is.
///
/// @param stream The stream.
/// @param kind Receives a `cushim_stream_kind`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `kind` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_kind(stream: cushim_stream, kind: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `kind`.
    unsafe { handles::tell(stream, kind, "kind", |stream| Ok(kind_number(stream.kind()) as i32)) }
}

fn kind_number(kind: StreamKind) -> cushim_stream_kind {
    match kind {
        StreamKind::Created => cushim_stream_kind::CUSHIM_STREAM_CREATED,
        StreamKind::Wrapped => cushim_stream_kind::CUSHIM_STREAM_WRAPPED,
        StreamKind::Legacy => cushim_stream_kind::CUSHIM_STREAM_LEGACY,
        StreamKind::PerThread => cushim_stream_kind::CUSHIM_STREAM_PER_THREAD,
    }
}

/// The driver's own handle of the stream; the runtime's `cudaStream_t` has the same value. Of a default stream it is 1
/// or 2, which means that of whichever context is current.
///
/// @param stream The stream.
/// @param native Receives the handle, which stays the object's; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_native(stream: cushim_stream, native: *mut CUstream) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(stream, native, "native", |stream| Ok(stream.native())) }
}

/// The flags of the stream, as the driver has them.
///
/// @param stream The stream.
/// @param flags Receives a combination of `cushim_stream_flags`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_flags(stream: cushim_stream, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe {
        handles::ask(stream, flags, "flags", |stream| {
            Ok(if stream.is_non_blocking()? { 0 } else { cushim_stream_flags::CUSHIM_STREAM_BLOCKING as u32 })
        })
    }
}

/// The priority of the stream; a smaller number is preferred.
///
/// @param stream The stream.
/// @param priority Receives the priority; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `priority` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_priority(
    stream: cushim_stream,
    priority: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `priority`.
    unsafe { handles::ask(stream, priority, "priority", |stream| stream.priority()) }
}

/// The number by which the driver tells streams apart; never used again, unlike the native handle.
///
/// @param stream The stream.
/// @param id Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` before driver 12.0; the driver's.
/// Threads: any. Driver: 12.0.
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_id(stream: cushim_stream, id: *mut u64) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(stream, id, "id", |stream| stream.id()) }
}

/// Whether all work that was enqueued so far is done.
///
/// May be called in a host function, for streams other than the default ones, which answer `CUSHIM_ERROR_IN_CALLBACK`
/// there.
///
/// @param stream The stream.
/// @param done Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_query(stream: cushim_stream, done: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `done`.
    unsafe { handles::tell(stream, done, "done", |stream| Ok(i32::from(stream.query()?))) }
}

/// Waits until all work that was enqueued so far is done.
///
/// @param stream The stream.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_synchronize(stream: cushim_stream) -> cushim_status {
    call(|| handles::hold(stream)?.synchronize())
}

/// Waits until all work is done, at most for this time. The driver has no such call: the stream is asked again and again,
/// up to half a millisecond apart.
///
/// @param stream The stream.
/// @param nanoseconds The time; 0 asks once.
/// @param done Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_synchronize_within(
    stream: cushim_stream,
    nanoseconds: u64,
    done: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let stream = handles::hold(stream)?;
        *done = i32::from(stream.synchronize_within(Duration::from_nanos(nanoseconds))?);
        Ok(())
    })
}

/// Makes work that is enqueued from now on wait for what the event recorded last. Nothing waits for an event that was
/// never recorded.
///
/// An event for several processes (`CUSHIM_EVENT_INTERPROCESS`) that is another context's is waited for by way of a stream of that
/// context, made for the call, which takes longer: driver 580 crashes on it otherwise (measured).
///
/// @param stream The stream.
/// @param event The event, of any context of the same driver.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for an event of another driver;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_wait_event(stream: cushim_stream, event: cushim_event) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.wait_event(&*get(&guard, event)?)
    })
}

/// Makes work that is enqueued from now on wait for what is enqueued in another stream by now.
///
/// @param stream The stream.
/// @param other The other stream, of any context of the same driver.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_wait_stream(stream: cushim_stream, other: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.wait_stream(&*get(&guard, other)?)
    })
}
