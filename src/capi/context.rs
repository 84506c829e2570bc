//! Contexts.
//!
//! @header cushim.h
//! @task get or create a context

use super::device::cushim_device;
use super::driver::cushim_driver;
use super::driver_types::{CUcontext, CUgreenCtx, CUlimit};
use super::error::{call, call_taking, cushim_status, long_call};
use super::handles::{self, Incomplete, borrowed, enter, get, owned};
use super::{options, out};
use crate::context::{Context, ContextKind, ContextObject};
use crate::object::error::Error;

/// A context of a device. Objects in a context keep it alive.
pub type cushim_context = *mut cushim_context_s;

/// Never given a body.
pub struct cushim_context_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_context_s {
    type Object = ContextObject;
}

/// What a context is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_context_kind {
    /// The device's primary context, which all users of CUDA in a process share.
    CUSHIM_CONTEXT_PRIMARY = 1,
    /// Created by `cushim_context_create`.
    CUSHIM_CONTEXT_CREATED = 2,
    /// Wrapped.
    CUSHIM_CONTEXT_WRAPPED = 3,
    /// The context of a green context.
    CUSHIM_CONTEXT_GREEN = 4,
}

/// Options of `cushim_context_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_context_options {
    /// Bytes of this struct, `sizeof(cushim_context_options)`.
    pub struct_size: usize,
    /// @field[flags(CUctx_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Retains the device's primary context, which all users of CUDA in a process share. Prefer it to a context of your
/// own.
///
/// A reset of a primary context destroys what all its users have made in it. While the program has objects in the
/// context, reset it only with `cushim_device_reset_primary_context`, after which calls on them are refused. After a
/// reset by anybody else, destroying the objects, and freeing memory without a stream, is safe from CUDA 12.0 on;
/// other calls on their streams crash driver branch 580.
///
/// @param[in] device The device.
/// @param[out, owned] context The context: the same object each time, as long as a handle of it exists.
/// @driver none
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_retain_primary(
    device: cushim_device,
    context: *mut cushim_context,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        *context = owned(|| handles::hold(device)?.primary_context())?;
        Ok(())
    })
}

/// Creates a context. The context is not made current.
///
/// @param[in] device The device.
/// @param[in, nullable] options The options.
/// @param[out, owned] context The context.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_create(
    device: cushim_device,
    options: *const cushim_context_options,
    context: *mut cushim_context,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = unsafe { options::read(options, "options") }?;
        options::check_reserved(options.reserved)?;
        *context = owned(|| Context::create(&handles::hold(device)?, options.flags))?;
        Ok(())
    })
}

/// Wraps a context that was created elsewhere. A context that cushim owns returns its own object.
///
/// @param[in] device The device of the context.
/// @param[in] native The context. A borrowed one must outlive every object that is made in it: driver branch 580
///   crashes in calls on streams of a destroyed context.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it.
/// @param[out, owned] context The context.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is to be owned and is already owned.
/// @callback refused
///
/// # Safety
/// `native` is NULL or as described; `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_wrap(
    device: cushim_device,
    native: CUcontext,
    ownership: i32,
    context: *mut cushim_context,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        let ownership = handles::ownership(ownership)?;
        let device = handles::hold(device)?;
        // SAFETY: the caller vouches for `native`.
        *context = owned(|| unsafe { Context::take_in(&device, native, lending.taking(ownership)) })?;
        Ok(())
    })
}

/// Wraps a green context, by way of the context that belongs to it. Streams in that context must be non-blocking;
/// they use its share of the device.
///
/// @param[in] device The device of the context.
/// @param[in] native The green context. A borrowed one must outlive every object that is made in it.
/// @param[in, enum(cushim_ownership)] ownership Who destroys it.
/// @param[out, owned] context The context.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is to be owned and is already owned.
/// @driver 12.4
///
/// # Safety
/// `native` is NULL or as described; `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_wrap_green(
    device: cushim_device,
    native: CUgreenCtx,
    ownership: i32,
    context: *mut cushim_context,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        let ownership = handles::ownership(ownership)?;
        let device = handles::hold(device)?;
        // SAFETY: the caller vouches for `native`.
        *context = owned(|| unsafe { Context::take_in_green(&device, native, lending.taking(ownership)) })?;
        Ok(())
    })
}

