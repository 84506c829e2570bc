//! Nodes are changed in their graph.
//!
//! @header cushim.h
//! @task change graphs

use super::definition::{cushim_node, invalid};
use super::named::node_of;
use super::target::Target;
use crate::capi::callback::{cushim_host_function, cushim_owner, operation, operation_on_bytes};
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::event::cushim_event;
use crate::capi::handles::{enter, get};
use crate::capi::kernel::arguments::{self, CallersArguments};
use crate::capi::kernel::{Config, cushim_arg, cushim_kernel, cushim_launch_config};
use crate::capi::memory::{
    CallersEndpoint, Regions, Role, Rows, cushim_endpoint, cushim_extent, cushim_memory_operation,
    cushim_region, look_up_operations, memset, value_of,
};
use crate::capi::pointer::MOST_OF_BLOCK;
use crate::capi::{input, out};
use crate::op::node::{ArgumentChange, CopyChange, KernelChange, MemsetChange, NodeType};
use crate::op::{Arguments, MemoryOperations, Record, Wait};
use std::ffi::c_void;

/// Changes what a kernel node runs (`cuGraphKernelNodeSetParams`). What is NULL stays. The change does not reach
/// execs that exist: `cushim_exec_set_kernel` changes one of them.
///
/// @param[in] node The node.
/// @param[in, nullable] kernel The kernel; another one needs arguments, too.
/// @param[in, nullable] config How it is launched.
/// @param[in, nullable, array(arg_count)] args The arguments, all of them. NULL: as they are; `arg_count` is then 0.
/// @param[in] arg_count The number of arguments.
/// @errors as `cushim_graph_add_kernel`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type;
///   `CUSHIM_ERROR_UNSUPPORTED`. If it fails, the node is as it was, and no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_kernel(
    node: cushim_node,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_kernel(Target::Node(node), kernel, config, args, arg_count) }
}

/// # Safety
/// As for [`cushim_node_set_kernel`].
pub(super) unsafe fn change_kernel(
    at: Target,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        let given = if kernel.is_null() { None } else { Some(get(&guard, kernel)?) };
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let read = if config.is_null() { None } else { Some(Config::read(&guard, config)?) };
            let config = read.as_ref().map(Config::launch);
            let mut change = KernelChange::new();
            if let Some(kernel) = &given {
                change = change.kernel(kernel);
            }
            if let Some(config) = &config {
                change = change.config(config);
            }
            if args.is_null() {
                return match arg_count {
                    0 => at.set(&guard, &mut change),
                    _ => Err(invalid(format!("args is NULL, and arg_count is {arg_count}"))),
                };
            }
            let args = arguments::given(args, arg_count)?;
            let (mut named, mut list) = (CallersArguments::default(), Arguments::new());
            arguments::list_all(lending, &mut list, args, &guard, &mut named)?;
            at.set(&guard, &mut change.arguments(&mut list))
        }
    })
}

/// Changes what a kernel node runs, with all arguments in one block. Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] kernel The kernel.
/// @param[in, nullable] config How it is launched.
/// @param[in, bytes(size)] block The block.
/// @param[in] size Its bytes.
/// @errors as `cushim_node_set_kernel`: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_kernel_packed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_kernel_packed(
    node: cushim_node,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    block: *const c_void,
    size: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_kernel_packed(Target::Node(node), kernel, config, block, size) }
}

/// # Safety
/// As for [`cushim_node_set_kernel_packed`].
pub(super) unsafe fn change_kernel_packed(
    at: Target,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    block: *const c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        if block.is_null() {
            return Err(out::null("block"));
        }
        let guard = enter()?;
        let given = if kernel.is_null() { None } else { Some(get(&guard, kernel)?) };
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let read = if config.is_null() { None } else { Some(Config::read(&guard, config)?) };
            let config = read.as_ref().map(Config::launch);
            let mut change = KernelChange::new().packed(input::slice_of_at_most(
                MOST_OF_BLOCK,
                block.cast::<u8>(),
                size,
                "block",
            )?);
            if let Some(kernel) = &given {
                change = change.kernel(kernel);
            }
            if let Some(config) = &config {
                change = change.config(config);
            }
            at.set(&guard, &mut change)
        }
    })
}

