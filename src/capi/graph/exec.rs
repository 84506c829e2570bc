//! What is instantiated from a graph.
//!
//! @header cushim.h
//! @task launch graphs

use super::definition::{cushim_graph, cushim_node, invalid};
use super::named::{handle_of, node_of};
use crate::capi::driver_types::CUgraphExec;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, borrowed, enter, enter_anywhere, get, hold, reserve};
use crate::capi::options::OutStruct;
use crate::capi::stream::cushim_stream;
use crate::capi::{options, out};
use crate::graph::{Exec, ExecObject, ExecOptions, Graph, InstantiateFailure, Node, UpdateFailure};
use crate::object::error::Error;

/// What is instantiated from a graph: it is launched in streams, as often as one likes. It keeps what its nodes use,
/// whatever becomes of the graph. Calls on one exec wait for each other, and its launches run one after the other, in
/// whatever streams.
///
/// @driver any
pub type cushim_exec = *mut cushim_exec_s;

/// Never given a body.
pub struct cushim_exec_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_exec_s {
    type Object = ExecObject;
}

/// Flags of an exec.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_exec_flags {
    /// Each launch first frees what the launch before allocated and nobody freed.
    CUSHIM_EXEC_AUTO_FREE = 1,
    /// Kernels can launch it, too, after it was uploaded. It has at least one node; its nodes are kernels, memsets,
    /// copies of device or page-locked memory, and child graphs of such, all in one context. Not with
    /// `CUSHIM_EXEC_AUTO_FREE`. A kernel that launches it is linked with CUDA's `libcudadevrt`. CUDA 12.0.
    CUSHIM_EXEC_DEVICE_LAUNCH = 2,
    /// Nodes run with their own priorities, not with that of the stream. CUDA 11.7.
    CUSHIM_EXEC_NODE_PRIORITY = 4,
    /// `cushim_exec_native` returns its native handle, so that others launch it. The driver then keeps what its nodes
    /// use: on driver 580 each launch is slower for that, by 1 to 3 microseconds, and waits as soon as about 27
    /// launches are queued. What a node used before it was changed is released after the next update, or with the
    /// exec.
    CUSHIM_EXEC_NATIVE_LAUNCHES = 8,
}

const AUTO_FREE: u32 = cushim_exec_flags::CUSHIM_EXEC_AUTO_FREE as u32;
const DEVICE_LAUNCH: u32 = cushim_exec_flags::CUSHIM_EXEC_DEVICE_LAUNCH as u32;
const NODE_PRIORITY: u32 = cushim_exec_flags::CUSHIM_EXEC_NODE_PRIORITY as u32;
const NATIVE_LAUNCHES: u32 = cushim_exec_flags::CUSHIM_EXEC_NATIVE_LAUNCHES as u32;

/// Options of `cushim_exec_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_exec_options {
    /// Bytes of this struct, `sizeof(cushim_exec_options)`.
    pub struct_size: usize,
    /// @field[flags(cushim_exec_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// @field[nullable] A stream in which the exec is uploaded to the device, so that the first launch is not slower;
    ///   may be NULL.
    pub upload_stream: cushim_stream,
}

/// Why a graph was not instantiated, or an exec not updated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_exec_result {
    /// Bytes of this struct, `sizeof(cushim_exec_result)`.
    pub struct_size: usize,
    /// @field[names(CUgraphInstantiateResult CUgraphExecUpdateResult)] The driver's reason.
    ///   Of `cushim_exec_create` a `CUgraphInstantiateResult`, of `cushim_exec_update` a `CUgraphExecUpdateResult`. 0
    ///   after success; 1 if cushim refuses the call, or the status says all there is.
    pub reason: i32,
    /// Zero.
    pub reserved: u32,
    /// @field[nullable, borrowed] The node that the driver blames; NULL if it blames none. Of an update, a node of
    ///   the new graph.
    pub node: cushim_node,
    /// @field[nullable, borrowed] The node that `node` depends on and did not before, or the reverse; NULL if that is
    ///   not the reason. Updates only. CUDA 12.0.
    pub other: cushim_node,
}

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names.
unsafe fn read(options: *const cushim_exec_options) -> Result<(ExecOptions, cushim_stream), Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, AUTO_FREE | DEVICE_LAUNCH | NODE_PRIORITY | NATIVE_LAUNCHES)?;
    options::check_reserved(given.reserved)?;
    let options = ExecOptions {
        auto_free: given.flags & AUTO_FREE != 0,
        device_launch: given.flags & DEVICE_LAUNCH != 0,
        node_priority: given.flags & NODE_PRIORITY != 0,
        native_launches: given.flags & NATIVE_LAUNCHES != 0,
    };
    Ok((options, given.upload_stream))
}

