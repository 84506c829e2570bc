//! Events.

use super::context::cushim_context;
use super::driver_types::CUevent;
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, borrowed, claim, enter, enter_anywhere, get};
use super::stream::cushim_stream;
use super::{options, out};
use crate::error::Error;
use crate::event::{Event, EventOptions};
use std::ffi::c_char;
use std::time::Duration;

/// An event of a context. An event keeps its context alive. Recording it again replaces what was recorded; who waits
/// already keeps waiting for the earlier record.
pub type cushim_event = *mut cushim_event_s;

/// Never given a body.
pub struct cushim_event_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_event_s {
    type Object = Event;
}

/// What `cushim_event_options.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_event_flags {
    /// Measure time; recording is cheaper without.
    CUSHIM_EVENT_TIMING = 1,
    /// Let a thread that waits for the event sleep instead of spin.
    CUSHIM_EVENT_BLOCKING_SYNC = 2,
    /// Let other processes open the event; excludes `CUSHIM_EVENT_TIMING`.
    CUSHIM_EVENT_INTERPROCESS = 4,
}

/// Options of `cushim_event_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_event_options {
    /// Bytes of this struct, `sizeof(cushim_event_options)`.
    pub struct_size: usize,
    /// A combination of `cushim_event_flags`.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

const TIMING: u32 = cushim_event_flags::CUSHIM_EVENT_TIMING as u32;
const BLOCKING_SYNC: u32 = cushim_event_flags::CUSHIM_EVENT_BLOCKING_SYNC as u32;
const INTERPROCESS: u32 = cushim_event_flags::CUSHIM_EVENT_INTERPROCESS as u32;

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names.
unsafe fn event_options(options: *const cushim_event_options) -> Result<EventOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, TIMING | BLOCKING_SYNC | INTERPROCESS)?;
    options::check_reserved(given.reserved)?;
    Ok(EventOptions {
        timing: given.flags & TIMING != 0,
        blocking_sync: given.flags & BLOCKING_SYNC != 0,
        interprocess: given.flags & INTERPROCESS != 0,
    })
}

fn flags_of(options: EventOptions) -> u32 {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    flag(options.timing, TIMING)
        | flag(options.blocking_sync, BLOCKING_SYNC)
        | flag(options.interprocess, INTERPROCESS)
}

/// Creates an event: unless asked otherwise, one that does not measure time.
///
/// @param context The context.
/// @param options NULL for the defaults. Read during the call only.
/// @param event Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_event_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for one that is both timed and for
/// several processes; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `event` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_create(
    context: cushim_context,
    options: *const cushim_event_options,
    event: *mut cushim_event,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `event`.
        let event = unsafe { out::cleared(event, std::ptr::null_mut(), "event") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { event_options(options) }?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        *event = claim(Event::create(&context, &options)?)?;
        Ok(())
    })
}

/// Takes in an event that somebody else created. One that an object here owns already gives that object again, with the
/// options that it has.
///
/// @param context The context of the event.
/// @param native The event; the runtime's `cudaEvent_t` has the same value. A borrowed one stays alive until the last
///   handle of the object is destroyed.
/// @param ownership A `cushim_ownership`.
/// @param options How the event was created, NULL for the defaults. Read during the call only. That it is for several
///   processes must be said: drivers crash where a stream of another context is made to wait for it unprepared.
/// @param event Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_event_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also if `native` is NULL, is to be owned and
/// is owned already, or belongs to another context as far as is known; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or as described; `options` is NULL or valid for the bytes that its `struct_size` names; `event` is NULL
/// or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_wrap(
    context: cushim_context,
    native: CUevent,
    ownership: i32,
    options: *const cushim_event_options,
    event: *mut cushim_event,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `event`.
        let event = unsafe { out::cleared(event, std::ptr::null_mut(), "event") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { event_options(options) }?;
        let ownership = handles::ownership(ownership)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        // SAFETY: the caller vouches for `native`.
        *event = claim(unsafe { Event::wrap(&context, native, ownership, &options) }?)?;
        Ok(())
    })
}

/// Gives the event one more handle.
///
/// @param event The event.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_event_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_ref(
    event: cushim_event,
    reference: *mut cushim_event,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(event, reference) }
}

