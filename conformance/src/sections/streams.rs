//! Streams: flags, priorities, tokens, destruction.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUstream};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) const SECTION: Section = Section { name: "streams", parts: 1, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    let primary = cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    priorities(t, cu);
    flags(t, cu, stream);
    ids(t, cu, stream)?;
    tokens(t, cu, primary, stream);
    busy(t, cu)
}

fn priorities(t: &mut Lines, cu: &Cu) {
    let (mut least, mut greatest) = (99, 99);
    t.line("priority range least,greatest", || {
        call!(cu, cuCtxGetStreamPriorityRange_5050(&raw mut least, &raw mut greatest))
            .then(|| format!("{least},{greatest}"))
    });
    for (situation, priority) in [
        ("create priority +5", 5),
        ("create priority +99", 99),
        ("create priority -2", -2),
        ("create priority -99", -99),
    ] {
        let (mut stream, mut clamped) = (null_mut(), 99);
        t.line(situation, || {
            call!(cu, cuStreamCreateWithPriority_5050(&raw mut stream, NON_BLOCKING, priority))
        });
        t.line("  clamped to", || {
            call!(cu, cuStreamGetPriority_5050(stream, &raw mut clamped)).then(|| clamped)
        });
    }
}

fn flags(t: &mut Lines, cu: &Cu, stream: CUstream) {
    let mut out = null_mut();
    t.line("bad flags", || call!(cu, cuStreamCreate_2000(&raw mut out, 2)));
    t.line("bad flags with a priority", || call!(cu, cuStreamCreateWithPriority_5050(&raw mut out, 2, 0)));
    t.line("create to NULL", || call!(cu, cuStreamCreate_2000(null_mut(), 0)));
    let mut of = |situation: &str, stream| {
        let (mut flags, mut priority) = (99, 99);
        t.line(&format!("flags of {situation}"), || {
            call!(cu, cuStreamGetFlags_5050(stream, &raw mut flags)).then(|| flags)
        });
        t.line(&format!("priority of {situation}"), || {
            call!(cu, cuStreamGetPriority_5050(stream, &raw mut priority)).then(|| priority)
        });
    };
    of("non-blocking", stream);
    of("NULL", null_mut());
    of("legacy", LEGACY);
    of("per-thread", PER_THREAD);
    t.line("flags to NULL", || call!(cu, cuStreamGetFlags_5050(stream, null_mut())));
}

fn ids(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let id = |stream| {
        let mut id = 0;
        let answer = call!(cu, cuStreamGetId_12000(stream, &raw mut id));
        (answer, id)
    };
    let differs = |one: CUstream, other: CUstream| {
        let (answer, first) = id(one);
        answer.then(|| yes(first != id(other).1))
    };
    let another = cu.stream(NON_BLOCKING)?;
    t.line("id of stream", || id(stream).0);
    t.line("  the same when asked again", || {
        let (answer, first) = id(stream);
        answer.then(|| yes(first == id(stream).1))
    });
    t.line("  differs from another's", || differs(stream, another));
    t.line("legacy id", || id(LEGACY).0);
    t.line("  that of NULL is the same", || {
        let (answer, legacy) = id(LEGACY);
        answer.then(|| yes(legacy == id(null_mut()).1))
    });
    t.line("per-thread id", || id(PER_THREAD).0);
    t.line("  differs from legacy's", || differs(PER_THREAD, LEGACY));
    Ok(())
}

fn tokens(t: &mut Lines, cu: &Cu, primary: CUcontext, stream: CUstream) {
    let context = |stream| {
        let mut context = null_mut();
        call!(cu, cuStreamGetCtx_9020(stream, &raw mut context)).then(|| yes(context == primary))
    };
    t.line("context of a stream is the current one", || context(stream));
    t.line("context of NULL is the current one", || context(null_mut()));
    t.line("context of legacy is the current one", || context(LEGACY));
    t.line("context of per-thread is the current one", || context(PER_THREAD));
    for (name, token) in [("NULL", null_mut()), ("legacy", LEGACY), ("per-thread", PER_THREAD)] {
        t.line(&format!("query {name}"), || cu.settled(|| call!(cu, cuStreamQuery_2000(token))));
        t.line(&format!("synchronize {name}"), || call!(cu, cuStreamSynchronize_2000(token)));
    }
    t.line("destroy legacy token", || call!(cu, cuStreamDestroy_4000(LEGACY)));
    t.line("destroy per-thread token", || call!(cu, cuStreamDestroy_4000(PER_THREAD)));
    t.line("destroy NULL", || call!(cu, cuStreamDestroy_4000(null_mut())));
}

/// What a stream does that is destroyed while it has work to do.
fn busy(t: &mut Lines, cu: &Cu) -> Outcome {
    static RAN: AtomicBool = AtomicBool::new(false);
    extern "C" fn run(_: *mut std::ffi::c_void) {
        RAN.store(true, Ordering::Release);
    }
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("query idle", || call!(cu, cuStreamQuery_2000(stream)));
    t.line("synchronize idle", || call!(cu, cuStreamSynchronize_2000(stream)));
    let gate = Gate::close(cu, stream)?;
    need!(cu, cuLaunchHostFunc_10000(stream, Some(run), null_mut()))?;
    t.line("query busy", || call!(cu, cuStreamQuery_2000(stream)));
    t.line("destroy stream with pending work", || call!(cu, cuStreamDestroy_4000(stream)));
    t.line("  returned before the work was done", || yes(!RAN.load(Ordering::Acquire)));
    gate.open();
    t.line("  the work is done nevertheless", || -> Answer {
        let start = Instant::now();
        while !RAN.load(Ordering::Acquire) && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        yes(RAN.load(Ordering::Acquire)).into()
    });
    Ok(())
}
