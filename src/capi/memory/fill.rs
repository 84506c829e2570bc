//! Memsets, in a stream's order or at once.
//!
//! @header cushim.h
//! @task set memory to a value

use super::endpoint::{CallersEndpoint, Role, address_alone, cushim_endpoint};
use crate::capi::context::cushim_context;
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::object::handle::Guard;
use crate::op::{Endpoint, Memset, Value};
use std::ffi::c_void;

/// Sets device memory to a value, repeated, in stream order (a memset). A memset of zero values succeeds without
/// checking the address. Another device's memory needs access, of the context (`cushim_context_enable_peer_access`)
/// or to the pool (`cushim_resource_add_peers`).
///
/// @param[in] stream The stream.
/// @param[in] destination The memory; not an array. The address is a multiple of the value's size.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(8)] count Number of values.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an address that is NULL, is not a multiple of the value's size,
///   or is past the end of its buffer or of all addresses; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose
///   context was reset.
/// @driver any
///
/// # Safety
/// `destination` and `value` are NULL or valid for reads, and the owner is valid. The memory holds so many values,
/// and stays good until the stream has passed the memset; until then nobody else uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_fill(
    stream: cushim_stream,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
) -> cushim_status {
    let rows = Rows { pitch: 0, width: count, height: 1 };
    // SAFETY: as the caller vouches.
    call_taking(|lending| unsafe { in_stream(lending, stream, destination, value, value_size, rows) })
}

/// Sets rows of device memory to a value, repeated, in stream order (a 2D memset). A memset of zero values succeeds
/// without checking the address; of one row, the pitch does not matter.
///
/// @param[in] stream The stream.
/// @param[in] destination The start of the first row; as for `cushim_stream_fill`.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
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
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    call_taking(|lending| unsafe {
        in_stream(lending, stream, destination, value, value_size, Rows { pitch, width, height })
    })
}

/// Sets device memory to a value, repeated; synchronous: it is done when this returns. It waits for the context's
/// legacy default stream, and so for the blocking streams; work in other streams runs beside it. Otherwise as
/// `cushim_stream_fill`.
///
/// @param[in] context The context.
/// @param[in] destination The memory; as for `cushim_stream_fill`.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(8)] count Number of values.
/// @errors As `cushim_stream_fill`; an error of earlier work may appear here. `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @sync legacy
/// @driver any
///
/// # Safety
/// `destination` and `value` are NULL or valid for reads, and the owner is valid. The memory holds so many values,
/// and nobody else uses it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_fill(
    context: cushim_context,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
) -> cushim_status {
    let rows = Rows { pitch: 0, width: count, height: 1 };
    // SAFETY: as the caller vouches.
    unsafe { in_context(context, destination, value, value_size, rows) }
}

/// Sets rows of device memory to a value, repeated; synchronous: it is done when this returns. It waits as
/// `cushim_context_fill` does. Otherwise as `cushim_stream_fill_2d`.
///
/// @param[in] context The context.
/// @param[in] destination The start of the first row; as for `cushim_stream_fill`.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
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
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { in_context(context, destination, value, value_size, Rows { pitch, width, height }) }
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
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    rows: Rows,
) -> Result<(), Error> {
    let guard = enter()?;
    // SAFETY: the caller vouches for it.
    let Some(destination) = (unsafe { address_alone(destination) }) else {
        // SAFETY: as the caller vouches.
        return unsafe { at_place(lending, &guard, stream, destination, value, value_size, rows) };
    };
    let stream = get(&guard, stream)?;
    let Rows { pitch, width, height } = rows;
    // SAFETY: as the caller vouches.
    let value = unsafe { value_of(value, value_size) }?;
    let mut memset = Memset::rectangle(Endpoint::at(destination), pitch, value, width, height);
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
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    rows: Rows,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for it.
    let destination = unsafe { CallersEndpoint::read(guard, destination, "destination") }?;
    let stream = get(guard, stream)?;
    // SAFETY: the caller vouches for the memory and the owner.
    unsafe { stream.enqueue(&mut memset(lending, &destination, value, value_size, rows)?) }
}

/// # Safety
/// As for [`cushim_context_fill_2d`].
unsafe fn in_context(
    context: cushim_context,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    rows: Rows,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for it.
        let destination = unsafe { CallersEndpoint::read(&guard, destination, "destination") }?.held();
        let context = get(&guard, context)?.clone();
        drop(guard);
        // SAFETY: the caller vouches for the memory and the owner.
        unsafe { context.run(&mut memset(lending, &destination, value, value_size, rows)?) }
    })
}

/// # Safety
/// The owner is NULL or valid, and so is the value.
#[inline]
pub(in crate::capi) unsafe fn memset<'a>(
    lending: &Lending,
    destination: &'a CallersEndpoint<'_>,
    value: *const c_void,
    value_size: usize,
    Rows { pitch, width, height }: Rows,
) -> Result<Memset<'a>, Error> {
    // SAFETY: as the caller vouches.
    let value = unsafe { value_of(value, value_size) }?;
    // SAFETY: no bytes of the memory are read.
    let at = unsafe { destination.endpoint(Role::Destination, || 0) }?;
    let mut memset = Memset::rectangle(at, pitch, value, width, height);
    // SAFETY: the caller vouches for the owner.
    unsafe { destination.lend_owner(lending, memset.endpoint_mut()) };
    Ok(memset)
}

/// The value of so many bytes.
///
/// # Safety
/// It is NULL or valid for reads of so many bytes.
#[inline]
pub(in crate::capi) unsafe fn value_of(value: *const c_void, size: usize) -> Result<Value, Error> {
    if value.is_null() {
        return Err(out::null("value"));
    }
    // SAFETY: the caller vouches for so many bytes.
    unsafe {
        match size {
            1 => Ok(Value::U8(value.cast::<u8>().read())),
            2 => Ok(Value::U16(value.cast::<u16>().read_unaligned())),
            4 => Ok(Value::U32(value.cast::<u32>().read_unaligned())),
            _ => Err(value_of_another_size(size)),
        }
    }
}

#[cold]
fn value_of_another_size(size: usize) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("value_size is {size}; a value has 1, 2 or 4 bytes"))
}
