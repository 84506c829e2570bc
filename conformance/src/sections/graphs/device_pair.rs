//! Two devices for the questions about both.

use super::launch::Launch;
use super::scene::{ROOM, Scene};
use super::work::{Work, allocation, on_device};
use crate::code::{GRAPHS, KERNELS};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given, need};
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUdeviceptr,
    CUevent, CUfunction, CUgraph, CUgraphNode, CUmemAccessDesc, CUstream,
};
use std::ptr::{null, null_mut};

/// Device 0, whose context is current, and device 1.
pub(super) struct Pair {
    pub(super) s: Scene,
    pub(super) other: Other,
}

/// What there is of device 1.
pub(super) struct Other {
    pub(super) context: CUcontext,
    pub(super) stream: CUstream,
    pub(super) event: CUevent,
    pub(super) memory: CUdeviceptr,
    pub(super) storing: CUfunction,
    pub(super) adding: CUfunction,
}

pub(super) fn other(cu: &Cu) -> Outcome<Other> {
    let mut context = null_mut();
    need!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 1))?;
    need!(cu, cuCtxSetCurrent_4000(context))?;
    Ok(Other {
        context,
        stream: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        memory: cu.memory(ROOM)?,
        storing: cu.function(cu.module(KERNELS)?, c"store")?,
        adding: cu.function(cu.module(GRAPHS)?, c"add")?,
    })
}

impl Pair {
    /// All memory is zeros.
    pub(super) fn clear(&self) -> Given {
        self.s.clear()?;
        self.there(|| {
            call!(self.s.cu, cuMemsetD8Async_3020(self.other.memory, 0, ROOM, self.other.stream))
                .and(|| call!(self.s.cu, cuStreamSynchronize_2000(self.other.stream)))
        })?
        .given("clearing")
    }

    /// What is answered while device 1's context is current.
    pub(super) fn there<T>(&self, ask: impl FnOnce() -> T) -> Given<T> {
        given!(self.s.cu, cuCtxSetCurrent_4000(self.other.context))?;
        let answer = ask();
        given!(self.s.cu, cuCtxSetCurrent_4000(self.s.context))?;
        Ok(answer)
    }

    /// The first word of device 1's memory.
    pub(super) fn word(&self) -> Given<Answer> {
        self.there(|| self.s.word(self.other.memory))
    }

    /// A kernel of device 1 that stores to an address.
    pub(super) const fn kernel(&self, address: CUdeviceptr, value: u32) -> Launch {
        let launch = Launch::new(self.other.storing, [address, value as u64]);
        Launch { context: self.other.context, ..launch }
    }

    pub(super) const fn storing(&self, value: u32) -> Work {
        Work::Kernel(self.kernel(self.other.memory, value))
    }

    /// A copy of 64 bytes.
    pub(super) const fn copying(&self, to: CUdeviceptr, from: CUdeviceptr) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 { srcDevice: from, dstDevice: to, ..self.s.copying() }
    }

    /// Adds a copy with this context.
    pub(super) fn add_copy(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        (to, from): (CUdeviceptr, CUdeviceptr),
        context: CUcontext,
        node: &mut CUgraphNode,
    ) -> Answer {
        let (copy, count) = (self.copying(to, from), after.len());
        let (after, copy) = (super::work::array(after), &raw const copy);
        call!(self.s.cu, cuGraphAddMemcpyNode_10000(node, graph, after, count, copy, context))
    }

    /// Adds a memset of 64 bytes with this context.
    pub(super) fn add_memset(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        (to, value): (CUdeviceptr, u32),
        context: CUcontext,
        node: &mut CUgraphNode,
    ) -> Answer {
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: to, ..self.s.filling(value) };
        let (from, count, fill) = (super::work::array(after), after.len(), &raw const fill);
        call!(self.s.cu, cuGraphAddMemsetNode_10000(node, graph, from, count, fill, context))
    }

    /// Memory of device 1's pool, and with a value in it.
    pub(super) fn pooled(&self, value: u32) -> Given<CUdeviceptr> {
        let mut address = 0;
        self.there(|| {
            let stream = self.other.stream;
            call!(self.s.cu, cuMemAllocAsync_11020(&raw mut address, 4096, stream))
                .and(|| call!(self.s.cu, cuMemsetD32Async_3020(address, value, 16, stream)))
                .and(|| call!(self.s.cu, cuStreamSynchronize_2000(stream)))
        })?
        .given("memory of a pool")?;
        Ok(address)
    }

    /// An allocation node on device 1, with access for device 0 or without.
    pub(super) fn allocation(&self, graph: CUgraph, access: bool) -> Given<(CUgraphNode, CUdeviceptr)> {
        let readers = [CUmemAccessDesc { location: on_device(0), flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE }];
        let (mut node, mut params) = (null_mut(), allocation(64));
        params.poolProps.location = on_device(1);
        if access {
            (params.accessDescs, params.accessDescCount) = (readers.as_ptr(), readers.len());
        }
        given!(self.s.cu, cuGraphAddMemAllocNode_11040(&raw mut node, graph, null(), 0, &raw mut params))?;
        Ok((node, params.dptr))
    }
}
