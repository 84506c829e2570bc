//! Kernel nodes.
//!
//! @header cushim.h
//! @task build graphs

use super::add::add;
use super::after::{Where, adding, adding_taking};
use super::definition::{cushim_graph, cushim_node};
use crate::capi::error::cushim_status;
use crate::capi::handles::get;
use crate::capi::input;
use crate::capi::kernel::arguments::{self, CallersArguments};
use crate::capi::kernel::{cushim_arg, cushim_kernel, cushim_launch_config, launch_config};
use crate::capi::pointer::MOST_OF_BLOCK;
use crate::op::{Arguments, Launch};
use std::ffi::c_void;

/// Adds a node that runs a kernel (`cuGraphAddKernelNode`). The graph keeps the kernel, with its library, and every
/// buffer and owner among the arguments; the values of the arguments are copied now.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] kernel The kernel.
/// @param[in, nullable] config How it is launched; NULL: one block of one thread. Its context may be another one than
///   the graph's.
/// @param[in, array(arg_count), nullable_if_zero(arg_count)] args An argument for each parameter. A condition of this
///   graph is one of kind `CUSHIM_ARG_CONDITION`.
/// @param[in] arg_count The number of arguments.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_kernel_launch`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, and for a
///   condition of another graph, with the number of the argument as the error's `item`; `CUSHIM_ERROR_UNSUPPORTED`.
///   If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_kernel_launch`, whenever the graph is launched; `after` is NULL or valid for reads of `after_count`
/// handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_kernel(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding_taking(at, |lending, guard, graph, after| {
            let kernel = get(guard, kernel)?;
            let mut kept = None;
            let config = launch_config(guard, config, &mut kept)?;
            let args = arguments::given(args, arg_count)?;
            let (mut named, mut list) = (CallersArguments::default(), Arguments::new());
            arguments::list_all(lending, &mut list, args, guard, &mut named)?;
            add(graph, after, &mut Launch::new(&kernel, &config, &mut list)).map(|(added, ())| added)
        })
    }
}

/// Adds a node that runs a kernel, with all arguments in one block, as `cushim_kernel_launch_packed` takes it. A
/// condition in the block is not known to be one: see `cushim_condition_native`.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] kernel The kernel.
/// @param[in, nullable] config How it is launched; NULL: one block of one thread.
/// @param[in, bytes(size), nullable_if_zero(size)] block The block; copied now.
/// @param[in] size Its bytes.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_kernel_launch_packed`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph;
///   `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
///
/// # Safety
/// As for `cushim_kernel_launch_packed`, whenever the graph is launched; `after` is NULL or valid for reads of
/// `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_kernel_packed(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    kernel: cushim_kernel,
    config: *const cushim_launch_config,
    block: *const c_void,
    size: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding(at, |guard, graph, after| {
            let kernel = get(guard, kernel)?;
            let mut kept = None;
            let config = launch_config(guard, config, &mut kept)?;
            let block = input::slice_of_at_most(MOST_OF_BLOCK, block.cast::<u8>(), size, "block")?;
            add(graph, after, &mut Launch::packed(&kernel, &config, block)).map(|(added, ())| added)
        })
    }
}
