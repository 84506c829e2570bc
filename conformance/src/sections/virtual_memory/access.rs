//! What is done with virtual memory that the device may only read, or not use, or of which it was never told.

use super::{UNIT, created, reserved};
use crate::code::FAULTS;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::sections::managed::DEVICE;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEMORYTYPE_DEVICE, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CUDA_MEMCPY3D_v2,
    CUDA_MEMSET_NODE_PARAMS_v1, CUDA_SUCCESS, CUcontext, CUdeviceptr, CUgraph, CUgraphExec, CUgraphNode,
    CUmemAccess_flags, CUmemAccessDesc, CUpointer_attribute, CUstream, CUstreamCaptureMode,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const NONE: Option<CUmemAccess_flags> = Some(CU_MEM_ACCESS_FLAGS_PROT_NONE);
const READ: Option<CUmemAccess_flags> = Some(CU_MEM_ACCESS_FLAGS_PROT_READ);
const WRITE: Option<CUmemAccess_flags> = Some(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode(2);

/// What the device is told of two mappings, one behind the other.
const KINDS: [(&str, [Option<CUmemAccess_flags>; 2]); 5] = [
    ("to read", [READ, READ]),
    ("none", [NONE, NONE]),
    ("never set", [None, None]),
    ("to write, then to read", [WRITE, READ]),
    ("to write", [WRITE, WRITE]),
];

/// Two mappings, and what they are copied to and from.
struct Scene<'a> {
    cu: &'a Cu,
    context: CUcontext,
    stream: CUstream,
    virtual_memory: CUdeviceptr,
    plain: CUdeviceptr,
    pageable: *mut c_void,
    pinned: *mut c_void,
}

/// What is done with so many bytes at an address.
type Use = (&'static str, fn(&Scene<'_>, CUdeviceptr, usize) -> Answer);

const OF_HOST: [Use; 6] = [
    ("from the host", |s, at, size| call!(s.cu, cuMemcpyHtoD_3020(at, s.pageable, size))),
    ("from pageable", |s, at, size| call!(s.cu, cuMemcpyHtoDAsync_3020(at, s.pageable, size, s.stream))),
    ("from pinned", |s, at, size| call!(s.cu, cuMemcpyHtoDAsync_3020(at, s.pinned, size, s.stream))),
    ("to the host", |s, at, size| call!(s.cu, cuMemcpyDtoH_3020(s.pageable, at, size))),
    ("to pageable", |s, at, size| call!(s.cu, cuMemcpyDtoHAsync_3020(s.pageable, at, size, s.stream))),
    ("to pinned", |s, at, size| call!(s.cu, cuMemcpyDtoHAsync_3020(s.pinned, at, size, s.stream))),
];

const OF_DEVICE: [Use; 6] = [
    ("from device memory", |s, at, size| call!(s.cu, cuMemcpyDtoD_3020(at, s.plain, size))),
    ("from it, in a stream", |s, at, size| call!(s.cu, cuMemcpyDtoDAsync_3020(at, s.plain, size, s.stream))),
    ("from it, unified", |s, at, size| call!(s.cu, cuMemcpyAsync_4000(at, s.plain, size, s.stream))),
    ("fill", |s, at, size| call!(s.cu, cuMemsetD8_3020(at, 1, size))),
    ("fill, in a stream", |s, at, size| call!(s.cu, cuMemsetD8Async_3020(at, 1, size, s.stream))),
    ("to device memory", |s, at, size| call!(s.cu, cuMemcpyDtoDAsync_3020(s.plain, at, size, s.stream))),
];

/// Nothing of it ends the context.
pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    for (name, flags) in KINDS {
        let s = Scene::new(cu, flags, &mut bytes)?;
        s.pointers(t, name);
        s.used(t, "", 0, 64, &OF_HOST);
        s.used(t, "", 0, 64, &OF_DEVICE);
        // What may be read and not written is asked for itself.
        if flags[0] != READ {
            t.line("  a value", || s.done(s.value_written()));
        }
        s.used(t, "over both: ", UNIT as u64 - 64, 128, &OF_DEVICE);
        s.used(t, "past both: ", 2 * UNIT as u64 - 64, 128, &OF_DEVICE[..5]);
        s.nodes(t);
    }
    Ok(())
}

