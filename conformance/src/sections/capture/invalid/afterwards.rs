//! What is answered while a capture is invalidated and has not ended.

use super::super::scene::{SIZE, Scene};
use super::super::{MODES, begin, end};
use crate::driver::{Answer, LEGACY, NON_BLOCKING, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_STREAM_CAPTURE_MODE_RELAXED, CUlaunchAttributeValue,
    CUresult, CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" fn nothing(_: *mut c_void) {}
extern "C" fn called(_: CUstream, _: CUresult, _: *mut c_void) {}

/// A capture with a fork, invalidated.
fn invalidated(s: &Scene) -> Answer {
    let built = s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, s.side));
    let _ = built.and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
    s.status(s.stream)
}

/// Each call on the first stream.
pub(super) fn calls(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("invalidated", || invalidated(s));
    each(t, s, s.stream);
    s.done(t, s.stream);
    Ok(())
}

/// Each call on the fork.
pub(super) fn calls_of_a_fork(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("invalidated, a fork", || invalidated(s));
    each(t, s, s.side);
    s.done(t, s.stream);
    Ok(())
}

fn each(t: &mut Lines, s: &Scene, stream: CUstream) {
    let (cu, memory) = (&s.cu, s.memory);
    let (mut address, mut number, mut id, mut pooled) = (0, 0, 0, 0);
    let _ = call!(cu, cuMemAllocAsync_11020(&raw mut pooled, 64, s.third));
    t.line("  launch", || s.append(stream, 1));
    t.line("  memset", || call!(cu, cuMemsetD8Async_3020(memory, 0, 64, stream)));
    t.line("  memset misaligned", || call!(cu, cuMemsetD32Async_3020(memory + 2, 0, 1, stream)));
    t.line("  copy", || call!(cu, cuMemcpyDtoDAsync_3020(memory, memory + 1024, 64, stream)));
    t.line("  copy from pageable", || {
        call!(cu, cuMemcpyHtoDAsync_3020(memory, [0u8; 64].as_ptr().cast(), 64, stream))
    });
    t.line("  peer copy", || {
        call!(cu, cuMemcpyPeerAsync_4000(memory, s.context, memory + 1024, s.context, 64, stream))
    });
    t.line("  host function", || call!(cu, cuLaunchHostFunc_10000(stream, Some(nothing), null_mut())));
    t.line("  callback", || call!(cu, cuStreamAddCallback_5000(stream, Some(called), null_mut(), 0)));
    t.line("  allocate", || call!(cu, cuMemAllocAsync_11020(&raw mut address, 64, stream)));
    t.line("  allocate 0 bytes", || call!(cu, cuMemAllocAsync_11020(&raw mut address, 0, stream)));
    t.line("  free of a pool's memory", || call!(cu, cuMemFreeAsync_11020(pooled, stream)));
    t.line("  free NULL", || call!(cu, cuMemFreeAsync_11020(0, stream)));
    t.line("  write a value", || call!(cu, cuStreamWriteValue32_11070(stream, memory, 0, 0)));
    t.line("  prefetch of plain memory", || call!(cu, cuMemPrefetchAsync_8000(memory, SIZE, 0, stream)));
    t.line("  graph launch of NULL", || call!(cu, cuGraphLaunch_10000(null_mut(), stream)));
    t.line("  record", || s.record(s.joined, stream));
    t.line("  the event that was recorded: query", || cu.settled(|| call!(cu, cuEventQuery_2000(s.joined))));
    t.line("  external record", || call!(cu, cuEventRecordWithFlags_11010(s.joined, stream, 1)));
    t.line("  wait", || s.wait(stream, s.event));
    t.line("  wait of another stream for its event", || s.wait(s.third, s.event));
    t.line("  status of that stream", || s.status(s.third));
    t.line("  query", || cu.settled(|| call!(cu, cuStreamQuery_2000(stream))));
    t.line("  synchronize", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  event query", || call!(cu, cuEventQuery_2000(s.event)));
    t.line("  begin", || begin(cu, stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    t.line("  is it capturing", || s.status(stream));
    t.line("  older info", || {
        let mut status = Default::default();
        call!(cu, cuStreamGetCaptureInfo_10010(stream, &raw mut status, &raw mut id))
    });
    t.line("  dependencies set to none", || {
        call!(cu, cuStreamUpdateCaptureDependencies_11030(stream, null_mut(), 0, 1))
    });
    t.line("  flags", || call!(cu, cuStreamGetFlags_5050(stream, &raw mut number)));
    t.line("  id", || call!(cu, cuStreamGetId_12000(stream, &raw mut id)));
    t.line("  set an attribute", || {
        let value = CUlaunchAttributeValue { priority: 1 };
        let which = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        call!(cu, cuStreamSetAttribute_11000(stream, which, &raw const value))
    });
    t.line("  copy attributes", || call!(cu, cuStreamCopyAttributes_11000(stream, s.third)));
    t.line("  cuCtxSynchronize", || call!(cu, cuCtxSynchronize_2000()));
    t.line("  statuses", || s.statuses());
}

/// Ends of an invalidated capture, by the stream and the thread.
pub(super) fn ends(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("invalidated, the fork ends first", || invalidated(s));
    t.line("  end of the fork", || end(&s.cu, s.side));
    t.line("  statuses", || s.statuses());
    t.line("  end", || end(&s.cu, s.stream));
    t.line("  statuses", || s.statuses());
    t.line("  end of the fork again", || end(&s.cu, s.side));
    t.line("  usable", || s.usable(s.stream).and(|| s.usable(s.side)));
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: invalidated, ended on another thread"), || {
            let begun = begin(&s.cu, s.stream, mode);
            let _ = begun.and(|| call!(s.cu, cuStreamQuery_2000(s.stream)));
            s.elsewhere(|s| end(&s.cu, s.stream))
        });
        t.line("  status, end here", || format!("{}, {}", s.status(s.stream), end(&s.cu, s.stream)));
        t.line("  usable", || s.usable(s.stream));
    }
    t.line("invalidated with a fork that has work", || {
        let _ = s
            .begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.fork(s.stream, s.side))
            .and(|| s.append(s.side, 1))
            .and(|| call!(s.cu, cuStreamQuery_2000(s.side)));
        end(&s.cu, s.stream)
    });
    t.line("  statuses", || s.statuses());
    t.line("the same, ended with no place for a graph", || {
        let _ = invalidated(s);
        call!(s.cu, cuStreamEndCapture_10000(s.stream, null_mut()))
    });
    t.line("  statuses", || s.statuses());
    Ok(())
}

