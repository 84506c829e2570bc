//! The other device's streams and events, while the own context is current.

use super::{SIZE, Scene};
use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, LEGACY, Outcome, PER_THREAD, call, need, yes};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUevent, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" fn nothing(_: *mut c_void) {}

pub(super) fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.there.stream);
    t.line("query the other's stream", || call!(cu, cuStreamQuery_2000(stream)));
    t.line("synchronise it", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("its context is the other's", || {
        let mut context = null_mut();
        call!(cu, cuStreamGetCtx_9020(stream, &raw mut context)).then(|| yes(context == s.there.context))
    });
    t.line("its device", || {
        let mut device = 99;
        call!(cu, cuStreamGetDevice_12080(stream, &raw mut device)).then(|| device)
    });
    t.line("its priority", || {
        let mut priority = 99;
        call!(cu, cuStreamGetPriority_5050(stream, &raw mut priority)).then(|| priority)
    });
    t.line("a host function in it", || call!(cu, cuLaunchHostFunc_10000(stream, Some(nothing), null_mut())));
    t.line("a value written in it to its memory", || {
        call!(cu, cuStreamWriteValue32_11070(stream, s.there.memory, 7, 0))
    });
    t.line("a value written in it to the own memory", || {
        call!(cu, cuStreamWriteValue32_11070(stream, s.here.memory, 7, 0))
    });
    t.line("a wait in it for a value in its memory", || {
        call!(cu, cuStreamWaitValue32_11070(stream, s.there.memory, 7, 1))
    });
    t.line("a wait in it for a value in the own memory", || {
        call!(cu, cuStreamWaitValue32_11070(stream, s.here.memory, 0, 0))
    });
    t.line("synchronise it then", || call!(cu, cuStreamSynchronize_2000(stream)));
    let module = cu.module(KERNELS)?;
    let function = cu.function(module, c"nothing")?;
    t.line("a function of the own context in it", || cu.launch(function, Shape::ONE, stream, &mut []));
    s.enter(&s.there)?;
    let its = cu.function(cu.module(KERNELS)?, c"nothing")?;
    s.enter(&s.here)?;
    t.line("a function of its context in it", || cu.launch(its, Shape::ONE, stream, &mut []));
    t.line("a function of its context in the own stream", || {
        cu.launch(its, Shape::ONE, s.here.stream, &mut [])
    });
    t.line("a function of its context in the NULL stream", || {
        cu.launch(its, Shape::ONE, null_mut(), &mut [])
    });
    t.line("synchronise it at last", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("copy the own stream's attributes to it", || {
        call!(cu, cuStreamCopyAttributes_11000(stream, s.here.stream))
    });
    t.line("destroy it", || call!(cu, cuStreamDestroy_4000(stream)));
    Ok(())
}

pub(super) fn events(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, here, there) = (&s.cu, &s.here, &s.there);
    let elapsed = |from: CUevent, to: CUevent| {
        let mut milliseconds = 0.0;
        call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, from, to))
    };
    t.line("record the own event in the other's stream", || {
        call!(cu, cuEventRecord_2000(here.event, there.stream))
    });
    t.line("record the other's in the own stream", || {
        call!(cu, cuEventRecord_2000(there.event, here.stream))
    });
    t.line("record the other's in the NULL stream", || {
        call!(cu, cuEventRecord_2000(there.event, null_mut()))
    });
    t.line("record the other's in its stream", || call!(cu, cuEventRecord_2000(there.event, there.stream)));
    t.line("query it", || cu.settled(|| call!(cu, cuEventQuery_2000(there.event))));
    t.line("synchronise it", || call!(cu, cuEventSynchronize_2000(there.event)));
    t.line("record the own in the own stream", || call!(cu, cuEventRecord_2000(here.event, here.stream)));
    t.line("synchronise that", || call!(cu, cuEventSynchronize_2000(here.event)));
    t.line("elapsed between the two", || elapsed(here.event, there.event));
    t.line("elapsed from the other's to itself", || elapsed(there.event, there.event));
    t.line("the own stream waits for the other's event", || {
        call!(cu, cuStreamWaitEvent_3020(here.stream, there.event, 0))
    });
    t.line("the other's stream waits for the own event", || {
        call!(cu, cuStreamWaitEvent_3020(there.stream, here.event, 0))
    });
    let gate = Gate::close(cu, there.stream)?;
    need!(cu, cuEventRecord_2000(there.event, there.stream))?;
    need!(cu, cuStreamWaitEvent_3020(here.stream, there.event, 0))?;
    t.line("while the other is busy: its event", || call!(cu, cuEventQuery_2000(there.event)));
    t.line("  the own stream that waits for it", || {
        cu.settled(|| call!(cu, cuStreamQuery_2000(here.stream)))
    });
    gate.open();
    t.line("  then", || call!(cu, cuStreamSynchronize_2000(here.stream)));
    t.line("destroy the other's event", || call!(cu, cuEventDestroy_4000(there.event)));
    Ok(())
}

/// The default streams are the current context's.
pub(super) fn legacy(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    s.enter(&s.there)?;
    let blocking = cu.stream(0)?;
    need!(cu, cuMemsetD8Async_3020(s.there.memory, 0, 64, blocking))?;
    need!(cu, cuStreamSynchronize_2000(blocking))?;
    s.enter(&s.here)?;
    for stream in [LEGACY, PER_THREAD] {
        need!(cu, cuMemsetD8Async_3020(s.here.memory, 0, 64, stream))?;
        need!(cu, cuStreamSynchronize_2000(stream))?;
    }
    let own = cu.stream(0)?;
    let settled = |stream| cu.settled(|| call!(cu, cuStreamQuery_2000(stream)));
    let gate = Gate::close(cu, blocking)?;
    for (name, stream) in [("legacy", LEGACY), ("per-thread", PER_THREAD), ("a blocking stream", own)] {
        t.line(&format!("the other's blocking stream is busy: work in {name}"), || {
            call!(cu, cuMemsetD8Async_3020(s.here.memory, 0, 64, stream))
        });
        t.line("  query", || settled(stream));
    }
    t.line("  synchronise the own context", || call!(cu, cuCtxSynchronize_2000()));
    gate.open();
    need!(cu, cuStreamSynchronize_2000(blocking))?;
    need!(cu, cuStreamDestroy_4000(own))?;
    t.line("a copy to the other in the legacy stream", || copy(s));
    Ok(())
}

fn copy(s: &Scene) -> Answer {
    match call!(s.cu, cuMemcpyAsync_4000(s.there.memory, s.here.memory, SIZE, LEGACY)) {
        answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(LEGACY)),
        answer => answer,
    }
}

type Wait = (&'static str, bool, fn() -> CUstream);

/// A default stream of the first that is to wait for the second's event, recorded or not.
pub(super) const WAITS: &[Wait] = &[
    ("legacy waits for the other's event, never recorded", false, || LEGACY),
    ("legacy waits for the other's event, recorded", true, || LEGACY),
    ("per-thread waits for the other's event, never recorded", false, || PER_THREAD),
    ("per-thread waits for the other's event, recorded", true, || PER_THREAD),
];

pub(super) fn wait(t: &mut Lines, s: &Scene, number: usize) -> Outcome {
    let (situation, is_recorded, stream) = WAITS[number];
    if is_recorded {
        need!(s.cu, cuEventRecord_2000(s.there.event, s.there.stream))?;
    }
    t.line(situation, || match call!(s.cu, cuStreamWaitEvent_3020(stream(), s.there.event, 0)) {
        answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(stream())),
        answer => answer,
    });
    Ok(())
}
