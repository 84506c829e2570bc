//! Nodes are changed in one exec; the graph stays as it is.
//!
//! @header cushim.h
//! @task change graphs

use super::definition::{cushim_graph, cushim_node};
use super::exec::cushim_exec;
use super::named::node_of;
use super::set;
use super::target::Target;
use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::{cushim_host_function, cushim_owner};
use crate::capi::error::{call, cushim_status};
use crate::capi::event::cushim_event;
use crate::capi::handles::{enter, get, hold};
use crate::capi::kernel::{cushim_arg, cushim_kernel, cushim_launch_config};
use crate::capi::memory::{cushim_endpoint, cushim_extent, cushim_memory_operation, cushim_region};
use crate::capi::pointer::MOST_OF_BLOCK;
use crate::capi::{input, out, text};
use crate::graph::Graph;
use std::ffi::{c_char, c_void};

/// Changes what a kernel node runs in one exec, from its next launch on (`cuGraphExecKernelNodeSetParams`). What is
/// NULL stays. The exec keeps the attributes of its kernels; the graph and other execs stay as they are.
///
/// What the node used before in the exec, and nothing else uses, is released when every launch made before is done.
/// An exec with `CUSHIM_EXEC_NATIVE_LAUNCHES` or `CUSHIM_EXEC_DEVICE_LAUNCH` keeps it until it takes over another
/// graph (`cushim_exec_update`), or is destroyed; and so does every exec what it got of a graph whose native handle
/// the program had got (`cushim_graph_native`).
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in, nullable] kernel The kernel; another one needs arguments, too.
/// @param[in, nullable] config How it is launched.
/// @param[in, nullable, array(arg_count)] args The arguments, all of them. NULL: as they are; `arg_count` is then 0.
/// @param[in] arg_count The number of arguments.
/// @errors as `cushim_graph_add_kernel`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type, for a node
///   that is younger than the exec, and for other attributes in an exec; `CUSHIM_ERROR_UNSUPPORTED`. If it fails, the
///   node is as it was, and no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_kernel(
    exec: cushim_exec,
    node: cushim_node,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_kernel(Target::Exec(exec, node), kernel, config, args, arg_count) }
}

/// Changes what a kernel node runs in one exec, with all arguments in one block. Otherwise as
/// `cushim_exec_set_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in, nullable] kernel The kernel.
/// @param[in, nullable] config How it is launched.
/// @param[in, bytes(size)] block The block.
/// @param[in] size Its bytes.
/// @errors as `cushim_exec_set_kernel`: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_kernel_packed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_kernel_packed(
    exec: cushim_exec,
    node: cushim_node,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    block: *const c_void,
    size: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_kernel_packed(Target::Exec(exec, node), kernel, config, block, size) }
}

/// Changes one argument of a kernel node in one exec; the others stay. Otherwise as `cushim_exec_set_kernel`.
///
/// An argument that was a parameter (`CUSHIM_ARG_PARAMETER`) and is set to anything else is no parameter any more:
/// `cushim_exec_set_parameter` does not reach it until it is set to one again.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
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
pub unsafe extern "C" fn cushim_exec_set_argument(
    exec: cushim_exec,
    node: cushim_node,
    index: usize,
    arg: *const cushim_arg,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_argument(Target::Exec(exec, node), index, arg) }
}

/// Changes what a copy node of a range copies in one exec (`cuGraphExecMemcpyNodeSetParams`). Otherwise as
/// `cushim_exec_set_kernel`. The copy keeps its direction and the sort of its memory: driver branch 580 takes no
/// other.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
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
pub unsafe extern "C" fn cushim_exec_set_copy(
    exec: cushim_exec,
    node: cushim_node,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_copy(Target::Exec(exec, node), destination, source, bytes) }
}

/// Changes what a copy node of a box copies in one exec. Otherwise as `cushim_exec_set_copy`. Driver branch 580 does
/// not change such nodes in an exec.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
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
pub unsafe extern "C" fn cushim_exec_set_copy_3d(
    exec: cushim_exec,
    node: cushim_node,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_copy_3d(Target::Exec(exec, node), destination, source, extent) }
}

/// Changes what a memset node sets in one exec (`cuGraphExecMemsetNodeSetParams`). Otherwise as
/// `cushim_exec_set_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
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
pub unsafe extern "C" fn cushim_exec_set_fill(
    exec: cushim_exec,
    node: cushim_node,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_fill(Target::Exec(exec, node), destination, value, value_size, count) }
}

/// Changes what a memset node of rows sets in one exec. Otherwise as `cushim_exec_set_fill`. Driver branch 580 takes
/// other memory and another value, and no other width.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
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
pub unsafe extern "C" fn cushim_exec_set_fill_2d(
    exec: cushim_exec,
    node: cushim_node,
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe {
        set::change_fill_2d(Target::Exec(exec, node), destination, pitch, value, value_size, width, height)
    }
}

/// Changes which event a node records or waits for in one exec (`cuGraphExecEventRecordNodeSetEvent`,
/// `cuGraphExecEventWaitNodeSetEvent`). Otherwise as `cushim_exec_set_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an event of another driver.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_event(
    exec: cushim_exec,
    node: cushim_node,
    event: cushim_event,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_event(Target::Exec(exec, node), event) }
}

/// Changes which function a node calls in one exec (`cuGraphExecHostNodeSetParams`). Otherwise as
/// `cushim_exec_set_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in, nullable] function The function; NULL: `data` comes out of `cushim_drain` at each launch instead.
/// @param[in, nullable] data Given to the function.
/// @param[in, taken, nullable] owner Keeps `data`. Without a function its `release` must be NULL.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type. If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_host_function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_host_function(
    exec: cushim_exec,
    node: cushim_node,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_host_function(Target::Exec(exec, node), function, data, owner) }
}