/// A caller's struct for the reason, which may be NULL.
///
/// # Safety
/// `result` is NULL or valid for the bytes that its `struct_size` names.
unsafe fn cleared_result<'a>(
    result: *mut cushim_exec_result,
) -> Result<Option<OutStruct<'a, cushim_exec_result>>, Error> {
    // SAFETY: the caller vouches for it.
    if result.is_null() { Ok(None) } else { unsafe { OutStruct::cleared(result, "result") }.map(Some) }
}

fn told(
    result: Option<OutStruct<'_, cushim_exec_result>>,
    reason: i32,
    node: Option<&Node>,
    other: Option<&Node>,
) {
    let handle =
        |node: Option<&Node>| node.and_then(|node| handle_of(node).ok()).unwrap_or(std::ptr::null_mut());
    if let Some(result) = result {
        let (node, other) = (handle(node), handle(other));
        result.fill(&cushim_exec_result { struct_size: 0, reason, reserved: 0, node, other });
    }
}

/// Instantiates a graph (`cuGraphInstantiate`). Later changes of the graph do not reach the exec.
///
/// The exec keeps what its nodes use, at no cost for launches: a launch in a stream that cushim created, and whose
/// native handle nobody got, is one call of the driver; in any other stream an event is recorded after it. Launches
/// are slower, as the driver's are for user objects, if the native handle of the graph was returned
/// (`cushim_graph_native`, `cushim_node_native`), or if it contains a copy of such a graph: until the exec is updated
/// from a graph without.
///
/// @param[in] graph The graph; not a child graph or a body.
/// @param[in, nullable] options The options.
/// @param[out, owned] exec The exec.
/// @param[inout, nullable, on_failure] result Receives the reason if the call fails.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a graph that is part of another; `CUSHIM_ERROR_UNSUPPORTED` for
///   an option that is younger than the driver; `CUDA_ERROR_NOT_SUPPORTED` (801), also for a second exec, while the
///   first exists, of a graph that allocates memory or has conditional nodes; and for a graph with conditional nodes
///   while a clone of it exists, or a clone of a graph in it.
/// @driver any
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, and so is `result`; `exec` is NULL or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_create(
    graph: cushim_graph,
    options: *const cushim_exec_options,
    exec: *mut cushim_exec,
    result: *mut cushim_exec_result,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for all of it.
        let (exec, result) =
            unsafe { (out::cleared(exec, std::ptr::null_mut(), "exec"), cleared_result(result)?) };
        let made = exec.map_err(InstantiateFailure::from).and_then(|exec| {
            // SAFETY: as above.
            *exec = unsafe { instantiate(graph, options) }?;
            Ok(())
        });
        made.map_err(|failure| {
            told(result, failure.reason.number(), failure.node.as_ref(), None);
            failure.error
        })
    })
}

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names.
unsafe fn instantiate(
    graph: cushim_graph,
    options: *const cushim_exec_options,
) -> Result<cushim_exec, InstantiateFailure> {
    // SAFETY: the caller vouches for it.
    let (options, upload) = unsafe { read(options) }?;
    let (graph, stream) = {
        let guard = enter()?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        (graph, if upload.is_null() { None } else { Some((*get(&guard, upload)?).clone()) })
    };
    let reserved = reserve()?;
    Ok(reserved.of(Exec::create(&graph, &options, stream.as_ref())?))
}

/// Returns one more owned handle of an exec.
///
/// @param[in] exec The exec.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_ref(exec: cushim_exec, reference: *mut cushim_exec) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(exec, reference) }
}

