//! What every call begins with: NVML has to be initialised, as often as it is shut down.

use crate::code::{
    Code, DRIVER_NOT_LOADED, GPU_NOT_FOUND, LIBRARY_NOT_FOUND, SUCCESS, UNINITIALIZED, UNKNOWN,
};
use crate::core::Core;
use std::ffi::{c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// A flag of `nvmlInitWithFlags`. It passes over those that it does not know.
const NO_GPUS: c_uint = 1;

static OPEN: AtomicU64 = AtomicU64::new(0);

/// Answers a call with what it does on softcuda.
pub(crate) fn call(body: impl FnOnce(&Core) -> Result<(), Code>) -> c_int {
    answer(|| {
        if OPEN.load(Ordering::Acquire) == 0 {
            return Err(UNINITIALIZED);
        }
        body(Core::of_process().ok_or(UNINITIALIZED)?)
    })
}

/// The same of a call that NVML answers at any time.
pub(crate) fn call_at_any_time(body: impl FnOnce(&Core) -> Result<(), Code>) -> c_int {
    answer(|| body(Core::of_process().ok_or(LIBRARY_NOT_FOUND)?))
}

fn answer(body: impl FnOnce() -> Result<(), Code>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(UNKNOWN));
    result.err().map_or(SUCCESS, |code| code.0)
}

fn begin(flags: c_uint) -> Result<(), Code> {
    let core = Core::of_process().ok_or(LIBRARY_NOT_FOUND)?;
    core.version().ok_or(DRIVER_NOT_LOADED)?;
    if core.count() == 0 && flags & NO_GPUS == 0 {
        return Err(GPU_NOT_FOUND);
    }
    OPEN.fetch_add(1, Ordering::AcqRel);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(flags: c_uint) -> c_int {
    answer(|| begin(flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    answer(|| begin(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> c_int {
    answer(|| begin(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    let one_less = |open: u64| open.checked_sub(1);
    let was_open = OPEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
    answer(|| was_open.map(drop).map_err(|_| UNINITIALIZED))
}
