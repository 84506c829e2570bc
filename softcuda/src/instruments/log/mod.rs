//! The driver's log, since 12.9: lines about calls that failed, which callbacks receive on the calling thread before the
//! call returns, and which are kept for a while to be read later.

pub(crate) mod kept;
pub(crate) mod listeners;

use super::settings::version;
use crate::abi::names::EXPORTS;
use crate::abi::sys::{CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_READY};
use crate::abi::{Answer, codes};
use kept::KEPT;
use std::borrow::Cow;
use std::cell::RefCell;

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
    let name = codes::name(code, version()).and_then(|name| name.to_str().ok()).unwrap_or("unknown");
    messages.push(format!("Returning {} ({name}) from {}", code.0, EXPORTS[index].name).into());
    for message in messages {
        KEPT.lock().add(&message);
        listeners::tell(&message);
    }
}
