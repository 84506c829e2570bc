//! What threads are allowed while there are captures.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CU_STREAM_CAPTURE_MODE_GLOBAL, CUstreamCaptureMode};
use std::cell::Cell;

thread_local! {
    static MODE: Cell<CUstreamCaptureMode> = const { Cell::new(CU_STREAM_CAPTURE_MODE_GLOBAL) };
}

pub(super) fn of_this_thread() -> CUstreamCaptureMode {
    MODE.get()
}

/// Takes any number, as measured.
pub(crate) fn cuThreadExchangeStreamCaptureMode(mode: Out<CUstreamCaptureMode>) -> Answer {
    let new = mode.item(0)?;
    mode.set(MODE.replace(new))
}
