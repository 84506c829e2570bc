//! Contexts.

use super::device::cushim_device;
use super::driver::cushim_driver;
use super::driver_types::{CUcontext, CUgreenCtx, CUlimit, Driver};
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, borrowed, claim, enter, get};
use super::{options, out};
use crate::context::{Context, ContextKind, NativeContext};
use crate::error::Error;
use std::ffi::c_char;

/// A context of a device. Objects in it keep it alive.
pub type cushim_context = *mut cushim_context_s;

/// Never given a body.
pub struct cushim_context_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_context_s {
    type Object = Context;
}

/// What a context is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_context_kind {
    /// The device's primary context, which all users of CUDA in a process share.
    CUSHIM_CONTEXT_PRIMARY = 1,
    /// One that `cushim_context_create` made.
    CUSHIM_CONTEXT_CREATED = 2,
    /// One that was wrapped.
    CUSHIM_CONTEXT_WRAPPED = 3,
    /// One that stands for a green context.
    CUSHIM_CONTEXT_GREEN = 4,
}

/// Options of `cushim_context_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_context_options {
    /// Bytes of this struct, `sizeof(cushim_context_options)`.
    pub struct_size: usize,
    /// A combination of `CUctx_flags`.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Retains the device's primary context, which this process's other users of CUDA (the runtime, other libraries) share.
/// Prefer it to a context of one's own.
///
/// Whoever of these resets it takes from under all others what they made in it: while objects of the context are in use
/// here, reset it with `cushim_device_reset_primary_context` only, which has their calls refused. After a reset by others
/// destroying them, and freeing outside of a stream, is still safe from driver 12.0 on; but driver 580 crashes in calls on
/// their streams.
///
/// @param device The device.
/// @param context Receives a claim, each time on the same object as long as one is held; NULL on failure. Must not be NULL.
///   Give it back with `cushim_context_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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
        *context = claim(handles::hold(device)?.primary_context()?)?;
        Ok(())
    })
}

/// Creates a context. It is not made current.
///
/// @param device The device.
/// @param options NULL for the defaults. Read during the call only.
/// @param context Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_context_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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
        *context = claim(Context::create(&handles::hold(device)?, options.flags)?)?;
        Ok(())
    })
}

/// Takes in a context that somebody else created. One that an object here owns already gives that object again.
///
/// @param device The device of the context.
/// @param native The context. A borrowed one stays alive until the last object that is made in it here is gone: driver 580
///   crashes in calls on streams of a context that was destroyed.
/// @param ownership A `cushim_ownership`.
/// @param context Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_context_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also if `native` is NULL, or is to be owned
/// and is owned already; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`. Threads: any.
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
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        let ownership = handles::ownership(ownership)?;
        let device = handles::hold(device)?;
        // SAFETY: the caller vouches for `native`.
        *context = claim(unsafe { Context::wrap(&device, native, ownership) }?)?;
        Ok(())
    })
}

/// Takes in a green context, by way of the context that stands for it. Streams in it get its share of the device and must
/// be non-blocking.
///
/// @param device The device of the context.
/// @param native The green context. A borrowed one stays alive until the last object that is made in it here is gone.
/// @param ownership A `cushim_ownership`.
/// @param context Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_context_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also if `native` is NULL, or is to be owned
/// and is owned already; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` before driver
/// 12.4; the driver's. Threads: any. Driver: 12.4.
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
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
        let ownership = handles::ownership(ownership)?;
        let device = handles::hold(device)?;
        // SAFETY: the caller vouches for `native`.
        *context = claim(unsafe { Context::wrap_green(&device, native, ownership) }?)?;
        Ok(())
    })
}

/// Gives the context one more handle.
///
/// @param context The context.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_context_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// Ends a claim on the context. With the last hold, those of objects in it included, the context is destroyed, or a
/// primary one given back.
///
/// @param context The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_destroy(context: cushim_context) -> cushim_status {
    handles::destroy(context)
}

/// Names the context in messages.
///
/// @param context The context.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_set_label(
    context: cushim_context,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(context, label) }
}

/// The name that messages use for the context; empty if it has none.
///
/// @param context The context.
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
pub unsafe extern "C" fn cushim_context_get_label(
    context: cushim_context,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(context, buffer, size, needed) }
}