/// Returns one more owned handle of a context.
///
/// @param[in] context The context.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_ref(
    context: cushim_context,
    reference: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(context, reference) }
}

/// Destroys an owned handle of a context. The context is destroyed, or released if it is primary, when nothing uses
/// it any more, objects in it included.
///
/// @param[in, ended, nullable] context The handle; NULL does nothing.
/// @driver none
/// @sync context if this releases the context
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_destroy(context: cushim_context) -> cushim_status {
    handles::destroy(context)
}

/// Returns the device of a context.
///
/// @param[in] context The context.
/// @param[out, borrowed] device The device, valid until the process ends.
///
/// # Safety
/// `device` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_device(
    context: cushim_context,
    device: *mut cushim_device,
) -> cushim_status {
    // SAFETY: the caller vouches for `device`.
    unsafe { handles::tell(context, device, "device", |context| borrowed(context.device())) }
}

/// Tells what a context is.
///
/// @param[in] context The context.
/// @param[out, enum(cushim_context_kind)] kind The kind.
///
/// # Safety
/// `kind` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_kind(context: cushim_context, kind: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `kind`.
    unsafe { handles::tell(context, kind, "kind", |context| Ok(kind_number(context.kind()) as i32)) }
}

fn kind_number(kind: ContextKind) -> cushim_context_kind {
    match kind {
        ContextKind::Primary => cushim_context_kind::CUSHIM_CONTEXT_PRIMARY,
        ContextKind::Created => cushim_context_kind::CUSHIM_CONTEXT_CREATED,
        ContextKind::Wrapped => cushim_context_kind::CUSHIM_CONTEXT_WRAPPED,
        ContextKind::Green => cushim_context_kind::CUSHIM_CONTEXT_GREEN,
    }
}

/// Returns the driver's own handle of a context. After a reset the driver may give the same handle to another
/// context.
///
/// @param[in] context The context.
/// @param[out] native The handle, which cushim keeps.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_native(
    context: cushim_context,
    native: *mut CUcontext,
) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(context, native, "native", |context| Ok(context.native())) }
}

/// Tells which error has made a context unusable, as far as cushim knows.
///
/// It is a sticky error, after which the process must be restarted, or `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) after
/// a reset. cushim knows it once a call in the context has returned it, or if the reset was made through cushim.
///
/// @param[in] context The context.
/// @param[out] lost The status; 0 if none is known.
///
/// # Safety
/// `lost` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_lost(
    context: cushim_context,
    lost: *mut cushim_status,
) -> cushim_status {
    // SAFETY: the caller vouches for `lost`.
    unsafe { handles::tell(context, lost, "lost", |context| Ok(context.lost().map_or(0, |status| status.0))) }
}

/// Returns the unique id of a context. It is never reused, unlike the native handle.
///
/// @param[in] context The context.
/// @param[out] id The id.
/// @driver 12.0
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_id(context: cushim_context, id: *mut u64) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(context, id, "id", |context| context.id()) }
}

/// Returns the flags of a context.
///
/// @param[in] context The context.
/// @param[out, flags(CUctx_flags)] flags The flags.
/// @driver any
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_flags(context: cushim_context, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe { handles::ask(context, flags, "flags", |context| context.flags()) }
}

/// Returns the range of priorities that streams of a context can have. A smaller number is a higher priority.
///
/// @param[in] context The context.
/// @param[out] least The lowest priority, the greatest number.
/// @param[out] greatest The highest priority, the smallest number.
/// @driver none
///
/// # Safety
/// `least` and `greatest` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_stream_priorities(
    context: cushim_context,
    least: *mut i32,
    greatest: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let outs = unsafe { (out::cleared(least, 0, "least"), out::cleared(greatest, 0, "greatest")) };
        let (least, greatest) = (outs.0?, outs.1?);
        let guard = enter()?;
        (*least, *greatest) = get(&guard, context)?.stream_priorities()?;
        Ok(())
    })
}

