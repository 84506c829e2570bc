//! The calls of the driver's log.

use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_OPERATING_SYSTEM, CUlogIterator,
    CUlogsCallback, CUlogsCallbackHandle,
};
use crate::instruments::log::kept::{KEPT, newest_that_fit};
use crate::instruments::log::{detail, listeners};
use crate::instruments::output;
use std::ffi::{c_char, c_void};

pub(crate) fn cuLogsRegisterCallback(
    callbackFunc: CUlogsCallback,
    userData: *mut c_void,
    callback: Out<CUlogsCallbackHandle>,
) -> Answer {
    let function = callbackFunc.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let handle = listeners::add(function, userData).ok_or(CUDA_ERROR_NOT_PERMITTED)?;
    callback.set_if_wanted(handle as CUlogsCallbackHandle);
    Ok(())
}

pub(crate) fn cuLogsUnregisterCallback(callback: CUlogsCallbackHandle) -> Answer {
    let known = listeners::remove(callback as usize).ok_or(CUDA_ERROR_NOT_PERMITTED)?;
    if known { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub(crate) fn cuLogsCurrent(iterator: Out<CUlogIterator>, flags: u32) -> Answer {
    check_flags(flags)?;
    iterator.set(KEPT.lock().end())
}

pub(crate) fn cuLogsDumpToFile(iterator: Out<CUlogIterator>, pathToFile: In<c_char>, flags: u32) -> Answer {
    check_flags(flags)?;
    let path = pathToFile.text()?;
    let (text, end) = KEPT.lock().since(iterator.item(0).ok());
    output::write(path, &text).map_err(|error| {
        detail(format!("cannot write {path}: {error}"));
        CUDA_ERROR_OPERATING_SYSTEM
    })?;
    iterator.set_if_wanted(end);
    Ok(())
}

pub(crate) fn cuLogsDumpToMemory(
    iterator: Out<CUlogIterator>,
    buffer: Out<c_char>,
    size: Out<usize>,
    flags: u32,
) -> Answer {
    check_flags(flags)?;
    buffer.check().inspect_err(|_| detail("buffer cannot be NULL"))?;
    let room = size.item(0)?;
    let (text, end) = KEPT.lock().since(iterator.item(0).ok());
    let Some(text) = newest_that_fit(&text, room) else {
        size.set(0)?;
        return Err(CUDA_ERROR_INVALID_VALUE);
    };
    buffer.set_text(&text, i32::try_from(room).unwrap_or(i32::MAX))?;
    iterator.set_if_wanted(end);
    size.set(text.len())
}

fn check_flags(flags: u32) -> Answer {
    if flags == 0 { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