/// Destroys an owned handle of an exec. When the last one is destroyed, so is the exec (`cuGraphExecDestroy`). A
/// launch that is not done goes on, and what it uses is released when it is done: when the stream of the last launch
/// has passed the work that is in it now. Streams and threads may end before. Driver 580 waits here for an upload.
///
/// With conditional nodes the driver's exec, too, is destroyed when the launch is done, and `cushim_exec_create` for
/// the same graph waits for that: driver 580 would wait in the destroy, and let no other call of the context return
/// meanwhile. So it does where others launch such an exec (`CUSHIM_EXEC_NATIVE_LAUNCHES`), and where the stream of
/// the last launch is captured by now.
///
/// @param[in, ended, nullable] exec The exec.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_exec_destroy(exec: cushim_exec) -> cushim_status {
    handles::destroy(exec)
}

/// Returns the graph that an exec was instantiated from.
///
/// @param[in] exec The exec.
/// @param[out, borrowed] graph The graph; NULL if its last handle was destroyed.
///
/// # Safety
/// `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_graph(exec: cushim_exec, graph: *mut cushim_graph) -> cushim_status {
    // SAFETY: the caller vouches for `graph`.
    unsafe {
        handles::tell(exec, graph, "graph", |exec| match exec.graph() {
            Some(graph) => borrowed(graph.object()),
            None => Ok(std::ptr::null_mut()),
        })
    }
}

/// Returns the flags of an exec.
///
/// @param[in] exec The exec.
/// @param[out, flags(cushim_exec_flags)] flags `cushim_exec_flags`.
///
/// # Safety
/// `flags` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_flags(exec: cushim_exec, flags: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `flags`.
    unsafe {
        handles::tell(exec, flags, "flags", |exec| {
            let options = exec.options();
            let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
            Ok(flag(options.auto_free, AUTO_FREE)
                | flag(options.device_launch, DEVICE_LAUNCH)
                | flag(options.node_priority, NODE_PRIORITY)
                | flag(options.native_launches, NATIVE_LAUNCHES))
        })
    }
}

/// Returns the native handle of an exec that was created with `CUSHIM_EXEC_NATIVE_LAUNCHES` or
/// `CUSHIM_EXEC_DEVICE_LAUNCH`. It is valid until the exec is destroyed; do not destroy it. Without one of these
/// flags the call is refused: cushim could not tell when launches by that handle are done, and would release too
/// early what they use.
///
/// @param[in] exec The exec.
/// @param[out] native The `CUgraphExec`; a `cudaGraphExec_t` is the same.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an exec without these flags.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_native(exec: cushim_exec, native: *mut CUgraphExec) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, std::ptr::null_mut(), "native") }?;
        let guard = enter_anywhere()?;
        *native = get(&guard, exec)?.native()?;
        Ok(())
    })
}

/// Returns the number by which the driver's tools, such as profilers, tell execs apart (`cuGraphExecGetId`).
///
/// @param[in] exec The exec.
/// @param[out] id The number.
/// @driver 13.1
///
/// # Safety
/// `id` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_id(exec: cushim_exec, id: *mut u32) -> cushim_status {
    // SAFETY: the caller vouches for `id`.
    unsafe { handles::ask(exec, id, "id", |exec| exec.id()) }
}

/// Uploads an exec to the device in stream order (`cuGraphUpload`), so that its first launch is not slower than
/// others.
///
/// @param[in] exec The exec.
/// @param[in] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT` for
///   one that is being captured; the capture stays valid.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_exec_upload(exec: cushim_exec, stream: cushim_stream) -> cushim_status {
    call(|| hold(exec)?.upload(&hold(stream)?))
}

