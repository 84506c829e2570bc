//! Nodes with memory: copies, memsets, allocations and frees, memory operations.
//!
//! @header cushim.h
//! @task build graphs

use super::add::add;
use super::after::{Where, add_to, adding, adding_taking};
use super::definition::{cushim_graph, cushim_node};
use crate::capi::error::{call, cushim_status};
use crate::capi::location::{cushim_location, location_of};
use crate::capi::memory::{
    CallersEndpoint, Regions, Rows, cushim_endpoint, cushim_extent, cushim_memory_operation, cushim_region,
    look_up_operations, memset, range,
};
use crate::capi::pointer::MOST_LOCATIONS;
use crate::capi::{input, options, out};
use crate::op::{Free, GraphAllocation, MemoryOperations};
use crate::pointer::DevicePointer;
use std::ffi::c_void;

/// Adds a node that copies bytes (`cuGraphAddMemcpyNode`). The graph keeps buffers and owners.
///
/// Host memory that is no buffer's is used whenever the graph is launched: the endpoint has an owner, or its bytes
/// are kept (`CUSHIM_ENDPOINT_KEEP_BYTES`), or the caller keeps it (`CUSHIM_ENDPOINT_CALLER_KEEPS`).
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in, example(64)] bytes How many; at least 1.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, for host memory that nobody keeps, and
///   for what `cushim_stream_copy` refuses; `CUSHIM_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for
///   a buffer whose context was reset. If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// `destination` and `source` are NULL or valid for reads, and their owners valid; what the graph does not keep is
/// good whenever it is launched; `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_copy(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding_taking(at, |lending, guard, graph, after| {
            let (destination, source) = (
                CallersEndpoint::read(guard, destination, "destination")?,
                CallersEndpoint::read(guard, source, "source")?,
            );
            add(graph, after, &mut range(lending, &destination, &source, bytes)?).map(|(added, ())| added)
        })
    }
}

/// Adds a node that copies a box: rows of bytes, slices of rows. Otherwise as `cushim_graph_add_copy`.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in] extent The size of the box; at least 1 in each direction.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_graph_add_copy` and `cushim_stream_copy_3d`: `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUSHIM_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709).
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_copy`; `extent` is NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_copy_3d(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding_taking(at, |lending, guard, graph, after| {
            let regions = Regions::read(guard, destination, source, extent)?;
            add(graph, after, &mut regions.copy(lending)?).map(|(added, ())| added)
        })
    }
}

/// Adds a node that sets memory to a value, repeated (`cuGraphAddMemsetNode`). The graph keeps a buffer or an owner.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] destination The memory; not an array. The address is a multiple of the value's size.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(8)] count Number of values; at least 1.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_stream_fill`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, and for host
///   memory that nobody keeps; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709). If it fails, no owner is released.
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_copy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_fill(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    destination: *const cushim_endpoint,
    value: *const c_void,
    value_size: usize,
    count: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    let value = Written { value, size: value_size, rows: Rows { pitch: 0, width: count, height: 1 } };
    // SAFETY: the caller vouches for all of it.
    unsafe { add_fill(at, destination, value) }
}

/// Adds a node that sets rows of memory to a value, repeated. Otherwise as `cushim_graph_add_fill`.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] destination The start of the first row.
/// @param[in, example(64)] pitch Bytes from row to row.
/// @param[in, bytes(value_size)] value The value.
/// @param[in, example(4)] value_size Its bytes: 1, 2 or 4.
/// @param[in, example(2)] width Values in a row.
/// @param[in, example(2)] height Rows.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_stream_fill_2d`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, and for
///   host memory that nobody keeps; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709).
/// @driver any
///
/// # Safety
/// As for `cushim_graph_add_copy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_fill_2d(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    destination: *const cushim_endpoint,
    pitch: usize,
    value: *const c_void,
    value_size: usize,
    width: usize,
    height: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    let value = Written { value, size: value_size, rows: Rows { pitch, width, height } };
    // SAFETY: the caller vouches for all of it.
    unsafe { add_fill(at, destination, value) }
}

/// What a memset writes.
struct Written {
    value: *const c_void,
    size: usize,
    rows: Rows,
}

/// # Safety
/// As for `cushim_graph_add_fill`.
unsafe fn add_fill(at: Where, destination: *const cushim_endpoint, of: Written) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe {
        adding_taking(at, |lending, guard, graph, after| {
            let destination = CallersEndpoint::read(guard, destination, "destination")?;
            add(graph, after, &mut memset(lending, &destination, of.value, of.size, of.rows)?)
                .map(|(added, ())| added)
        })
    }
}

