//! Nodes: added to a definition, set there, set in what was instantiated from it, removed.
//!
//! One description serves all three. Each type has a function of its own for each, on every driver; only conditional nodes,
//! and child graphs that are moved, go through the call for all types.

use super::definition::RawGraph;
use super::exec::RawExec;
use crate::driver::calls::kernel::function::Form;
use crate::driver::calls::kernel::launch::{Extra, RawArguments, RawShape};
use crate::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_GRAPH,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1,
    CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEM_ALLOC_NODE_PARAMS_v1, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUdeviceptr, CUevent, CUgraph, CUgraphConditionalHandle,
    CUgraphConditionalNodeType, CUgraphDeviceNode, CUgraphExec, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeType, CUhostFn, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUmemorytype,
    CUstreamBatchMemOpParams,
};
use crate::driver::{CallError, Table, call};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::null_mut;

/// What a node does, in the driver's terms.
pub(crate) enum RawNode<'a> {
    Empty,
    Kernel(RawKernelNode<'a>),
    Copy {
        copy: &'a CUDA_MEMCPY3D,
        context: CUcontext,
    },
    Memset {
        memset: &'a CUDA_MEMSET_NODE_PARAMS_v1,
        context: CUcontext,
    },
    Host {
        function: CUhostFn,
        data: *mut c_void,
    },
    Child(CUgraph),
    /// The graph becomes the node's; 12.9.
    MovedChild(CUgraph),
    EventRecord(CUevent),
    EventWait(CUevent),
    /// The address comes back in it.
    Allocation(&'a mut CUDA_MEM_ALLOC_NODE_PARAMS_v1),
    Free(CUdeviceptr),
    MemoryOperations {
        context: CUcontext,
        operations: &'a [CUstreamBatchMemOpParams],
    },
    Conditional(&'a mut RawConditional),
}

/// A launch as a node.
pub(crate) struct RawKernelNode<'a> {
    pub(crate) kernel: Form,
    /// The context in which a `CUkernel` runs.
    pub(crate) context: CUcontext,
    pub(crate) shape: RawShape,
    pub(crate) arguments: RawArguments<'a>,
}

/// A conditional node; 12.3.
pub(crate) struct RawConditional {
    pub(crate) condition: CUgraphConditionalHandle,
    pub(crate) kind: CUgraphConditionalNodeType,
    pub(crate) size: u32,
    pub(crate) context: CUcontext,
    /// The graphs that it runs, `size` of them, once it was added.
    pub(crate) bodies: Vec<CUgraph>,
}

/// Adds a node after others.
///
/// # Safety
/// The definition is alive, and the nodes before it are nodes of it; what the node uses is as it says, and good as long as the
/// node may run. A context is current for kernels, which crash driver 580 without.
#[inline]
pub(crate) unsafe fn add(
    definition: &RawGraph,
    after: &[CUgraphNode],
    node: RawNode<'_>,
) -> Result<CUgraphNode, CallError> {
    let (table, graph, mut new) = (definition.table(), definition.handle(), null_mut());
    let (to, from, count): (*mut CUgraphNode, _, _) = (&raw mut new, after.as_ptr(), after.len());
    // SAFETY: writes one handle, reads as many as there are; the caller vouches for the rest.
    unsafe {
        match node {
            RawNode::Empty => call!(table, cuGraphAddEmptyNode_10000(to, graph, from, count)),
            RawNode::Kernel(node) => return add_kernel(definition, after, node),
            RawNode::Copy { copy, context } => {
                let copy = without_gaps(copy);
                call!(
                    table,
                    cuGraphAddMemcpyNode_10000(to, graph, from, count, copy.as_ptr().cast(), context)
                )
            }
            RawNode::Memset { memset, context } => {
                call!(table, cuGraphAddMemsetNode_10000(to, graph, from, count, memset, context))
            }
            RawNode::Host { function, data } => {
                let params = CUDA_HOST_NODE_PARAMS_v1 { fn_: function, userData: data };
                call!(table, cuGraphAddHostNode_10000(to, graph, from, count, &raw const params))
            }
            RawNode::Child(child) => {
                call!(table, cuGraphAddChildGraphNode_10000(to, graph, from, count, child))
            }
            RawNode::MovedChild(child) => {
                let mut params = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
                params.u16.graph = CUDA_CHILD_GRAPH_NODE_PARAMS {
                    graph: child,
                    ownership: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
                };
                add_of_any_type(table, to, graph, after, &mut params)
            }
            RawNode::EventRecord(event) => {
                call!(table, cuGraphAddEventRecordNode_11010(to, graph, from, count, event))
            }
            RawNode::EventWait(event) => {
                call!(table, cuGraphAddEventWaitNode_11010(to, graph, from, count, event))
            }
            RawNode::Allocation(params) => {
                call!(table, cuGraphAddMemAllocNode_11040(to, graph, from, count, params))
            }
            RawNode::Free(pointer) => {
                call!(table, cuGraphAddMemFreeNode_11040(to, graph, from, count, pointer))
            }
            RawNode::MemoryOperations { context, operations } => {
                let params = memory_operations(context, operations);
                call!(table, cuGraphAddBatchMemOpNode_11070(to, graph, from, count, &raw const params))
            }
            RawNode::Conditional(node) => {
                let mut params = of_type(CU_GRAPH_NODE_TYPE_CONDITIONAL);
                params.u16.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
                    handle: node.condition,
                    type_: node.kind,
                    size: node.size,
                    phGraph_out: null_mut(),
                    ctx: node.context,
                };
                add_of_any_type(table, to, graph, after, &mut params).map(|()| {
                    let bodies = params.u16.conditional.phGraph_out;
                    node.bodies = (0..node.size as usize).map(|index| *bodies.add(index)).collect();
                })
            }
        }
    }?;
    Ok(new)
}

