//! What a node does in its graph.
//!
//! @header cushim.h
//! @task inspect graphs

use super::definition::{cushim_node, invalid};
use super::named::node_of;
use super::target::Target;
use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::cushim_host_function;
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CUevent, CUmemorytype,
};
use crate::capi::error::{call, cushim_status};
use crate::capi::event::cushim_event;
use crate::capi::handles::{borrowed, enter};
use crate::capi::kernel::{cushim_arg, cushim_kernel, cushim_launch_config, told_config};
use crate::capi::location::cushim_location;
use crate::capi::memory::{
    cushim_endpoint, cushim_endpoint_kind, cushim_extent, cushim_memory_operation, cushim_region,
    told_operation,
};
use crate::capi::options::OutStruct;
use crate::capi::out;
use crate::object::error::Error;
use crate::op::node::{
    CopyParameters, HostFunctionParameters, KeptMemory, KernelParameters, MemsetParameters, NodeType,
    Parameters,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The memory as callers give it: of a buffer its handle with the offset, otherwise the address.
fn endpoint(memory: &KeptMemory, memory_type: CUmemorytype) -> Result<cushim_endpoint, Error> {
    let mut endpoint = cushim_endpoint {
        kind: match memory_type {
            CU_MEMORYTYPE_HOST => cushim_endpoint_kind::CUSHIM_ENDPOINT_HOST,
            CU_MEMORYTYPE_ARRAY => cushim_endpoint_kind::CUSHIM_ENDPOINT_ARRAY,
            _ => cushim_endpoint_kind::CUSHIM_ENDPOINT_DEVICE,
        } as i32,
        flags: 0,
        address: memory.address(),
        offset: 0,
        context: null_mut(),
        owner: std::ptr::null(),
    };
    if let Some(buffer) = memory.buffer() {
        let handle: cushim_buffer = borrowed(&buffer)?;
        endpoint.kind = cushim_endpoint_kind::CUSHIM_ENDPOINT_BUFFER as i32;
        endpoint.offset = memory.address() - buffer.pointer().0;
        endpoint.address = handle.expose_provenance() as u64;
    }
    Ok(endpoint)
}

/// What a kernel node runs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_kernel_node {
    /// Bytes of this struct, `sizeof(cushim_kernel_node)`.
    pub struct_size: usize,
    /// @field[nullable, borrowed] The kernel, a borrowed handle; NULL if cushim has no object of it.
    pub kernel: cushim_kernel,
    /// How it is launched. `attributes` is NULL; `attribute_count` is the number of attributes without a member of
    /// their own.
    pub config: cushim_launch_config,
    /// The number of arguments; 0 also where the driver does not tell.
    pub arg_count: usize,
    /// Bytes of the block of arguments, if they were given as one; otherwise 0.
    pub block_size: usize,
}

/// Returns the kernel of a node and how it is launched (`cuGraphKernelNodeGetParams`). `cushim_node_get_arguments`
/// returns the arguments.
///
/// @param[in] node The node; also one that was removed.
/// @param[inout] kernel Receives kernel and configuration.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `kernel` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_kernel(
    node: cushim_node,
    kernel: *mut cushim_kernel_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_kernel(Target::Node(node), kernel) }
}

/// # Safety
/// As for [`cushim_node_get_kernel`].
pub(super) unsafe fn show_kernel(at: Target, kernel: *mut cushim_kernel_node) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { OutStruct::cleared(kernel, "kernel") }?;
        let context = {
            let guard = enter()?;
            borrowed(&at.last_context(&guard)?)?
        };
        let told = at.with(NodeType::Kernel, |node, parameters| {
            let Parameters::Kernel(kernel) = parameters else {
                return Err(node.of_another_type(NodeType::Kernel));
            };
            kernel_told(context, kernel)
        })?;
        out.fill(&told);
        Ok(())
    })
}

