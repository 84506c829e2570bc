//! A process that is locked, saved, restored and unlocked, by itself: which state each call wants, and which comes after it.

use super::Section;
use crate::driver::{Answer, Cu, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::CUprocessState;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "checkpoints", parts: 1, devices: 1, run };

/// The calls, in an order that tries each in each state.
const CALLS: [&str; 17] = [
    "unlock",
    "checkpoint",
    "restore",
    "lock",
    "lock",
    "restore",
    "unlock",
    "lock",
    "checkpoint",
    "checkpoint",
    "lock",
    "unlock",
    "restore",
    "checkpoint",
    "restore",
    "unlock",
    "unlock",
];

fn act(cu: &Cu, what: &str, pid: i32) -> Answer {
    match what {
        "lock" => call!(cu, cuCheckpointProcessLock_12080(pid, null_mut())),
        "checkpoint" => call!(cu, cuCheckpointProcessCheckpoint_12080(pid, null_mut())),
        "restore" => call!(cu, cuCheckpointProcessRestore_12080(pid, null_mut())),
        _ => call!(cu, cuCheckpointProcessUnlock_12080(pid, null_mut())),
    }
}

fn state(cu: &Cu, pid: i32) -> Answer {
    let mut state = CUprocessState(-1);
    call!(cu, cuCheckpointProcessGetState_12080(pid, &raw mut state)).then(|| state.0)
}

fn run(t: &mut Lines, cu: &Cu, _part: usize) -> Outcome {
    cu.start()?;
    let own = std::process::id() as i32;
    let mut memory = 0;
    need!(cu, cuMemAlloc_3020(&raw mut memory, 4096))?;
    need!(cu, cuMemsetD8_3020(memory, 9, 4096))?;
    t.line("state", || state(cu, own));
    for what in CALLS {
        t.line(what, || act(cu, what, own));
        t.line("  state", || state(cu, own));
    }
    let mut value = 0u8;
    t.line("memory afterwards", || {
        call!(cu, cuMemcpyDtoH_3020((&raw mut value).cast(), memory, 1)).then(|| value)
    });
    let mut thread = 0;
    t.line("a thread restores", || {
        call!(cu, cuCheckpointProcessGetRestoreThreadId_12080(own, &raw mut thread)).then(|| yes(thread > 0))
    });
    t.line("state into NULL", || call!(cu, cuCheckpointProcessGetState_12080(own, null_mut())));
    t.line("thread into NULL", || call!(cu, cuCheckpointProcessGetRestoreThreadId_12080(own, null_mut())));
    for (name, nobody) in [("0", 0), ("-1", -1), ("nobody", 999_999_999)] {
        t.line(&format!("state of {name}"), || state(cu, nobody));
        for what in ["lock", "checkpoint", "restore", "unlock"] {
            t.line(&format!("{what} {name}"), || act(cu, what, nobody));
        }
    }
    Ok(())
}