/// Launches an exec in a stream (`cuGraphLaunch`): its nodes run after the work that is in the stream by now, and
/// later work waits for them.
///
/// With `CUSHIM_CHECK=graphs` in the environment, or `CUSHIM_DRIVER_CHECK_GRAPHS`, it refuses a launch if memory of a
/// copy, memset, kernel or memory operations node was freed after the exec got its address, or belongs to another
/// allocation by now, and a kernel on another device's memory without peer access. The message names node and
/// argument. An argument of eight bytes counts as an address if there was memory when the exec got it.
///
/// A node that waits for an event which a capture of cushim's has recorded would make the stream part of that capture,
/// as cushim_stream_wait_event does, and what is enqueued there later would not run: such a launch is refused until
/// the capture has ended. Captures that others began are theirs to order.
///
/// @param[in] exec The exec.
/// @param[in] stream The stream.
/// @errors `CUSHIM_ERROR_INVALID_HANDLE`, also for a stream of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT` for
///   a stream that is being captured or would be, and for memory that is gone, if that is checked;
///   `CUDA_ERROR_INVALID_VALUE` (1), also for memory that the launch before allocated and nobody freed.
/// @driver any
///
/// # Safety
/// What its nodes read, write and run, and it does not keep, is good until the stream has passed it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_launch(exec: cushim_exec, stream: cushim_stream) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let exec = get(&guard, exec)?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for what the nodes use.
        unsafe { exec.launch(&stream) }
    })
}

/// Has an exec take over the parameters of a graph with the same nodes and edges (`cuGraphExecUpdate`), from the next
/// launch on; it keeps what their nodes use in place of what it kept before. Its nodes are still named by those of
/// the graph that it was instantiated from. Unless both graphs list nodes of the same types with
/// the same predecessors in the same order, changes of a part of a node are refused afterwards: set the node in full.
///
/// @param[in] exec The exec.
/// @param[in] graph The graph with the new parameters.
/// @param[inout, nullable, on_failure] result Receives the reason if the call fails.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a graph that is part of another; `CUSHIM_ERROR_INVALID_HANDLE`,
///   also for a graph of another driver; `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE` (910). If it fails, the exec is as it
///   was.
/// @driver any
///
/// # Safety
/// What the nodes of the graph use, and it does not keep, is good whenever the exec is launched; `result` is NULL or
/// valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_update(
    exec: cushim_exec,
    graph: cushim_graph,
    result: *mut cushim_exec_result,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let result = unsafe { cleared_result(result) }?;
        // SAFETY: the caller vouches for what the nodes use.
        unsafe { update(exec, graph) }.map_err(|failure| {
            told(result, failure.reason.number(), failure.node.as_ref(), failure.other.as_ref());
            failure.error
        })
    })
}

/// # Safety
/// As for [`Exec::update`].
unsafe fn update(exec: cushim_exec, graph: cushim_graph) -> Result<(), UpdateFailure> {
    let exec = hold(exec)?;
    let graph = Graph::of(&hold(graph)?)?;
    // SAFETY: the caller vouches for what the nodes use.
    unsafe { exec.update(&graph) }
}

/// Returns whether a node takes part in the launches of an exec (`cuGraphNodeGetEnabled`).
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[out] enabled 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a node of another graph; `CUDA_ERROR_INVALID_VALUE` (1) for a node
///   that is not a kernel, a copy or a memset.
/// @driver 11.6
///
/// # Safety
/// `enabled` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_exec_get_enabled(
    exec: cushim_exec,
    node: cushim_node,
    enabled: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `enabled`.
        let enabled = unsafe { out::cleared(enabled, 0, "enabled") }?;
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        *enabled = i32::from(get(&guard, exec)?.is_enabled(&node)?);
        Ok(())
    })
}

/// Has a node take part in the launches of an exec, or not (`cuGraphNodeSetEnabled`): then it does nothing, and the
/// nodes after it run all the same.
///
/// @param[in] exec The exec.
/// @param[in] node The node, of the graph that the exec was instantiated from.
/// @param[in, example(1)] enabled 1 or 0.
/// @errors as `cushim_exec_get_enabled`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also if `enabled` is neither 1 nor 0.
/// @driver 11.6
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_exec_set_enabled(
    exec: cushim_exec,
    node: cushim_node,
    enabled: i32,
) -> cushim_status {
    call(|| {
        if ![0, 1].contains(&enabled) {
            return Err(invalid(format!(
                "enabled is {enabled}; use 1 to enable the node, or 0 to disable it"
            )));
        }
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        get(&guard, exec)?.set_enabled(&node, enabled == 1)
    })
}
