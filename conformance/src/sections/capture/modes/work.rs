//! Other streams and events, and work in other streams.

use super::super::scene::{SIZE, Scene};
use super::super::{begin, end};
use super::Row;
use crate::driver::{Cu, LEGACY, NON_BLOCKING, PER_THREAD, call};
use crate::sections::managed::DEVICE;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
    CU_STREAM_CAPTURE_MODE_RELAXED, CUevent, CUlaunchAttributeValue, CUmemcpyAttributes, CUresult, CUstream,
    CUstreamCaptureStatus, CUsynchronizationPolicy,
};
use std::ffi::c_void;
use std::ptr::null_mut;

const SMALL: usize = 64;

pub(super) extern "C" fn nothing(_: *mut c_void) {}
pub(super) extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

/// A page-locked place behind the one that copies come from.
fn pinned(s: &Scene) -> *mut c_void {
    s.pinned.wrapping_byte_add(1024)
}

/// A stream, or NULL.
fn stream(cu: &Cu) -> CUstream {
    cu.stream(NON_BLOCKING).unwrap_or(null_mut())
}

/// An event that is recorded and done, or NULL.
fn done(s: &Scene) -> CUevent {
    let event = s.cu.event(0).unwrap_or(null_mut());
    let _ = s.record(event, s.side).and(|| call!(s.cu, cuStreamSynchronize_2000(s.side)));
    event
}

/// What is made for a question is destroyed, as far as it is still there.
fn drop_event(cu: &Cu, event: CUevent) {
    if !event.is_null() {
        let _ = call!(cu, cuEventDestroy_4000(event));
    }
}

pub(super) const STREAMS: &[Row] = &[
    ("cuStreamCreate", |s, ask| {
        let mut stream = null_mut();
        ask.call(|| call!(s.cu, cuStreamCreate_2000(&raw mut stream, NON_BLOCKING)));
    }),
    ("cuStreamDestroy other", |s, ask| {
        let stream = stream(&s.cu);
        ask.call(|| call!(s.cu, cuStreamDestroy_4000(stream)));
    }),
    ("cuStreamQuery other", |s, ask| ask.call(|| call!(s.cu, cuStreamQuery_2000(s.side)))),
    ("cuStreamSynchronize other", |s, ask| ask.call(|| call!(s.cu, cuStreamSynchronize_2000(s.side)))),
    ("cuStreamQuery legacy", |s, ask| ask.call(|| call!(s.cu, cuStreamQuery_2000(LEGACY)))),
    ("cuStreamSynchronize legacy", |s, ask| ask.call(|| call!(s.cu, cuStreamSynchronize_2000(LEGACY)))),
    ("cuStreamQuery per-thread", |s, ask| ask.call(|| call!(s.cu, cuStreamQuery_2000(PER_THREAD)))),
    ("cuStreamSynchronize per-thread", |s, ask| {
        ask.call(|| call!(s.cu, cuStreamSynchronize_2000(PER_THREAD)));
    }),
    ("cuStreamIsCapturing other", |s, ask| {
        let mut status = CUstreamCaptureStatus(77);
        ask.call(|| call!(s.cu, cuStreamIsCapturing_10000(s.side, &raw mut status)));
    }),
    ("cuStreamGetFlags other", |s, ask| {
        let mut flags = 0;
        ask.call(|| call!(s.cu, cuStreamGetFlags_5050(s.side, &raw mut flags)));
    }),
    ("cuStreamGetPriority other", |s, ask| {
        let mut priority = 0;
        ask.call(|| call!(s.cu, cuStreamGetPriority_5050(s.side, &raw mut priority)));
    }),
    ("cuStreamSetAttribute other", |s, ask| {
        let value = CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(1) };
        let which = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        ask.call(|| call!(s.cu, cuStreamSetAttribute_11000(s.side, which, &raw const value)));
    }),
    ("cuStreamCopyAttributes others", |s, ask| {
        ask.call(|| call!(s.cu, cuStreamCopyAttributes_11000(s.side, s.third)));
    }),
    ("begin and end on another stream", |s, ask| {
        let begun = || begin(&s.cu, s.side, CU_STREAM_CAPTURE_MODE_RELAXED);
        ask.call(|| begun().and(|| end(&s.cu, s.side)));
    }),
];

pub(super) const EVENTS: &[Row] = &[
    ("cuEventCreate", |s, ask| {
        let mut event = null_mut();
        ask.call(|| call!(s.cu, cuEventCreate_2000(&raw mut event, 0)));
        drop_event(&s.cu, event);
    }),
    ("cuEventDestroy", |s, ask| {
        let event = done(s);
        ask.call(|| call!(s.cu, cuEventDestroy_4000(event)));
    }),
    ("cuEventQuery other", |s, ask| {
        let event = done(s);
        ask.call(|| call!(s.cu, cuEventQuery_2000(event)));
        drop_event(&s.cu, event);
    }),
    ("cuEventQuery never recorded", |s, ask| {
        let event = s.cu.event(0).unwrap_or(null_mut());
        ask.call(|| call!(s.cu, cuEventQuery_2000(event)));
        drop_event(&s.cu, event);
    }),
    ("cuEventSynchronize other", |s, ask| {
        let event = done(s);
        ask.call(|| call!(s.cu, cuEventSynchronize_2000(event)));
        drop_event(&s.cu, event);
    }),
    ("cuEventElapsedTime", |s, ask| {
        let (first, second, mut time) = (done(s), done(s), 0.0);
        ask.call(|| call!(s.cu, cuEventElapsedTime_2000(&raw mut time, first, second)));
        drop_event(&s.cu, first);
        drop_event(&s.cu, second);
    }),
    ("cuEventRecord other stream", |s, ask| {
        let event = done(s);
        ask.call(|| s.record(event, s.side));
        drop_event(&s.cu, event);
    }),
    ("cuStreamWaitEvent other", |s, ask| {
        let event = done(s);
        ask.call(|| s.wait(s.side, event));
        drop_event(&s.cu, event);
    }),
    ("cuCtxRecordEvent", |s, ask| {
        let event = done(s);
        ask.call(|| call!(s.cu, cuCtxRecordEvent_12050(s.context, event)));
        drop_event(&s.cu, event);
    }),
    ("cuCtxWaitEvent", |s, ask| {
        let event = done(s);
        ask.call(|| call!(s.cu, cuCtxWaitEvent_12050(s.context, event)));
        drop_event(&s.cu, event);
    }),
];

