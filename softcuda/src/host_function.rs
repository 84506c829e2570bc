//! The caller's functions that streams run: on a driver's thread, where few calls into the driver are allowed.

use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::names::EXPORTS;
use crate::stream::Stream;
use crate::sys::{
    CU_HOST_TASK_BLOCKING, CU_HOST_TASK_SPINWAIT, CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, CUhostFn, CUresult,
    CUstream, CUstreamCallback,
};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::LazyLock;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
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

/// Whether the calling thread is inside one of the caller's functions that the driver runs.
pub(crate) fn running() -> bool {
    RUNNING.get()
}

/// Whether export number `index` may be called from there.
pub(crate) fn permits(index: usize) -> bool {
    PERMITS[index]
}

/// Runs the caller's code as that of a host function.
pub(crate) fn run(body: impl FnOnce()) {
    let outer = RUNNING.replace(true);
    body();
    RUNNING.set(outer);
}

/// The caller's data, which the driver only hands on.
#[derive(Clone, Copy)]
struct UserData(*mut c_void);

// SAFETY: never followed here; the API hands it to a function that runs on another thread, as its callers know.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// `cuLaunchHostFunc`: does not run where the context has a sticky error.
struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    data: UserData,
}

impl Work for HostFunction {
    fn name(&self) -> &'static str {
        "a host function"
    }

    fn duty(&self) -> Duty {
        Duty::Host
    }

    fn run(&self) {
        // SAFETY: the caller gave the function and its data to be called so, once, in the stream's order.
        run(|| unsafe { (self.function)(self.data.0) });
    }
}

/// `cuStreamAddCallback`: is told of a sticky error.
struct Callback {
    function: unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
    /// As the caller named it.
    stream: usize,
    data: UserData,
}

impl Callback {
    fn call(&self, status: CUresult) {
        // SAFETY: as in `HostFunction`.
        run(|| unsafe { (self.function)(self.stream as CUstream, status, self.data.0) });
    }
}

impl Work for Callback {
    fn name(&self) -> &'static str {
        "a stream callback"
    }

    fn duty(&self) -> Duty {
        Duty::Host
    }

    fn run(&self) {
        self.call(CUDA_SUCCESS);
    }

    fn give_up(&self, fault: CUresult) {
        self.call(fault);
    }
}

pub(crate) fn cuLaunchHostFunc(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) -> Answer {
    let stream = Stream::of(hStream)?;
    let function = fn_.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    stream.submit(HostFunction { function, data: UserData(userData) }).map(drop)
}

/// The mode says how the device waits, which makes no difference here.
pub(crate) fn cuLaunchHostFunc_v2(
    hStream: CUstream,
    fn_: CUhostFn,
    userData: *mut c_void,
    syncMode: u32,
) -> Answer {
    let modes = [CU_HOST_TASK_BLOCKING.0 as u32, CU_HOST_TASK_SPINWAIT.0 as u32];
    if !modes.contains(&syncMode) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    cuLaunchHostFunc(hStream, fn_, userData)
}

/// Is refused after a sticky error; a callback that waits when it happens is told of it.
pub(crate) fn cuStreamAddCallback(
    hStream: CUstream,
    callback: CUstreamCallback,
    userData: *mut c_void,
    flags: u32,
) -> Answer {
    let stream = Stream::of(hStream)?;
    let function = callback.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    stream.refuse_capture()?;
    stream.submit(Callback { function, stream: hStream as usize, data: UserData(userData) }).map(drop)
}