/// The same for a kernel: what most nodes run.
///
/// # Safety
/// As for [`add`].
#[inline]
pub(crate) unsafe fn add_kernel(
    definition: &RawGraph,
    after: &[CUgraphNode],
    node: RawKernelNode<'_>,
) -> Result<CUgraphNode, CallError> {
    let (table, graph, mut new) = (definition.table(), definition.handle(), null_mut());
    let (to, from, count): (*mut CUgraphNode, _, _) = (&raw mut new, after.as_ptr(), after.len());
    // SAFETY: as for `add`.
    node.with(table, |older, newer| unsafe {
        match newer {
            Some(params) => call!(table, cuGraphAddKernelNode_12000(to, graph, from, count, params)),
            None => call!(table, cuGraphAddKernelNode_10000(to, graph, from, count, older)),
        }
    })?;
    Ok(new)
}

const COPY_WORDS: usize = size_of::<CUDA_MEMCPY3D>() / size_of::<u64>();

/// A copy as the driver reads it, with 0 between the members, where Rust leaves anything. Driver 580 lets a copy of more than
/// one row be set in an exec to what it is and to nothing else (measured); a debug build that may have left something there
/// was refused, a release build was not (seen on an H200).
fn without_gaps(copy: &CUDA_MEMCPY3D) -> [u64; COPY_WORDS] {
    const GAPS: [(usize, usize); 2] = [
        (
            offset_of!(CUDA_MEMCPY3D, srcMemoryType) + size_of::<CUmemorytype>(),
            offset_of!(CUDA_MEMCPY3D, srcHost),
        ),
        (
            offset_of!(CUDA_MEMCPY3D, dstMemoryType) + size_of::<CUmemorytype>(),
            offset_of!(CUDA_MEMCPY3D, dstHost),
        ),
    ];
    let mut words = [0; COPY_WORDS];
    // SAFETY: the words are as large as the copy and aligned for it, and the gaps lie within.
    unsafe {
        words.as_mut_ptr().cast::<CUDA_MEMCPY3D>().write(*copy);
        let bytes = words.as_mut_ptr().cast::<u8>();
        GAPS.iter().for_each(|(start, end)| bytes.add(*start).write_bytes(0, end - start));
    }
    words
}

