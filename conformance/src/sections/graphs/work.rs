//! What a node does: the same value makes a node, changes one, and is read back.

use super::launch::{Launch, newer, older};
use super::scene::Scene;
use crate::code::Arguments;
use crate::driver::{Answer, Given, call};
use cushim::driver::sys::{
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, CU_GRAPH_COND_TYPE_IF, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_DEVICE, CU_STREAM_MEM_OP_WRITE_VALUE_32,
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUDA_CHILD_GRAPH_NODE_PARAMS,
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_EVENT_RECORD_NODE_PARAMS, CUDA_EVENT_RECORD_NODE_PARAMS_u8,
    CUDA_EVENT_WAIT_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1, CUDA_MEM_ALLOC_NODE_PARAMS_v1,
    CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUDA_MEM_FREE_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY3D_v2,
    CUDA_MEMSET_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS_v2, CUcontext, CUdeviceptr, CUevent, CUgraph,
    CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeParams_u16, CUgraphNodeType, CUmemLocation, CUmemPoolProps, CUstreamBatchMemOpParams,
    CUstreamBatchMemOpParams_v1_writeValue, CUstreamBatchMemOpParams_v1_writeValue_u16,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A conditional node, without what it gives back.
#[derive(Clone, Copy)]
pub(super) struct Conditional {
    pub(super) condition: CUgraphConditionalHandle,
    pub(super) kind: CUgraphConditionalNodeType,
    pub(super) size: u32,
    pub(super) context: CUcontext,
}

/// What a node does.
#[derive(Clone, Copy)]
pub(super) enum Work {
    Empty,
    Kernel(Launch),
    Copy(CUDA_MEMCPY3D_v2),
    Fill(CUDA_MEMSET_NODE_PARAMS_v1),
    Host(CUDA_HOST_NODE_PARAMS_v1),
    Child(CUgraph),
    Record(CUevent),
    Wait(CUevent),
    /// So many bytes of device 0.
    Allocation(usize),
    Free(CUdeviceptr),
    /// One memory operation.
    Memory(CUstreamBatchMemOpParams),
    Conditional(Conditional),
}

/// A type of node, and an example of it for a graph.
pub(super) type Example = (&'static str, fn(&Scene, CUgraph) -> Given<Work>);

/// Every type of node.
pub(super) const EVERY: &[Example] = &[
    ("empty", |_, _| Ok(Work::Empty)),
    ("kernel", |s, _| Ok(s.store(0, 1))),
    ("copy", |s, _| Ok(s.copy())),
    ("memset", |s, _| Ok(s.fill(1))),
    ("host", |_, _| Ok(host())),
    ("child", |s, _| Ok(Work::Child(s.graph_of(&[Work::Empty])?))),
    ("event record", |s, _| Ok(Work::Record(s.cu.event(0)?))),
    ("event wait", |s, _| Ok(Work::Wait(s.cu.event(0)?))),
    ("memory operation", |s, _| Ok(Work::Memory(write(s.here, 1)))),
    ("alloc", |_, _| Ok(Work::Allocation(64))),
    ("free", |s, graph| Ok(Work::Free(s.allocation(graph, &[], 64)?.1))),
    ("conditional", |s, graph| {
        let condition = s.condition(graph, 0, 0)?;
        Ok(Work::Conditional(s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1)))
    }),
];

/// A host function that does nothing.
pub(super) const fn host() -> Work {
    extern "C" fn nothing(_: *mut c_void) {}
    Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(nothing), userData: null_mut() })
}

/// The operation that writes four bytes.
pub(super) const fn write(address: CUdeviceptr, value: u32) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.writeValue = CUstreamBatchMemOpParams_v1_writeValue {
        operation: CU_STREAM_MEM_OP_WRITE_VALUE_32,
        address,
        u16: CUstreamBatchMemOpParams_v1_writeValue_u16 { value64: value as u64 },
        flags: 0,
        alias: 0,
    };
    params
}

/// An allocation of pinned memory of device 0 that nobody else reaches.
pub(super) const fn allocation(bytes: usize) -> CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
        poolProps: CUmemPoolProps {
            allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CU_MEM_HANDLE_TYPE_NONE,
            location: on_device(0),
            win32SecurityAttributes: null_mut(),
            maxSize: 0,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        },
        accessDescs: null(),
        accessDescCount: 0,
        bytesize: bytes,
        dptr: 0,
    }
}

