//! Checkpoints of a process: it is locked, so that its calls wait; its memory is saved; it is restored, and unlocked. Devices belong to the
//! process here, with all of their memory, so that saving and restoring move nothing; and a process can do this to itself alone.

use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING,
    CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_OPERATING_SYSTEM, CUcheckpointCheckpointArgs, CUcheckpointLockArgs, CUcheckpointRestoreArgs,
    CUcheckpointUnlockArgs, CUprocessState,
};
use crate::abi::{Answer, sys::CUresult};
use crate::instruments::complain::complain;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};

static STATE: Mutex<CUprocessState> = Mutex::new(CU_PROCESS_STATE_RUNNING);
static UNLOCKED: Condvar = Condvar::new();
/// Whether the state is another one than running, for those who ask at each call.
static IS_HELD: AtomicBool = AtomicBool::new(false);

pub(crate) fn cuCheckpointProcessGetState(pid: i32, state: Out<CUprocessState>) -> Answer {
    check_process(pid)?;
    state.set(*STATE.lock())
}

pub(crate) fn cuCheckpointProcessGetRestoreThreadId(pid: i32, tid: Out<i32>) -> Answer {
    check_process(pid)?;
    // The process's first thread: there is none of the driver's that restores.
    tid.set(pid)
}

pub(crate) fn cuCheckpointProcessLock(pid: i32, args: Out<CUcheckpointLockArgs>) -> Answer {
    check_process(pid)?;
    // The first word is how long to wait for calls that are under way; none is waited for.
    if let Some([first, others @ ..]) = words(args)? {
        all_zero(&[first >> 32])?;
        all_zero(&others)?;
    }
    change(CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED)
}

pub(crate) fn cuCheckpointProcessCheckpoint(pid: i32, args: Out<CUcheckpointCheckpointArgs>) -> Answer {
    check_process(pid)?;
    all_zero(&words(args)?.unwrap_or_default())?;
    change(CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED)
}

pub(crate) fn cuCheckpointProcessRestore(pid: i32, args: Out<CUcheckpointRestoreArgs>) -> Answer {
    check_process(pid)?;
    let [pairs, count, others @ ..] = words(args)?.unwrap_or_default();
    all_zero(&others)?;
    if pairs != 0 || count != 0 {
        complain("a process is restored on the devices that it had: no pairs of GPUs can be given");
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    change(CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_LOCKED)
}

pub(crate) fn cuCheckpointProcessUnlock(pid: i32, args: Out<CUcheckpointUnlockArgs>) -> Answer {
    check_process(pid)?;
    all_zero(&words(args)?.unwrap_or_default())?;
    change(CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING)?;
    UNLOCKED.notify_all();
    Ok(())
}

/// Waits as long as the process is locked.
pub(crate) fn wait_while_held() {
    if IS_HELD.load(Ordering::Acquire) {
        let mut state = STATE.lock();
        UNLOCKED.wait_while(&mut state, |state| *state != CU_PROCESS_STATE_RUNNING);
    }
}

fn change(from: CUprocessState, to: CUprocessState) -> Answer {
    let mut state = STATE.lock();
    if *state != from {
        return Err(CUDA_ERROR_ILLEGAL_STATE);
    }
    *state = to;
    IS_HELD.store(to != CU_PROCESS_STATE_RUNNING, Ordering::Release);
    Ok(())
}

/// Whether it is this process; otherwise why nothing can be said of it.
fn check_process(pid: i32) -> Answer {
    if pid == std::process::id() as i32 {
        return Ok(());
    }
    // SAFETY: no signal is sent.
    if pid <= 0 || unsafe { libc::kill(pid, 0) } != 0 && !is_of_others() {
        return Err(CUDA_ERROR_OPERATING_SYSTEM);
    }
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
    if maps.is_ok_and(|maps| !maps.contains("softcuda")) {
        return Err(CUDA_ERROR_NOT_INITIALIZED);
    }
    complain(
        "another process cannot be checkpointed: each has a driver and devices of its own; let it do so itself",
    );
    Err(CUDA_ERROR_NOT_SUPPORTED)
}

/// Whether a signal was refused since the process is another user's.
fn is_of_others() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The 64 bytes of arguments, if there are any.
fn words<T>(args: Out<T>) -> Result<Option<[u64; 8]>, CUresult> {
    const { assert!(size_of::<T>() == 64) };
    if args.address() == 0 {
        return Ok(None);
    }
    In::at(args.address() as *const [u64; 8]).get().map(Some)
}

/// What is reserved is 0.
fn all_zero(words: &[u64]) -> Answer {
    if words.iter().all(|word| *word == 0) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
