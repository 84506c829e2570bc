//! Graphs that are captured from streams.
//!
//! @header cushim.h
//! @task capture graphs

use super::child::is_moved;
use super::conditional::{cushim_condition_options, given_condition, kind_and_bodies};
use super::definition::{cushim_condition, cushim_graph, cushim_node, invalid, owned_graph};
use super::named::handle_of;
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{
    self, Incomplete, NewHandle, borrowed, end_owning, enter, enter_anywhere, get, owned, reserve,
};
use crate::capi::stream::{cushim_stream, of_builder};
use crate::capi::{input, options, out};
use crate::graph::{
    Builder, BuilderKind, BuilderObject, BuilderOptions, BuilderState, CaptureMode, Condition, Embedding,
    Graph,
};
use crate::object::error::Error;
use crate::object::handle::Shared as _;
use crate::object::{handle, release};
use std::sync::Arc;

/// Captures what is enqueued in its stream as a graph. From `cushim_builder_begin` to `cushim_builder_end` every
/// function that takes a stream accepts that of `cushim_builder_stream`: its work is not done, but becomes a node,
/// which comes after the one before. The graph keeps what the functions name, as it does for nodes that are added:
/// kernels, buffers, events and owners. What other libraries enqueue in the native stream becomes part of the graph,
/// too; the caller keeps what that uses.
///
/// Host memory that a copy names needs an owner, or `CUSHIM_ENDPOINT_KEEP_BYTES`, or `CUSHIM_ENDPOINT_CALLER_KEEPS`:
/// the graph reads and writes it at each launch. What would invalidate the capture is refused, and the capture stays
/// valid: to synchronise or query the stream, its context or an event that was recorded in it, to launch an exec in
/// it, batches, prefetches, discards, memory of a pool.
///
/// @driver any
pub type cushim_builder = *mut cushim_builder_s;

/// Never given a body.
pub struct cushim_builder_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_builder_s {
    type Object = BuilderObject;
}

/// Which calls the driver refuses while a builder captures, because they might wait for work that does not run. Calls
/// of cushim are not refused, and do not disturb other captures.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_capture_mode {
    /// None (`CU_STREAM_CAPTURE_MODE_RELAXED`). Any thread may end the capture.
    CUSHIM_CAPTURE_RELAXED = 0,
    /// Those of the thread that began the capture (`CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`), which has to end it.
    CUSHIM_CAPTURE_THREAD_LOCAL = 1,
    /// Those of every thread (`CU_STREAM_CAPTURE_MODE_GLOBAL`). The thread that began the capture has to end it.
    CUSHIM_CAPTURE_GLOBAL = 2,
}

/// How far a builder is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_builder_state {
    /// It was not begun.
    CUSHIM_BUILDER_NOT_STARTED = 1,
    /// It captures.
    CUSHIM_BUILDER_CAPTURING = 2,
    /// It has ended, and has a graph.
    CUSHIM_BUILDER_ENDED = 3,
    /// It was closed, was joined into another one, or its capture failed.
    CUSHIM_BUILDER_CLOSED = 4,
}

/// What a builder captures.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_builder_kind {
    /// A graph.
    CUSHIM_BUILDER_PRIMARY = 1,
    /// A part of what another builder captures, beside that. While it captures, it needs to be joined.
    CUSHIM_BUILDER_FORKED = 2,
    /// A body of a conditional node.
    CUSHIM_BUILDER_BODY = 3,
}

/// Options of `cushim_builder_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_builder_options {
    /// Bytes of this struct, `sizeof(cushim_builder_options)`.
    pub struct_size: usize,
    /// @field[enum(cushim_capture_mode)] Which calls the driver refuses meanwhile.
    pub mode: i32,
    /// Zero.
    pub reserved: u32,
}

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names.
unsafe fn read(options: *const cushim_builder_options) -> Result<BuilderOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_reserved(given.reserved)?;
    let mode = match given.mode {
        n if n == cushim_capture_mode::CUSHIM_CAPTURE_RELAXED as i32 => CaptureMode::Relaxed,
        n if n == cushim_capture_mode::CUSHIM_CAPTURE_THREAD_LOCAL as i32 => CaptureMode::ThreadLocal,
        n if n == cushim_capture_mode::CUSHIM_CAPTURE_GLOBAL as i32 => CaptureMode::Global,
        n => return Err(invalid(format!("mode is {n}; use a cushim_capture_mode, 0 to 2"))),
    };
    Ok(BuilderOptions { mode })
}

