//! When a function may be called.

use super::init;
use crate::abi::Answer;
use crate::abi::exports::answers_before_init;
use crate::abi::names::{EXPORTS, Export};
use crate::abi::sys::{CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_SUPPORTED};
use crate::driver::checkpoint::wait_while_held;
use crate::driver::operation::host_function;
use crate::driver::user_object::destructor;
use crate::instruments::settings::{memory_pools, version};
use std::sync::LazyLock;

/// When a function may be called.
#[derive(Clone, Copy, PartialEq)]
enum Gate {
    /// Also before `cuInit`, and in the child of a fork.
    Always,
    AfterInit,
    /// The same, and also while the process is locked.
    AlsoLocked,
    /// After `cuInit`, and then no device can do it.
    NoDevice,
    /// Never: the impersonated version does not have it.
    Never,
}

/// Per export. A name that is newer than the version is visible to `dlsym` here, though not through a shell. The
/// five-argument getter works at every version, so that a program which finds it by `dlsym` gets further.
static GATES: LazyLock<Vec<Gate>> = LazyLock::new(|| {
    let gate = |export: &Export| match export.base {
        base if answers_before_init(base) => Gate::Always,
        _ if export.number > version() => Gate::Never,
        base if base.starts_with("cuCheckpoint") => Gate::AlsoLocked,
        base if needs_pools(base) && !memory_pools() => Gate::NoDevice,
        _ => Gate::AfterInit,
    };
    EXPORTS.iter().map(gate).collect()
});

/// Whether a function, by its base name, is of no use without memory pools.
fn needs_pools(base: &str) -> bool {
    base.contains("MemPool")
        || ["cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"].contains(&base)
}

/// What a host function may call. Of the streams, only created ones; and it may not wait for what comes after it.
const PERMITTED: &[&str] = &[
    "cuDriverGetVersion",
    "cuEventDestroy",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventRecordWithFlags",
    "cuEventSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuInit",
    "cuLaunchHostFunc",
    "cuMemcpy2DAsync",
    "cuMemcpy3DAsync",
    "cuMemcpyAsync",
    "cuMemcpyDtoDAsync",
    "cuMemcpyDtoHAsync",
    "cuMemcpyHtoDAsync",
    "cuMemsetD16Async",
    "cuMemsetD2D16Async",
    "cuMemsetD2D32Async",
    "cuMemsetD2D8Async",
    "cuMemsetD32Async",
    "cuMemsetD8Async",
    "cuStreamAddCallback",
    "cuStreamGetFlags",
    "cuStreamGetId",
    "cuStreamGetPriority",
    "cuStreamIsCapturing",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Per export.
static PERMITS: LazyLock<Vec<bool>> =
    LazyLock::new(|| EXPORTS.iter().map(|export| PERMITTED.contains(&export.base)).collect());

/// Refuses what may not be called now, or here: a destructor may do what a host function may (measured).
pub(super) fn admit(index: usize) -> Answer {
    if (host_function::running() || destructor::running()) && !PERMITS[index] {
        return Err(CUDA_ERROR_NOT_PERMITTED);
    }
    match GATES[index] {
        Gate::Always => Ok(()),
        Gate::Never => Err(CUDA_ERROR_NOT_SUPPORTED),
        Gate::AlsoLocked => init::check(),
        Gate::AfterInit => init::check().map(|()| wait_while_held()),
        Gate::NoDevice => init::check().and(Err(CUDA_ERROR_NOT_SUPPORTED)),
    }
}
