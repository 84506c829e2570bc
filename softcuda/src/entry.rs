//! What every call of a driver function passes through: the one place for rules that hold for all of them.

use crate::error::Answer;
use crate::memory::pool;
use crate::names::EXPORTS;
use crate::settings::{settings, version};
use crate::sys::{
    CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_SYSTEM_NOT_READY, CUDA_SUCCESS, CUresult,
};
use crate::trace::Arguments;
use crate::{calls, exports, host_function, init, logs};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::LazyLock;

/// The address of an exported function.
pub(crate) struct Function(pub(crate) *const c_void);

// SAFETY: an address of code, which nothing writes.
unsafe impl Sync for Function {}

/// When a function may be called.
#[derive(Clone, Copy, PartialEq)]
enum Gate {
    /// Also before `cuInit`, and in the child of a fork.
    Always,
    AfterInit,
    /// After `cuInit`, and then no device can do it.
    NoDevice,
    /// Never: the impersonated version does not have it.
    Never,
}

/// Functions that answer before `cuInit`.
const BEFORE_INIT: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
];

/// Whether a function only tells about the driver: programs ask such questions at odd times, by the hundred.
pub(crate) fn tells_about_the_driver(base: &str) -> bool {
    base != "cuInit" && BEFORE_INIT.contains(&base)
}

/// Per export. A name that is newer than the version is visible to `dlsym` here, though not through a shell. The
/// five-argument getter works at every version, so that a program which finds it by `dlsym` gets further.
static GATES: LazyLock<Vec<Gate>> = LazyLock::new(|| {
    let gate = |export: &crate::names::Export| match export.base {
        base if BEFORE_INIT.contains(&base) => Gate::Always,
        _ if export.number > version() => Gate::Never,
        base if pool::needs_pools(base) && !pool::are_there() => Gate::NoDevice,
        _ => Gate::AfterInit,
    };
    EXPORTS.iter().map(gate).collect()
});

thread_local! {
    /// Whether the running call came in through a per-thread name, for which stream NULL is the per-thread one.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs the driver function behind export number `index`; `describe` tells its arguments to a trace.
pub(crate) fn call(
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    run(index, false, describe, body)
}

/// As `call`, for the variant of a function whose default stream is the per-thread one.
pub(crate) fn call_per_thread(
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    run(index, true, describe, body)
}

/// What an export answers that nothing implements.
pub(crate) fn refuse(index: usize) -> CUresult {
    call(index, |_| {}, || Err(CUDA_ERROR_NOT_SUPPORTED))
}

fn run(
    index: usize,
    per_thread: bool,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    if settings().is_none() {
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    // Given back at the end: the body may run a caller's function, which calls the driver again.
    let outer = PER_THREAD.replace(per_thread);
    let answer = calls::make(index, describe, || admit(index).and_then(|()| body()));
    PER_THREAD.set(outer);
    logs::ended(index, answer);
    match answer {
        Ok(()) => CUDA_SUCCESS,
        Err(code) => code,
    }
}

/// Whether stream NULL means the per-thread default stream in the running call.
pub(crate) fn per_thread() -> bool {
    PER_THREAD.get()
}

fn admit(index: usize) -> Answer {
    if host_function::running() && !host_function::permits(index) {
        return Err(CUDA_ERROR_NOT_PERMITTED);
    }
    match GATES[index] {
        Gate::Always => Ok(()),
        Gate::Never => Err(CUDA_ERROR_NOT_SUPPORTED),
        Gate::AfterInit => init::check(),
        Gate::NoDevice => init::check().and(Err(CUDA_ERROR_NOT_SUPPORTED)),
    }
}

/// The address of export number `index` in this library.
pub(crate) fn address(index: usize) -> *const c_void {
    exports::FUNCTIONS[index].0
}