/// Changes which function a node calls in one exec, with a copy of some bytes. Otherwise as
/// `cushim_exec_set_host_function`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in] function The function. It gets the address of the copy; NULL if there are no bytes.
/// @param[in, bytes(size), nullable_if_zero(size)] bytes The bytes.
/// @param[in] size Their number; may be 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUSHIM_ERROR_OUT_OF_MEMORY`.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_host_function_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_host_function_bytes(
    exec: cushim_exec,
    node: cushim_node,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_host_function_bytes(Target::Exec(exec, node), function, bytes, size) }
}

/// Has the child graph of a node do in one exec what another graph does, from the next launch on
/// (`cuGraphExecChildGraphNodeSetParams`). That graph has the same nodes and edges as the child graph; it stays what
/// it is, and the exec keeps what its nodes use. Nodes are still named by those of the child graph.
///
/// In a graph a child graph is edited where it stands: `cushim_node_get_graphs` gives it.
///
/// @param[in] exec The exec.
/// @param[in] node The child graph node.
/// @param[in] graph The graph; any graph of the same driver.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a node of another graph or type, and for a graph of which a kernel
///   sets a condition of a graph around it; `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE` (910) for a graph with other nodes
///   or edges. If it fails, the exec is as it was.
/// @driver any
///
/// # Safety
/// What the nodes of the graph use, and it does not keep, is good whenever the exec is launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_child(
    exec: cushim_exec,
    node: cushim_node,
    graph: cushim_graph,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        let exec = get(&guard, exec)?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        // SAFETY: the caller vouches for what the nodes use.
        unsafe { exec.set_child(&node, &graph) }
    })
}

/// Changes the operations of a memory operations node in one exec (`cuGraphExecBatchMemOpNodeSetParams`). Otherwise
/// as `cushim_exec_set_kernel`.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in, array(operation_count)] operations The operations.
/// @param[in] operation_count The number of operations.
/// @errors as `cushim_graph_add_memory_operations`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver 11.7
///
/// # Safety
/// As for `cushim_graph_add_memory_operations`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_memory_operations(
    exec: cushim_exec,
    node: cushim_node,
    operations: *const cushim_memory_operation,
    operation_count: usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { set::change_memory_operations(Target::Exec(exec, node), operations, operation_count) }
}

/// Has every node of an exec use one buffer in place of another, from the next launch on; each part keeps its offset.
/// The old buffer is released as `cushim_exec_set_kernel` says.
///
/// It reaches kernel arguments that were given as buffers or endpoints, the ends of copies of ranges, and memsets, in
/// child graphs and bodies too. It does not reach pointers that were given as bytes or in a block, memory operations,
/// and what was captured without cushim.
///
/// @param[in] exec The exec.
/// @param[in] from_buffer The buffer that the nodes use.
/// @param[in] to_buffer The buffer that they are to use: at least as large, of the same context and resource.
/// @param[out, nullable] nodes How many nodes were changed.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a buffer that is smaller, or of another context or resource, and
///   if a copy of a box, or a node that was removed from the graph, uses the old one; `CUSHIM_ERROR_INVALID_HANDLE`,
///   also for a buffer of another driver. If it fails, the exec is as it was; if the driver refuses even that, the
///   exec refuses launches and changes, and names the node, until `cushim_exec_update` sets all nodes.
/// @driver any
///
/// # Safety
/// The nodes may use the buffer; `nodes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_rebind(
    exec: cushim_exec,
    from_buffer: cushim_buffer,
    to_buffer: cushim_buffer,
    nodes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let nodes = unsafe { out::cleared_if_given(nodes, 0, "nodes") }?;
        let (exec, from, to) = (hold(exec)?, hold(from_buffer)?, hold(to_buffer)?);
        // SAFETY: the caller vouches for the buffer.
        out::put(nodes, unsafe { exec.rebind(&from, &to) }?);
        Ok(())
    })
}

/// Gives a parameter another value, in every kernel node of an exec that has it (`CUSHIM_ARG_PARAMETER`), from the
/// next launch on. Nodes that were removed from the graph since still run in the exec, with the value that they have.
///
/// @param[in] exec The exec.
/// @param[in, example("n")] name The name.
/// @param[in, bytes(size)] value The value.
/// @param[in, example(4)] size Its bytes.
/// @param[out, nullable] nodes How many nodes were changed.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a name that no argument in the exec has, or has any more, and
///   for a value of another size. If it fails, the exec is as it was, as for `cushim_exec_rebind`.
/// @driver any
///
/// # Safety
/// `name` is NULL or ends in NUL; `value` is NULL or valid for reads of `size` bytes; `nodes` is NULL or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_set_parameter(
    exec: cushim_exec,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    nodes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all of it.
        let nodes = unsafe { out::cleared_if_given(nodes, 0, "nodes") }?;
        // SAFETY: as above.
        let name = unsafe { text::required(name, "name") }?;
        if value.is_null() {
            return Err(out::null("value"));
        }
        // SAFETY: as above.
        let value = unsafe { input::slice_of_at_most(MOST_OF_BLOCK, value.cast::<u8>(), size, "value") }?;
        let exec = hold(exec)?;
        // SAFETY: the caller vouches for the value.
        out::put(nodes, unsafe { exec.set_parameter(&name, value) }?);
        Ok(())
    })
}
