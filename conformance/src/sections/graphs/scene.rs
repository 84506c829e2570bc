//! What every question about graphs begins with, and how graphs are made, run and looked at.

use super::launch::Launch;
use super::work::{Conditional, Work, allocation, array};
use crate::code::{Arguments, CONDITIONS, GRAPHS, KERNELS, Shape};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given};
use cushim::driver::sys::{
    CU_MEMORYTYPE_DEVICE, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUdeviceptr, CUevent,
    CUfunction, CUgraph, CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNode, CUmodule,
    CUstream,
};
use std::cell::OnceCell;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Bytes of each memory.
pub(super) const ROOM: usize = 1 << 16;
/// Where a question's list begins in the first memory; before that other values have room.
const LIST: u64 = 4096;

/// A current context, a stream that waits for no other, memory, and kernels.
pub(super) struct Scene {
    pub(super) cu: Cu,
    pub(super) context: CUcontext,
    pub(super) stream: CUstream,
    pub(super) here: CUdeviceptr,
    pub(super) there: CUdeviceptr,
    pub(super) nothing: CUfunction,
    pub(super) storing: CUfunction,
    pub(super) noting: CUfunction,
    pub(super) adding: CUfunction,
    elsewhere: OnceCell<Given<Elsewhere>>,
    setters: OnceCell<Given<CUmodule>>,
}

/// What there is of another context of the same device.
#[derive(Clone, Copy)]
pub(super) struct Elsewhere {
    pub(super) context: CUcontext,
    pub(super) stream: CUstream,
    pub(super) event: CUevent,
    pub(super) memory: CUdeviceptr,
    pub(super) nothing: CUfunction,
}

impl Scene {
    pub(super) fn new(cu: &Cu) -> Outcome<Self> {
        let context = cu.start()?;
        let (kernels, graphs) = (cu.module(KERNELS)?, cu.module(GRAPHS)?);
        let scene = Self {
            cu: *cu,
            context,
            stream: cu.stream(NON_BLOCKING)?,
            here: cu.memory(ROOM)?,
            there: cu.memory(ROOM)?,
            nothing: cu.function(kernels, c"nothing")?,
            storing: cu.function(kernels, c"store")?,
            noting: cu.function(graphs, c"note")?,
            adding: cu.function(graphs, c"add")?,
            elsewhere: OnceCell::new(),
            setters: OnceCell::new(),
        };
        scene.warm_up()?;
        Ok(scene)
    }

    /// Runs each kernel once: loading it may wait for the device, which must not happen while a stream is held up.
    fn warm_up(&self) -> Outcome {
        for function in [self.nothing, self.storing, self.noting, self.adding] {
            let mut arguments = Arguments::new([self.here, 0]);
            self.cu
                .launch(function, Shape::ONE, self.stream, &mut arguments.pointers())
                .must("cuLaunchKernel")?;
        }
        self.synchronise().must("cuStreamSynchronize")
    }

    /// Another context, which is not current.
    pub(super) fn elsewhere(&self) -> Given<Elsewhere> {
        self.elsewhere.get_or_init(|| self.go_elsewhere()).clone()
    }

    fn go_elsewhere(&self) -> Given<Elsewhere> {
        let cu = &self.cu;
        let there = Elsewhere {
            context: cu.context()?,
            stream: cu.stream(NON_BLOCKING)?,
            event: cu.event(0)?,
            memory: cu.memory(ROOM)?,
            nothing: cu.function(cu.module(KERNELS)?, c"nothing")?,
        };
        given!(cu, cuCtxSetCurrent_4000(self.context))?;
        Ok(there)
    }

    // Work.

    /// A kernel that stores a value at the beginning of the first memory.
    pub(super) const fn store(&self, at: u64, value: u32) -> Work {
        Work::Kernel(Launch::new(self.storing, [self.here + at, value as u64]))
    }

    /// A kernel that notes a value in the list.
    pub(super) const fn note(&self, value: u32) -> Work {
        Work::Kernel(self.launch_note(value))
    }

    /// Where the list is.
    pub(super) const fn list(&self) -> CUdeviceptr {
        self.here + LIST
    }

    /// A kernel that sets a condition: `set` to a value; `choose` to the number at an address; `countdown` to whether that
    /// is not 0 when 1 was taken from it.
    pub(super) fn setter(&self, name: &CStr, condition: CUgraphConditionalHandle, value: u64) -> Given<Work> {
        Ok(Work::Kernel(Launch::new(self.conditions(name)?, [condition, value])))
    }

    /// A kernel that sets conditions.
    pub(super) fn conditions(&self, name: &CStr) -> Given<CUfunction> {
        let module = self.setters.get_or_init(|| Ok(self.cu.module(CONDITIONS)?)).clone()?;
        Ok(self.cu.function(module, name)?)
    }