/// The device that the context belongs to.
///
/// @param context The context.
/// @param device Receives the borrowed handle, good until the process ends; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// What the context is.
///
/// @param context The context.
/// @param kind Receives a `cushim_context_kind`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The driver's own handle of the context. After a reset of the primary context the driver may use the same address
/// again.
///
/// @param context The context.
/// @param native Receives the handle, which stays the object's; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The error after which nothing in the context works any more.
///
/// Either one that is sticky, after which the process has to end, or `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) after a
/// reset. It is known once a call met it, or if the reset happened here.
///
/// @param context The context.
/// @param lost Receives the status, or 0 if the context works as far as is known; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The number by which the driver tells contexts apart; never used again, unlike the native handle.
///
/// @param context The context.
/// @param id Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` before driver 12.0; the driver's. Threads: any. Driver: 12.0.
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_id(context: cushim_context, id: *mut u64) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(context, id, "id", |context| context.id()) }
}

/// The flags of the context.
///
/// @param context The context.
/// @param flags Receives a combination of `CUctx_flags`; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_flags(context: cushim_context, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe { handles::ask(context, flags, "flags", |context| context.flags()) }
}

/// The priorities that streams of the context may have. The greatest is the smaller number.
///
/// @param context The context.
/// @param least Receives the least; 0 on failure. Must not be NULL.
/// @param greatest Receives the greatest; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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

/// A limit of the context, in the unit of that limit.
///
/// @param context The context.
/// @param limit A `CUlimit`.
/// @param value Receives the value; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_INVALID_VALUE` for a limit that this
/// driver does not know, and others of the driver's. Threads: any.
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

/// Sets a limit of the context. The driver may round it.
///
/// @param context The context.
/// @param limit A `CUlimit`.
/// @param value The value, in the unit of the limit.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED`
/// on the driver "none"; the driver's. Threads: any.
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

/// Waits until all work in the context is done. Invalidates any capture that is under way in it.
///
/// @param context The context.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's, also of
/// earlier work. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_synchronize(context: cushim_context) -> cushim_status {
    call(|| handles::hold(context)?.synchronize())
}

/// Makes the context current on this thread, in place of the one that is.
///
/// Functions of the objects need no current context, and leave it as it is. It is for other users of CUDA.
///
/// @param context The context.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads:
/// any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_set_current(context: cushim_context) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, context)?.set_current()
    })
}

/// Makes no context current on this thread, in place of the one that is.
///
/// @param driver The driver.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads:
/// any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_clear_current(driver: cushim_driver) -> cushim_status {
    call(|| {
        let guard = enter()?;
        Context::clear_current(&get(&guard, driver)?.driver)
    })
}

/// The context that is current on this thread.
///
/// @param driver The driver.
/// @param context Receives the borrowed handle of the object that owns the context; NULL if none is current or the context is somebody
///   else's, also where it was wrapped as borrowed, and on failure. Must not be NULL.
/// @param native Receives the driver's own handle; NULL if none is current, and on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `context` and `native` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_current(
    driver: cushim_driver,
    context: *mut cushim_context,
    native: *mut CUcontext,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    call(|| unsafe { hand_back(driver, context, native, Context::current) })
}

/// Puts the context on top of this thread's stack, which makes it current.
///
/// @param context The context.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads:
/// any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_push(context: cushim_context) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, context)?.push()
    })
}

/// Takes the topmost context off this thread's stack; the one below becomes current.
///
/// @param driver The driver.
/// @param context Receives the borrowed handle of the object that owns the context; NULL if the context is somebody
///   else's, also where it was wrapped as borrowed, and on failure. Must not be NULL.
/// @param native Receives the driver's own handle; NULL on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_INVALID_CONTEXT` if the stack is empty, and others of the driver's. Threads: any.
///
/// # Safety
/// `context` and `native` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_pop(
    driver: cushim_driver,
    context: *mut cushim_context,
    native: *mut CUcontext,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    call(|| unsafe { hand_back(driver, context, native, |driver| Context::pop(driver).map(Some)) })
}

/// Answers with a context of the driver's: the object that owns it, and its own handle.
///
/// # Safety
/// `context` and `native` are NULL or valid for writes.
unsafe fn hand_back(
    driver: cushim_driver,
    context: *mut cushim_context,
    native: *mut CUcontext,
    ask: impl FnOnce(&Driver) -> Result<Option<NativeContext>, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for `native`.
    let native = unsafe { out::cleared_if_given(native, std::ptr::null_mut()) };
    // SAFETY: the caller vouches for `context`.
    let context = unsafe { out::cleared(context, std::ptr::null_mut(), "context") }?;
    let guard = enter()?;
    let Some(found) = ask(&get(&guard, driver)?.driver)? else { return Ok(()) };
    if let Some(object) = &found.object {
        *context = borrowed(object)?;
    }
    out::put(native, found.native);
    Ok(())
}