fn kernel_told(context: cushim_context, kernel: &KernelParameters) -> Result<cushim_kernel_node, Error> {
    let object = kernel.kernel();
    Ok(cushim_kernel_node {
        struct_size: 0,
        kernel: object.as_ref().map_or(Ok(null_mut()), borrowed)?,
        config: told_config(kernel, context)?,
        arg_count: kernel.arguments().len(),
        block_size: kernel.arguments().block().map_or(0, <[u8]>::len),
    })
}

/// Lists the arguments of a kernel node. The value of an argument of kind `CUSHIM_ARG_BYTES`, and the endpoint of one
/// of kind `CUSHIM_ARG_ENDPOINT`, is copied into `values`, and `value` of the argument points to it there. A first
/// call with `capacity` and `size` 0 returns how many arguments there are, and how many bytes their values need.
///
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
pub unsafe extern "C" fn cushim_node_get_arguments(
    node: cushim_node,
    args: *mut cushim_arg,
    capacity: usize,
    count: *mut usize,
    values: *mut c_void,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_arguments(Target::Node(node), args, capacity, count, values, size, needed) }
}

/// # Safety
/// As for [`cushim_node_get_arguments`].
pub(super) unsafe fn show_arguments(
    at: Target,
    args: *mut cushim_arg,
    capacity: usize,
    count: *mut usize,
    values: *mut c_void,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        let none = cushim_arg { kind: 0, size: 0, value: std::ptr::null() };
        // SAFETY: the caller vouches for all of them.
        let ((args, count), (values, needed)) = unsafe {
            out::both(
                out::both(out::array(args, capacity, none, "args"), out::cleared(count, 0, "count")),
                out::both(
                    out::array(values.cast::<u8>(), size, 0, "values"),
                    out::cleared_if_given(needed, 0, "needed"),
                ),
            )
        }?;
        let mut room = Room { next: values.as_mut_ptr(), left: values.len(), needed: 0 };
        let (mut told, mut takes) = (Vec::new(), 0);
        *count = at.with(NodeType::Kernel, |node, parameters| {
            let Parameters::Kernel(kernel) = parameters else {
                return Err(node.of_another_type(NodeType::Kernel));
            };
            let all = kernel.arguments().len();
            let shown = all.min(capacity);
            told = (0..shown).map(|index| room.argument(kernel, index)).collect::<Result<_, _>>()?;
            takes = room.needed;
            room.left = 0;
            (shown..all).try_for_each(|index| room.argument(kernel, index).map(drop))?;
            Ok(all)
        })?;
        if takes > size {
            *count = 0;
            let of = match told.len() {
                1 => "1 argument".to_owned(),
                count => format!("{count} arguments"),
            };
            return Err(invalid(format!("size is {size}; the values of {of} take {takes} bytes")));
        }
        args[..told.len()].copy_from_slice(&told);
        out::put(needed, room.needed);
        Ok(())
    })
}

/// Where values are copied to.
struct Room {
    next: *mut u8,
    left: usize,
    needed: usize,
}

impl Room {
    /// An argument as callers give it.
    fn argument(&mut self, kernel: &KernelParameters, index: usize) -> Result<cushim_arg, Error> {
        let arguments = kernel.arguments();
        let bytes = arguments.bytes(index).unwrap_or_default();
        let Some(buffer) = arguments.buffer(index) else {
            let kind = crate::capi::kernel::cushim_arg_kind::CUSHIM_ARG_BYTES as i32;
            return Ok(cushim_arg { kind, size: bytes.len() as u32, value: self.put(bytes) });
        };
        let address = bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let handle: cushim_buffer = borrowed(&buffer)?;
        if address == buffer.pointer().0 {
            let kind = crate::capi::kernel::cushim_arg_kind::CUSHIM_ARG_BUFFER as i32;
            return Ok(cushim_arg { kind, size: 0, value: handle.cast_const().cast() });
        }
        let endpoint = cushim_endpoint {
            kind: cushim_endpoint_kind::CUSHIM_ENDPOINT_BUFFER as i32,
            flags: 0,
            address: handle.expose_provenance() as u64,
            offset: address.wrapping_sub(buffer.pointer().0),
            context: null_mut(),
            owner: std::ptr::null(),
        };
        // SAFETY: the struct has no padding.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const endpoint).cast::<u8>(), size_of_val(&endpoint)) };
        let kind = crate::capi::kernel::cushim_arg_kind::CUSHIM_ARG_ENDPOINT as i32;
        Ok(cushim_arg { kind, size: 0, value: self.put(bytes) })
    }