/// Ends a claim on the event. With the last hold the event is destroyed, unless it is borrowed; what waits for it goes on
/// waiting for what it recorded.
///
/// @param event The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_destroy(event: cushim_event) -> cushim_status {
    handles::destroy(event)
}

/// Names the event in messages.
///
/// @param event The event.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_set_label(event: cushim_event, label: *const c_char) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(event, label) }
}

/// The name that messages use for the event; empty if it has none.
///
/// @param event The event.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_get_label(
    event: cushim_event,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(event, buffer, size, needed) }
}

/// The context that the event belongs to.
///
/// @param event The event.
/// @param context Receives the borrowed handle, good as long as the event; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_get_context(
    event: cushim_event,
    context: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `context`.
    unsafe { handles::tell(event, context, "context", |event| borrowed(event.context())) }
}

/// The driver's own handle of the event; the runtime's `cudaEvent_t` has the same value.
///
/// @param event The event.
/// @param native Receives the handle, which stays the object's; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_native(event: cushim_event, native: *mut CUevent) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(event, native, "native", |event| Ok(event.native())) }
}

/// The flags that the event was created, or wrapped, with.
///
/// @param event The event.
/// @param flags Receives a combination of `cushim_event_flags`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_get_flags(event: cushim_event, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe { handles::tell(event, flags, "flags", |event| Ok(flags_of(event.options()))) }
}

/// Records what is enqueued in the stream by now.
///
/// May be called in a host function, for streams other than the default ones, which answer `CUSHIM_ERROR_IN_CALLBACK`
/// there.
///
/// @param event The event.
/// @param stream The stream, of the context of the event.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver; `CUSHIM_ERROR_STREAM_REQUIRED` if
/// `stream` is NULL; `CUSHIM_ERROR_FORKED`; the driver's, also for a stream of another context. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_record(event: cushim_event, stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        get(&guard, event)?.record(&*get(&guard, stream)?)
    })
}

/// Whether what was recorded last is done; yes if nothing was recorded.
///
/// May be called in a host function.
///
/// @param event The event.
/// @param done Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`; the driver's, also of
/// the recorded work. Threads: any.
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_query(event: cushim_event, done: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `done`.
    unsafe { handles::tell(event, done, "done", |event| Ok(i32::from(event.query()?))) }
}

/// Waits until what was recorded last is done; returns at once if nothing was.
///
/// @param event The event.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of the
/// recorded work. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_synchronize(event: cushim_event) -> cushim_status {
    call(|| handles::hold(event)?.synchronize())
}

/// Waits until what was recorded last is done, at most for this time. See `cushim_stream_synchronize_within`.
///
/// @param event The event.
/// @param nanoseconds The time; 0 asks once.
/// @param done Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's, also of the recorded work. Threads: any.
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_synchronize_within(
    event: cushim_event,
    nanoseconds: u64,
    done: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let event = handles::hold(event)?;
        *done = i32::from(event.synchronize_within(Duration::from_nanos(nanoseconds))?);
        Ok(())
    })
}

/// The time between what one event recorded and what another did, to about half a microsecond.
///
/// @param start The event that came first, created with `CUSHIM_EVENT_TIMING`.
/// @param end The event that came later, created with `CUSHIM_EVENT_TIMING`.
/// @param milliseconds Receives the time, negative if `end` came first; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_TIMING_DISABLED` if one of them does not measure time; `CUSHIM_ERROR_NOT_RECORDED` if one was
/// never recorded; `CUDA_ERROR_NOT_READY` (600) if one is not done; `CUSHIM_ERROR_INVALID_HANDLE`, also for events of
/// different drivers; `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; others of the
/// driver's. Threads: any.
///
/// # Safety
/// `milliseconds` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_elapsed(
    start: cushim_event,
    end: cushim_event,
    milliseconds: *mut f32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `milliseconds`.
        let milliseconds = unsafe { out::cleared(milliseconds, 0.0, "milliseconds") }?;
        let guard = enter()?;
        let (start, end) = (get(&guard, start)?, get(&guard, end)?);
        *milliseconds = end.elapsed_since(&start)?;
        Ok(())
    })
}
