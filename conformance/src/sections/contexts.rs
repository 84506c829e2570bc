//! Created contexts, and which one is current.

use super::Section;
use crate::driver::{Answer, Cu, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_EXEC_AFFINITY_TYPE_SM_COUNT, CUcontext, CUexecAffinityParam, CUexecAffinityType, CUlimit,
};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "contexts", parts: 3, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    match part {
        0 => created(t, cu),
        1 => destroy_primary(t, cu),
        _ => attributes(t, cu),
    }
}

fn created(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    let (mut a, mut b, mut out, mut device) = (null_mut(), null_mut(), null_mut(), -1);
    t.line("create with flags 3", || cu.create_context(&mut a, 3, 0));
    t.line("create with flags 0x1000", || cu.create_context(&mut a, 0x1000, 0));
    t.line("create on device 99", || cu.create_context(&mut a, 0, 99));
    t.line("create", || cu.create_context(&mut a, 0, 0));
    t.line("  is current", || current_is(cu, a));
    t.line("  device", || call!(cu, cuCtxGetDevice_2000(&raw mut device)).then(|| device));
    t.line("create another", || cu.create_context(&mut b, 0, 0));
    t.line("  differs from the first and the primary", || yes(a != b && b != primary));
    t.line("pop", || call!(cu, cuCtxPopCurrent_4000(&raw mut out)).then(|| yes(out == b)));
    t.line("  the one below is current", || current_is(cu, a));
    t.line("push", || call!(cu, cuCtxPushCurrent_4000(b)));
    t.line("  is current", || current_is(cu, b));
    t.line("push NULL", || call!(cu, cuCtxPushCurrent_4000(null_mut())));
    t.line("set current replaces the top", || call!(cu, cuCtxSetCurrent_4000(primary)));
    t.line("  is current", || current_is(cu, primary));
    t.line("  pop gives it", || call!(cu, cuCtxPopCurrent_4000(&raw mut out)).then(|| yes(out == primary)));
    t.line("  then the one below is current", || current_is(cu, a));
    t.line("pop to NULL", || call!(cu, cuCtxPopCurrent_4000(null_mut())));
    t.line("  then the one below is current", || current_is(cu, primary));
    t.line("set current NULL pops", || call!(cu, cuCtxSetCurrent_4000(null_mut())));
    t.line("  nothing is current", || current_is(cu, null_mut()));
    t.line("  pop", || call!(cu, cuCtxPopCurrent_4000(&raw mut out)));
    need!(cu, cuCtxSetCurrent_4000(a))?;
    t.line("nothing is current in a new thread", || {
        let cu = *cu;
        let there = std::thread::spawn(move || current_is(&cu, null_mut()));
        there.join().unwrap_or_else(|_| "the thread panicked".into())
    });
    t.line("destroy the current one", || call!(cu, cuCtxDestroy_4000(a)));
    t.line("  nothing is current", || current_is(cu, null_mut()));
    t.line("destroy one that is not current", || call!(cu, cuCtxDestroy_4000(b)));
    t.line("destroy NULL", || call!(cu, cuCtxDestroy_4000(null_mut())));
    Ok(())
}

fn destroy_primary(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    t.line("destroy the primary one", || call!(cu, cuCtxDestroy_4000(primary)));
    t.line("  is current", || current_is(cu, primary));
    let mut address = 0;
    t.line("  cuMemAlloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    Ok(())
}

fn attributes(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    let (mut flags, mut number, mut id, mut other, mut value) = (99, 0, 0, 0, 0);
    t.line("flags of the primary one", || call!(cu, cuCtxGetFlags_7000(&raw mut flags)).then(|| flags));
    t.line("API version of NULL is that of the current one", || {
        call!(cu, cuCtxGetApiVersion_3020(null_mut(), &raw mut number)).then(|| yes(number > 0))
    });
    t.line("API version", || call!(cu, cuCtxGetApiVersion_3020(primary, &raw mut number)));
    t.line("id", || call!(cu, cuCtxGetId_12000(primary, &raw mut id)));
    t.line("  id of NULL is that of the current one", || {
        call!(cu, cuCtxGetId_12000(null_mut(), &raw mut other)).then(|| yes(id == other))
    });
    t.line("limit stack size", || {
        call!(cu, cuCtxGetLimit_3010(&raw mut value, CUlimit(0))).then(|| yes(value > 0))
    });
    t.line("limit 99", || call!(cu, cuCtxGetLimit_3010(&raw mut value, CUlimit(99))));
    t.line("set limit 99", || call!(cu, cuCtxSetLimit_3010(CUlimit(99), 1)));
    t.line("limit to NULL", || call!(cu, cuCtxGetLimit_3010(null_mut(), CUlimit(0))));
    t.line("memory free <= total", || {
        let (mut free, mut total) = (0, 0);
        call!(cu, cuMemGetInfo_3020(&raw mut free, &raw mut total)).then(|| yes(0 < free && free <= total))
    });
    let mut affinity = MaybeUninit::<CUexecAffinityParam>::zeroed();
    t.line("execution affinity, in multiprocessors", || {
        let answer =
            call!(cu, cuCtxGetExecAffinity_11040(affinity.as_mut_ptr(), CU_EXEC_AFFINITY_TYPE_SM_COUNT));
        // SAFETY: a structure of numbers, for which zero is a value.
        answer.then(|| yes(unsafe { affinity.assume_init() }.param.smCount.val > 0))
    });
    t.line("execution affinity of kind 9", || {
        call!(cu, cuCtxGetExecAffinity_11040(affinity.as_mut_ptr(), CUexecAffinityType(9)))
    });
    t.line("synchronize the current one", || call!(cu, cuCtxSynchronize_2000()));
    t.line("synchronize that one", || call!(cu, cuCtxSynchronize_13000(primary)));
    t.line("current to NULL", || call!(cu, cuCtxGetCurrent_4000(null_mut())));
    cu.context()?;
    for (situation, set) in [("created with flags 0; set 4", 4), ("set 0x1f", 0x1f), ("set 0", 0)] {
        t.line(situation, || call!(cu, cuCtxSetFlags_12010(set)));
        t.line("  flags", || call!(cu, cuCtxGetFlags_7000(&raw mut flags)).then(|| flags));
    }
    Ok(())
}

fn current_is(cu: &Cu, context: CUcontext) -> Answer {
    let mut current = std::ptr::without_provenance_mut(1);
    call!(cu, cuCtxGetCurrent_4000(&raw mut current)).then(|| yes(current == context))
}
