//! Functions that the driver calls when a stream gets there.

use super::stream::RawStream;
use crate::driver::call;
use crate::driver::sys::{CU_STREAM_CAPTURE_STATUS_NONE, CUstreamCaptureStatus};
use crate::driver::{CallError, Table};
use std::ffi::c_void;

/// What the driver is given to call: a function that accepts any value, from any thread, any number of times.
pub(crate) type HostFunction = extern "C" fn(token: *mut c_void);

/// Enqueues a call of `function` with `token`, on a thread of the driver's own, when the stream's earlier work is done.
pub(crate) fn launch(
    table: &Table,
    stream: &RawStream,
    function: HostFunction,
    token: usize,
) -> Result<(), CallError> {
    let token = std::ptr::without_provenance_mut(token);
    // SAFETY: the stream is alive, and the function may be called with anything, whenever the driver likes.
    unsafe { call!(table, cuLaunchHostFunc_10000(stream.handle(), Some(function), token)) }
}

/// Enqueues a call of `function` with `data`: in a stream under capture, one at each launch of the graph.
///
/// # Safety
/// The function may be called with that, as often as the driver likes.
pub(crate) unsafe fn launch_with(
    table: &Table,
    stream: &RawStream,
    function: HostFunction,
    data: *mut c_void,
) -> Result<(), CallError> {
    // SAFETY: the stream is alive; the caller vouches for the rest.
    unsafe { call!(table, cuLaunchHostFunc_10000(stream.handle(), Some(function), data)) }
}

/// Whether the stream is being captured, or was until its capture was invalidated. A driver that cannot tell (`none`)
/// does not capture.
pub(crate) fn is_capturing(table: &Table, stream: &RawStream) -> Result<bool, CallError> {
    let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
    if table.cuStreamIsCapturing_10000.is_some() {
        let status: *mut CUstreamCaptureStatus = &raw mut status;
        // SAFETY: writes one number; the stream is alive.
        unsafe { call!(table, cuStreamIsCapturing_10000(stream.handle(), status)) }?;
    }
    Ok(status != CU_STREAM_CAPTURE_STATUS_NONE)
}
