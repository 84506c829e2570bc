//! Streams.
//!
//! @header cushim.h
//! @task order work in streams

use super::context::cushim_context;
use super::driver_types::CUstream;
use super::error::{call, call_taking, cushim_status, long_call};
use super::event::cushim_event;
use super::handles::{self, CURRENT_STREAM, Incomplete, Lent, borrowed, enter, enter_anywhere, get, owned};
use super::{options, out};
use crate::context::ContextObject;
use crate::graph::{Builder, BuilderObject};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::object::handle::{self, Guard, Token};
use crate::stream::{Stream, StreamKind, StreamObject, StreamOptions};
use std::ffi::c_void;
use std::time::Duration;

/// A stream of a context. A stream keeps its context alive.
pub type cushim_stream = *mut cushim_stream_s;

/// Never given a body.
pub struct cushim_stream_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_stream_s {
    type Object = StreamObject;

    fn meant(guard: &Guard, stream: cushim_stream) -> Option<Result<Lent<'_, Stream>, Error>> {
        let token = Token::from_pointer(stream);
        if let Some(which) = token.default_stream() {
            let context = guard.find::<ContextObject>(token.in_slot())?;
            if context.is_lent()
                && let Some(held) = Stream::held_by(&context, which)
            {
                // SAFETY: a handle owns the context until the guard ends, and as long the context holds the stream.
                return Some(Ok(unsafe { context.part_at(held) }));
            }
            return Some(Ok(Lent::counted(Stream::default_of(&context, which))));
        }
        if token.is_builder_stream() {
            let builder = guard.find::<BuilderObject>(token.in_slot())?;
            // SAFETY: a builder has one stream from its beginning to its end.
            return Some(
                builder.check_capturing().map(|()| unsafe { builder.part(|builder| builder.own_stream()) }),
            );
        }
        match stream.addr() {
            0 => Some(Err(Error::new(
                Status::STREAM_REQUIRED,
                "a stream is required, not NULL; for a default stream pass the handle of cushim_context_get_legacy_stream \
                 or cushim_context_get_per_thread_stream, for this thread's current one that of cushim_stream_current. A builder \
                 has a stream only while it captures",
            ))),
            CURRENT_STREAM => Some(Stream::current().map(Lent::counted)),
            _ => None,
        }
    }

    /// That of a default stream is good as long as its context, whether somebody holds the stream or not.
    fn borrow(stream: &Stream) -> Result<Token, Error> {
        match stream.default() {
            Some(which) => Ok(handle::borrowed(stream.context().object())?.of_default_stream(which)),
            None => Ok(handle::borrowed(stream.object())?),
        }
    }
}

/// The handle of the stream of a builder.
pub(super) fn of_builder(builder: &Builder) -> Result<cushim_stream, Error> {
    Ok(handle::borrowed(builder.object())?.of_builder_stream().to_pointer())
}

/// What is said of the values that are no handles of an object and still mean a stream; `None` for every other value.
pub(super) fn describe(guard: &Guard, handle: *const c_void) -> Option<String> {
    let meant = cushim_stream_s::meant(guard, handle.cast_mut().cast());
    match (handle.addr(), meant?) {
        (0, _) => None,
        (CURRENT_STREAM, Ok(stream)) => Some(format!("the current stream: {}", *stream)),
        (CURRENT_STREAM, Err(_)) => Some("the current stream: none".to_owned()),
        (_, Ok(stream)) => Some(format!("{} (borrowed)", *stream)),
        (_, Err(_)) => Some("the stream of a builder that does not capture".to_owned()),
    }
}

/// Flags of a stream.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_stream_flags {
    /// The stream and the legacy default stream wait for each other: CUDA's default, not cushim's.
    CUSHIM_STREAM_BLOCKING = 1,
}

/// What a stream is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_stream_kind {
    /// Created by `cushim_stream_create`.
    CUSHIM_STREAM_CREATED = 1,
    /// Wrapped.
    CUSHIM_STREAM_WRAPPED = 2,
    /// The legacy default stream of its context.
    CUSHIM_STREAM_LEGACY = 3,
    /// The per-thread default stream of its context.
    CUSHIM_STREAM_PER_THREAD = 4,
}

/// Options of `cushim_stream_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_stream_options {
    /// Bytes of this struct, `sizeof(cushim_stream_options)`.
    pub struct_size: usize,
    /// The priority, in the range that `cushim_context_get_stream_priorities` returns. A smaller number is a higher
    /// priority.
    pub priority: i32,
    /// @field[flags(cushim_stream_flags)] Flags.
    pub flags: u32,
}