pub(super) const COPIES: &[Row] = &[
    ("cuMemcpyHtoD", |s, ask| {
        let host = [0u8; SMALL];
        ask.call(|| call!(s.cu, cuMemcpyHtoD_3020(s.memory, host.as_ptr().cast(), SMALL)));
    }),
    ("cuMemcpyDtoH", |s, ask| {
        let mut host = [0u8; SMALL];
        ask.call(|| call!(s.cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), s.memory, SMALL)));
    }),
    ("cuMemcpyDtoD", |s, ask| {
        ask.call(|| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.memory + 1024, SMALL)));
    }),
    ("cuMemcpy", |s, ask| ask.call(|| call!(s.cu, cuMemcpy_4000(s.memory, s.memory + 1024, SMALL)))),
    ("cuMemcpyPeer", |s, ask| {
        let (to, from) = (s.memory, s.memory + 1024);
        ask.call(|| call!(s.cu, cuMemcpyPeer_4000(to, s.context, from, s.context, SMALL)));
    }),
    ("cuMemcpyHtoDAsync pageable other", |s, ask| {
        let host = [0u8; SMALL];
        ask.call(|| call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, host.as_ptr().cast(), SMALL, s.side)));
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
    }),
    ("cuMemcpyHtoDAsync pinned other", |s, ask| {
        ask.call(|| call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, s.pinned, SMALL, s.side)));
    }),
    ("cuMemcpyDtoHAsync pageable other", |s, ask| {
        let mut host = [0u8; SMALL];
        ask.call(|| call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), s.memory, SMALL, s.side)));
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
    }),
    ("cuMemcpyDtoHAsync pinned other", |s, ask| {
        ask.call(|| call!(s.cu, cuMemcpyDtoHAsync_3020(pinned(s), s.memory, SMALL, s.side)));
    }),
    ("cuMemcpyPeerAsync other", |s, ask| {
        let (to, from) = (s.memory, s.memory + 1024);
        ask.call(|| call!(s.cu, cuMemcpyPeerAsync_4000(to, s.context, from, s.context, SMALL, s.side)));
    }),
    ("cuMemcpyBatchAsync other", |s, ask| {
        let (mut to, mut from, mut size, mut start) = (s.memory, s.memory + 1024, SMALL, 0usize);
        let mut attributes = CUmemcpyAttributes {
            srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            srcLocHint: DEVICE,
            dstLocHint: DEVICE,
            flags: 0,
        };
        let (to, from, size) = (&raw mut to, &raw mut from, &raw mut size);
        let (attributes, start) = (&raw mut attributes, &raw mut start);
        ask.call(|| call!(s.cu, cuMemcpyBatchAsync_13000(to, from, size, 1, attributes, start, 1, s.side)));
    }),
    ("cuMemsetD8", |s, ask| ask.call(|| call!(s.cu, cuMemsetD8_3020(s.memory, 0, SMALL)))),
    ("cuMemsetD2D32", |s, ask| {
        ask.call(|| call!(s.cu, cuMemsetD2D32_3020(s.memory, 64, 0, 4, 4)));
    }),
    ("cuMemsetD8Async other", |s, ask| {
        ask.call(|| call!(s.cu, cuMemsetD8Async_3020(s.memory, 0, SMALL, s.side)));
    }),
    ("cuMemsetD8 of all", |s, ask| ask.call(|| call!(s.cu, cuMemsetD8_3020(s.memory, 0, SIZE)))),
];

pub(super) const LAUNCHES: &[Row] = &[
    ("cuLaunchKernel other", |s, ask| ask.call(|| s.append(s.side, 0))),
    ("cuLaunchKernel legacy", |s, ask| ask.call(|| s.append(LEGACY, 0))),
    ("cuLaunchKernel per-thread", |s, ask| ask.call(|| s.append(PER_THREAD, 0))),
    ("cuLaunchKernel into it", |s, ask| ask.call(|| s.append(s.stream, 0))),
    ("cuLaunchHostFunc other", |s, ask| {
        ask.call(|| call!(s.cu, cuLaunchHostFunc_10000(s.side, Some(nothing), null_mut())));
    }),
    ("cuStreamAddCallback other", |s, ask| {
        ask.call(|| call!(s.cu, cuStreamAddCallback_5000(s.side, Some(called), null_mut(), 0)));
    }),
    ("cuStreamWriteValue32 other", |s, ask| {
        ask.call(|| call!(s.cu, cuStreamWriteValue32_11070(s.side, s.memory, 1, 0)));
    }),
    ("cuStreamWaitValue32 other", |s, ask| {
        const GEQ: u32 = 0;
        ask.call(|| call!(s.cu, cuStreamWaitValue32_11070(s.side, s.memory + 4096, 0, GEQ)));
    }),
    ("cuStreamBatchMemOp other, of none", |s, ask| {
        ask.call(|| call!(s.cu, cuStreamBatchMemOp_11070(s.side, 0, null_mut(), 0)));
    }),
];
