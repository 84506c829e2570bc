//! Memory operations.
//!
//! @header cushim.h
//! @task wait for values in memory

use super::endpoint::{CallersEndpoint, Role, cushim_endpoint};
use crate::capi::driver_types as sys;
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::input;
use crate::capi::stream::cushim_stream;
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::object::handle::Guard;
use crate::op::{MemoryAction, MemoryOperation, MemoryOperations};

/// What a memory operation does.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_memory_action {
    /// Waits until a value of four bytes is as `flags` say, `CU_STREAM_WAIT_VALUE_*`.
    CUSHIM_MEMORY_WAIT_32 = 1,
    /// Waits until a value of eight bytes is as `flags` say.
    CUSHIM_MEMORY_WAIT_64 = 2,
    /// Writes a value of four bytes; `flags` are `CU_STREAM_WRITE_VALUE_*`.
    CUSHIM_MEMORY_WRITE_32 = 3,
    /// Writes a value of eight bytes.
    CUSHIM_MEMORY_WRITE_64 = 4,
    /// Makes visible what other devices wrote before.
    CUSHIM_MEMORY_FLUSH_REMOTE_WRITES = 5,
    /// A barrier; `flags` are `CU_STREAM_MEMORY_BARRIER_TYPE_*`. CUDA 11.7.
    CUSHIM_MEMORY_BARRIER = 6,
}

/// One of several memory operations.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_memory_operation {
    /// @field[enum(cushim_memory_action)] What it does.
    pub action: i32,
    /// @field[names(CUstreamWaitValue_flags CUstreamWriteValue_flags CUstreamMemoryBarrier_flags)] The driver's flags for it.
    pub flags: u32,
    /// Where the value stands: device memory, or page-locked host memory that the device reaches. Actions that have
    /// no value use only its `owner`.
    pub at: cushim_endpoint,
    /// The value; of four bytes the lower half.
    pub value: u64,
}

const WAIT_32: i32 = cushim_memory_action::CUSHIM_MEMORY_WAIT_32 as i32;
const WAIT_64: i32 = cushim_memory_action::CUSHIM_MEMORY_WAIT_64 as i32;
const WRITE_32: i32 = cushim_memory_action::CUSHIM_MEMORY_WRITE_32 as i32;
const WRITE_64: i32 = cushim_memory_action::CUSHIM_MEMORY_WRITE_64 as i32;
const FLUSH: i32 = cushim_memory_action::CUSHIM_MEMORY_FLUSH_REMOTE_WRITES as i32;
const BARRIER: i32 = cushim_memory_action::CUSHIM_MEMORY_BARRIER as i32;

/// A caller's operations, with the objects that they name.
pub(in crate::capi) struct CallersOperations<'g>(
    Vec<(cushim_memory_operation, MemoryAction, Option<CallersEndpoint<'g>>)>,
);

/// Looks up what the operations name.
///
/// # Safety
/// `operations` is NULL or valid for reads of `count` operations.
pub(in crate::capi) unsafe fn look_up_operations(
    guard: &Guard,
    operations: *const cushim_memory_operation,
    count: usize,
) -> Result<CallersOperations<'_>, Error> {
    let look_up = |operation: &cushim_memory_operation| {
        let action = action(operation.action)?;
        let endpoint = match action.bytes() {
            0 => CallersEndpoint::of_owner_alone(operation.at)?,
            _ => Some(CallersEndpoint::of(guard, operation.at, "at")?),
        };
        Ok((*operation, action, endpoint))
    };
    // SAFETY: the caller vouches for the array.
    unsafe { input::array_if_any(operations, count, "operations", look_up) }.map(CallersOperations)
}