    /// A memset of the first 64 bytes.
    pub(super) const fn fill(&self, value: u32) -> Work {
        Work::Fill(self.filling(value))
    }

    pub(super) const fn filling(&self, value: u32) -> CUDA_MEMSET_NODE_PARAMS_v1 {
        CUDA_MEMSET_NODE_PARAMS_v1 { dst: self.here, pitch: 0, value, elementSize: 4, width: 16, height: 1 }
    }

    /// A copy of 64 bytes from the first memory to the other.
    pub(super) const fn copy(&self) -> Work {
        Work::Copy(self.copying())
    }

    pub(super) const fn copying(&self) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcHost: null(),
            srcDevice: self.here,
            srcArray: null_mut(),
            reserved0: null_mut(),
            srcPitch: 0,
            srcHeight: 0,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstHost: null_mut(),
            dstDevice: self.there,
            dstArray: null_mut(),
            reserved1: null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: 64,
            Height: 1,
            Depth: 1,
        }
    }

    // Graphs.

    pub(super) fn graph(&self) -> Given<CUgraph> {
        let mut graph = null_mut();
        given!(self.cu, cuGraphCreate_10000(&raw mut graph, 0))?;
        Ok(graph)
    }

    /// A graph of nodes that follow one another.
    pub(super) fn graph_of(&self, works: &[Work]) -> Given<CUgraph> {
        let graph = self.graph()?;
        self.chain(graph, works)?;
        Ok(graph)
    }

    /// Adds nodes that follow one another.
    pub(super) fn chain(&self, graph: CUgraph, works: &[Work]) -> Given<Vec<CUgraphNode>> {
        let mut nodes: Vec<CUgraphNode> = Vec::new();
        for work in works {
            let last = nodes.len().saturating_sub(1);
            nodes.push(self.node(graph, &nodes[last..], *work)?);
        }
        Ok(nodes)
    }

    pub(super) fn clone_of(&self, graph: CUgraph) -> Given<CUgraph> {
        let mut clone = null_mut();
        given!(self.cu, cuGraphClone_10000(&raw mut clone, graph))?;
        Ok(clone)
    }

    /// The graph in a child graph node.
    pub(super) fn inner(&self, node: CUgraphNode) -> Given<CUgraph> {
        let mut graph = null_mut();
        given!(self.cu, cuGraphChildGraphNodeGetGraph_10000(node, &raw mut graph))?;
        Ok(graph)
    }

    pub(super) fn destroy(&self, graph: CUgraph) -> Given {
        given!(self.cu, cuGraphDestroy_10000(graph))
    }

    pub(super) fn destroy_node(&self, node: CUgraphNode) -> Given {
        given!(self.cu, cuGraphDestroyNode_10000(node))
    }

    pub(super) fn connect(&self, graph: CUgraph, from: CUgraphNode, to: CUgraphNode) -> Answer {
        call!(self.cu, cuGraphAddDependencies_10000(graph, &raw const from, &raw const to, 1))
    }

    /// An allocation node, and the address.
    pub(super) fn allocation(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        bytes: usize,
    ) -> Given<(CUgraphNode, CUdeviceptr)> {
        let (mut node, mut params) = (null_mut(), allocation(bytes));
        let (from, count) = (array(after), after.len());
        given!(self.cu, cuGraphAddMemAllocNode_11040(&raw mut node, graph, from, count, &raw mut params))?;
        Ok((node, params.dptr))
    }

    // Conditions.

    pub(super) fn condition(
        &self,
        graph: CUgraph,
        value: u32,
        flags: u32,
    ) -> Given<CUgraphConditionalHandle> {
        let (mut condition, context) = (0, self.context);
        given!(
            self.cu,
            cuGraphConditionalHandleCreate_12030(&raw mut condition, graph, context, value, flags)
        )?;
        Ok(condition)
    }

    pub(super) const fn conditional(
        &self,
        condition: CUgraphConditionalHandle,
        kind: CUgraphConditionalNodeType,
        size: u32,
    ) -> Conditional {
        Conditional { condition, kind, size, context: self.context }
    }

    /// A conditional node and its bodies.
    pub(super) fn branch(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        conditional: Conditional,
    ) -> Given<(CUgraphNode, Vec<CUgraph>)> {
        let mut node = null_mut();
        let bodies = self.generic(Work::Conditional(conditional), |params| {
            let (from, count) = (array(after), after.len());
            given!(self.cu, cuGraphAddNode_12030(&raw mut node, graph, from, null(), count, params))?;
            // SAFETY: the parameters are a conditional node's, to which the driver has added an array of its bodies.
            let bodies = unsafe {
                std::slice::from_raw_parts((*params).u16.conditional.phGraph_out, conditional.size as usize)
            };
            Ok::<_, Answer>(bodies.to_vec())
        })?;
        Ok((node, bodies))
    }
}