/// A value is written where the device may only read: that ends the context.
pub(super) fn value_written(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    let s = Scene::new(cu, [READ; 2], &mut bytes)?;
    t.line("to read: a value", || s.value_written());
    s.is_lost(t);
    Ok(())
}

/// The same in a graph.
pub(super) fn value_in_graph(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    let s = Scene::new(cu, [READ; 2], &mut bytes)?;
    let (mut graph, mut exec): (CUgraph, CUgraphExec) = (null_mut(), null_mut());
    need!(cu, cuStreamBeginCapture_10010(s.stream, RELAXED))?;
    t.line("to read: a value, captured", || s.value_written());
    t.line("  end", || call!(cu, cuStreamEndCapture_10000(s.stream, &raw mut graph)));
    t.line("  instantiate", || call!(cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0)));
    t.line("  launch", || call!(cu, cuGraphLaunch_10000(exec, s.stream)));
    s.is_lost(t);
    Ok(())
}

/// A value is waited for that is there.
pub(super) fn value_awaited(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    let s = Scene::new(cu, [READ; 2], &mut bytes)?;
    t.line("to read: wait for a value", || {
        call!(cu, cuStreamWaitValue32_11070(s.stream, s.virtual_memory, 0, 0))
    });
    s.is_lost(t);
    Ok(())
}

/// A kernel writes where the device may only read.
pub(super) fn kernel(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    let s = Scene::new(cu, [READ; 2], &mut bytes)?;
    let function = cu.function(cu.module(FAULTS)?, c"store")?;
    t.line("to read: a kernel writes", || cu.launch_at(function, s.stream, s.virtual_memory));
    s.is_lost(t);
    Ok(())
}

/// What a node may write is taken from the device before the node is used.
pub(super) fn taken_away(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut bytes = [0u8; 128];
    let s = Scene::new(cu, [WRITE; 2], &mut bytes)?;
    let to_read = CUmemAccessDesc { location: DEVICE, flags: CU_MEM_ACCESS_FLAGS_PROT_READ };
    let (mut exec, mut other): (CUgraphExec, CUgraphExec) = (null_mut(), null_mut());
    t.line("to read after a memset node was added", || {
        s.with_fill(s.virtual_memory, |graph, _| {
            let made = call!(cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0));
            let set = || call!(cu, cuMemSetAccess_10020(s.virtual_memory, UNIT, &raw const to_read, 1));
            let mut again = || call!(cu, cuGraphInstantiateWithFlags_11040(&raw mut other, graph, 0));
            Answer::all([made.and(set), again()])
        })
    });
    t.line("  launch of an exec from before", || call!(cu, cuGraphLaunch_10000(exec, s.stream)));
    s.is_lost(t);
    Ok(())
}

impl<'a> Scene<'a> {
    fn new(cu: &'a Cu, flags: [Option<CUmemAccess_flags>; 2], bytes: &mut [u8; 128]) -> Outcome<Self> {
        let context = cu.start()?;
        let (plain, virtual_memory) = (cu.memory(4096)?, reserved(cu, 4)?);
        need!(cu, cuMemsetD8_3020(plain, 3, 4096))?;
        let mut pinned = null_mut();
        need!(cu, cuMemHostAlloc_2020(&raw mut pinned, 4096, 0))?;
        for (at, flags) in [0, UNIT as u64].into_iter().zip(flags) {
            let (at, handle) = (virtual_memory + at, created(cu, 1)?);
            need!(cu, cuMemMap_10020(at, UNIT, 0, handle, 0))?;
            if let Some(flags) = flags {
                let access = CUmemAccessDesc { location: DEVICE, flags };
                need!(cu, cuMemSetAccess_10020(at, UNIT, &raw const access, 1))?;
            }
        }
        need!(cu, cuCtxSynchronize_2000())?;
        let (stream, pageable) = (cu.stream(NON_BLOCKING)?, bytes.as_mut_ptr().cast());
        Ok(Self { cu, context, stream, virtual_memory, plain, pageable, pinned })
    }

    fn second(&self) -> CUdeviceptr {
        self.virtual_memory + UNIT as u64
    }