/// Changes one argument of a kernel node; the others stay. Otherwise as `cushim_node_set_kernel`.
///
/// An argument that was a parameter (`CUSHIM_ARG_PARAMETER`) and is set to anything else is no parameter any more:
/// `cushim_exec_set_parameter` does not reach it in execs that are made after that.
///
/// @param[in] node The node.
/// @param[in, example(0)] index The number of the argument.
/// @param[in] arg The argument.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type, for an argument that the kernel does not
///   have, and for a value of another size, with the number of the argument as the error's `item`. If it fails, the
///   node is as it was, and no owner is released.
/// @driver any
///
/// # Safety
/// `arg` is NULL or valid for reads, and its value as its kind says; the kernel may be run with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_argument(
    node: cushim_node,
    index: usize,
    arg: *const cushim_arg,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_argument(Target::Node(node), index, arg) }
}

/// # Safety
/// As for [`cushim_node_set_argument`].
pub(super) unsafe fn change_argument(at: Target, index: usize, arg: *const cushim_arg) -> cushim_status {
    call_taking(|lending| {
        if arg.is_null() {
            return Err(out::null("arg"));
        }
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let args = arguments::one(arg)?;
            let (mut named, mut list) = (CallersArguments::starting_at(index), Arguments::new());
            arguments::list_all(lending, &mut list, args, &guard, &mut named)?;
            at.set(&guard, &mut ArgumentChange::new(index, &mut list))
        }
    })
}

/// Changes what a copy node of a range copies (`cuGraphMemcpyNodeSetParams`). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] destination The destination. NULL: as it is.
/// @param[in, nullable] source The source. NULL: as it is.
/// @param[in, example(64)] bytes How many. 0: as many as now; not for a source whose bytes are to be kept.
/// @errors as `cushim_graph_add_copy`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type;
///   `CUSHIM_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709). If it fails, the node is as it was, and
///   no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_copy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_copy(
    node: cushim_node,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_copy(Target::Node(node), destination, source, bytes) }
}

/// # Safety
/// As for [`cushim_node_set_copy`].
pub(super) unsafe fn change_copy(
    at: Target,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let read = |endpoint: *const cushim_endpoint, what| match endpoint.is_null() {
                true => Ok(None),
                false => CallersEndpoint::read(&guard, endpoint, what).map(Some),
            };
            let (destination, source) = (read(destination, "destination")?, read(source, "source")?);
            if bytes == 0 && source.as_ref().is_some_and(CallersEndpoint::keeps_bytes) {
                return Err(invalid(
                    "source: bytes is 0; say how many bytes CUSHIM_ENDPOINT_KEEP_BYTES is destination keep",
                ));
            }
            let mut change = CopyChange {
                to: destination.as_ref().map(|end| end.endpoint(Role::Destination, || 0)).transpose()?,
                from: source.as_ref().map(|end| end.endpoint(Role::Source, || bytes)).transpose()?,
                bytes,
            };
            for (end, endpoint) in [(&mut change.to, &destination), (&mut change.from, &source)] {
                if let (Some(end), Some(endpoint)) = (end, endpoint) {
                    endpoint.lend_owner(lending, end);
                }
            }
            at.set(&guard, &mut change)
        }
    })
}

