//! The caller's functions, and its callbacks.

use crate::abi::Answer;
use crate::abi::sys::{
    CU_HOST_TASK_BLOCKING, CU_HOST_TASK_SPINWAIT, CUDA_ERROR_INVALID_VALUE, CUhostFn, CUstream,
    CUstreamCallback,
};
use crate::driver::operation::host_function::{Callback, HostFunction, UserData};
use crate::driver::stream::Stream;
use std::ffi::c_void;

fn launch(stream: CUstream, function: CUhostFn, data: *mut c_void, mode: u32) -> Answer {
    let stream = Stream::for_work(stream)?;
    let function = function.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    stream.give(HostFunction { function, data: UserData(data), mode }).map(drop)
}

pub(crate) fn cuLaunchHostFunc(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) -> Answer {
    launch(hStream, fn_, userData, 0)
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
    launch(hStream, fn_, userData, syncMode)
}

/// Is refused after a sticky error; a callback that waits when it happens is told of it.
pub(crate) fn cuStreamAddCallback(
    hStream: CUstream,
    callback: CUstreamCallback,
    userData: *mut c_void,
    flags: u32,
) -> Answer {
    let stream = Stream::for_uncaptured(hStream)?;
    let function = callback.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    stream.submit(Callback { function, stream: hStream as usize, data: UserData(userData) }).map(drop)
}
