//! `cuInit`, and what it means for a process that forks.

use super::forks;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_OPERATING_SYSTEM,
};
use crate::check;
use crate::executor;
use crate::instruments::live;
use crate::instruments::settings::{settings, version};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

const BEFORE: u8 = 0;
const READY: u8 = 1;

static STATE: AtomicU8 = AtomicU8::new(BEFORE);
static STARTING: Mutex<()> = Mutex::new(());

/// The process exits, and what it had is being taken apart.
const EXITED: u8 = 2;

/// Whether the driver is initialised in this process. In the child of one that had initialised nothing works (measured on 580).
pub(super) fn check() -> Answer {
    match STATE.load(Ordering::Acquire) {
        READY if !forks::is_child() => Ok(()),
        EXITED => Err(CUDA_ERROR_DEINITIALIZED),
        _ => Err(CUDA_ERROR_NOT_INITIALIZED),
    }
}

pub(crate) fn cuInit(Flags: u32) -> Answer {
    // Before any lock: the fork may have copied it locked.
    if forks::is_child() || STATE.load(Ordering::Acquire) == EXITED {
        return check();
    }
    if Flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if let Some(settings) = settings()
        && settings.devices.is_empty()
    {
        return Err(if settings.named_twice { CUDA_ERROR_INVALID_DEVICE } else { CUDA_ERROR_NO_DEVICE });
    }
    let _one_at_a_time = STARTING.lock();
    if check().is_err() {
        forks::watch()?;
        watch_exit()?;
        executor::watch_this_thread();
        STATE.store(READY, Ordering::Release);
    }
    Ok(())
}

/// From the exit handlers on, calls answer so and no thread of the driver starts anything.
fn watch_exit() -> Answer {
    extern "C" fn at_exit() {
        live::report();
        check::look_for_leaks();
        STATE.store(EXITED, Ordering::Release);
        executor::stop();
        check::end();
    }
    // SAFETY: the handler unwinds nothing, and the library stays loaded.
    match unsafe { libc::atexit(at_exit) } {
        0 => Ok(()),
        _ => Err(CUDA_ERROR_OPERATING_SYSTEM),
    }
}

pub(crate) fn cuDriverGetVersion(driverVersion: Out<i32>) -> Answer {
    driverVersion.set(version() as i32)
}