/// Creates a builder with a stream of its own.
///
/// @param[in] context The context.
/// @param[in, nullable] options The options.
/// @param[out, owned] builder The builder.
/// @driver any
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `builder` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_create(
    context: cushim_context,
    options: *const cushim_builder_options,
    builder: *mut cushim_builder,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let builder = unsafe { out::cleared(builder, std::ptr::null_mut(), "builder") }?;
        // SAFETY: as above.
        let options = unsafe { read(options) }?;
        let guard = enter()?;
        let context = get(&guard, context)?;
        *builder = owned(|| Builder::create(&context, &options))?;
        Ok(())
    })
}

/// Creates a builder that captures what is enqueued in a stream, also by other libraries. The stream does nothing
/// else from begin to end.
///
/// @param[in] stream The stream; not a default stream.
/// @param[in, nullable] options The options.
/// @param[out, owned] builder The builder.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a default stream.
/// @driver any
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `builder` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_create_on(
    stream: cushim_stream,
    options: *const cushim_builder_options,
    builder: *mut cushim_builder,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let builder = unsafe { out::cleared(builder, std::ptr::null_mut(), "builder") }?;
        // SAFETY: as above.
        let options = unsafe { read(options) }?;
        let guard = enter()?;
        let stream = get(&guard, stream)?;
        *builder = owned(|| Builder::create_on(&stream, &options))?;
        Ok(())
    })
}

/// Returns one more owned handle of a builder.
///
/// @param[in] builder The builder.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_ref(
    builder: cushim_builder,
    reference: *mut cushim_builder,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(builder, reference) }
}

/// Destroys an owned handle of a builder. The builder is closed with the last one (`cushim_builder_close`). Graphs
/// that it gave live on.
///
/// @param[in, ended, nullable] builder The builder.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_builder_destroy(builder: cushim_builder) -> cushim_status {
    call(|| {
        if builder.is_null() {
            return Ok(());
        }
        let guard = enter()?;
        let held = get(&guard, builder).map(|held| (*held).clone());
        // One that was destroyed says so.
        let Ok(held) = held else { return end_owning(guard, builder).map(drop) };
        let is_last = Arc::strong_count(held.object()) == 2;
        let released = end_owning(guard, builder)?;
        release::collect(|| {
            drop(released);
            if is_last {
                // What it captures ends now, also where the handle waits for calls of other threads. The release
                // answers for an error.
                let _ = held.close();
            }
            drop(held);
        })
    })
}

/// Closes a builder. What it captures is given up, with its forks and the bodies in it; the stream can be used again.
/// Graphs that it gave live on. Closing a closed builder does nothing. If the driver does not end the capture, its
/// error is returned, and the builder captures as before: close it again.
///
/// A body keeps what its builder has captured by then, also in forks that are not joined. To give that up, too, close
/// the builder of the graph around it. A forked builder that is closed cannot be joined any more: if it has captured
/// work, the capture cannot end, only be closed.
///
/// @param[in] builder The builder. The handle is still to be destroyed.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_builder_close(builder: cushim_builder) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, builder)?.close()
    })
}

/// The context of what a builder captures.
///
/// @param[in] builder The builder.
/// @param[out, borrowed] context The context.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_get_context(
    builder: cushim_builder,
    context: *mut cushim_context,
) -> cushim_status {
    // SAFETY: the caller vouches for `context`.
    unsafe { handles::tell(builder, context, "context", |builder| borrowed(builder.context())) }
}

/// Begins to capture (`cuStreamBeginCapture`).
///
/// Calls that other threads have begun when the capture begins are waited for, up to 5 milliseconds. What such a call
/// enqueues in the stream later than that is captured, but the graph does not keep the objects that it uses. A call
/// that takes owners is waited for until it has enqueued its work, or finds the stream under capture: its owners are
/// always released.
///
/// @param[in] builder The builder; one captures once. That of a body captures after the nodes that the body has by
///   now.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that was begun before, and while its stream is being
///   captured.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_builder_begin(builder: cushim_builder) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, builder)?.begin()
    })
}