/// Creates a stream, by default a non-blocking one (`CU_STREAM_NON_BLOCKING`), unlike `cuStreamCreate(…, 0)`: it does
/// not wait for the legacy default stream, nor the legacy default stream for it.
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a priority out of range, which `cuStreamCreateWithPriority` would
///   clamp.
/// @driver none
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
        *stream = owned(|| Stream::create(&context, &options))?;
        Ok(())
    })
}

fn stream_options(given: cushim_stream_options) -> Result<StreamOptions, Error> {
    let blocking = cushim_stream_flags::CUSHIM_STREAM_BLOCKING as u32;
    options::check_flags(given.flags, blocking)?;
    Ok(StreamOptions { blocking: given.flags & blocking != 0, priority: given.priority })
}

/// Wraps a stream that was created elsewhere. A stream that cushim created or has wrapped returns its own object; 0
/// and 1 return the legacy default stream, 2 (`CU_STREAM_PER_THREAD`) the per-thread one.
///
/// @param[in] context The context of the stream.
/// @param[in, nullable] native The stream; a `cudaStream_t` is the same. A borrowed one must outlive the object.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it. Default streams are borrowed.
/// @param[out, owned] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the stream is to be owned and is a default stream or already owned, or
///   if it is known to belong to another context.
/// @callback refused
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
    call_taking(|lending| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared(stream, std::ptr::null_mut(), "stream") }?;
        let ownership = handles::ownership(ownership)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        // SAFETY: the caller vouches for `native`.
        *stream = owned(|| unsafe { Stream::take_in(&context, native, lending.taking(ownership)) })?;
        Ok(())
    })
}

/// Returns the legacy default stream of a context, which is ordered with all blocking streams of the context.
///
/// @param[in] context The context.
/// @param[out, borrowed] stream The stream, valid as long as the context; the same handle each time.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_legacy_stream(
    context: cushim_context,
    stream: *mut cushim_stream,
) -> cushim_status {
    // SAFETY: the caller vouches for `stream`.
    unsafe { handles::tell(context, stream, "stream", |context| borrowed(&Stream::legacy(context))) }
}

/// Returns the per-thread default stream of a context. Each call on it uses the stream of the thread that makes the
/// call.
///
/// @param[in] context The context.
/// @param[out, borrowed] stream The stream, valid as long as the context; the same handle each time.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_per_thread_stream(
    context: cushim_context,
    stream: *mut cushim_stream,
) -> cushim_status {
    // SAFETY: the caller vouches for `stream`.
    unsafe { handles::tell(context, stream, "stream", |context| borrowed(&Stream::per_thread(context))) }
}

/// Returns a handle that stands for the calling thread's current stream wherever a stream is required. If the thread
/// has none, calls with it return `CUSHIM_ERROR_STREAM_REQUIRED`.
///
/// @return The handle: the same on every thread, valid until the process ends, not to be destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_current() -> cushim_stream {
    std::ptr::without_provenance_mut(CURRENT_STREAM)
}

/// Makes a stream the calling thread's current stream, until it is popped or the thread ends.
///
/// @param[in] stream The stream. Being current does not keep it alive: pop it before you destroy its last handle.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_push_current(stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        get(&guard, stream)?.push_current();
        Ok(())
    })
}

/// Pops the calling thread's current stream. The one that was pushed before it becomes current.
///
/// @param[out, borrowed, nullable] stream The stream; NULL if it was destroyed.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the thread has no current stream.
///
/// # Safety
/// `stream` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_pop_current(stream: *mut cushim_stream) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `stream`.
        let stream = unsafe { out::cleared_if_given(stream, std::ptr::null_mut(), "stream") }?;
        let _guard = enter_anywhere()?;
        if let Some(popped) = Stream::pop_current()? {
            out::put(stream, borrowed(&popped)?);
        }
        Ok(())
    })
}

/// Returns the calling thread's current stream.
///
/// @param[out, borrowed] stream The stream.
/// @errors `CUSHIM_ERROR_STREAM_REQUIRED` if the thread has no current stream; `CUSHIM_ERROR_INVALID_HANDLE` if it
///   was destroyed.
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

/// Returns one more owned handle of a stream.
///
/// @param[in] stream The stream.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owned handle of a stream. When nothing uses the stream any more it is destroyed, unless it is
/// borrowed; enqueued work still runs. An exec uses the stream of its last launch until it is launched in another one
/// or destroyed, if cushim created the stream and nobody got its native handle. What an exec keeps for a launch is
/// released when the stream has passed the work that was in it when the exec was destroyed or changed, also if the
/// stream was destroyed before.
///
/// @param[in, ended, nullable] stream The handle; NULL does nothing.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_destroy(stream: cushim_stream) -> cushim_status {
    handles::destroy(stream)
}

/// Returns the context of a stream.
///
/// @param[in] stream The stream.
/// @param[out, borrowed] context The context, valid as long as the stream.
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

