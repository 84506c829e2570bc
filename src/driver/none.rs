//! The driver `none`: one device on which streams and events are no-ops that succeed. Everything else is absent.
//!
//! The raw tier shows an empty table for `none`; this one is for the objects, so that a program can run its
//! orchestration without a GPU and is told when it reaches memory or kernels.

use super::Table;
use super::sys::{
    CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, CUcontext,
    CUdevice, CUdevice_attribute, CUevent, CUhostFn, CUresult, CUstream,
};
use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What the objects call when no driver is wanted.
pub(crate) static NO_OPS: Table = Table {
    cuInit_2000: Some(init),
    cuDeviceGetCount_2000: Some(device_count),
    cuDeviceGet_2000: Some(device),
    cuDeviceGetName_2000: Some(device_name),
    cuDeviceGetAttribute_2000: Some(device_attribute),
    cuDevicePrimaryCtxRetain_7000: Some(retain_context),
    cuDevicePrimaryCtxRelease_11000: Some(release_context),
    cuCtxCreate_3020: Some(create_context),
    cuCtxDestroy_4000: Some(destroy_context),
    cuCtxGetCurrent_4000: Some(current_context),
    cuCtxSetCurrent_4000: Some(set_current_context),
    cuCtxPushCurrent_4000: Some(push_current_context),
    cuCtxPopCurrent_4000: Some(pop_current_context),
    cuCtxSynchronize_2000: Some(synchronize_context),
    cuCtxGetStreamPriorityRange_5050: Some(stream_priorities),
    cuStreamCreateWithPriority_5050: Some(create_stream),
    cuStreamDestroy_4000: Some(stream_call),
    cuStreamQuery_2000: Some(stream_call),
    cuStreamSynchronize_2000: Some(stream_call),
    cuStreamWaitEvent_3020: Some(wait_event),
    cuStreamGetFlags_5050: Some(stream_flags),
    cuStreamGetPriority_5050: Some(stream_priority),
    cuStreamGetId_12000: Some(stream_id),
    cuLaunchHostFunc_10000: Some(host_function),
    cuEventCreate_2000: Some(create_event),
    cuEventDestroy_4000: Some(event_call),
    cuEventRecord_2000: Some(record_event),
    cuEventQuery_2000: Some(event_call),
    cuEventSynchronize_2000: Some(event_call),
    cuEventElapsedTime_2000: Some(elapsed),
    ..Table::EMPTY
};

/// Handles are numbers that are never used twice, beyond the tokens of the default streams.
fn fresh<T>() -> *mut T {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    std::ptr::without_provenance_mut(NEXT.fetch_add(1, Relaxed) * 16 + 0x1000)
}

thread_local! {
    /// This thread's stack of contexts.
    static STACK: RefCell<Vec<CUcontext>> = const { RefCell::new(Vec::new()) };
}

/// A thread that is ending has none: what a process does as it exits may still call the driver.
fn with_stack<T: Default>(body: impl FnOnce(&mut Vec<CUcontext>) -> T) -> T {
    STACK.try_with(|stack| body(&mut stack.borrow_mut())).unwrap_or_default()
}

unsafe extern "C" fn init(_flags: u32) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn device_count(count: *mut i32) -> CUresult {
    // SAFETY: the caller passes a valid out-pointer, here and below.
    unsafe { count.write(1) };
    CUDA_SUCCESS
}

unsafe extern "C" fn device(device: *mut CUdevice, ordinal: i32) -> CUresult {
    if ordinal != 0 {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    // SAFETY: as in `device_count`.
    unsafe { device.write(0) };
    CUDA_SUCCESS
}

unsafe extern "C" fn device_name(name: *mut c_char, len: i32, _device: CUdevice) -> CUresult {
    let text = c"no device";
    if usize::try_from(len).is_ok_and(|len| len > text.count_bytes()) {
        // SAFETY: there is room for the text and its NUL.
        unsafe { name.copy_from_nonoverlapping(text.as_ptr(), text.count_bytes() + 1) };
        return CUDA_SUCCESS;
    }
    CUDA_ERROR_INVALID_VALUE
}

unsafe extern "C" fn device_attribute(value: *mut i32, _: CUdevice_attribute, _device: CUdevice) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { value.write(0) };
    CUDA_SUCCESS
}