pub(super) const fn on_device(device: i32) -> CUmemLocation {
    crate::sections::managed::place(CU_MEM_LOCATION_TYPE_DEVICE, device)
}

/// A slice as the driver takes arrays: NULL if it is empty.
pub(super) const fn array<T>(items: &[T]) -> *const T {
    if items.is_empty() { null() } else { items.as_ptr() }
}

impl Scene {
    /// Adds a node, by the call for its type.
    pub(super) fn add(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        work: Work,
        node: *mut CUgraphNode,
    ) -> Answer {
        self.add_after(graph, (array(after), after.len()), work, node)
    }

    /// The same, after so many nodes at an address.
    pub(super) fn add_after(
        &self,
        graph: CUgraph,
        (from, count): (*const CUgraphNode, usize),
        work: Work,
        node: *mut CUgraphNode,
    ) -> Answer {
        let (cu, context) = (&self.cu, self.context);
        match work {
            Work::Empty => call!(cu, cuGraphAddEmptyNode_10000(node, graph, from, count)),
            Work::Kernel(launch) => launch.with_params(|params| {
                if cu.table.cuGraphAddKernelNode_12000.is_some() {
                    call!(cu, cuGraphAddKernelNode_12000(node, graph, from, count, params))
                } else {
                    let params = older(params);
                    call!(cu, cuGraphAddKernelNode_10000(node, graph, from, count, &raw const params))
                }
            }),
            Work::Copy(copy) => {
                call!(cu, cuGraphAddMemcpyNode_10000(node, graph, from, count, &raw const copy, context))
            }
            Work::Fill(fill) => {
                call!(cu, cuGraphAddMemsetNode_10000(node, graph, from, count, &raw const fill, context))
            }
            Work::Host(host) => {
                call!(cu, cuGraphAddHostNode_10000(node, graph, from, count, &raw const host))
            }
            Work::Child(child) => call!(cu, cuGraphAddChildGraphNode_10000(node, graph, from, count, child)),
            Work::Record(event) => {
                call!(cu, cuGraphAddEventRecordNode_11010(node, graph, from, count, event))
            }
            Work::Wait(event) => call!(cu, cuGraphAddEventWaitNode_11010(node, graph, from, count, event)),
            Work::Allocation(bytes) => {
                let mut params = allocation(bytes);
                call!(cu, cuGraphAddMemAllocNode_11040(node, graph, from, count, &raw mut params))
            }
            Work::Free(address) => call!(cu, cuGraphAddMemFreeNode_11040(node, graph, from, count, address)),
            Work::Memory(mut operation) => {
                let params = self.batch(std::slice::from_mut(&mut operation));
                call!(cu, cuGraphAddBatchMemOpNode_11070(node, graph, from, count, &raw const params))
            }
            Work::Conditional(_) => self.add_generic(graph, (from, count), work, node),
        }
    }

    /// Adds a node, by the call that knows every type.
    pub(super) fn add_generic(
        &self,
        graph: CUgraph,
        (from, count): (*const CUgraphNode, usize),
        work: Work,
        node: *mut CUgraphNode,
    ) -> Answer {
        self.generic(work, |params| {
            call!(self.cu, cuGraphAddNode_12030(node, graph, from, null(), count, params))
        })
    }

    /// A node that a question needs.
    pub(super) fn node(&self, graph: CUgraph, after: &[CUgraphNode], work: Work) -> Given<CUgraphNode> {
        let mut node = null_mut();
        self.add(graph, after, work, &raw mut node).given("adding a node")?;
        Ok(node)
    }

