//! Nodes are changed, in the graph or in one exec.
//!
//! @header cushim.h
//! @task change graphs

use super::definition::{cushim_graph, cushim_node, invalid};
use super::exec::cushim_exec;
use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::{cushim_host_function, cushim_owner, operation, operation_on_bytes};
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::event::cushim_event;
use crate::capi::handles::{enter, get, hold};
use crate::capi::kernel::arguments::{self, Named};
use crate::capi::kernel::{Config, cushim_arg, cushim_kernel, cushim_launch_config};
use crate::capi::memory::{
    CallersEndpoint, Regions, Role, Rows, cushim_endpoint, cushim_extent, cushim_memory_operation,
    cushim_region, look_up_operations, memset, value_of,
};
use crate::capi::pointer::MOST_OF_BLOCK;
use crate::capi::{input, out, text};
use crate::graph::{Graph, Node};
use crate::object::error::Error;
use crate::object::handle::{self, Guard};
use crate::op::node::{ArgumentChange, CopyChange, KernelChange, MemsetChange, NodeChange, NodeType};
use crate::op::{Arguments, MemoryOperations, Record, Wait};
use std::ffi::{c_char, c_void};

/// Changes a node: in the graph, or in one exec.
///
/// # Safety
/// As for [`Node::set`].
unsafe fn set<C: NodeChange>(
    guard: &Guard,
    node: cushim_node,
    exec: cushim_exec,
    change: &mut C,
) -> Result<(), Error> {
    let node = get(guard, node)?;
    handle::check_memory()?;
    // SAFETY: as the caller vouches.
    unsafe {
        match exec.is_null() {
            true => Node::of_object(&node)?.set(change),
            false => get(guard, exec)?.set_object(&node, change),
        }
    }
}

/// Changes what a kernel node runs (`cuGraphKernelNodeSetParams`, `cuGraphExecKernelNodeSetParams`). What is NULL
/// stays. An exec keeps the attributes of its kernels.
///
/// A change of the graph does not reach execs that exist; a change of an exec reaches only that. What the node used
/// before in an exec, and nothing else uses, is released when every launch made before is done. An exec with
/// `CUSHIM_EXEC_NATIVE_LAUNCHES` or `CUSHIM_EXEC_DEVICE_LAUNCH` keeps it until it takes over another graph
/// (`cushim_exec_update`), or is destroyed; and so does every exec what it got of a graph whose native handle the
/// program had got (`cushim_graph_native`).
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
pub unsafe extern "C" fn cushim_node_set_kernel(
    node: cushim_node,
    exec: cushim_exec,
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
                    0 => set(&guard, node, exec, &mut change),
                    _ => Err(invalid(format!("args is NULL, and arg_count is {arg_count}"))),
                };
            }
            let args = arguments::given(args, arg_count)?;
            let (mut named, mut list) = (Named::default(), Arguments::new());
            arguments::list_all(lending, &mut list, args, &guard, &mut named)?;
            set(&guard, node, exec, &mut change.arguments(&mut list))
        }
    })
}

/// Changes what a kernel node runs, with all arguments in one block. Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
    exec: cushim_exec,
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
            set(&guard, node, exec, &mut change)
        }
    })
}

/// Changes one argument of a kernel node; the others stay. Otherwise as `cushim_node_set_kernel`.
///
/// An argument that was a parameter (`CUSHIM_ARG_PARAMETER`) and is set to anything else is no parameter any more:
/// `cushim_exec_set_parameter` does not reach it until it is set to one again.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
    exec: cushim_exec,
    index: usize,
    arg: *const cushim_arg,
) -> cushim_status {
    call_taking(|lending| {
        if arg.is_null() {
            return Err(out::null("arg"));
        }
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let args = arguments::one(arg)?;
            let (mut named, mut list) = (Named::starting_at(index), Arguments::new());
            arguments::list_all(lending, &mut list, args, &guard, &mut named)?;
            set(&guard, node, exec, &mut ArgumentChange::new(index, &mut list))
        }
    })
}

/// Changes what a copy node of a range copies (`cuGraphMemcpyNodeSetParams`, `cuGraphExecMemcpyNodeSetParams`).
/// Otherwise as `cushim_node_set_kernel`. In an exec a copy keeps its direction and the sort of its memory: driver
/// branch 580 takes no other.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
/// @param[in, nullable] to The destination. NULL: as it is.
/// @param[in, nullable] from The source. NULL: as it is.
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
    exec: cushim_exec,
    to: *const cushim_endpoint,
    from: *const cushim_endpoint,
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
            let (to, from) = (read(to, "to")?, read(from, "from")?);
            if bytes == 0 && from.as_ref().is_some_and(CallersEndpoint::keeps_bytes) {
                return Err(invalid(
                    "from: bytes is 0; say how many bytes CUSHIM_ENDPOINT_KEEP_BYTES is to keep",
                ));
            }
            let mut change = CopyChange {
                to: to.as_ref().map(|to| to.endpoint(Role::Destination, || 0)).transpose()?,
                from: from.as_ref().map(|from| from.endpoint(Role::Source, || bytes)).transpose()?,
                bytes,
            };
            for (end, endpoint) in [(&mut change.to, &to), (&mut change.from, &from)] {
                if let (Some(end), Some(endpoint)) = (end, endpoint) {
                    endpoint.lend_owner(lending, end);
                }
            }
            set(&guard, node, exec, &mut change)
        }
    })
}

/// Changes what a copy node of a box copies, or makes a copy of a range one of a box. Otherwise as
/// `cushim_node_set_copy`. Driver branch 580 does not change such nodes in an exec.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
/// @param[in] to The destination.
/// @param[in] from The source.
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
    exec: cushim_exec,
    to: *const cushim_region,
    from: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let regions = Regions::read(&guard, to, from, extent)?;
            set(&guard, node, exec, &mut regions.copy(lending)?)
        }
    })
}

