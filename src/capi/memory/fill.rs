//! Fills, in a stream's order or at once.

use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{enter, get, hold};
use crate::capi::stream::cushim_stream;
use crate::error::{Error, Status};
use crate::memory::{DevicePointer, Fill};

/// Fills device memory with one value, repeated, after the work that is in the stream by now. Of no values, nothing is
/// looked at. Another device's memory needs access, of the context (`cushim_context_enable_peer_access`) or to the pool
/// (`cushim_resource_change_peers`).
///
/// @param stream The stream.
/// @param pointer The memory.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param count Number of values.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a pointer that is 0, reaches past the end of all addresses or is not a multiple of the value's size;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's.
/// Threads: any.
///
/// # Safety
/// The memory holds so many values, and stays good until the stream has passed the fill; until then nobody else uses
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill(
    stream: cushim_stream,
    pointer: u64,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let guard = enter()?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.fill(DevicePointer(pointer), value, count) }
    })
}

/// Fills rows of device memory with one value, repeated, after the work that is in the stream by now. Of no values,
/// nothing is looked at; of one row, the pitch does not matter.
///
/// @param stream The stream.
/// @param pointer The start of the first row.
/// @param pitch Bytes from row to row.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param width Values in a row.
/// @param height Rows.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// also for a pointer that is 0, reaches past the end of all addresses or is not a multiple of the value's size, or for
/// a pitch that is smaller than a row or no such multiple; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// The memory holds so many values, and stays good until the stream has passed the fill; until then nobody else uses
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill_2d(
    stream: cushim_stream,
    pointer: u64,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let guard = enter()?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { stream.fill_2d(DevicePointer(pointer), pitch, value, width, height) }
    })
}

/// Fills device memory with one value, repeated; it is done when this returns. It waits for the legacy default stream
/// of the context, and so for the blocking streams. Of no values, nothing is looked at.
///
/// @param context The context.
/// @param pointer The memory.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param count Number of values.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a pointer that is 0, reaches past
/// the end of all addresses or is not a multiple of the value's size; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's, also of earlier work. Threads:
/// any.
///
/// # Safety
/// The memory holds so many values, and nobody else uses it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill(
    context: cushim_context,
    pointer: u64,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.fill(DevicePointer(pointer), value, count) }
    })
}

/// Fills rows of device memory with one value, repeated; it is done when this returns. It waits for the legacy default
/// stream of the context, and so for the blocking streams. Of no values, nothing is looked at; of one row, the pitch
/// does not matter.
///
/// @param context The context.
/// @param pointer The start of the first row.
/// @param pitch Bytes from row to row.
/// @param value The value; what does not fit into its bytes is not looked at.
/// @param value_bytes Bytes of the value: 1, 2 or 4.
/// @param width Values in a row.
/// @param height Rows.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a pointer that is 0, reaches past
/// the end of all addresses or is not a multiple of the value's size, or for a pitch that is smaller than a row or no
/// such multiple; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none";
/// the driver's, also of earlier work. Threads: any.
///
/// # Safety
/// The memory holds so many values, and nobody else uses it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill_2d(
    context: cushim_context,
    pointer: u64,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    call(|| {
        let value = fill_of(value, value_bytes)?;
        let context = hold(context)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { context.fill_2d(DevicePointer(pointer), pitch, value, width, height) }
    })
}

pub(in crate::capi) fn fill_of(value: u32, bytes: i32) -> Result<Fill, Error> {
    match bytes {
        1 => Ok(Fill::U8(value as u8)),
        2 => Ok(Fill::U16(value as u16)),
        4 => Ok(Fill::U32(value)),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("value_bytes is {bytes}; a value has 1, 2 or 4 bytes"),
        )),
    }
}