    /// Memory operations as a node takes them.
    pub(super) fn batch(
        &self,
        operations: &mut [CUstreamBatchMemOpParams],
    ) -> CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
        CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
            ctx: self.context,
            count: u32::try_from(operations.len()).expect("there are few operations"),
            paramArray: operations.as_mut_ptr(),
            flags: 0,
        }
    }

    /// Hands the work out as the calls take it that know every type.
    pub(super) fn generic<R>(&self, work: Work, ask: impl FnOnce(*mut CUgraphNodeParams) -> R) -> R {
        let (mut arguments, mut pointers) = (Arguments::new([0; 2]), [null_mut(); 2]);
        let mut operations = [write(0, 0)];
        let mut params = blank(work.node_type());
        let value = &mut params.u16;
        match work {
            Work::Empty => {}
            Work::Kernel(launch) => {
                arguments = Arguments::new(launch.arguments);
                pointers = arguments.pointers();
                value.kernel = newer(&launch.params(pointers.as_mut_ptr(), null_mut()));
            }
            Work::Copy(copy) => {
                let context = self.context;
                value.memcpy =
                    CUDA_MEMCPY_NODE_PARAMS { flags: 0, reserved: 0, copyCtx: context, copyParams: copy };
            }
            Work::Fill(fill) => value.memset = with_context(&fill, self.context),
            Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_, userData }) => {
                // Member by member, so that what lies between them stays 0: a debug build without was refused (seen on an H200).
                value.host.fn_ = fn_;
                value.host.userData = userData;
            }
            Work::Child(graph) => {
                let ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
                value.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph, ownership };
            }
            Work::Record(event) => {
                let u8 = CUDA_EVENT_RECORD_NODE_PARAMS_u8 { ctx: null_mut() };
                value.eventRecord = CUDA_EVENT_RECORD_NODE_PARAMS { event, u8 };
            }
            Work::Wait(event) => value.eventWait = CUDA_EVENT_WAIT_NODE_PARAMS { event },
            Work::Allocation(bytes) => value.alloc = other_version(&allocation(bytes)),
            Work::Free(dptr) => value.free = CUDA_MEM_FREE_NODE_PARAMS { dptr },
            Work::Memory(operation) => {
                operations = [operation];
                value.memOp = CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
                    ctx: self.context,
                    count: 1,
                    paramArray: operations.as_mut_ptr(),
                    flags: 0,
                };
            }
            Work::Conditional(Conditional { condition: handle, kind: type_, size, context: ctx }) => {
                value.conditional =
                    CUDA_CONDITIONAL_NODE_PARAMS { handle, type_, size, phGraph_out: null_mut(), ctx };
            }
        }
        let answer = ask(&raw mut params);
        // What the parameters point to lives until here.
        let _ = (arguments, pointers, operations);
        answer
    }
}

impl Work {
    const fn node_type(&self) -> CUgraphNodeType {
        match self {
            Self::Empty => CU_GRAPH_NODE_TYPE_EMPTY,
            Self::Kernel(_) => CU_GRAPH_NODE_TYPE_KERNEL,
            Self::Copy(_) => CU_GRAPH_NODE_TYPE_MEMCPY,
            Self::Fill(_) => CU_GRAPH_NODE_TYPE_MEMSET,
            Self::Host(_) => CU_GRAPH_NODE_TYPE_HOST,
            Self::Child(_) => CU_GRAPH_NODE_TYPE_GRAPH,
            Self::Record(_) => CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Self::Wait(_) => CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Self::Allocation(_) => CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Self::Free(_) => CU_GRAPH_NODE_TYPE_MEM_FREE,
            Self::Memory(_) => CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            Self::Conditional(_) => CU_GRAPH_NODE_TYPE_CONDITIONAL,
        }
    }
}

/// Parameters of this type, all zeros.
pub(super) const fn blank(type_: CUgraphNodeType) -> CUgraphNodeParams {
    let u16 = CUgraphNodeParams_u16 { reserved1: [0; 29] };
    CUgraphNodeParams { type_, reserved0: [0; 3], u16, reserved2: 0 }
}

fn with_context(fill: &CUDA_MEMSET_NODE_PARAMS_v1, ctx: CUcontext) -> CUDA_MEMSET_NODE_PARAMS_v2 {
    let CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height } = *fill;
    CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx }
}

fn other_version(params: &CUDA_MEM_ALLOC_NODE_PARAMS_v1) -> CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
    let CUDA_MEM_ALLOC_NODE_PARAMS_v1 { poolProps, accessDescs, accessDescCount, bytesize, dptr } = *params;
    CUDA_MEM_ALLOC_NODE_PARAMS_v2 { poolProps, accessDescs, accessDescCount, bytesize, dptr }
}