/// What `cushim_graph_add_allocation` allocates. Zero means the default, but of `bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_graph_allocation {
    /// Bytes of this struct, `sizeof(cushim_graph_allocation)`.
    pub struct_size: usize,
    /// @field[example( = 64)] Bytes; at least 1.
    pub bytes: usize,
    /// Where; zeros mean the device of the graph's context. Other locations than a device need a driver that offers
    /// them in graphs.
    pub location: cushim_location,
    /// @field[flags(cushim_graph_allocation_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// @field[nullable, array(peer_count)] Ordinals of other devices that read and write the memory; NULL if there
    ///   are none.
    pub peers: *const i32,
    /// The number of devices.
    pub peer_count: usize,
}

/// Flags of an allocation in a graph.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_graph_allocation_flags {
    /// Managed memory. CUDA 13.0.
    CUSHIM_GRAPH_ALLOCATION_MANAGED = 1,
}

const MANAGED: u32 = cushim_graph_allocation_flags::CUSHIM_GRAPH_ALLOCATION_MANAGED as u32;

/// Adds a node that allocates memory (`cuGraphAddMemAllocNode`). The nodes after it may use the memory, and when the
/// launch is done every stream may; the address is known now and the same at each launch.
///
/// A graph that allocates memory cannot be cloned or embedded, is instantiated once at a time, and no node of it can
/// be removed. Memory that no free node frees stays until it is freed by `cushim_stream_free` or
/// `cushim_context_free`; the next launch fails before that, unless it was instantiated with `CUSHIM_EXEC_AUTO_FREE`.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] allocation What to allocate.
/// @param[out, borrowed, nullable] node The node.
/// @param[out] pointer The address.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, for 0 bytes, and for a device that does
///   not exist, with the peer's number as the error's `item`; `CUDA_ERROR_NOT_SUPPORTED` (801) for a location of
///   which this driver allocates no memory in graphs.
/// @driver any
///
/// # Safety
/// `allocation` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says; `after`
/// is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes, and so is `pointer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_allocation(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    allocation: *const cushim_graph_allocation,
    node: *mut cushim_node,
    pointer: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    call(|| {
        // SAFETY: as above.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        if allocation.is_null() {
            return Err(out::null("allocation"));
        }
        // SAFETY: the caller vouches for the struct; all its members may be zero.
        let given = unsafe { options::read(allocation, "allocation") }?;
        options::check_flags(given.flags, MANAGED)?;
        options::check_reserved(given.reserved)?;
        // SAFETY: the caller vouches for the array.
        let peers =
            unsafe { input::slice_of_at_most(MOST_LOCATIONS, given.peers, given.peer_count, "peers") }?
                .to_vec();
        let mut operation = GraphAllocation::new(given.bytes);
        operation.location = location_of(&given.location);
        operation.managed = given.flags & MANAGED != 0;
        operation.peers = &peers;
        // SAFETY: the caller vouches for `after` and `node`; an allocation uses nothing.
        unsafe {
            add_to(
                at,
                |_, graph, after| {
                    let (added, address) = add(graph, after, &mut operation)?;
                    *pointer = address.0;
                    Ok(added)
                },
                |_| (),
            )
        }
    })
}

/// Adds a node that frees the memory of an allocation node (`cuGraphAddMemFreeNode`).
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after; among
///   those before it is the allocation, if that is in this graph.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in, address] pointer The address.
/// @param[out, borrowed, nullable] node The node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph and for address 0;
///   `CUDA_ERROR_INVALID_VALUE` (1) for an address that is not an allocation node's, or is freed already.
/// @driver any
///
/// # Safety
/// Nothing uses the memory after the node in the order of the graph; `after` is NULL or valid for reads of
/// `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_free(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    pointer: u64,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding(at, |_, graph, after| {
            add(graph, after, &mut Free::new(DevicePointer(pointer))).map(|(added, ())| added)
        })
    }
}

/// Adds a node that waits for values in memory and writes such, one after the other (`cuGraphAddBatchMemOpNode`). The
/// graph keeps buffers and owners.
///
/// Values are where those of `cushim_stream_memory_operations` are; memory that a graph allocates is refused, too.
/// Driver branch 580 refuses such addresses only at `cushim_exec_launch`; the message names one.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in, array(operation_count)] operations The operations; at least 1.
/// @param[in] operation_count The number of operations.
/// @param[out, borrowed, nullable] node The node.
/// @errors as `cushim_stream_memory_operations`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph;
///   `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 11.7
///
/// # Safety
/// As for `cushim_stream_memory_operations`, whenever the graph is launched; `after` is NULL or valid for reads of
/// `after_count` handles; `node` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_memory_operations(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    operations: *const cushim_memory_operation,
    operation_count: usize,
    node: *mut cushim_node,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    // SAFETY: the caller vouches for all of it.
    unsafe {
        adding_taking(at, |lending, guard, graph, after| {
            let looked_up = look_up_operations(guard, operations, operation_count)?;
            let mut list = looked_up.list(lending)?;
            add(graph, after, &mut MemoryOperations::new(&mut list)).map(|(added, ())| added)
        })
    }
}