/// Sets what a node of a definition does; what was instantiated before is not changed.
///
/// # Safety
/// As for [`add`]; the node is alive.
pub(crate) unsafe fn set(table: &Table, node: CUgraphNode, to: RawNode<'_>) -> Result<(), CallError> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        match to {
            RawNode::Kernel(kernel) => kernel.with(table, |older, newer| match newer {
                Some(params) => call!(table, cuGraphKernelNodeSetParams_12000(node, params)),
                None => call!(table, cuGraphKernelNodeSetParams_10000(node, older)),
            }),
            RawNode::Copy { copy, .. } => {
                call!(table, cuGraphMemcpyNodeSetParams_10000(node, without_gaps(copy).as_ptr().cast()))
            }
            RawNode::Memset { memset, .. } => call!(table, cuGraphMemsetNodeSetParams_10000(node, memset)),
            RawNode::Host { function, data } => {
                let params = CUDA_HOST_NODE_PARAMS_v1 { fn_: function, userData: data };
                call!(table, cuGraphHostNodeSetParams_10000(node, &raw const params))
            }
            RawNode::EventRecord(event) => call!(table, cuGraphEventRecordNodeSetEvent_11010(node, event)),
            RawNode::EventWait(event) => call!(table, cuGraphEventWaitNodeSetEvent_11010(node, event)),
            RawNode::MemoryOperations { context, operations } => {
                let params = memory_operations(context, operations);
                call!(table, cuGraphBatchMemOpNodeSetParams_11070(node, &raw const params))
            }
            RawNode::Child(child) => {
                let mut params = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
                params.u16.graph.graph = child;
                call!(table, cuGraphNodeSetParams_12020(node, &raw mut params))
            }
            RawNode::Empty
            | RawNode::MovedChild(_)
            | RawNode::Allocation(_)
            | RawNode::Free(_)
            | RawNode::Conditional(_) => Err(CallError::missing("cuGraphNodeSetParams_12020")),
        }
    }
}

/// Sets what a node does in one instance of its definition, from its next launch on.
///
/// # Safety
/// As for [`add`]; the node is one of the definition that the instance was made of, or updated from.
#[inline]
pub(crate) unsafe fn set_in(exec: &RawExec, node: CUgraphNode, to: RawNode<'_>) -> Result<(), CallError> {
    let (table, exec) = (exec.table(), exec.handle());
    // SAFETY: the caller vouches for all of it.
    unsafe {
        match to {
            RawNode::Kernel(kernel) => kernel.set_in(table, exec, node),
            RawNode::Copy { copy, context } => {
                let copy = without_gaps(copy);
                call!(table, cuGraphExecMemcpyNodeSetParams_10020(exec, node, copy.as_ptr().cast(), context))
            }
            RawNode::Memset { memset, context } => {
                call!(table, cuGraphExecMemsetNodeSetParams_10020(exec, node, memset, context))
            }
            RawNode::Host { function, data } => {
                let params = CUDA_HOST_NODE_PARAMS_v1 { fn_: function, userData: data };
                call!(table, cuGraphExecHostNodeSetParams_10020(exec, node, &raw const params))
            }
            RawNode::Child(child) => {
                call!(table, cuGraphExecChildGraphNodeSetParams_11010(exec, node, child))
            }
            RawNode::EventRecord(event) => {
                call!(table, cuGraphExecEventRecordNodeSetEvent_11010(exec, node, event))
            }
            RawNode::EventWait(event) => {
                call!(table, cuGraphExecEventWaitNodeSetEvent_11010(exec, node, event))
            }
            RawNode::MemoryOperations { context, operations } => {
                let params = memory_operations(context, operations);
                call!(table, cuGraphExecBatchMemOpNodeSetParams_11070(exec, node, &raw const params))
            }
            RawNode::Empty
            | RawNode::MovedChild(_)
            | RawNode::Allocation(_)
            | RawNode::Free(_)
            | RawNode::Conditional(_) => Err(CallError::missing("cuGraphExecNodeSetParams_12020")),
        }
    }
}

/// The same of a kernel, which are most.
///
/// # Safety
/// As for [`set_in`].
#[inline(always)]
pub(crate) unsafe fn set_kernel_in(
    exec: &RawExec,
    node: CUgraphNode,
    to: RawKernelNode<'_>,
) -> Result<(), CallError> {
    // SAFETY: as the caller vouches.
    unsafe { to.set_in(exec.table(), exec.handle(), node) }
}

/// Removes a node from its definition.
///
/// # Safety
/// The node is alive.
pub(crate) unsafe fn destroy(table: &Table, node: CUgraphNode) -> Result<(), CallError> {
    // SAFETY: as the caller vouches.
    unsafe { call!(table, cuGraphDestroyNode_10000(node)) }
}

/// Sets the attributes of a kernel node, which no call that adds one takes.
///
/// # Safety
/// The node is alive; attributes that were given by number have good values.
pub(crate) unsafe fn set_attributes(
    table: &Table,
    node: CUgraphNode,
    attributes: &[CUlaunchAttribute],
) -> Result<(), CallError> {
    // A node that kernels can update is never removed, so this comes when nothing else can be refused.
    let is_last =
        |attribute: &&CUlaunchAttribute| attribute.id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    let first = attributes.iter().filter(|attribute| !is_last(attribute));
    first.chain(attributes.iter().filter(is_last)).try_for_each(|attribute| {
        // SAFETY: reads one value; the caller vouches for the rest.
        unsafe {
            call!(
                table,
                cuGraphKernelNodeSetAttribute_11000(node, attribute.id, (&raw const attribute.value).cast())
            )
        }
    })
}

