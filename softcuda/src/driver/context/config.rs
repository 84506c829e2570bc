//! What a context tells of itself and lets be set: flags, version, identity, cache preferences, stream priorities.

use super::current::{current, named_or_current, top};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_CTX_LMEM_RESIZE_TO_MAX, CU_CTX_MAP_HOST, CU_CTX_SCHED_BLOCKING_SYNC, CU_CTX_SCHED_MASK,
    CU_CTX_SYNC_MEMOPS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_EXEC_AFFINITY_TYPE_SM_COUNT,
    CU_FUNC_CACHE_PREFER_EQUAL, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE,
    CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, CUcontext, CUexecAffinityParam, CUexecAffinityParam_v1_param,
    CUexecAffinitySmCount, CUexecAffinityType, CUfunc_cache, CUsharedconfig,
};
use crate::driver::device::attributes;
use crate::instruments::settings::version;
use std::sync::atomic::Ordering;

pub(super) const MAP_HOST: u32 = CU_CTX_MAP_HOST.0 as u32;
pub(crate) const SYNC_MEMOPS: u32 = CU_CTX_SYNC_MEMOPS.0 as u32;
const SCHEDULE: u32 = CU_CTX_SCHED_MASK.0 as u32;

/// The flags that `cuCtxGetFlags` shows; those about core dumps are accepted and never shown.
pub(super) const REFLECTED: u32 = SCHEDULE | MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX.0 as u32 | SYNC_MEMOPS;

/// Stream priorities: the number falls as the priority rises.
pub(crate) const LEAST_PRIORITY: i32 = 0;
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The API version of every context.
const API_VERSION: u32 = 3020;

/// Refuses unknown flags and more than one scheduling policy.
pub(super) fn check_flags(flags: u32) -> Answer {
    let known = if version() >= 12010 { 0xff } else { 0x1f };
    let schedule = flags & SCHEDULE;
    let one_policy = schedule.count_ones() <= 1 && schedule <= CU_CTX_SCHED_BLOCKING_SYNC.0 as u32;
    if flags & !known == 0 && one_policy { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// Answers 0 for a dead context.
pub(crate) fn cuCtxGetFlags(flags: Out<u32>) -> Answer {
    let context = top().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    flags.set(context.life().map_or(0, |activation| activation.flags()))
}

pub(crate) fn cuCtxSetFlags(flags: u32) -> Answer {
    let context = top().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    let activation = context.activation()?;
    check_flags(flags)?;
    let always = if context.primary { MAP_HOST } else { 0 };
    activation.flags.store(flags & REFLECTED | always, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn cuCtxGetApiVersion(ctx: CUcontext, version: Out<u32>) -> Answer {
    let context = named_or_current(ctx)?;
    context.life().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    version.set(API_VERSION)
}

pub(crate) fn cuCtxGetId(ctx: CUcontext, ctxId: Out<u64>) -> Answer {
    let activation = named_or_current(ctx)?.activation()?;
    ctxId.set(activation.id())
}

/// Every context may use all multiprocessors of its device.
pub(crate) fn cuCtxGetExecAffinity(
    pExecAffinity: Out<CUexecAffinityParam>,
    type_: CUexecAffinityType,
) -> Answer {
    current()?;
    if type_ != CU_EXEC_AFFINITY_TYPE_SM_COUNT {
        return Err(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    }
    let all = attributes::value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) as u32;
    let param = CUexecAffinityParam_v1_param { smCount: CUexecAffinitySmCount { val: all } };
    pExecAffinity.set(CUexecAffinityParam { type_, param })
}

pub(crate) fn cuCtxGetStreamPriorityRange(leastPriority: Out<i32>, greatestPriority: Out<i32>) -> Answer {
    current()?;
    leastPriority.set_if_wanted(LEAST_PRIORITY);
    greatestPriority.set_if_wanted(GREATEST_PRIORITY);
    Ok(())
}

pub(crate) fn cuCtxGetCacheConfig(pconfig: Out<CUfunc_cache>) -> Answer {
    let activation = current()?;
    pconfig.set(CUfunc_cache(activation.cache.load(Ordering::Relaxed)))
}

pub(crate) fn cuCtxSetCacheConfig(config: CUfunc_cache) -> Answer {
    let activation = current()?;
    if !(0..=CU_FUNC_CACHE_PREFER_EQUAL.0).contains(&config.0) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    activation.cache.store(config.0, Ordering::Relaxed);
    Ok(())
}

/// Fixed by the hardware.
pub(crate) fn cuCtxGetSharedMemConfig(pConfig: Out<CUsharedconfig>) -> Answer {
    current()?;
    pConfig.set(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
}

/// Accepts a preference and, like the hardware, does not follow it.
pub(crate) fn cuCtxSetSharedMemConfig(config: CUsharedconfig) -> Answer {
    current()?;
    let known = (0..=CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0).contains(&config.0);
    if known { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// There is no cache to reset.
pub(crate) fn cuCtxResetPersistingL2Cache() -> Answer {
    current().map(|_| ())
}
