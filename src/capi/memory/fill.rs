//! Memsets, in a stream's order or at once.
//!
//! @header cushim.h
//! @task set memory to a value

use super::endpoint::{CallersEndpoint, Role, address_alone, cushim_endpoint};
use crate::capi::context::cushim_context;
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::stream::cushim_stream;
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::object::handle::Guard;
use crate::op::{Endpoint, Memset, Value};
use std::sync::Arc;

/// Sets device memory to a value, repeated, in stream order (a memset). A memset of zero values succeeds without
/// checking the address. Another device's memory needs access, of the context (`cushim_context_enable_peer_access`)
/// or to the pool (`cushim_resource_add_peers`).
///
/// @param[in] stream The stream.
/// @param[in] to The memory; not an array. The address is a multiple of the value's size.
/// @param[in] value The value; what does not fit into its bytes is ignored.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
/// @param[in, example(8)] count Number of values.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an address that is NULL, is not a multiple of the value's size,
///   or is past the end of its buffer or of all addresses; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose
///   context was reset.
/// @driver any
///
/// # Safety
/// `to` is NULL or valid for reads, and its owner valid. The memory holds so many values, and stays good until the
/// stream has passed the memset; until then nobody else uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill(
    stream: cushim_stream,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    let rows = Rows { pitch: 0, width: count, height: 1 };
    // SAFETY: as the caller vouches.
    call_taking(|lending| unsafe { in_stream(lending, stream, to, value, value_bytes, rows) })
}

/// Sets rows of device memory to a value, repeated, in stream order (a 2D memset). A memset of zero values succeeds
/// without checking the address; of one row, the pitch does not matter.
///
/// @param[in] stream The stream.
/// @param[in] to The start of the first row; as for `cushim_stream_fill`.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in] value The value; what does not fit into its bytes is ignored.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
/// @param[in, example(2)] width Values in a row.
/// @param[in, example(2)] height Rows.
/// @errors As `cushim_stream_fill`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a pitch that is smaller than a row or
///   not a multiple of the value's size; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was
///   reset.
/// @driver any
///
/// # Safety
/// As for `cushim_stream_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill_2d(
    stream: cushim_stream,
    to: *const cushim_endpoint,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    call_taking(|lending| unsafe {
        in_stream(lending, stream, to, value, value_bytes, Rows { pitch, width, height })
    })
}

/// Sets device memory to a value, repeated; synchronous: it is done when this returns. It waits for the context's
/// legacy default stream, and so for the blocking streams; work in other streams runs beside it. Otherwise as
/// `cushim_stream_fill`.
///
/// @param[in] context The context.
/// @param[in] to The memory; as for `cushim_stream_fill`.
/// @param[in] value The value; what does not fit into its bytes is ignored.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
/// @param[in, example(8)] count Number of values.
/// @errors As `cushim_stream_fill`; an error of earlier work may appear here. `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @sync legacy
/// @driver any
///
/// # Safety
/// `to` is NULL or valid for reads, and its owner valid. The memory holds so many values, and nobody else uses it
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill(
    context: cushim_context,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    let rows = Rows { pitch: 0, width: count, height: 1 };
    // SAFETY: as the caller vouches.
    unsafe { in_context(context, to, value, value_bytes, rows) }
}

/// Sets rows of device memory to a value, repeated; synchronous: it is done when this returns. It waits as
/// `cushim_context_fill` does. Otherwise as `cushim_stream_fill_2d`.
///
/// @param[in] context The context.
/// @param[in] to The start of the first row; as for `cushim_stream_fill`.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in] value The value; what does not fit into its bytes is ignored.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
/// @param[in, example(2)] width Values in a row.
/// @param[in, example(2)] height Rows.
/// @errors As `cushim_stream_fill_2d`; an error of earlier work may appear here. `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @sync legacy
/// @driver any
///
/// # Safety
/// As for `cushim_context_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill_2d(
    context: cushim_context,
    to: *const cushim_endpoint,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { in_context(context, to, value, value_bytes, Rows { pitch, width, height }) }
}

/// What of the memory is set.
#[derive(Clone, Copy)]
pub(in crate::capi) struct Rows {
    pub(in crate::capi) pitch: usize,
    pub(in crate::capi) width: usize,
    pub(in crate::capi) height: usize,
}

/// # Safety
/// As for [`cushim_stream_fill_2d`].
#[inline(always)]
unsafe fn in_stream(
    lending: &Lending,
    stream: cushim_stream,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    rows: Rows,
) -> Result<(), Error> {
    let guard = enter()?;
    // SAFETY: the caller vouches for it.
    let Some(to) = (unsafe { address_alone(to) }) else {
        // SAFETY: as the caller vouches.
        return unsafe { at_place(lending, &guard, stream, to, value, value_bytes, rows) };
    };
    let stream = get(&guard, stream)?;
    let Rows { pitch, width, height } = rows;
    let value = value_of(value, value_bytes)?;
    let mut memset = Memset::rectangle(Endpoint::at(to), pitch, value, width, height);
    // SAFETY: the caller vouches for the memory.
    let result = unsafe { stream.enqueue(&mut memset) };
    // It holds nothing that would have to be let go of.
    std::mem::forget(memset);
    result
}

/// The same memset where the endpoint is more than an address.
///
/// # Safety
/// As for [`cushim_stream_fill_2d`].
#[inline(never)]
unsafe fn at_place(
    lending: &Lending,
    guard: &Guard,
    stream: cushim_stream,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    rows: Rows,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for it.
    let to = unsafe { CallersEndpoint::read(guard, to, "to") }?;
    let stream = get(guard, stream)?;
    // SAFETY: the caller vouches for the memory and the owner.
    unsafe { stream.enqueue(&mut memset(lending, &to, value, value_bytes, rows)?) }
}

/// # Safety
/// As for [`cushim_context_fill_2d`].
unsafe fn in_context(
    context: cushim_context,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    rows: Rows,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for it.
        let to = unsafe { CallersEndpoint::read(&guard, to, "to") }?.held();
        let context = Arc::clone(&*get(&guard, context)?);
        drop(guard);
        // SAFETY: the caller vouches for the memory and the owner.
        unsafe { context.run(&mut memset(lending, &to, value, value_bytes, rows)?) }
    })
}

/// # Safety
/// The owner is NULL or valid.
#[inline]
pub(in crate::capi) unsafe fn memset<'a>(
    lending: &Lending,
    to: &'a CallersEndpoint<'_>,
    value: u32,
    value_bytes: i32,
    Rows { pitch, width, height }: Rows,
) -> Result<Memset<'a>, Error> {
    let value = value_of(value, value_bytes)?;
    // SAFETY: no bytes are read.
    let at = unsafe { to.endpoint(Role::Destination, || 0) }?;
    let mut memset = Memset::rectangle(at, pitch, value, width, height);
    // SAFETY: the caller vouches for the owner.
    unsafe { to.lend_owner(lending, memset.endpoint_mut()) };
    Ok(memset)
}

/// The value of so many bytes.
#[inline]
pub(in crate::capi) fn value_of(value: u32, bytes: i32) -> Result<Value, Error> {
    match bytes {
        1 => Ok(Value::U8(value as u8)),
        2 => Ok(Value::U16(value as u16)),
        4 => Ok(Value::U32(value)),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("value_bytes is {bytes}; a value has 1, 2 or 4 bytes"),
        )),
    }
}