    /// Copies bytes, if there is room for them, and answers with where they are.
    fn put(&mut self, bytes: &[u8]) -> *const c_void {
        let takes = bytes.len().next_multiple_of(8);
        self.needed += takes;
        if takes > self.left {
            self.left = 0;
            return std::ptr::null();
        }
        let at = self.next;
        // SAFETY: there is room for as many.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
            self.next = at.add(takes);
        }
        self.left -= takes;
        at.cast_const().cast()
    }
}

/// What a copy node does.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_copy_node {
    /// Bytes of this struct, `sizeof(cushim_copy_node)`.
    pub struct_size: usize,
    /// 1 for a copy of a box, as `cushim_graph_add_copy_3d` adds it; 0 for a copy of `extent.width` bytes from
    /// endpoint to endpoint.
    pub is_3d: i32,
    /// Zero.
    pub reserved: u32,
    /// The destination.
    pub destination: cushim_region,
    /// The source.
    pub source: cushim_region,
    /// The size of the box.
    pub extent: cushim_extent,
}

/// Returns what a copy node copies (`cuGraphMemcpyNodeGetParams`).
///
/// @param[in] node The node; also one that was removed.
/// @param[inout] copy Receives both endpoints and the extent.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `copy` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_copy(
    node: cushim_node,
    copy: *mut cushim_copy_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_copy(Target::Node(node), copy) }
}

/// # Safety
/// As for [`cushim_node_get_copy`].
pub(super) unsafe fn show_copy(at: Target, copy: *mut cushim_copy_node) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { OutStruct::cleared(copy, "copy") }?;
        let told = at.with(NodeType::Copy, |node, parameters| {
            let Parameters::Copy(copy) = parameters else {
                return Err(node.of_another_type(NodeType::Copy));
            };
            copy_told(copy)
        })?;
        out.fill(&told);
        Ok(())
    })
}

fn copy_told(copy: &CopyParameters) -> Result<cushim_copy_node, Error> {
    let raw = copy.raw();
    let (to, from) = (endpoint(copy.to(), raw.dstMemoryType)?, endpoint(copy.from(), raw.srcMemoryType)?);
    Ok(cushim_copy_node {
        struct_size: 0,
        is_3d: i32::from(!copy.is_range()),
        reserved: 0,
        destination: cushim_region {
            endpoint: to,
            x: raw.dstXInBytes,
            y: raw.dstY,
            z: raw.dstZ,
            pitch: raw.dstPitch,
            rows: raw.dstHeight,
        },
        source: cushim_region {
            endpoint: from,
            x: raw.srcXInBytes,
            y: raw.srcY,
            z: raw.srcZ,
            pitch: raw.srcPitch,
            rows: raw.srcHeight,
        },
        extent: cushim_extent { width: raw.WidthInBytes, height: raw.Height, depth: raw.Depth },
    })
}

/// What a memset node does.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_fill_node {
    /// Bytes of this struct, `sizeof(cushim_fill_node)`.
    pub struct_size: usize,
    /// The memory.
    pub destination: cushim_endpoint,
    /// Bytes from row to row; of one row 0.
    pub pitch: usize,
    /// The value.
    pub value: u32,
    /// Its bytes: 1, 2 or 4.
    pub value_size: u32,
    /// Values in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Returns what a memset node sets (`cuGraphMemsetNodeGetParams`).