/// Returns a limit of a context.
///
/// @param[in] context The context.
/// @param[in, enum(CUlimit), example(CU_LIMIT_STACK_SIZE)] limit Which limit.
/// @param[out] value The value, in the unit of the limit.
/// @errors `CUDA_ERROR_INVALID_VALUE` for a limit that this driver does not know.
/// @driver any
///
/// # Safety
/// `value` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_limit(
    context: cushim_context,
    limit: i32,
    value: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `value`.
    unsafe { handles::ask(context, value, "value", |context| context.limit(CUlimit(limit))) }
}

/// Sets a limit of a context. The driver may round the value, and waits for the work in the context first.
///
/// @param[in] context The context.
/// @param[in, enum(CUlimit), example(CU_LIMIT_STACK_SIZE)] limit Which limit.
/// @param[in, example(2048)] value The value, in the unit of the limit.
/// @driver any
/// @sync context
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_set_limit(
    context: cushim_context,
    limit: i32,
    value: usize,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, context)?.set_limit(CUlimit(limit), value)
    })
}

/// Waits until all work in a context is done. While a builder captures in the context, the call is refused. A capture
/// that others have under way in the context is lost.
///
/// @param[in] context The context.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` while a builder captures in the context; the capture stays valid.
/// @driver none
/// @sync context
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_synchronize(context: cushim_context) -> cushim_status {
    long_call(|| handles::hold(context)?.synchronize())
}

/// Makes a context current on the calling thread, instead of the one that is.
///
/// The functions of cushim.h need no current context and do not change it. This is for other users of CUDA on the
/// thread.
///
/// @param[in] context The context.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_set_current(context: cushim_context) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, context)?.set_current()
    })
}

/// Makes no context current on the calling thread, instead of the one that is.
///
/// @param[in] driver The driver.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_clear_current(driver: cushim_driver) -> cushim_status {
    call(|| {
        let guard = enter()?;
        Context::clear_current(&get(&guard, driver)?.driver)
    })
}

/// Returns the context that is current on the calling thread.
///
/// @param[in] driver The driver.
/// @param[out, borrowed] context The object that owns the context; NULL if none is current or cushim does not own it,
///   even if it is wrapped as borrowed.
/// @param[out, nullable] native The driver's own handle; NULL if none is current.
/// @driver none
///
/// # Safety
/// `context` and `native` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_current(
    driver: cushim_driver,
    context: *mut cushim_context,
    native: *mut CUcontext,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (native, context) = unsafe { outs(native, context) }?;
        let guard = enter()?;
        let (current, handle) = Context::current_handle(&get(&guard, driver)?.driver, &guard)?;
        if let Some(handle) = handle {
            *context = handle.to_pointer();
        }
        out::put(native, current);
        Ok(())
    })
}

/// Pushes a context onto the calling thread's stack of contexts, which makes it current.
///
/// @param[in] context The context.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_push(context: cushim_context) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, context)?.push()
    })
}

/// Pops the current context from the calling thread's stack of contexts. The one below becomes current.
///
/// @param[in] driver The driver.
/// @param[out, borrowed] context The object that owns the popped context; NULL if cushim does not own it, even if it
///   is wrapped as borrowed.
/// @param[out, nullable] native The driver's own handle.
/// @errors `CUDA_ERROR_INVALID_CONTEXT` if the stack is empty.
/// @driver none
///
/// # Safety
/// `context` and `native` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_pop(
    driver: cushim_driver,
    context: *mut cushim_context,
    native: *mut CUcontext,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (native, context) = unsafe { outs(native, context) }?;
        let guard = enter()?;
        let popped = Context::pop(&get(&guard, driver)?.driver)?;
        if let Some(object) = &popped.object {
            *context = borrowed(object)?;
        }
        out::put(native, popped.native);
        Ok(())
    })
}

/// What a function writes that hands back a context of the driver's: its own handle, where that is wanted, and the
/// object that owns it.
///
/// # Safety
/// Both are NULL or valid for writes.
#[inline]
unsafe fn outs<'a>(
    native: *mut CUcontext,
    context: *mut cushim_context,
) -> Result<(Option<&'a mut CUcontext>, &'a mut cushim_context), Error> {
    // SAFETY: the caller vouches for both.
    unsafe {
        out::both(
            out::cleared_if_given(native, std::ptr::null_mut(), "native"),
            out::cleared(context, std::ptr::null_mut(), "context"),
        )
    }
}
