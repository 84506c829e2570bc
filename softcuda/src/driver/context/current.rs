//! The context stack of each thread.

use super::{Activation, Context};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, CUcontext, CUdevice, CUresult};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static STACK: RefCell<Vec<Arc<Context>>> = const { RefCell::new(Vec::new()) };
}

/// A thread that is ending has none: what a process does as it exits may still call the driver.
fn with_stack<T: Default>(body: impl FnOnce(&mut Vec<Arc<Context>>) -> T) -> T {
    STACK.try_with(|stack| body(&mut stack.borrow_mut())).unwrap_or_default()
}

/// The calling thread's current context, alive or not.
pub(crate) fn top() -> Option<Arc<Context>> {
    with_stack(|stack| stack.last().cloned())
}

/// The calling thread's current context, which must be alive.
pub(crate) fn current() -> Result<Arc<Activation>, CUresult> {
    top().ok_or(CUDA_ERROR_INVALID_CONTEXT)?.activation()
}

/// The context that the handle means, where NULL means the current one; alive or not.
pub(crate) fn named_or_current(handle: CUcontext) -> Result<Arc<Context>, CUresult> {
    if handle.is_null() { top().ok_or(CUDA_ERROR_INVALID_CONTEXT) } else { Context::of(handle) }
}

pub(super) fn push(context: Arc<Context>) {
    with_stack(|stack| stack.push(context));
}

/// Takes `context` from the calling thread's stack if it is the current one; deeper down it stays.
pub(super) fn pop_if_current(context: &Arc<Context>) {
    with_stack(|stack| {
        if stack.last().is_some_and(|top| Arc::ptr_eq(top, context)) {
            stack.pop();
        }
    });
}

pub(crate) fn cuCtxPushCurrent(ctx: CUcontext) -> Answer {
    cuCtxPushCurrent_v2(ctx)
}

pub(crate) fn cuCtxPushCurrent_v2(ctx: CUcontext) -> Answer {
    if ctx.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    push(Context::of(ctx)?);
    Ok(())
}

pub(crate) fn cuCtxPopCurrent(pctx: Out<CUcontext>) -> Answer {
    cuCtxPopCurrent_v2(pctx)
}

pub(crate) fn cuCtxPopCurrent_v2(pctx: Out<CUcontext>) -> Answer {
    let context = with_stack(Vec::pop).ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    pctx.set_if_wanted(context.handle());
    Ok(())
}

/// Replaces the top of the stack; NULL pops it, and does nothing on an empty stack.
pub(crate) fn cuCtxSetCurrent(ctx: CUcontext) -> Answer {
    let context = if ctx.is_null() { None } else { Some(Context::of(ctx)?) };
    with_stack(|stack| {
        stack.pop();
        stack.extend(context);
    });
    Ok(())
}

pub(crate) fn cuCtxGetCurrent(pctx: Out<CUcontext>) -> Answer {
    pctx.set(top().map_or(std::ptr::null_mut(), |context| context.handle()))
}

pub(crate) fn cuCtxGetDevice(device: Out<CUdevice>) -> Answer {
    cuCtxGetDevice_v2(device, std::ptr::null_mut())
}

/// Answers for a dead context too.
pub(crate) fn cuCtxGetDevice_v2(device: Out<CUdevice>, ctx: CUcontext) -> Answer {
    let context = named_or_current(ctx)?;
    device.set(context.device.handle())
}