///
/// @param[in] node The node; also one that was removed.
/// @param[inout] fill Receives endpoint and value.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `fill` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_fill(
    node: cushim_node,
    fill: *mut cushim_fill_node,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_fill(Target::Node(node), fill) }
}

/// # Safety
/// As for [`cushim_node_get_fill`].
pub(super) unsafe fn show_fill(at: Target, fill: *mut cushim_fill_node) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { OutStruct::cleared(fill, "fill") }?;
        let told = at.with(NodeType::Memset, |node, parameters| {
            let Parameters::Memset(memset) = parameters else {
                return Err(node.of_another_type(NodeType::Memset));
            };
            fill_told(memset)
        })?;
        out.fill(&told);
        Ok(())
    })
}

fn fill_told(memset: &MemsetParameters) -> Result<cushim_fill_node, Error> {
    let raw = memset.raw();
    Ok(cushim_fill_node {
        struct_size: 0,
        destination: endpoint(memset.at(), CU_MEMORYTYPE_DEVICE)?,
        pitch: raw.pitch,
        value: raw.value,
        value_size: raw.elementSize,
        width: raw.width,
        height: raw.height,
    })
}

/// What an allocation node allocates.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_allocation_node {
    /// Bytes of this struct, `sizeof(cushim_allocation_node)`.
    pub struct_size: usize,
    /// The address.
    pub pointer: u64,
    /// Bytes.
    pub bytes: usize,
    /// Where.
    pub location: cushim_location,
    /// 1 for managed memory, otherwise 0.
    pub managed: i32,
    /// Zero.
    pub reserved: u32,
    /// The number of other devices that read and write the memory.
    pub peer_count: usize,
}

/// Returns what an allocation node allocates (`cuGraphMemAllocNodeGetParams`).
///
/// @param[in] node The node; also one that was removed.
/// @param[inout] allocation Receives address, size and location.
/// @param[out, array(capacity), nullable_if_zero(capacity)] peers Receives the ordinals of the first `capacity` other
///   devices.
/// @param[in] capacity The number of ordinals that there is room for.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `allocation` is NULL or valid for the bytes that its `struct_size` names; `peers` is valid for writes of
/// `capacity` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_allocation(
    node: cushim_node,
    allocation: *mut cushim_allocation_node,
    peers: *mut i32,
    capacity: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (out, peers) = unsafe {
            out::both(OutStruct::cleared(allocation, "allocation"), out::array(peers, capacity, 0, "peers"))
        }?;
        let told = Target::Node(node).with(NodeType::Allocation, |node, parameters| {
            let Parameters::Allocation(allocation) = parameters else {
                return Err(node.of_another_type(NodeType::Allocation));
            };
            peers.iter_mut().zip(allocation.peers()).for_each(|(to, peer)| *to = *peer);
            Ok(cushim_allocation_node {
                struct_size: 0,
                pointer: allocation.pointer().0,
                bytes: allocation.bytes(),
                location: allocation.location().into(),
                managed: i32::from(allocation.is_managed()),
                reserved: 0,
                peer_count: allocation.peers().len(),
            })
        })?;
        out.fill(&told);
        Ok(())
    })
}

/// Returns the address that a free node frees (`cuGraphMemFreeNodeGetParams`).
///
/// @param[in] node The node; also one that was removed.
/// @param[out] pointer The address.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_free(node: cushim_node, pointer: *mut u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        *pointer = Target::Node(node).with(NodeType::Free, |node, parameters| match parameters {
            Parameters::Free(pointer) => Ok(pointer.0),
            _ => Err(node.of_another_type(NodeType::Free)),
        })?;
        Ok(())
    })
}

/// Returns the event that a node records or waits for (`cuGraphEventRecordNodeGetEvent`,
/// `cuGraphEventWaitNodeGetEvent`).
///
/// @param[in] node The node; also one that was removed.
/// @param[out, borrowed] event The event; NULL if cushim has no object of it.
/// @param[out, nullable] native The `CUevent`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `event` is NULL or valid for writes, and so is `native`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_event(
    node: cushim_node,
    event: *mut cushim_event,
    native: *mut CUevent,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_event(Target::Node(node), event, native) }
}

