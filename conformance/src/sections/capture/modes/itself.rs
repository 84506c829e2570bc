//! The stream that captures itself, its fork, and its events.

use super::super::graph::Exec;
use super::super::scene::{SIZE, Scene};
use super::graphs::simple;
use super::work::{called, nothing};
use super::{Ask, Row};
use crate::driver::{Answer, LEGACY, call};
use crate::sections::managed::DEVICE;
use cushim::driver::sys::{
    CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUlaunchAttributeValue, CUsynchronizationPolicy,
};
use std::ptr::null_mut;

impl Ask {
    /// Calls after a launch, a record of the event and a fork to the other stream were captured.
    fn itself(&mut self, call: impl FnOnce() -> Answer) {
        let s = self.scene;
        self.during(s.stream, || s.append(s.stream, 0).and(|| s.fork(s.stream, s.side)), call);
    }
}

pub(super) const QUESTIONS: &[Row] = &[
    ("cuStreamQuery itself", |s, ask| ask.itself(|| call!(s.cu, cuStreamQuery_2000(s.stream)))),
    ("cuStreamSynchronize itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuStreamSynchronize_2000(s.stream)));
    }),
    ("cuStreamQuery of the fork", |s, ask| ask.itself(|| call!(s.cu, cuStreamQuery_2000(s.side)))),
    ("cuStreamSynchronize of the fork", |s, ask| {
        ask.itself(|| call!(s.cu, cuStreamSynchronize_2000(s.side)));
    }),
    ("cuEventQuery captured", |s, ask| ask.itself(|| call!(s.cu, cuEventQuery_2000(s.event)))),
    ("cuEventSynchronize captured", |s, ask| {
        ask.itself(|| call!(s.cu, cuEventSynchronize_2000(s.event)));
    }),
    ("cuEventElapsedTime captured", |s, ask| {
        let mut time = 0.0;
        ask.itself(|| call!(s.cu, cuEventElapsedTime_2000(&raw mut time, s.event, s.event)));
    }),
    ("cuStreamGetFlags itself", |s, ask| {
        let mut flags = 0;
        ask.itself(|| call!(s.cu, cuStreamGetFlags_5050(s.stream, &raw mut flags)));
    }),
    ("cuStreamGetPriority itself", |s, ask| {
        let mut priority = 0;
        ask.itself(|| call!(s.cu, cuStreamGetPriority_5050(s.stream, &raw mut priority)));
    }),
    ("cuStreamGetId itself", |s, ask| {
        let mut id = 0;
        ask.itself(|| call!(s.cu, cuStreamGetId_12000(s.stream, &raw mut id)));
    }),
    ("cuStreamGetCtx itself", |s, ask| {
        let mut context = null_mut();
        ask.itself(|| call!(s.cu, cuStreamGetCtx_9020(s.stream, &raw mut context)));
    }),
    ("cuStreamGetAttribute itself", |s, ask| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        let which = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        ask.itself(|| call!(s.cu, cuStreamGetAttribute_11000(s.stream, which, &raw mut value)));
    }),
    ("cuStreamSetAttribute itself", |s, ask| {
        let value = CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(1) };
        let which = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        ask.itself(|| call!(s.cu, cuStreamSetAttribute_11000(s.stream, which, &raw const value)));
    }),
    ("cuStreamCopyAttributes to itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuStreamCopyAttributes_11000(s.stream, s.third)));
    }),
    ("cuStreamCopyAttributes from itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuStreamCopyAttributes_11000(s.third, s.stream)));
    }),
    ("cuStreamBeginCapture itself", |s, ask| ask.itself(|| s.begin())),
    ("set no dependencies itself", |s, ask| {
        let set = CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 as u32;
        ask.itself(|| call!(s.cu, cuStreamUpdateCaptureDependencies_11030(s.stream, null_mut(), 0, set)));
    }),
];

/// Launches a graph, or uploads it, where it is not to be.
fn with_exec(s: &Scene, ask: &mut Ask, call: impl FnOnce(&Exec) -> Answer) {
    let graph = simple(s);
    let exec = Exec::of(&s.cu, graph, 0);
    ask.itself(|| call(&exec));
    super::super::graph::destroy(&s.cu, graph);
}

pub(super) const WORK: &[Row] = &[
    ("cuStreamAddCallback itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuStreamAddCallback_5000(s.stream, Some(called), null_mut(), 0)));
    }),
    ("cuLaunchHostFunc itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuLaunchHostFunc_10000(s.stream, Some(nothing), null_mut())));
    }),
    ("cuGraphLaunch itself", |s, ask| with_exec(s, ask, |exec| exec.launch(s.stream))),
    ("cuGraphUpload itself", |s, ask| {
        with_exec(s, ask, |exec| call!(s.cu, cuGraphUpload_11010(exec.handle, s.stream)));
    }),
    ("cuMemAllocAsync itself", |s, ask| {
        let mut address = 0;
        ask.itself(|| call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, s.stream)));
    }),
    ("cuMemAllocAsync of 0 bytes itself", |s, ask| {
        let mut address = 0;
        ask.itself(|| call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 0, s.stream)));
    }),
    ("cuMemFreeAsync NULL itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuMemFreeAsync_11020(0, s.stream)));
    }),
    ("cuMemFreeAsync of others' itself", |s, ask| {
        ask.itself(|| call!(s.cu, cuMemFreeAsync_11020(s.memory, s.stream)));
    }),
    ("cuMemPrefetchAsync itself", |s, ask| {
        let mut address = 0;
        let _ = call!(s.cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1));
        ask.itself(|| call!(s.cu, cuMemPrefetchAsync_12020(address, SIZE, DEVICE, 0, s.stream)));
    }),
    ("cuStreamAttachMemAsync itself", |s, ask| {
        const SINGLE: u32 = 4;
        let mut address = 0;
        let _ = call!(s.cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 1));
        ask.itself(|| call!(s.cu, cuStreamAttachMemAsync_6000(s.stream, address, 0, SINGLE)));
    }),
    ("cuMemcpyPeerAsync itself", |s, ask| {
        let (to, from) = (s.memory, s.memory + 1024);
        ask.itself(|| call!(s.cu, cuMemcpyPeerAsync_4000(to, s.context, from, s.context, 64, s.stream)));
    }),
    ("cuMemcpyHtoDAsync to a bad address itself", |s, ask| {
        let bad = crate::driver::BOGUS;
        ask.itself(|| call!(s.cu, cuMemcpyHtoDAsync_3020(bad, s.pinned, 64, s.stream)));
    }),
    ("cuEventRecord itself", |s, ask| ask.itself(|| s.record(s.joined, s.stream))),
    ("external record itself", |s, ask| {
        let external = CU_EVENT_RECORD_EXTERNAL.0 as u32;
        let event = s.cu.event(0).unwrap_or(null_mut());
        ask.itself(|| call!(s.cu, cuEventRecordWithFlags_11010(event, s.stream, external)));
    }),
    ("external wait itself", |s, ask| {
        let external = CU_EVENT_WAIT_EXTERNAL.0 as u32;
        let event = s.cu.event(0).unwrap_or(null_mut());
        ask.itself(|| call!(s.cu, cuStreamWaitEvent_3020(s.stream, event, external)));
    }),
    ("wait of legacy for its event", |s, ask| ask.itself(|| s.wait(LEGACY, s.event))),
    ("cuCtxRecordEvent", |s, ask| {
        ask.itself(|| call!(s.cu, cuCtxRecordEvent_12050(s.context, s.joined)));
    }),
];
