//! Events.
//!
//! @header cushim.h
//! @task wait for work and time it

use super::context::cushim_context;
use super::driver_types::CUevent;
use super::error::{call, call_taking, cushim_status, long_call};
use super::handles::{
    self, Incomplete, borrowed, enter, enter_anywhere, get, hold_all, keep, owned, reserve_within,
};
use super::stream::cushim_stream;
use super::{options, out};
use crate::event::{Event, EventObject, EventOptions};
use crate::object::error::Error;
use std::time::Duration;

/// An event of a context. An event keeps its context alive. Recording an event again replaces the earlier record;
/// what already waits keeps waiting for the earlier one.
pub type cushim_event = *mut cushim_event_s;

/// Never given a body.
pub struct cushim_event_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_event_s {
    type Object = EventObject;
}

/// Flags of an event.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_event_flags {
    /// Measure time. CUDA's default, not cushim's: recording is cheaper without.
    CUSHIM_EVENT_TIMING = 1,
    /// A thread that waits for the event sleeps instead of spinning (`CU_EVENT_BLOCKING_SYNC`).
    CUSHIM_EVENT_BLOCKING_SYNC = 2,
    /// Other processes can open the event (`CU_EVENT_INTERPROCESS`). Not together with `CUSHIM_EVENT_TIMING`.
    CUSHIM_EVENT_INTERPROCESS = 4,
}

/// Options of `cushim_event_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_event_options {
    /// Bytes of this struct, `sizeof(cushim_event_options)`.
    pub struct_size: usize,
    /// @field[flags(cushim_event_flags)] Flags.
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

/// Creates an event, by default one that does not measure time (`CU_EVENT_DISABLE_TIMING`), unlike
/// `cuEventCreate(…, 0)`.
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an event that is both timed and interprocess.
/// @driver none
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
        // Outside the call: threads that destroy need not wait until the driver has made the event.
        let (context, reserved) = hold_all(|guard| Ok((keep(guard, context)?, reserve_within(guard)?)))?;
        *event = reserved.of(Event::create_in(context, &options)?);
        Ok(())
    })
}

/// Wraps an event that was created elsewhere. An event that cushim created or has wrapped returns its own object,
/// with the flags that it has.
///
/// @param[in] context The context of the event.
/// @param[in] native The event; a `cudaEvent_t` is the same. A borrowed one must outlive the object.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it.
/// @param[in, nullable] options How the event was created. An interprocess event must be declared as such: driver
///   branch 580 crashes if a stream of another context waits for one directly.
/// @param[out, owned] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if the event is to be owned and is already owned, or if it is known to
///   belong to another context.
/// @callback refused
///
/// # Safety
/// `native` is NULL or as described; `options` is NULL or valid for the bytes that its `struct_size` names; `event`
/// is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_wrap(
    context: cushim_context,
    native: CUevent,
    ownership: i32,
    options: *const cushim_event_options,
    event: *mut cushim_event,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for `event`.
        let event = unsafe { out::cleared(event, std::ptr::null_mut(), "event") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { event_options(options) }?;
        let ownership = handles::ownership(ownership)?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        // SAFETY: the caller vouches for `native`.
        *event = owned(|| unsafe { Event::take_in(&context, native, lending.taking(ownership), &options) })?;
        Ok(())
    })
}

/// Returns one more owned handle of an event.
///
/// @param[in] event The event.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owned handle of an event. When nothing uses the event any more it is destroyed, unless it is borrowed;
/// what waits for it keeps waiting for what it recorded.
///
/// @param[in, ended, nullable] event The handle; NULL does nothing.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_destroy(event: cushim_event) -> cushim_status {
    handles::destroy(event)
}

/// Returns the context of an event.
///
/// @param[in] event The event.
/// @param[out, borrowed] context The context, valid as long as the event.
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

/// Returns the driver's own handle of an event; a `cudaEvent_t` is the same.
///
/// @param[in] event The event.
/// @param[out] native The handle, which cushim keeps; NULL on the driver "none".
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_native(event: cushim_event, native: *mut CUevent) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(event, native, "native", |event| Ok(event.native())) }
}

/// Returns the flags with which an event was created or wrapped.
///
/// @param[in] event The event.
/// @param[out, flags(cushim_event_flags)] flags The flags.
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_get_flags(event: cushim_event, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe { handles::tell(event, flags, "flags", |event| Ok(flags_of(event.options()))) }
}

/// Records an event in a stream: the event is done when all work that is in the stream now is done.
///
/// Default streams return `CUSHIM_ERROR_IN_CALLBACK` inside a host function.
///
/// @param[in] event The event.
/// @param[in] stream The stream, of the event's context; otherwise the driver returns an error.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an interprocess event in a stream that is being captured; use
///   `cushim_event_record_external` there.
/// @driver none
/// @callback allowed
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_record(event: cushim_event, stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        get(&guard, event)?.record(&*get(&guard, stream)?)
    })
}

/// Records an event in a stream for those outside of a capture (`CU_EVENT_RECORD_EXTERNAL`): in a stream that is being
/// captured the record becomes a node, which records the event at each launch. `cushim_event_record` would mark a
/// place in the capture, for other streams to fork from or to join. In any other stream both do the same.
///
/// @param[in] event The event. The graph keeps it.
/// @param[in] stream The stream, of the event's context; otherwise the driver returns an error.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` in the body of a conditional node, which holds no such nodes.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_record_external(event: cushim_event, stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, event)?.record_as_node(&*get(&guard, stream)?)
    })
}

/// Tells whether what an event last recorded is done. It is if nothing was recorded.
///
/// @param[in] event The event.
/// @param[out] done Receives 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an event that was last recorded in a stream that was being captured.
/// @driver none
/// @callback allowed
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_query(event: cushim_event, done: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `done`.
    unsafe { handles::tell(event, done, "done", |event| Ok(i32::from(event.query()?))) }
}

/// Waits until what an event last recorded is done; returns immediately if nothing was recorded.
///
/// @param[in] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an event that was last recorded in a stream that was being captured.
/// @driver none
/// @sync event
#[unsafe(no_mangle)]
pub extern "C" fn cushim_event_synchronize(event: cushim_event) -> cushim_status {
    long_call(|| handles::hold(event)?.synchronize())
}

/// Waits until what an event last recorded is done, or a time is over, like `cushim_stream_synchronize_within`.
///
/// @param[in] event The event.
/// @param[in] nanoseconds The longest time to wait; 0 queries once.
/// @param[out] done Receives 1 if it is done, 0 if the time is over.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an event that was last recorded in a stream that was being captured.
/// @driver none
/// @sync event
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_event_synchronize_within(
    event: cushim_event,
    nanoseconds: u64,
    done: *mut i32,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let event = handles::hold(event)?;
        *done = i32::from(event.synchronize_within(Duration::from_nanos(nanoseconds))?);
        Ok(())
    })
}

/// Returns the time between two events, with a resolution of about 0.5 microseconds.
///
/// @param[in] start The event that was recorded first, created with `CUSHIM_EVENT_TIMING`.
/// @param[in] end The event that was recorded later, created with `CUSHIM_EVENT_TIMING`.
/// @param[out] milliseconds The time; negative if `end` was recorded first.
/// @errors `CUSHIM_ERROR_TIMING_DISABLED` if an event does not measure time; `CUSHIM_ERROR_NOT_RECORDED` if one was
///   never recorded; `CUDA_ERROR_NOT_READY` (600) if one is not done; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an
///   event that was last recorded in a stream that was being captured.
/// @driver none
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
