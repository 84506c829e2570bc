//! Calls about contexts with no current context.

use super::Question;
use crate::driver::call;
use cushim::driver::sys::{CUexecAffinityParam, CUexecAffinityType, CUfunc_cache, CUlimit, CUsharedconfig};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// About the current one.
const CURRENT: &[Question] = &[
    ("cuCtxGetFlags", |s| {
        let mut flags = 0;
        call!(s.cu, cuCtxGetFlags_7000(&raw mut flags))
    }),
    ("cuCtxGetLimit", |s| {
        let mut value = 0;
        call!(s.cu, cuCtxGetLimit_3010(&raw mut value, CUlimit(0)))
    }),
    ("cuCtxSetLimit", |s| call!(s.cu, cuCtxSetLimit_3010(CUlimit(0), 2048))),
    ("cuCtxGetStreamPriorityRange", |s| {
        let (mut least, mut greatest) = (0, 0);
        call!(s.cu, cuCtxGetStreamPriorityRange_5050(&raw mut least, &raw mut greatest))
    }),
    ("cuCtxSetFlags", |s| call!(s.cu, cuCtxSetFlags_12010(0))),
    ("cuCtxGetCacheConfig", |s| {
        let mut config = Default::default();
        call!(s.cu, cuCtxGetCacheConfig_3020(&raw mut config))
    }),
    ("cuCtxSetCacheConfig", |s| call!(s.cu, cuCtxSetCacheConfig_3020(CUfunc_cache(0)))),
    ("cuCtxGetSharedMemConfig", |s| {
        let mut config = Default::default();
        call!(s.cu, cuCtxGetSharedMemConfig_4020(&raw mut config))
    }),
    ("cuCtxSetSharedMemConfig", |s| call!(s.cu, cuCtxSetSharedMemConfig_4020(CUsharedconfig(0)))),
    ("cuCtxResetPersistingL2Cache", |s| call!(s.cu, cuCtxResetPersistingL2Cache_11000())),
    ("cuCtxGetExecAffinity", |s| {
        let mut affinity = MaybeUninit::<CUexecAffinityParam>::zeroed();
        call!(s.cu, cuCtxGetExecAffinity_11040(affinity.as_mut_ptr(), CUexecAffinityType(0)))
    }),
    ("cuCtxAttach", |s| {
        let mut context = null_mut();
        call!(s.cu, cuCtxAttach_2000(&raw mut context, 0))
    }),
    ("cuCtxEnablePeerAccess", |s| call!(s.cu, cuCtxEnablePeerAccess_4000(s.context, 0))),
    ("cuCtxDisablePeerAccess", |s| call!(s.cu, cuCtxDisablePeerAccess_4000(s.context))),
];

/// About one that is named.
const NAMED: &[Question] = &[
    ("cuCtxGetApiVersion", |s| {
        let mut version = 0;
        call!(s.cu, cuCtxGetApiVersion_3020(s.context, &raw mut version))
    }),
    ("cuCtxGetId", |s| {
        let mut id = 0;
        call!(s.cu, cuCtxGetId_12000(s.context, &raw mut id))
    }),
    ("cuCtxGetDevice of that one", |s| {
        let mut device = 0;
        call!(s.cu, cuCtxGetDevice_13000(&raw mut device, s.context))
    }),
    ("cuCtxSynchronize that one", |s| call!(s.cu, cuCtxSynchronize_13000(s.context))),
    ("cuCtxRecordEvent", |s| call!(s.cu, cuCtxRecordEvent_12050(s.context, s.event))),
    ("cuCtxWaitEvent", |s| call!(s.cu, cuCtxWaitEvent_12050(s.context, s.event))),
    ("cuCtxGetApiVersion of NULL", |s| {
        let mut version = 0;
        call!(s.cu, cuCtxGetApiVersion_3020(null_mut(), &raw mut version))
    }),
    ("cuCtxGetId of NULL", |s| {
        let mut id = 0;
        call!(s.cu, cuCtxGetId_12000(null_mut(), &raw mut id))
    }),
    ("cuCtxRecordEvent of NULL", |s| call!(s.cu, cuCtxRecordEvent_12050(null_mut(), s.event))),
    ("cuCtxDetach", |s| call!(s.cu, cuCtxDetach_2000(null_mut()))),
];

/// Each runs in a process of its own.
pub(super) const GROUPS: &[&[Question]] = &[CURRENT, NAMED];