/// # Safety
/// As for [`cushim_node_get_event`].
pub(super) unsafe fn show_event(at: Target, event: *mut cushim_event, native: *mut CUevent) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (event, native) = unsafe {
            out::both(
                out::cleared(event, null_mut(), "event"),
                out::cleared_if_given(native, null_mut(), "native"),
            )
        }?;
        let is_wait = {
            let guard = enter()?;
            node_of(&guard, at.node())?.node_type() == NodeType::EventWait
        };
        let wanted = if is_wait { NodeType::EventWait } else { NodeType::EventRecord };
        let (found, raw) = at.with(wanted, |node, parameters| match parameters {
            Parameters::EventRecord(event) | Parameters::EventWait(event) => {
                Ok((event.event(), event.native()))
            }
            _ => Err(node.of_another_type(wanted)),
        })?;
        if let Some(found) = &found {
            *event = borrowed(found)?;
        }
        out::put(native, raw);
        Ok(())
    })
}

/// Returns the function that a host function node calls, and what it is called with (`cuGraphHostNodeGetParams`).
///
/// @param[in] node The node; also one that was removed.
/// @param[out] function The function; NULL if the node calls none of C, or was removed and nothing calls it any more.
/// @param[out, nullable] data What it is called with: of a node with bytes the address of the graph's copy.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
/// @driver any
///
/// # Safety
/// `function` is NULL or valid for writes, and so is `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_host_function(
    node: cushim_node,
    function: *mut cushim_host_function,
    data: *mut *mut c_void,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_host_function(Target::Node(node), function, data) }
}

/// # Safety
/// As for [`cushim_node_get_host_function`].
pub(super) unsafe fn show_host_function(
    at: Target,
    function: *mut cushim_host_function,
    data: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (function, data) = unsafe {
            out::both(
                out::cleared(function, None, "function"),
                out::cleared_if_given(data, null_mut(), "data"),
            )
        }?;
        let given = at.with(NodeType::HostFunction, |node, parameters| match parameters {
            Parameters::HostFunction(function) => Ok(HostFunctionParameters::given(function)),
            _ => Err(node.of_another_type(NodeType::HostFunction)),
        })?;
        if let Some(given) = given {
            *function = Some(given.function);
            out::put(data, given.data);
        }
        Ok(())
    })
}

/// Lists the operations of a memory operations node (`cuGraphBatchMemOpNodeGetParams`).
///
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
pub unsafe extern "C" fn cushim_node_get_memory_operations(
    node: cushim_node,
    operations: *mut cushim_memory_operation,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { show_memory_operations(Target::Node(node), operations, capacity, count) }
}

/// # Safety
/// As for [`cushim_node_get_memory_operations`].
pub(super) unsafe fn show_memory_operations(
    at: Target,
    operations: *mut cushim_memory_operation,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: zeros are valid for the struct; the caller vouches for both.
        let (operations, count) = unsafe {
            let none: cushim_memory_operation = std::mem::zeroed();
            out::both(out::array(operations, capacity, none, "operations"), out::cleared(count, 0, "count"))
        }?;
        *count = at.with(NodeType::MemoryOperations, |node, parameters| {
            let Parameters::MemoryOperations(all) = parameters else {
                return Err(node.of_another_type(NodeType::MemoryOperations));
            };
            let each = all.raw().iter().zip(all.places());
            for (shown, (raw, memory)) in operations.iter_mut().zip(each) {
                let at = match memory {
                    Some(memory) => Some(endpoint(memory, CU_MEMORYTYPE_DEVICE)?),
                    None => None,
                };
                *shown = told_operation(raw, at);
            }
            Ok(all.raw().len())
        })?;
        Ok(())
    })
}