/// Begins to capture into a graph that exists (`cuStreamBeginRecaptureToGraph`). The same operations are captured in
/// the order in which the nodes were added; each takes the place of what its node does, and of what it keeps. Until
/// the capture ends, other changes of the graph are refused. Then update an exec from it (`cushim_exec_update`).
///
/// If the capture fails, as for an operation of another type or in another place than its node, or if it is given up,
/// the graph is lost: calls on its handles return an error. What was instantiated from it goes on.
///
/// @param[in] builder The builder, which was not begun; not that of a body.
/// @param[in] graph The graph; not a child graph or a body, and without child graphs, conditions and nodes that
///   kernels update.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that was begun before, while its stream or the graph
///   is being captured, and for a graph that cannot be recaptured; `CUSHIM_ERROR_UNSUPPORTED` before CUDA 13.3:
///   capture into a new graph there, and update the exec from that.
/// @driver 13.3
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_builder_recapture(builder: cushim_builder, graph: cushim_graph) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        get(&guard, builder)?.recapture(&graph)
    })
}

/// Ends the capture (`cuStreamEndCapture`). The graph is like any other: it can be edited, instantiated, and outlives
/// the builder.
///
/// @param[in] builder The builder; not a forked one.
/// @param[out, owned, nullable] graph The graph; of a builder for a body, the body.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that does not capture or was forked, on another thread
///   than the one that began unless the mode is relaxed, while forks are to be joined, and while a body in it is
///   being captured: the capture goes on then; `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` (901) for a capture that
///   something else has invalidated, which is over then; `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` (918) if a recapture
///   lacks nodes: the graph is lost. Where the driver fails otherwise and captures all the same, so does the builder:
///   end it again, or close it.
/// @driver any
///
/// # Safety
/// `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_end(
    builder: cushim_builder,
    graph: *mut cushim_graph,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `graph`.
        let graph = unsafe { out::cleared_if_given(graph, std::ptr::null_mut(), "graph") }?;
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        match graph {
            None => builder.end().map(drop),
            Some(graph) => {
                *graph = owned_graph(|| builder.end())?;
                Ok(())
            }
        }
    })
}

/// The stream of a builder that captures, for every function that takes a stream. The handle is borrowed, and stale
/// after the end.
///
/// @param[in] builder The builder.
/// @return The stream; NULL, with the thread's last error set, if the builder does not capture.
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_builder_stream(builder: cushim_builder) -> cushim_stream {
    let mut stream = std::ptr::null_mut();
    call(|| {
        let guard = enter_anywhere()?;
        let builder = get(&guard, builder)?;
        builder.check_capturing()?;
        stream = of_builder(&builder)?;
        Ok(())
    });
    stream
}

/// How far a builder is, and what it captures. A forked builder that captures needs to be joined.
///
/// @param[in] builder The builder.
/// @param[out, nullable, enum(cushim_builder_state)] state How far it is.
/// @param[out, nullable, enum(cushim_builder_kind)] kind What it captures.
///
/// # Safety
/// `state` is NULL or valid for writes, and so is `kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_get_state(
    builder: cushim_builder,
    state: *mut i32,
    kind: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (state, kind) = unsafe {
            out::both(out::cleared_if_given(state, 0, "state"), out::cleared_if_given(kind, 0, "kind"))
        }?;
        let guard = enter_anywhere()?;
        let builder = get(&guard, builder)?;
        let number = match builder.state() {
            BuilderState::NotStarted => cushim_builder_state::CUSHIM_BUILDER_NOT_STARTED,
            BuilderState::Capturing => cushim_builder_state::CUSHIM_BUILDER_CAPTURING,
            BuilderState::Ended => cushim_builder_state::CUSHIM_BUILDER_ENDED,
            BuilderState::Closed => cushim_builder_state::CUSHIM_BUILDER_CLOSED,
        };
        out::put(state, number as i32);
        let number = match builder.kind() {
            BuilderKind::Primary => cushim_builder_kind::CUSHIM_BUILDER_PRIMARY,
            BuilderKind::Forked => cushim_builder_kind::CUSHIM_BUILDER_FORKED,
            BuilderKind::Body => cushim_builder_kind::CUSHIM_BUILDER_BODY,
        };
        out::put(kind, number as i32);
        Ok(())
    })
}

