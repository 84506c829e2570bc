//! The driver's own log, since 12.9.

use crate::driver::call;
use crate::driver::sys::CUlogLevel;
use crate::driver::{CallError, Table};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Takes a line of the log, on the thread whose call the driver logs and before that call returns. It must not panic, nor
/// call the driver.
pub(crate) type Sink = fn(level: CUlogLevel, line: &[u8]);

/// Has the driver give its lines to `sink`, until the process ends.
pub(crate) fn register(table: &Table, sink: Sink) -> Result<(), CallError> {
    let mut registration = null_mut();
    let sink = sink as *mut c_void;
    // SAFETY: writes one handle; the function may be called from any thread for ever.
    unsafe { call!(table, cuLogsRegisterCallback_12090(Some(receive), sink, &raw mut registration)) }
}

unsafe extern "C" fn receive(sink: *mut c_void, level: CUlogLevel, line: *mut c_char, length: usize) {
    if line.is_null() {
        return;
    }
    // SAFETY: this is the sink that was registered.
    let sink = unsafe { std::mem::transmute::<*mut c_void, Sink>(sink) };
    // SAFETY: the driver passes a line of this length, which lives during the call.
    sink(level, unsafe { std::slice::from_raw_parts(line.cast(), length) });
}
