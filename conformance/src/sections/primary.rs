//! Primary contexts: retained, released, reset.

use super::Section;
use crate::driver::{Answer, Cu, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "primary", parts: 1, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    need!(cu, cuInit_2000(0))?;
    let (mut first, mut second, mut third, mut current) = (null_mut(), null_mut(), null_mut(), null_mut());
    let mut address = 0;
    t.line("flags,active before retain", || state(cu));
    t.line("release unretained", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("reset unretained", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("retain of device 99", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut first, 99)));
    t.line("retain to NULL", || call!(cu, cuDevicePrimaryCtxRetain_7000(null_mut(), 0)));
    t.line("state of device 99", || {
        let (mut flags, mut active) = (0, 0);
        call!(cu, cuDevicePrimaryCtxGetState_7000(99, &raw mut flags, &raw mut active))
    });
    t.line("retain", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut first, 0)));
    t.line("current after retain", || {
        call!(cu, cuCtxGetCurrent_4000(&raw mut current)).then(|| yes(!current.is_null()))
    });
    t.line("retain again", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut second, 0)));
    t.line("  same handle", || yes(first == second));
    t.line("flags,active", || state(cu));
    t.line("set flags 4 while active", || call!(cu, cuDevicePrimaryCtxSetFlags_11000(0, 4)));
    t.line("  flags,active", || state(cu));
    t.line("set flags 3", || call!(cu, cuDevicePrimaryCtxSetFlags_11000(0, 3)));
    t.line("set flags 0x1000", || call!(cu, cuDevicePrimaryCtxSetFlags_11000(0, 0x1000)));
    t.line("  flags,active", || state(cu));
    t.line("set flags of device 99", || call!(cu, cuDevicePrimaryCtxSetFlags_11000(99, 0)));
    need!(cu, cuCtxSetCurrent_4000(first))?;
    let old = cu.memory(4096)?;
    t.line("reset, retained twice", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("  flags,active", || state(cu));
    t.line("  free of memory from before", || call!(cu, cuMemFree_3020(old)));
    t.line("  cuCtxSynchronize", || call!(cu, cuCtxSynchronize_2000()));
    t.line("  cuMemAlloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("release", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("release again", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("release over count", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("current is", || {
        call!(cu, cuCtxGetCurrent_4000(&raw mut current))
            .then(|| if current == first { "the old" } else { "another" })
    });
    t.line("  cuCtxSynchronize", || call!(cu, cuCtxSynchronize_2000()));
    t.line("  cuMemAlloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("retain after reset", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut third, 0)));
    t.line("  same handle", || yes(first == third));
    t.line("  cuMemAlloc through it", || match call!(cu, cuCtxSetCurrent_4000(third)) {
        answer if answer.succeeded() => call!(cu, cuMemAlloc_3020(&raw mut address, 64)),
        answer => answer,
    });
    Ok(())
}

fn state(cu: &Cu) -> Answer {
    let (mut flags, mut active) = (99, 99);
    call!(cu, cuDevicePrimaryCtxGetState_7000(0, &raw mut flags, &raw mut active))
        .then(|| format!("{flags},{active}"))
}
