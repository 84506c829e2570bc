//! The driver's log, since 12.9: lines about calls that failed, which callbacks receive on the calling thread before the
//! call returns, and which are kept for a while to be read later.

mod kept;
mod listeners;

use crate::error::{self, Answer};
use crate::names::EXPORTS;
use crate::pointer::{In, Out};
use crate::settings::version;
use crate::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_READY,
    CUDA_ERROR_OPERATING_SYSTEM, CUlogIterator, CUlogsCallback, CUlogsCallbackHandle,
};
use kept::KEPT;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{c_char, c_void};

/// The first version that has a log.
const SINCE: u32 = 12090;

type Details = Vec<Cow<'static, str>>;

thread_local! {
    /// What the running call has to say if it fails.
    static DETAILS: RefCell<Details> = const { RefCell::new(Vec::new()) };
}

/// A thread that is ending has none.
fn with_details(body: impl FnOnce(&mut Details)) {
    let _ = DETAILS.try_with(|details| body(&mut details.borrow_mut()));
}

/// Says why the running call is about to fail, besides its result.
pub(crate) fn detail(sentence: impl Into<Cow<'static, str>>) {
    if version() >= SINCE {
        with_details(|details| details.push(sentence.into()));
    }
}

/// The call of export number `index` has ended.
pub(crate) fn ended(index: usize, answer: Answer) {
    let Err(code) = answer else {
        return with_details(Vec::clear);
    };
    // The child of a fork gets no further than this, so it needs no lock.
    if version() < SINCE || matches!(code, CUDA_ERROR_NOT_READY | CUDA_ERROR_NOT_INITIALIZED) {
        return;
    }
    let mut messages = Vec::new();
    with_details(|details| messages.append(details));
    let name = error::name(code).unwrap_or("unknown");
    messages.push(format!("Returning {} ({name}) from {}", code.0, EXPORTS[index].name).into());
    for message in messages {
        KEPT.lock().add(&message);
        listeners::tell(&message);
    }
}

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
    std::fs::write(path, text).map_err(|error| {
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
    let Some(text) = kept::newest_that_fit(&text, room) else {
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