/// The graph of a builder that has ended; of a builder for a body the body, also before it begins, so that it can be
/// filled by hand.
///
/// @param[in] builder The builder; not a forked one.
/// @param[out, borrowed] graph The graph.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that was not begun, captures, is closed or was forked;
///   `CUSHIM_ERROR_INVALID_HANDLE`, also for a body that was removed with its node.
///
/// # Safety
/// `graph` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_get_graph(
    builder: cushim_builder,
    graph: *mut cushim_graph,
) -> cushim_status {
    // SAFETY: the caller vouches for `graph`.
    unsafe { handles::tell(builder, graph, "graph", |builder| borrowed(builder.graph()?.object())) }
}

/// The nodes that were captured last: those that the next one comes after. They can be labelled, and nodes can be
/// added after them.
///
/// @param[in] builder The builder, which captures.
/// @param[out, borrowed, array(capacity), nullable_if_zero(capacity)] nodes Receives the nodes.
/// @param[in] capacity How many there is room for.
/// @param[out, nullable] count Receives how many there are.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that does not capture.
/// @driver any
///
/// # Safety
/// `nodes` is valid for writes of `capacity` handles; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_get_tail(
    builder: cushim_builder,
    nodes: *mut cushim_node,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (count, nodes) = unsafe {
            out::both(
                out::cleared_if_given(count, 0, "count"),
                out::array(nodes, capacity, std::ptr::null_mut(), "nodes"),
            )
        }?;
        let guard = enter()?;
        let tail = get(&guard, builder)?.tail()?;
        let handles: Vec<_> = tail.iter().take(capacity).map(handle_of).collect::<Result<_, _>>()?;
        nodes[..handles.len()].copy_from_slice(&handles);
        out::put(count, tail.len());
        Ok(())
    })
}

/// Creates builders that capture beside a builder, from where it is: what they capture comes after what it has
/// captured by now, and in no order with what it captures from now on. Each is joined before the capture ends.
///
/// @param[in] builder The builder, which captures, and goes on.
/// @param[out, owned, array(fork_count), nullable_if_zero(fork_count)] forks Receives the new builders.
/// @param[in, example(1)] fork_count How many; at least 1, so that there are two then.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for none, and for a builder that does not capture.
/// @driver any
///
/// # Safety
/// `forks` is valid for writes of `fork_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_fork(
    builder: cushim_builder,
    forks: *mut cushim_builder,
    fork_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the array.
        let forks = unsafe { out::array(forks, fork_count, std::ptr::null_mut(), "forks") }?;
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        let reserved = reserve_all(fork_count)?;
        name_all(forks, reserved, builder.fork(fork_count)?);
        Ok(())
    })
}

fn reserve_all(count: usize) -> Result<Vec<NewHandle<cushim_builder_s>>, Error> {
    (0..count).map(|_| reserve()).collect()
}

fn name_all(
    places: &mut [cushim_builder],
    reserved: Vec<NewHandle<cushim_builder_s>>,
    builders: Vec<Builder>,
) {
    for ((place, reserved), builder) in places.iter_mut().zip(reserved).zip(builders) {
        *place = reserved.of(builder);
    }
}

/// Joins forked builders into a builder: what that captures from now on comes after what they captured. They are
/// closed then; their handles are still to be destroyed.
///
/// @param[in] builder The builder, which captures: the one that they were forked from, or another one of the same
///   capture.
/// @param[in, array(other_count)] others The forked builders.
/// @param[in, example(1)] other_count How many; at least 1.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for none, and for one that is not forked, is `builder`, comes twice,
///   does not capture or is part of another capture: none is joined then, and the error's item says which one it is.
/// @driver any
///
/// # Safety
/// `others` is NULL or valid for reads of `other_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_join(
    builder: cushim_builder,
    others: *const cushim_builder,
    other_count: usize,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        // SAFETY: the caller vouches for the array.
        let others = unsafe {
            input::array(others, other_count, "others", |other| {
                get(&guard, *other).map(|other| other.clone())
            })
        }?;
        builder.join(&others.iter().collect::<Vec<_>>())
    })
}

