//! Streams and events with no current context.

use super::{Question, called, nothing};
use crate::driver::{LEGACY, PER_THREAD, call};
use cushim::driver::sys::{
    CU_STREAM_MEM_OP_BARRIER, CUipcEventHandle, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUstreamBatchMemOpParams,
};
use std::ptr::null_mut;

const POLICY: CUlaunchAttributeID = CUlaunchAttributeID(3);

/// What makes and ends streams.
const MAKING: &[Question] = &[
    ("cuStreamCreate", |s| {
        let mut stream = null_mut();
        call!(s.cu, cuStreamCreate_2000(&raw mut stream, 1))
    }),
    ("cuStreamCreateWithPriority", |s| {
        let mut stream = null_mut();
        call!(s.cu, cuStreamCreateWithPriority_5050(&raw mut stream, 1, 0))
    }),
    ("cuStreamDestroy of legacy", |s| call!(s.cu, cuStreamDestroy_4000(LEGACY))),
    ("cuStreamDestroy", |s| call!(s.cu, cuStreamDestroy_4000(s.stream))),
];

/// What a stream tells of itself.
const ASKING: &[Question] = &[
    ("cuStreamGetFlags", |s| {
        let mut flags = 0;
        call!(s.cu, cuStreamGetFlags_5050(s.stream, &raw mut flags))
    }),
    ("cuStreamGetPriority", |s| {
        let mut priority = 0;
        call!(s.cu, cuStreamGetPriority_5050(s.stream, &raw mut priority))
    }),
    ("cuStreamGetId", |s| {
        let mut id = 0;
        call!(s.cu, cuStreamGetId_12000(s.stream, &raw mut id))
    }),
    ("cuStreamGetCtx", |s| {
        let mut context = null_mut();
        call!(s.cu, cuStreamGetCtx_9020(s.stream, &raw mut context))
    }),
    ("cuStreamGetCtx, of green ones too", |s| {
        let (mut context, mut green) = (null_mut(), null_mut());
        call!(s.cu, cuStreamGetCtx_12050(s.stream, &raw mut context, &raw mut green))
    }),
    ("cuStreamGetDevice", |s| {
        let mut device = 0;
        call!(s.cu, cuStreamGetDevice_12080(s.stream, &raw mut device))
    }),
    ("cuStreamGetCaptureInfo", |s| {
        let (mut status, mut id) = (Default::default(), 0);
        call!(s.cu, cuStreamGetCaptureInfo_10010(s.stream, &raw mut status, &raw mut id))
    }),
    ("cuStreamGetCaptureInfo with dependencies", |s| {
        let (mut status, mut id) = (Default::default(), 0);
        call!(
            s.cu,
            cuStreamGetCaptureInfo_11030(
                s.stream,
                &raw mut status,
                &raw mut id,
                null_mut(),
                null_mut(),
                null_mut()
            )
        )
    }),
    ("cuStreamGetCaptureInfo with edges", |s| {
        let (mut status, mut id) = (Default::default(), 0);
        call!(
            s.cu,
            cuStreamGetCaptureInfo_12030(
                s.stream,
                &raw mut status,
                &raw mut id,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut()
            )
        )
    }),
    ("cuStreamAddCallback", |s| call!(s.cu, cuStreamAddCallback_5000(s.stream, Some(called), null_mut(), 0))),
];

/// The default streams, which are those of the current context.
const DEFAULT: &[Question] = &[
    ("cuStreamQuery of NULL", |s| call!(s.cu, cuStreamQuery_2000(null_mut()))),
    ("cuStreamQuery of legacy", |s| call!(s.cu, cuStreamQuery_2000(LEGACY))),
    ("cuStreamQuery of per-thread", |s| call!(s.cu, cuStreamQuery_2000(PER_THREAD))),
    ("cuStreamSynchronize of legacy", |s| call!(s.cu, cuStreamSynchronize_2000(LEGACY))),
    ("cuStreamSynchronize of per-thread", |s| call!(s.cu, cuStreamSynchronize_2000(PER_THREAD))),
    ("cuStreamWaitEvent of legacy", |s| call!(s.cu, cuStreamWaitEvent_3020(LEGACY, s.event, 0))),
    ("cuStreamGetFlags of legacy", |s| {
        let mut flags = 0;
        call!(s.cu, cuStreamGetFlags_5050(LEGACY, &raw mut flags))
    }),
    ("cuStreamGetPriority of legacy", |s| {
        let mut priority = 0;
        call!(s.cu, cuStreamGetPriority_5050(LEGACY, &raw mut priority))
    }),
    ("cuStreamGetId of legacy", |s| {
        let mut id = 0;
        call!(s.cu, cuStreamGetId_12000(LEGACY, &raw mut id))
    }),
    ("cuStreamGetCtx of legacy", |s| {
        let mut context = null_mut();
        call!(s.cu, cuStreamGetCtx_9020(LEGACY, &raw mut context))
    }),
    ("cuStreamIsCapturing of legacy", |s| {
        let mut status = Default::default();
        call!(s.cu, cuStreamIsCapturing_10000(LEGACY, &raw mut status))
    }),
    ("cuStreamAddCallback on legacy", |s| {
        call!(s.cu, cuStreamAddCallback_5000(LEGACY, Some(called), null_mut(), 0))
    }),
    ("cuLaunchHostFunc on legacy", |s| {
        call!(s.cu, cuLaunchHostFunc_10000(LEGACY, Some(nothing), null_mut()))
    }),
];

