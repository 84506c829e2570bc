//! What order streams and events promise, seen from memory and host functions.

use super::Section;
use crate::driver::{Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;

pub(super) const SECTION: Section = Section { name: "order", parts: 1, devices: 1, run };

static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

extern "C" fn note(number: *mut c_void) {
    SEEN.lock().expect("nothing panics with the lock").push(number.addr());
}

fn seen() -> String {
    let numbers: Vec<String> =
        SEEN.lock().expect("nothing panics with the lock").drain(..).map(|n| n.to_string()).collect();
    numbers.join(",")
}

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    cu.start()?;
    let (a, b, event) = (cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?, cu.event(2)?);
    for number in 1..=4 {
        need!(cu, cuLaunchHostFunc_10000(a, Some(note), std::ptr::without_provenance_mut(number)))?;
    }
    need!(cu, cuStreamSynchronize_2000(a))?;
    t.line("host functions of one stream", seen);

    let gate = Gate::close(cu, a)?;
    need!(cu, cuLaunchHostFunc_10000(a, Some(note), std::ptr::without_provenance_mut(1)))?;
    need!(cu, cuEventRecord_2000(event, a))?;
    need!(cu, cuStreamWaitEvent_3020(b, event, 0))?;
    need!(cu, cuLaunchHostFunc_10000(b, Some(note), std::ptr::without_provenance_mut(2)))?;
    t.line("a stream that waits for an event", || cu.settled(|| call!(cu, cuStreamQuery_2000(b))));
    gate.open();
    need!(cu, cuStreamSynchronize_2000(b))?;
    t.line("  host functions", seen);

    memory(t, cu)
}

fn memory(t: &mut Lines, cu: &Cu) -> Outcome {
    let (a, b, event) = (cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?, cu.event(2)?);
    let (from, to) = (cu.memory(64)?, cu.memory(64)?);
    need!(cu, cuMemsetD8_3020(from, 1, 64))?;
    need!(cu, cuMemsetD8_3020(to, 2, 64))?;
    // So that the copy below is not the first of its kind, for which a driver may have to wait.
    need!(cu, cuMemcpyDtoDAsync_3020(to, from, 64, b))?;
    need!(cu, cuCtxSynchronize_2000())?;
    let gate = Gate::close(cu, a)?;
    need!(cu, cuMemsetD8Async_3020(from, 3, 64, a))?;
    need!(cu, cuEventRecord_2000(event, a))?;
    need!(cu, cuStreamWaitEvent_3020(b, event, 0))?;
    need!(cu, cuMemcpyDtoDAsync_3020(to, from, 64, b))?;
    gate.open();
    need!(cu, cuStreamSynchronize_2000(b))?;
    let mut host = [0u8; 64];
    t.line("fill, event, copy on another stream, read", || {
        call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), to, 64)).then(|| yes(host == [3; 64]))
    });
    let mut address = 0;
    t.line("allocate in order, fill, free in order", || {
        let mut calls = || {
            need!(cu, cuMemAllocAsync_11020(&raw mut address, 4096, a))?;
            need!(cu, cuMemsetD8Async_3020(address, 7, 4096, a))?;
            need!(cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), address + 4032, 64, a))?;
            need!(cu, cuMemFreeAsync_11020(address, a))?;
            need!(cu, cuStreamSynchronize_2000(a))
        };
        calls().map_or_else(|stop| stop.0, |()| yes(host == [7; 64]).to_owned())
    });
    t.line("synchronize NULL", || call!(cu, cuStreamSynchronize_2000(null_mut())));
    Ok(())
}