/// Tells what a stream is.
///
/// @param[in] stream The stream.
/// @param[out, enum(cushim_stream_kind)] kind The kind.
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

/// Returns the driver's own handle of a stream; a `cudaStream_t` is the same. That of a default stream is 1 or 2,
/// which means the default stream of whichever context is current.
///
/// @param[in] stream The stream.
/// @param[out] native The handle, which cushim keeps; NULL for a created stream of the driver "none".
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_native(stream: cushim_stream, native: *mut CUstream) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(stream, native, "native", |stream| Ok(stream.native())) }
}

/// Returns the flags of a stream.
///
/// @param[in] stream The stream.
/// @param[out, flags(cushim_stream_flags)] flags The flags.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured; the capture stays valid.
/// @driver none
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

/// Returns the priority of a stream. A smaller number is a higher priority.
///
/// @param[in] stream The stream.
/// @param[out] priority The priority.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a default stream that is being captured; the capture stays valid.
/// @driver none
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

/// Returns the unique id of a stream. It is never reused, unlike the native handle.
///
/// @param[in] stream The stream.
/// @param[out] id The id.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured; the capture stays valid.
/// @driver 12.0
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_id(stream: cushim_stream, id: *mut u64) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(stream, id, "id", |stream| stream.id()) }
}

/// Returns the unique id of a stream, like `cushim_stream_get_id`.
///
/// @param[in] stream The stream.
/// @return The id; 0 after a failure, with the last error set.
/// @driver 12.0
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_id(stream: cushim_stream) -> u64 {
    handles::value(enter, stream, |stream| stream.id())
}

/// Tells whether all work in a stream is done.
///
/// Default streams return `CUSHIM_ERROR_IN_CALLBACK` inside a host function.
///
/// @param[in] stream The stream.
/// @param[out] done Receives 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured; the capture stays valid.
/// @driver none
/// @callback allowed
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_query(stream: cushim_stream, done: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `done`.
    unsafe { handles::tell(stream, done, "done", |stream| Ok(i32::from(stream.query()?))) }
}

/// Waits until all work in a stream is done.
///
/// @param[in] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured; the capture stays valid.
/// @driver none
/// @sync stream
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_synchronize(stream: cushim_stream) -> cushim_status {
    long_call(|| handles::hold(stream)?.synchronize())
}

/// Waits until all work in a stream is done, or a time is over. CUDA has no such call: cushim queries the stream
/// again and again, at most 0.5 ms apart.
///
/// @param[in] stream The stream.
/// @param[in] nanoseconds The longest time to wait; 0 queries once.
/// @param[out] done Receives 1 if the work is done, 0 if the time is over.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream that is being captured; the capture stays valid.
/// @driver none
/// @sync stream
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_synchronize_within(
    stream: cushim_stream,
    nanoseconds: u64,
    done: *mut i32,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let stream = handles::hold(stream)?;
        *done = i32::from(stream.synchronize_within(Duration::from_nanos(nanoseconds))?);
        Ok(())
    })
}

/// Makes work that is enqueued in a stream from now on wait for what an event last recorded. An event that was never
/// recorded is not waited for.
///
/// If an interprocess event belongs to another context, cushim makes it wait by way of a temporary stream of that
/// context, which takes longer: driver branch 580 crashes otherwise (measured).
///
/// @param[in] stream The stream.
/// @param[in] event The event, of any context of the driver.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` in a stream that is being captured, for an event that was not recorded in
///   the same capture, and for the legacy default stream, if it was recorded in a capture.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_wait_event(stream: cushim_stream, event: cushim_event) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.wait_event(&*get(&guard, event)?)
    })
}

/// Makes a stream wait for what is recorded outside of a capture (`CU_EVENT_WAIT_EXTERNAL`): in a stream that is being
/// captured waiting becomes a node, which waits at each launch for what the event recorded last by then.
/// `cushim_stream_wait_event` takes only events there that were recorded in the same capture. In any other stream both
/// do the same.
///
/// @param[in] stream The stream.
/// @param[in] event The event, of any context of the driver. The graph keeps it.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` in the body of a conditional node, which holds no such nodes.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_wait_event_external(
    stream: cushim_stream,
    event: cushim_event,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.wait_event_as_node(&*get(&guard, event)?)
    })
}

/// Makes work that is enqueued in a stream from now on wait for the work that is in another stream now.
///
/// @param[in] stream The stream.
/// @param[in] other The other stream, of any context of the driver.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if only one of the two is being captured, or both in different captures,
///   but for a stream that joins the capture of the other by waiting for it.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_wait_stream(stream: cushim_stream, other: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.wait_stream(&*get(&guard, other)?)
    })
}