/// An attribute of a kernel node, by the driver's number: the bytes of its value.
///
/// # Safety
/// The node is alive.
pub(crate) unsafe fn attribute(
    table: &Table,
    node: CUgraphNode,
    id: CUlaunchAttributeID,
) -> Result<CUlaunchAttributeValue, CallError> {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    // SAFETY: writes one value; the caller vouches for the node.
    unsafe { call!(table, cuGraphKernelNodeGetAttribute_11000(node, id, (&raw mut value).cast())) }?;
    Ok(value)
}

/// The handle by which kernels update a kernel node; NULL if they cannot. Before driver 12.4 it is an invalid value to ask for it.
///
/// # Safety
/// The node is alive.
pub(crate) unsafe fn device_node(table: &Table, node: CUgraphNode) -> Result<CUgraphDeviceNode, CallError> {
    let id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    // SAFETY: as the caller vouches.
    let value = unsafe { attribute(table, node, id) }?;
    // SAFETY: every bit pattern is an address, and zeros where the driver has written nothing.
    Ok(unsafe { value.deviceUpdatableKernelNode.devNode })
}

impl RawKernelNode<'_> {
    /// # Safety
    /// As for [`set_in`].
    #[inline(always)]
    unsafe fn set_in(self, table: &Table, exec: CUgraphExec, node: CUgraphNode) -> Result<(), CallError> {
        // SAFETY: as the caller vouches.
        self.with(table, |older, newer| unsafe {
            match newer {
                Some(params) => call!(table, cuGraphExecKernelNodeSetParams_12000(exec, node, params)),
                None => call!(table, cuGraphExecKernelNodeSetParams_10010(exec, node, older)),
            }
        })
    }

    /// Describes the node in the form that the driver takes: the younger one if it has that.
    #[inline(always)]
    fn with(
        self,
        table: &Table,
        call: impl FnOnce(
            *const CUDA_KERNEL_NODE_PARAMS_v1,
            Option<*const CUDA_KERNEL_NODE_PARAMS_v2>,
        ) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let mut extra = Extra::default();
        let (each, extra) = extra.of(self.arguments);
        let (is_function, handle) = (self.kernel.is_of_one_context(), self.kernel.handle());
        let RawShape { grid, block, shared } = self.shape;
        if table.cuGraphAddKernelNode_12000.is_some() {
            let newer = CUDA_KERNEL_NODE_PARAMS_v2 {
                func: if is_function { handle.cast() } else { null_mut() },
                gridDimX: grid[0],
                gridDimY: grid[1],
                gridDimZ: grid[2],
                blockDimX: block[0],
                blockDimY: block[1],
                blockDimZ: block[2],
                sharedMemBytes: shared,
                kernelParams: each,
                extra,
                kern: if is_function { null_mut() } else { handle.cast() },
                ctx: if is_function { null_mut() } else { self.context },
            };
            return call(std::ptr::null(), Some(&raw const newer));
        }
        let older = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: handle.cast(),
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared,
            kernelParams: each,
            extra,
        };
        call(&raw const older, None)
    }
}

fn memory_operations(
    context: CUcontext,
    operations: &[CUstreamBatchMemOpParams],
) -> CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
        ctx: context,
        count: operations.len() as u32,
        // The driver copies them.
        paramArray: operations.as_ptr().cast_mut(),
        flags: 0,
    }
}

/// Parameters of a type, with all else zero, as younger drivers want what they do not know.
pub(super) fn of_type(node_type: CUgraphNodeType) -> CUgraphNodeParams {
    // SAFETY: zeros are valid for all of it.
    let mut params: CUgraphNodeParams = unsafe { std::mem::zeroed() };
    params.type_ = node_type;
    params
}

/// # Safety
/// As for [`add`].
unsafe fn add_of_any_type(
    table: &Table,
    to: *mut CUgraphNode,
    graph: CUgraph,
    after: &[CUgraphNode],
    params: *mut CUgraphNodeParams,
) -> Result<(), CallError> {
    let (from, count) = (after.as_ptr(), after.len());
    // SAFETY: as the caller vouches.
    unsafe {
        if table.cuGraphAddNode_12030.is_some() {
            return call!(table, cuGraphAddNode_12030(to, graph, from, std::ptr::null(), count, params));
        }
        call!(table, cuGraphAddNode_12020(to, graph, from, count, params))
    }
}