unsafe extern "C" fn retain_context(context: *mut CUcontext, _device: CUdevice) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { context.write(std::ptr::without_provenance_mut(0x1000)) };
    CUDA_SUCCESS
}

unsafe extern "C" fn release_context(_device: CUdevice) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn create_context(context: *mut CUcontext, _flags: u32, _device: CUdevice) -> CUresult {
    let handle = fresh();
    // SAFETY: as in `device_count`.
    unsafe { context.write(handle) };
    with_stack(|stack| stack.push(handle));
    CUDA_SUCCESS
}

unsafe extern "C" fn destroy_context(_context: CUcontext) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn current_context(context: *mut CUcontext) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { context.write(with_stack(|stack| stack.last().copied()).unwrap_or(null_mut())) };
    CUDA_SUCCESS
}

unsafe extern "C" fn set_current_context(context: CUcontext) -> CUresult {
    with_stack(|stack| {
        stack.pop();
        if !context.is_null() {
            stack.push(context);
        }
    });
    CUDA_SUCCESS
}

unsafe extern "C" fn push_current_context(context: CUcontext) -> CUresult {
    with_stack(|stack| stack.push(context));
    CUDA_SUCCESS
}

unsafe extern "C" fn pop_current_context(context: *mut CUcontext) -> CUresult {
    let Some(top) = with_stack(Vec::pop) else { return CUDA_ERROR_INVALID_CONTEXT };
    // SAFETY: as in `device_count`.
    unsafe { context.write(top) };
    CUDA_SUCCESS
}

unsafe extern "C" fn synchronize_context() -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn stream_priorities(least: *mut i32, greatest: *mut i32) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe {
        least.write(0);
        greatest.write(0);
    }
    CUDA_SUCCESS
}

unsafe extern "C" fn create_stream(stream: *mut CUstream, _flags: u32, _priority: i32) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { stream.write(fresh()) };
    CUDA_SUCCESS
}

unsafe extern "C" fn stream_call(_stream: CUstream) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn wait_event(_stream: CUstream, _event: CUevent, _flags: u32) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn stream_flags(_stream: CUstream, flags: *mut u32) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { flags.write(1) };
    CUDA_SUCCESS
}

unsafe extern "C" fn stream_priority(_stream: CUstream, priority: *mut i32) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { priority.write(0) };
    CUDA_SUCCESS
}

unsafe extern "C" fn stream_id(stream: CUstream, id: *mut u64) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { id.write(stream.addr() as u64) };
    CUDA_SUCCESS
}

/// All earlier work is done, so the function is due at once.
unsafe extern "C" fn host_function(_stream: CUstream, function: CUhostFn, data: *mut c_void) -> CUresult {
    let Some(function) = function else { return CUDA_ERROR_INVALID_VALUE };
    // SAFETY: the caller enqueued it to be called.
    unsafe { function(data) };
    CUDA_SUCCESS
}

unsafe extern "C" fn create_event(event: *mut CUevent, _flags: u32) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { event.write(fresh()) };
    CUDA_SUCCESS
}

unsafe extern "C" fn event_call(_event: CUevent) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn record_event(_event: CUevent, _stream: CUstream) -> CUresult {
    CUDA_SUCCESS
}

unsafe extern "C" fn elapsed(milliseconds: *mut f32, _start: CUevent, _end: CUevent) -> CUresult {
    // SAFETY: as in `device_count`.
    unsafe { milliseconds.write(0.0) };
    CUDA_SUCCESS
}