    /// Memory type, where the range begins, its size, and what the device may do.
    fn pointers(&self, t: &mut Lines, name: &str) {
        let ask = |attribute: CUpointer_attribute, at| {
            let mut value = 0u64;
            call!(self.cu, cuPointerGetAttribute_4000((&raw mut value).cast(), attribute, at)).then(|| {
                let is_address = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
                if is_address { value.wrapping_sub(self.virtual_memory) } else { value }
            })
        };
        let all = |at| {
            Answer::all(
                [
                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                    CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
                ]
                .map(|attribute| ask(attribute, at)),
            )
        };
        t.line(&format!("{name}: pointer"), || all(self.virtual_memory));
        t.line("  into the second", || all(self.second() + 64));
    }

    fn used(&self, t: &mut Lines, where_to: &str, offset: u64, size: usize, uses: &[Use]) {
        for (name, make) in uses {
            t.line(&format!("  {where_to}{name}"), || {
                self.done(make(self, self.virtual_memory + offset, size))
            });
        }
    }

    /// The answer to a call, and how its work has ended.
    fn done(&self, answer: Answer) -> Answer {
        Answer::all([answer, call!(self.cu, cuCtxSynchronize_2000())])
    }

    fn value_written(&self) -> Answer {
        call!(self.cu, cuStreamWriteValue32_11070(self.stream, self.virtual_memory, 5, 0))
    }

    /// Whether the context is, and who says so.
    fn is_lost(&self, t: &mut Lines) {
        t.line("  synchronise", || call!(self.cu, cuStreamSynchronize_2000(self.stream)));
        t.line("  the context", || call!(self.cu, cuCtxSynchronize_2000()));
    }

    /// None of them is run.
    fn nodes(&self, t: &mut Lines) {
        let (it, plain) = (self.virtual_memory, self.plain);
        t.line("  memset node", || self.with_fill(it, |_, _| Answer::Result(CUDA_SUCCESS)));
        t.line("  memset node, set to it", || {
            let fill = filling(it);
            self.with_fill(plain, |_, node| {
                call!(self.cu, cuGraphMemsetNodeSetParams_10000(node, &raw const fill))
            })
        });
        t.line("  the same in an exec", || {
            let (fill, mut exec): (_, CUgraphExec) = (filling(it), null_mut());
            self.with_fill(plain, |graph, node| {
                let made = call!(self.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0));
                made.and(|| {
                    let (fill, context) = (&raw const fill, self.context);
                    call!(self.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, fill, context))
                })
            })
        });
        t.line("  copy node to it", || self.with_copy(it, plain));
        t.line("  copy node from it", || self.with_copy(plain, it));
    }

    /// A graph with a memset node, and what is asked of both.
    fn with_fill(&self, at: CUdeviceptr, ask: impl FnOnce(CUgraph, CUgraphNode) -> Answer) -> Answer {
        let (mut graph, mut node) = (null_mut(), null_mut());
        let fill = filling(at);
        let made = call!(self.cu, cuGraphCreate_10000(&raw mut graph, 0));
        let (fill, context) = (&raw const fill, self.context);
        let added = made.and(|| {
            call!(self.cu, cuGraphAddMemsetNode_10000(&raw mut node, graph, null(), 0, fill, context))
        });
        added.and(|| ask(graph, node))
    }

    /// A graph with a copy node.
    fn with_copy(&self, to: CUdeviceptr, from: CUdeviceptr) -> Answer {
        let (mut graph, mut node) = (null_mut(), null_mut());
        // SAFETY: plain numbers and pointers, all of which may be 0.
        let mut copy: CUDA_MEMCPY3D_v2 = unsafe { std::mem::zeroed() };
        (copy.srcMemoryType, copy.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
        (copy.srcDevice, copy.dstDevice) = (from, to);
        (copy.WidthInBytes, copy.Height, copy.Depth) = (64, 1, 1);
        let made = call!(self.cu, cuGraphCreate_10000(&raw mut graph, 0));
        let (copy, context) = (&raw const copy, self.context);
        made.and(|| {
            call!(self.cu, cuGraphAddMemcpyNode_10000(&raw mut node, graph, null(), 0, copy, context))
        })
    }
}

const fn filling(dst: CUdeviceptr) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch: 0, value: 5, elementSize: 1, width: 64, height: 1 }
}
