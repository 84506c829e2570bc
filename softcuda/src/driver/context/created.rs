//! Contexts that a program creates and destroys.

use super::config::check_flags;
use super::current::{current, pop_if_current, push};
use super::sticky::device_health;
use super::{Context, current};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, CUcontext,
    CUctxCreateParams, CUdevice, CUexecAffinityParam,
};
use crate::driver::device::Device;
use std::sync::atomic::Ordering;

/// The ABI of before 3.2, whose device addresses have 32 bits: the measured driver refuses so.
pub(crate) fn cuCtxCreate(_pctx: Out<CUcontext>, _flags: u32, _dev: CUdevice) -> Answer {
    Err(CUDA_ERROR_OUT_OF_MEMORY)
}

pub(crate) fn cuCtxCreate_v2(pctx: Out<CUcontext>, flags: u32, dev: CUdevice) -> Answer {
    create(pctx, flags, dev)
}

pub(crate) fn cuCtxCreate_v3(
    pctx: Out<CUcontext>,
    paramsArray: Out<CUexecAffinityParam>,
    numParams: i32,
    flags: u32,
    dev: CUdevice,
) -> Answer {
    if numParams < 0 || (numParams > 0 && paramsArray.check().is_err()) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if numParams > 0 {
        return Err(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    }
    create(pctx, flags, dev)
}

pub(crate) fn cuCtxCreate_v4(
    pctx: Out<CUcontext>,
    ctxCreateParams: Out<CUctxCreateParams>,
    flags: u32,
    dev: CUdevice,
) -> Answer {
    if let Ok(params) = ctxCreateParams.item(0) {
        if params.numExecAffinityParams != 0 {
            return Err(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        }
        if !params.cigParams.is_null() {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
    }
    create(pctx, flags, dev)
}

/// Creates a context and makes it current.
fn create(pctx: Out<CUcontext>, flags: u32, dev: CUdevice) -> Answer {
    pctx.check()?;
    let device = Device::of(dev)?;
    check_flags(flags)?;
    device_health(device)?;
    let context = Context::new(device, false);
    if let Err(refused) = context.activate(flags) {
        context.forget();
        return Err(refused);
    }
    pctx.set(context.handle())?;
    push(context);
    Ok(())
}

pub(crate) fn cuCtxDestroy(ctx: CUcontext) -> Answer {
    cuCtxDestroy_v2(ctx)
}

pub(crate) fn cuCtxDestroy_v2(ctx: CUcontext) -> Answer {
    if ctx.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let context = Context::of(ctx)?;
    if context.primary {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    if !context.end() {
        return Err(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    context.forget();
    pop_if_current(&context);
    Ok(())
}

pub(crate) fn cuCtxAttach(pctx: Out<CUcontext>, flags: u32) -> Answer {
    let activation = current()?;
    pctx.check()?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    activation.attached.fetch_add(1, Ordering::Relaxed);
    pctx.set(activation.context())
}

pub(crate) fn cuCtxDetach(ctx: CUcontext) -> Answer {
    let context = current::named_or_current(ctx)?;
    let activation = context.activation()?;
    if activation.attached.fetch_sub(1, Ordering::Relaxed) > 1 {
        return Ok(());
    }
    activation.attached.store(1, Ordering::Relaxed);
    cuCtxDestroy_v2(context.handle())
}