/// Whether an invalidated capture still forbids what it did before.
pub(super) fn unsafe_calls(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let alloc = |s: &Scene| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
    };
    for (name, mode) in MODES {
        let s = &s.anew()?;
        t.line(&format!("{name}: invalidated"), || {
            let _ = begin(cu, s.stream, mode).and(|| call!(cu, cuStreamQuery_2000(s.stream)));
            s.status(s.stream)
        });
        t.line("  cuMemAlloc", || alloc(s));
        t.line("  cuMemAlloc on another thread", || s.elsewhere(alloc));
        t.line("  cuStreamQuery of another stream", || call!(cu, cuStreamQuery_2000(s.side)));
        t.line("  cuCtxSynchronize", || call!(cu, cuCtxSynchronize_2000()));
        t.line("  a second capture beside it, cuMemAlloc", || {
            let begun = begin(cu, s.side, mode);
            let answer = begun.and(|| alloc(s));
            format!("{answer}, {}, {}", s.status(s.side), end(cu, s.side))
        });
        t.line("  end", || end(cu, s.stream));
        t.line("  cuMemAlloc", || alloc(s));
    }
    let blocking = cu.stream(0)?;
    t.line("invalidated, a blocking stream", || {
        let _ = begin(cu, blocking, CU_STREAM_CAPTURE_MODE_RELAXED)
            .and(|| call!(cu, cuStreamQuery_2000(blocking)));
        s.status(blocking)
    });
    t.line("  status of legacy", || s.status(LEGACY));
    t.line("  launch into legacy", || s.append(LEGACY, 1));
    t.line("  synchronous copy", || s.number(0));
    t.line("  end", || end(cu, blocking));
    t.line("  launch into legacy", || s.append(LEGACY, 1));
    Ok(())
}

/// Events of an invalidated capture, before and after its end.
pub(super) fn events(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let other = cu.stream(NON_BLOCKING)?;
    t.line("invalidated: its event", || invalidated(s));
    t.line("  query", || call!(cu, cuEventQuery_2000(s.event)));
    t.line("  another stream waits for it", || s.wait(other, s.event));
    t.line("  status of that one", || s.status(other));
    t.line("  launch there", || s.append(other, 1));
    t.line("  recorded outside", || s.record(s.event, s.third));
    t.line("  synchronize", || call!(cu, cuEventSynchronize_2000(s.event)));
    t.line("  end", || end(cu, s.stream));
    t.line("  another stream waits for it", || s.wait(other, s.event));
    t.line("  usable", || s.usable(other));
    t.line("the graph that info had told before", || {
        let begun = s.begin();
        let graph = s.graph(s.stream);
        let _ = begun.and(|| call!(cu, cuStreamQuery_2000(s.stream)));
        let after = s.info(s.stream);
        let (had, same) = (yes(!graph.is_null()), yes(after.graph == graph));
        format!("there {had}, told again {same}, status {}", after.status.0)
    });
    t.line("  end", || end(cu, s.stream));
    Ok(())
}