impl CallersOperations<'_> {
    /// The operations, with the owners that the caller lends.
    ///
    /// # Safety
    /// Each owner is NULL or valid.
    pub(in crate::capi) unsafe fn list(&self, lending: &Lending) -> Result<Vec<MemoryOperation<'_>>, Error> {
        let mut list = Vec::with_capacity(self.0.len());
        for (given, action, endpoint) in &self.0 {
            let at = match endpoint {
                Some(endpoint) if action.bytes() == 0 => Some(endpoint.nowhere()),
                // SAFETY: no bytes are read.
                Some(endpoint) => Some(unsafe { endpoint.endpoint(Role::Destination, || 0) }?),
                None => None,
            };
            list.push(MemoryOperation { action: *action, flags: given.flags, at, value: given.value });
        }
        for (operation, (_, _, endpoint)) in list.iter_mut().zip(&self.0) {
            if let (Some(at), Some(endpoint)) = (&mut operation.at, endpoint) {
                // SAFETY: the caller vouches for the owner.
                unsafe { endpoint.lend_owner(lending, at) };
            }
        }
        Ok(list)
    }
}

fn action(number: i32) -> Result<MemoryAction, Error> {
    Ok(match number {
        WAIT_32 => MemoryAction::Wait32,
        WAIT_64 => MemoryAction::Wait64,
        WRITE_32 => MemoryAction::Write32,
        WRITE_64 => MemoryAction::Write64,
        FLUSH => MemoryAction::FlushRemoteWrites,
        BARRIER => MemoryAction::Barrier,
        _ => {
            let refusal = format!("action is {number}; use a cushim_memory_action, 1 to 6");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
    })
}

/// An operation as callers give it, by the driver's description; one that is not known here has action 0.
pub(in crate::capi) fn told_operation(
    raw: &sys::CUstreamBatchMemOpParams,
    at: Option<cushim_endpoint>,
) -> cushim_memory_operation {
    // SAFETY: zeros are valid for an endpoint; every description begins with its number, which says which member is
    // meant, and the first two have value and flags at the same endpoints.
    unsafe {
        let (value32, value64, flags) =
            (raw.waitValue.u16.value, raw.waitValue.u16.value64, raw.waitValue.flags);
        let (action, value, flags) = match raw.operation {
            sys::CU_STREAM_MEM_OP_WAIT_VALUE_32 => (WAIT_32, value32.into(), flags),
            sys::CU_STREAM_MEM_OP_WAIT_VALUE_64 => (WAIT_64, value64, flags),
            sys::CU_STREAM_MEM_OP_WRITE_VALUE_32 => (WRITE_32, value32.into(), flags),
            sys::CU_STREAM_MEM_OP_WRITE_VALUE_64 => (WRITE_64, value64, flags),
            sys::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => (FLUSH, 0, raw.flushRemoteWrites.flags),
            sys::CU_STREAM_MEM_OP_BARRIER => (BARRIER, 0, raw.memoryBarrier.flags),
            _ => (0, 0, 0),
        };
        let at = at.unwrap_or(std::mem::zeroed());
        cushim_memory_operation { action, flags, at, value }
    }
}

/// Waits for values in memory and writes such, one after the other, in stream order (`cuStreamBatchMemOp`). Other
/// devices, the network and the host may write the values that are waited for, and wait for those that are written.
///
/// Values are in page-locked host memory, or in device memory of `cushim_context_allocate`: driver branch 580 refuses
/// memory of pools, which buffers are of by default, and managed memory (`CUDA_ERROR_INVALID_VALUE`). A write into
/// virtual memory that the device may only read it does not refuse: the context is lost by it
/// (`CUDA_ERROR_LAUNCH_FAILED`).
///
/// @param[in] stream The stream.
/// @param[in, array(operation_count)] operations The operations; at least 1.
/// @param[in] operation_count The number of operations.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an address that is NULL or not a multiple of the value's size,
///   with the number of the operation as the error's `item`; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer
///   whose context was reset. If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// `operations` is NULL or valid for reads of `operation_count` operations, and their owners valid; the values stay
/// until the stream has passed the operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_memory_operations(
    stream: cushim_stream,
    operations: *const cushim_memory_operation,
    operation_count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let given = look_up_operations(&guard, operations, operation_count)?;
            let mut list = given.list(lending)?;
            stream.enqueue(&mut MemoryOperations::new(&mut list))
        }
    })
}