/// Embeds a graph as a child graph node, which comes after what was captured by now; what is captured next comes
/// after it.
///
/// @param[in] builder The builder, which captures.
/// @param[in] graph The graph. That of another builder is what `cushim_builder_get_graph` returns.
/// @param[in, enum(cushim_child_ownership)] ownership How it becomes a child graph.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that does not capture, for nodes that a body cannot
///   hold, and for moving a graph that is part of another or was wrapped as borrowed; `CUSHIM_ERROR_UNSUPPORTED` for
///   moving before CUDA 12.9; `CUDA_ERROR_NOT_SUPPORTED` (801) for a copy of a graph that allocates memory or has
///   conditional nodes.
/// @driver any
///
/// # Safety
/// `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_add_child(
    builder: cushim_builder,
    graph: cushim_graph,
    ownership: i32,
    node: *mut cushim_node,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `node`.
        let node = unsafe { out::cleared_if_given(node, std::ptr::null_mut(), "node") }?;
        let how = if is_moved(ownership)? { Embedding::Move } else { Embedding::Clone };
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        guard.room_for_run()?;
        let (added, _) = builder.add_child(&graph, how)?;
        if let Some(node) = node {
            *node = handle_of(&added)?;
        }
        Ok(())
    })
}

/// Creates a condition of what a builder captures, as `cushim_condition_create` does.
///
/// @param[in] builder The builder, which captures.
/// @param[in, nullable] options The options.
/// @param[out, borrowed] condition The condition.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that does not capture; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 12.3
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `condition` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_create_condition(
    builder: cushim_builder,
    options: *const cushim_condition_options,
    condition: *mut cushim_condition,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `condition`.
        let condition = unsafe { out::cleared(condition, std::ptr::null_mut(), "condition") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { given_condition(options) }?;
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        handle::room(1)?;
        let created = builder.create_condition(&options)?;
        *condition = borrowed(created.object())?;
        Ok(())
    })
}

/// Adds a conditional node, which comes after what was captured by now; what is captured next comes after it. Each
/// body has a builder, which is not begun: begin it and enqueue work in its stream, or fill the body by hand
/// (`cushim_builder_get_graph`). The capture goes on meanwhile.
///
/// @param[in] builder The builder, which captures; also one that is forked, or captures a body.
/// @param[in] condition The condition, which no other conditional node looks at.
/// @param[in, enum(cushim_conditional_kind)] kind How the node decides.
/// @param[in, example(1)] body_count The number of bodies: of an IF and a WHILE 1, of an IF_ELSE 2, of a SWITCH at
///   least 1.
/// @param[out, borrowed, nullable] node The node.
/// @param[out, owned, array(body_count), nullable_if_zero(body_count)] bodies Receives the builders of the bodies.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a builder that does not capture, for a condition of another
///   graph or with a node, and for a number of bodies that the kind does not have; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 12.3
///
/// # Safety
/// `node` is NULL or valid for writes; `bodies` is valid for writes of `body_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_builder_add_conditional(
    builder: cushim_builder,
    condition: cushim_condition,
    kind: i32,
    body_count: usize,
    node: *mut cushim_node,
    bodies: *mut cushim_builder,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let node = unsafe { out::cleared_if_given(node, std::ptr::null_mut(), "node") };
        // SAFETY: as above.
        let (node, (kind, bodies)) = out::both(node, unsafe { kind_and_bodies(kind, bodies, body_count) })?;
        let guard = enter()?;
        let builder = get(&guard, builder)?;
        let condition = Condition::of(&*get(&guard, condition)?)?;
        let reserved = reserve_all(body_count)?;
        guard.room_for_run()?;
        let (added, builders) = builder.add_conditional(&condition, kind, body_count)?;
        // Another thread may have removed the node since: the call fails then, and its bodies are closed.
        let handle = node.is_some().then(|| handle_of(&added)).transpose()?;
        name_all(bodies, reserved, builders);
        if let (Some(node), Some(handle)) = (node, handle) {
            *node = handle;
        }
        Ok(())
    })
}