/// Changes what a copy node of a box copies, or makes a copy of a range one of a box. Otherwise as
/// `cushim_node_set_copy`.
///
/// @param[in] node The node.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in] extent The size of the box.
/// @errors as `cushim_graph_add_copy_3d`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type;
///   `CUSHIM_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709).
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_copy_3d`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_copy_3d(
    node: cushim_node,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_copy_3d(Target::Node(node), destination, source, extent) }
}

/// # Safety
/// As for [`cushim_node_set_copy_3d`].
pub(super) unsafe fn change_copy_3d(
    at: Target,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let regions = Regions::read(&guard, destination, source, extent)?;
            at.set(&guard, &mut regions.copy(lending)?)
        }
    })
}

/// Changes what a memset node sets (`cuGraphMemsetNodeSetParams`). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] destination The memory. NULL: as it is.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(8)] count Number of values. 0: as now, if the node sets one row.
/// @errors as `cushim_graph_add_fill`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709). If it fails, the node is as it was, and no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_fill(
    node: cushim_node,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_fill(Target::Node(node), destination, value, value_size, count) }
}

/// # Safety
/// As for [`cushim_node_set_fill`].
pub(super) unsafe fn change_fill(
    at: Target,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let value = value_of(value, value_size)?;
            let endpoint = if destination.is_null() {
                None
            } else {
                Some(CallersEndpoint::read(&guard, destination, "destination")?)
            };
            let memory = match &endpoint {
                Some(endpoint) => Some(endpoint.endpoint(Role::Destination, || 0)?),
                None => None,
            };
            let mut change = MemsetChange { at: memory, value, count };
            if let (Some(end), Some(endpoint)) = (&mut change.at, &endpoint) {
                endpoint.lend_owner(lending, end);
            }
            at.set(&guard, &mut change)
        }
    })
}

/// Changes what a memset node of rows sets. Otherwise as `cushim_node_set_fill`.
///
/// @param[in] node The node.
/// @param[in] destination The start of the first row.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(2)] width Values in a row.
/// @param[in, example(2)] height Rows.
/// @errors as `cushim_graph_add_fill_2d`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709).
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_fill_2d(
    node: cushim_node,
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_fill_2d(Target::Node(node), destination, pitch, value, value_size, width, height) }
}

/// # Safety
/// As for [`cushim_node_set_fill_2d`].
pub(super) unsafe fn change_fill_2d(
    at: Target,
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let destination = CallersEndpoint::read(&guard, destination, "destination")?;
            let mut memset = memset(lending, &destination, value, value_size, Rows { pitch, width, height })?;
            at.set(&guard, &mut memset)
        }
    })
}

/// Changes which event a node records or waits for (`cuGraphEventRecordNodeSetEvent`,
/// `cuGraphEventWaitNodeSetEvent`). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an event of another driver.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_event(node: cushim_node, event: cushim_event) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_event(Target::Node(node), event) }
}

/// # Safety
/// As for [`cushim_node_set_event`].
pub(super) unsafe fn change_event(at: Target, event: cushim_event) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let is_wait = node_of(&guard, at.node())?.node_type() == NodeType::EventWait;
        let event = get(&guard, event)?;
        // SAFETY: the node keeps the event.
        unsafe {
            match is_wait {
                true => at.set(&guard, &mut Wait::new(&event)),
                false => at.set(&guard, &mut Record::new(&event)),
            }
        }
    })
}

/// Changes which function a node calls (`cuGraphHostNodeSetParams`). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] function The function; NULL: `data` comes out of `cushim_drain` at each launch instead.
/// @param[in, nullable] data Given to the function.
/// @param[in, taken, nullable] owner Keeps `data`. Without a function its `release` must be NULL.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type. If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_host_function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_host_function(
    node: cushim_node,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_host_function(Target::Node(node), function, data, owner) }
}

/// # Safety
/// As for [`cushim_node_set_host_function`].
pub(super) unsafe fn change_host_function(
    at: Target,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe { at.set(&guard, &mut operation(lending, function, data, owner)?) }
    })
}

/// Changes which function a node calls, with a copy of some bytes. Otherwise as `cushim_node_set_host_function`.
///
/// @param[in] node The node.
/// @param[in] function The function. It gets the address of the copy; NULL if there are no bytes.
/// @param[in, bytes(size), nullable_if_zero(size)] bytes The bytes.
/// @param[in] size Their number; may be 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUSHIM_ERROR_OUT_OF_MEMORY`.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_host_function_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_host_function_bytes(
    node: cushim_node,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_host_function_bytes(Target::Node(node), function, bytes, size) }
}

/// # Safety
/// As for [`cushim_node_set_host_function_bytes`].
pub(super) unsafe fn change_host_function_bytes(
    at: Target,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe { at.set(&guard, &mut operation_on_bytes(function, bytes, size)?) }
    })
}

/// Changes the operations of a memory operations node (`cuGraphBatchMemOpNodeSetParams`). Otherwise as
/// `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, array(operation_count)] operations The operations.
/// @param[in] operation_count The number of operations.
/// @errors as `cushim_graph_add_memory_operations`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver 11.7
///
/// # Safety
/// As for `cushim_graph_add_memory_operations`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_memory_operations(
    node: cushim_node,
    operations: *const cushim_memory_operation,
    operation_count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { change_memory_operations(Target::Node(node), operations, operation_count) }
}

/// # Safety
/// As for [`cushim_node_set_memory_operations`].
pub(super) unsafe fn change_memory_operations(
    at: Target,
    operations: *const cushim_memory_operation,
    operation_count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let given = look_up_operations(&guard, operations, operation_count)?;
            let mut list = given.list(lending)?;
            at.set(&guard, &mut MemoryOperations::new(&mut list))
        }
    })
}
