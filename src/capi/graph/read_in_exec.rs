//! What a node does in one exec.
//!
//! @header cushim.h
//! @task inspect graphs

use super::definition::cushim_node;
use super::exec::cushim_exec;
use super::read::{self, cushim_copy_node, cushim_fill_node, cushim_kernel_node};
use super::target::Target;
use crate::capi::callback::cushim_host_function;
use crate::capi::driver_types::CUevent;
use crate::capi::error::cushim_status;
use crate::capi::event::cushim_event;
use crate::capi::kernel::cushim_arg;
use crate::capi::memory::cushim_memory_operation;
use std::ffi::c_void;

/// Returns the kernel of a node and how it is launched, in one exec. Otherwise as
/// `cushim_node_get_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[inout] kernel Receives kernel and configuration.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `kernel` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_kernel(
    exec: cushim_exec,
    node: cushim_node,
    kernel: *mut cushim_kernel_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_kernel(Target::Exec(exec, node), kernel) }
}

/// Lists the arguments of a kernel node, in one exec. Otherwise as `cushim_node_get_arguments`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[out, array(capacity), nullable_if_zero(capacity)] args Receives the first `capacity` arguments: buffers as
///   `CUSHIM_ARG_BUFFER` or, from an offset on, as `CUSHIM_ARG_ENDPOINT`, everything else as `CUSHIM_ARG_BYTES`.
/// @param[in] capacity The number of arguments that there is room for.
/// @param[out] count The number of arguments, which may be greater than `capacity`.
/// @param[out, bytes(size), nullable_if_zero(size)] values Receives the values of these arguments, aligned to 8
///   bytes.
/// @param[in] size Bytes of `values`.
/// @param[out, nullable] needed Receives the bytes that the values of all arguments take.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type, and for a `size` that is too small for
///   the values of the first `capacity` arguments.
/// @driver any
///
/// # Safety
/// `args` is valid for writes of `capacity` arguments, `values` of `size` bytes; `count` and `needed` are NULL or
/// valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_arguments(
    exec: cushim_exec,
    node: cushim_node,
    args: *mut cushim_arg,
    capacity: usize,
    count: *mut usize,
    values: *mut c_void,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_arguments(Target::Exec(exec, node), args, capacity, count, values, size, needed) }
}

/// Returns what a copy node copies, in one exec. Otherwise as `cushim_node_get_copy`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[inout] copy Receives both endpoints and the extent.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `copy` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_copy(
    exec: cushim_exec,
    node: cushim_node,
    copy: *mut cushim_copy_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_copy(Target::Exec(exec, node), copy) }
}

/// Returns what a memset node sets, in one exec. Otherwise as `cushim_node_get_fill`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[inout] fill Receives endpoint and value.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `fill` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_fill(
    exec: cushim_exec,
    node: cushim_node,
    fill: *mut cushim_fill_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_fill(Target::Exec(exec, node), fill) }
}

/// Returns the event that a node records or waits for, in one exec. Otherwise as
/// `cushim_node_get_event`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[out, borrowed] event The event; NULL if cushim has no object of it.
/// @param[out, nullable] native The `CUevent`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `event` is NULL or valid for writes, and so is `native`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_event(
    exec: cushim_exec,
    node: cushim_node,
    event: *mut cushim_event,
    native: *mut CUevent,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_event(Target::Exec(exec, node), event, native) }
}

/// Returns the function that a host function node calls, and what it is called with, in one exec. Otherwise as
/// `cushim_node_get_host_function`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[out] function The function; NULL if the node calls none of C, or was removed and nothing calls it any more.
/// @param[out, nullable] data What it is called with: of a node with bytes the address of the graph's copy.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `function` is NULL or valid for writes, and so is `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_host_function(
    exec: cushim_exec,
    node: cushim_node,
    function: *mut cushim_host_function,
    data: *mut *mut c_void,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_host_function(Target::Exec(exec, node), function, data) }
}

/// Lists the operations of a memory operations node, in one exec. Otherwise as
/// `cushim_node_get_memory_operations`.
///
/// @param[in] exec The exec.
/// @param[in] node The node; also one that was removed.
/// @param[out, array(capacity), nullable_if_zero(capacity)] operations Receives the first `capacity` operations; one
///   that this version of cushim does not know has action 0.
/// @param[in] capacity The number of operations that there is room for.
/// @param[out] count The number of operations, which may be greater than `capacity`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver 11.7
///
/// # Safety
/// `operations` is valid for writes of `capacity` operations; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_memory_operations(
    exec: cushim_exec,
    node: cushim_node,
    operations: *mut cushim_memory_operation,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { read::show_memory_operations(Target::Exec(exec, node), operations, capacity, count) }
}