/// Events.
const EVENTS: &[Question] = &[
    ("cuEventCreate", |s| {
        let mut event = null_mut();
        call!(s.cu, cuEventCreate_2000(&raw mut event, 0))
    }),
    ("cuEventRecord on NULL", |s| call!(s.cu, cuEventRecord_2000(s.event, null_mut()))),
    ("cuEventRecord on legacy", |s| call!(s.cu, cuEventRecord_2000(s.event, LEGACY))),
    ("cuEventRecord on per-thread", |s| call!(s.cu, cuEventRecord_2000(s.event, PER_THREAD))),
    ("cuEventRecordWithFlags", |s| call!(s.cu, cuEventRecordWithFlags_11010(s.event, s.stream, 0))),
    ("cuEventRecordWithFlags on legacy", |s| call!(s.cu, cuEventRecordWithFlags_11010(s.event, LEGACY, 0))),
    ("cuEventElapsedTime, the later way", |s| {
        let mut milliseconds = 0.0;
        call!(s.cu, cuEventElapsedTime_12080(&raw mut milliseconds, s.start, s.start))
    }),
    ("cuIpcGetEventHandle", |s| {
        let mut handle = CUipcEventHandle { reserved: [0; 64] };
        call!(s.cu, cuIpcGetEventHandle_4010(&raw mut handle, s.event))
    }),
];

/// Attributes of streams.
const ATTRIBUTES: &[Question] = &[
    ("cuStreamGetAttribute", |s| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        call!(s.cu, cuStreamGetAttribute_11000(s.stream, POLICY, &raw mut value))
    }),
    ("cuStreamSetAttribute", |s| {
        let value = CUlaunchAttributeValue { priority: 1 };
        call!(s.cu, cuStreamSetAttribute_11000(s.stream, POLICY, &raw const value))
    }),
    ("cuStreamCopyAttributes", |s| call!(s.cu, cuStreamCopyAttributes_11000(s.stream, s.stream))),
    ("cuStreamGetAttribute of legacy", |s| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        call!(s.cu, cuStreamGetAttribute_11000(LEGACY, POLICY, &raw mut value))
    }),
];

/// Values in memory, in the order of a stream.
const VALUES: &[Question] = &[
    ("cuStreamWriteValue32", |s| call!(s.cu, cuStreamWriteValue32_11070(s.stream, s.memory, 1, 0))),
    ("cuStreamWriteValue64", |s| call!(s.cu, cuStreamWriteValue64_11070(s.stream, s.memory, 1, 0))),
    ("cuStreamWaitValue32", |s| call!(s.cu, cuStreamWaitValue32_11070(s.stream, s.memory, 0, 0))),
    ("cuStreamWaitValue64", |s| call!(s.cu, cuStreamWaitValue64_11070(s.stream, s.memory, 0, 0))),
    ("cuStreamBatchMemOp", |s| {
        let mut barrier = CUstreamBatchMemOpParams { pad: [0; 6] };
        barrier.operation = CU_STREAM_MEM_OP_BARRIER;
        call!(s.cu, cuStreamBatchMemOp_11070(s.stream, 1, &raw mut barrier, 0))
    }),
    ("cuStreamBatchMemOp of nothing", |s| call!(s.cu, cuStreamBatchMemOp_11070(s.stream, 0, null_mut(), 0))),
    ("cuStreamWriteValue32 on legacy", |s| call!(s.cu, cuStreamWriteValue32_11070(LEGACY, s.memory, 1, 0))),
];

/// Each runs in a process of its own.
pub(super) const GROUPS: &[&[Question]] = &[MAKING, ASKING, DEFAULT, EVENTS, ATTRIBUTES, VALUES];