/// Changes what a memset node sets (`cuGraphMemsetNodeSetParams`, `cuGraphExecMemsetNodeSetParams`). Otherwise as
/// `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
/// @param[in, nullable] to The memory. NULL: as it is.
/// @param[in] value The value.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
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
    exec: cushim_exec,
    to: *const cushim_endpoint,
    value: u32,
    value_bytes: i32,
    count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let value = value_of(value, value_bytes)?;
            let endpoint = if to.is_null() { None } else { Some(CallersEndpoint::read(&guard, to, "to")?) };
            let at = match &endpoint {
                Some(endpoint) => Some(endpoint.endpoint(Role::Destination, || 0)?),
                None => None,
            };
            let mut change = MemsetChange { at, value, count };
            if let (Some(end), Some(endpoint)) = (&mut change.at, &endpoint) {
                endpoint.lend_owner(lending, end);
            }
            set(&guard, node, exec, &mut change)
        }
    })
}

/// Changes what a memset node of rows sets. Otherwise as `cushim_node_set_fill`. In an exec driver branch 580 takes
/// other memory and another value, and no other width.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
/// @param[in] to The start of the first row.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in] value The value.
/// @param[in, example(4)] value_bytes Bytes of the value: 1, 2 or 4.
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
    exec: cushim_exec,
    to: *const cushim_endpoint,
    pitch: usize,
    value: u32,
    value_bytes: i32,
    width: usize,
    height: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let to = CallersEndpoint::read(&guard, to, "to")?;
            let mut memset = memset(lending, &to, value, value_bytes, Rows { pitch, width, height })?;
            set(&guard, node, exec, &mut memset)
        }
    })
}

/// Changes which event a node records or waits for (`cuGraphEventRecordNodeSetEvent`,
/// `cuGraphExecEventRecordNodeSetEvent` and those of waits). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
/// @param[in] event The event.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an event of another driver.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_event(
    node: cushim_node,
    exec: cushim_exec,
    event: cushim_event,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let is_wait = get(&guard, node)?.node_type() == NodeType::EventWait;
        let event = get(&guard, event)?;
        // SAFETY: the node keeps the event.
        unsafe {
            match is_wait {
                true => set(&guard, node, exec, &mut Wait::new(&event)),
                false => set(&guard, node, exec, &mut Record::new(&event)),
            }
        }
    })
}

/// Changes which function a node calls (`cuGraphHostNodeSetParams`, `cuGraphExecHostNodeSetParams`). Otherwise as
/// `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
    exec: cushim_exec,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe { set(&guard, node, exec, &mut operation(lending, function, data, owner)?) }
    })
}

/// Changes which function a node calls, with a copy of some bytes. Otherwise as `cushim_node_set_host_function`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
    exec: cushim_exec,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe { set(&guard, node, exec, &mut operation_on_bytes(function, bytes, size)?) }
    })
}

/// Has the child graph of a node do in one exec what another graph does, from the next launch on
/// (`cuGraphExecChildGraphNodeSetParams`). That graph has the same nodes and edges as the child graph; it stays what
/// it is, and the exec keeps what its nodes use. Nodes are still named by those of the child graph.
///
/// In a graph a child graph is edited where it stands: `cushim_node_get_graphs` gives it.
///
/// @param[in] node The child graph node.
/// @param[in] exec The exec.
/// @param[in] graph The graph; any graph of the same driver.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a node of another graph or type, and for a graph of which a kernel
///   sets a condition of a graph around it; `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE` (910) for a graph with other nodes
///   or edges. If it fails, the exec is as it was.
/// @driver any
///
/// # Safety
/// What the nodes of the graph use, and it does not keep, is good whenever the exec is launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_child(
    node: cushim_node,
    exec: cushim_exec,
    graph: cushim_graph,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let node = Node::of_object(&*get(&guard, node)?)?;
        let exec = get(&guard, exec)?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        // SAFETY: the caller vouches for what the nodes use.
        unsafe { exec.set_child(&node, &graph) }
    })
}

/// Changes the operations of a memory operations node (`cuGraphBatchMemOpNodeSetParams`,
/// `cuGraphExecBatchMemOpNodeSetParams`). Otherwise as `cushim_node_set_kernel`.
///
/// @param[in] node The node.
/// @param[in, nullable] exec NULL: the graph is changed; otherwise this exec only.
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
    exec: cushim_exec,
    operations: *const cushim_memory_operation,
    operation_count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all of it.
        unsafe {
            let given = look_up_operations(&guard, operations, operation_count)?;
            let mut list = given.list(lending)?;
            set(&guard, node, exec, &mut MemoryOperations::new(&mut list))
        }
    })
}

/// Has every node of an exec use one buffer in place of another, from the next launch on; each part keeps its offset.
/// The old buffer is released as `cushim_node_set_kernel` says.
///
/// It reaches kernel arguments that were given as buffers or endpoints, the ends of copies of ranges, and memsets, in
/// child graphs and bodies too. It does not reach pointers that were given as bytes or in a block, memory operations,
/// and what was captured without cushim.
///
/// @param[in] exec The exec.
/// @param[in] from The buffer that the nodes use.
/// @param[in] to The buffer that they are to use: at least as large, of the same context and resource.
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
    from: cushim_buffer,
    to: cushim_buffer,
    nodes: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let nodes = unsafe { out::cleared_if_given(nodes, 0, "nodes") }?;
        let (exec, from, to) = (hold(exec)?, hold(from)?, hold(to)?);
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
