//! Nodes of memory operations: which of them are taken, how many, and what they do.

use super::describing::described;
use super::scene::Scene;
use super::work::{Work, write};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, BOGUS, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES,
    CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_32,
    CU_STREAM_MEM_OP_WRITE_VALUE_64, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, CUgraph, CUgraphNode,
    CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_flushRemoteWrites,
    CUstreamBatchMemOpParams_v1_memoryBarrier, CUstreamBatchMemOpType,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_memory_operations", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[single, |t, s| ask(t, s, SEVERAL), |t, s| ask(t, s, CAPTURED)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A write or a wait of this type and with these flags.
fn operation(kind: CUstreamBatchMemOpType, address: u64, value: u32, flags: u32) -> CUstreamBatchMemOpParams {
    let mut operation = write(address, value);
    (operation.writeValue.operation, operation.writeValue.flags) = (kind, flags);
    operation
}

fn barrier(flags: u32) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.memoryBarrier =
        CUstreamBatchMemOpParams_v1_memoryBarrier { operation: CU_STREAM_MEM_OP_BARRIER, flags };
    params
}

fn flush(flags: u32) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    params.flushRemoteWrites = CUstreamBatchMemOpParams_v1_flushRemoteWrites {
        operation: CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES,
        flags,
    };
    params
}

type One = (&'static str, fn(&Scene) -> CUstreamBatchMemOpParams);

/// No wait is for ever: the memory is all zeros, of which each is at least 0.
const SINGLE: &[One] = &[
    ("write of 4 bytes", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, s.here, 7, 0)),
    ("write of 8 bytes", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, s.here, 7, 0)),
    ("write without a barrier", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, s.here, 7, 1)),
    ("write with flags 8", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, s.here, 7, 8)),
    ("write to NULL", |_| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, 7, 0)),
    ("write to an address of 2", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, s.here + 2, 7, 0)),
    ("write of 8 bytes to an address of 4", |s| operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, s.here + 4, 7, 0)),
    ("write to nobody's address", |_| operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, BOGUS, 7, 0)),
    ("wait for at least 0", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 0, 0)),
    ("wait for 0", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 0, 1)),
    ("wait for no bit of all", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 1, 3)),
    ("wait for 0 of 8 bytes", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_64, s.here, 0, 1)),
    ("wait for 0, then flush", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 0, 1 | 1 << 30)),
    ("wait with flags 8", |s| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 0, 8)),
    ("wait at NULL", |_| operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, 0, 0, 0)),
    ("barrier of the system", |_| barrier(0)),
    ("barrier of the GPU", |_| barrier(1)),
    ("barrier with flags 2", |_| barrier(2)),
    ("flush of remote writes", |_| flush(0)),
    ("flush with flags 1", |_| flush(1)),
    ("operation 0", |s| operation(CUstreamBatchMemOpType(0), s.here, 7, 0)),
    ("operation 99", |s| operation(CUstreamBatchMemOpType(99), s.here, 7, 0)),
];

fn added(s: &Scene, params: &CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, graph: CUgraph) -> Answer {
    let mut node = null_mut();
    call!(s.cu, cuGraphAddBatchMemOpNode_11070(&raw mut node, graph, null(), 0, params))
}

fn single(t: &mut Lines, s: &Scene) {
    for (name, operation) in SINGLE {
        t.line(&format!("{name}: add, read back, run, word"), || -> Asked {
            s.clear()?;
            let (graph, mut operations) = (s.graph()?, [operation(s)]);
            let answer = added(s, &s.batch(&mut operations), graph);
            Ok(answer.and(|| {
                let node = s.first(graph).unwrap_or(null_mut());
                Answer::all([described(s, node, 0, &[]), s.ran(graph), s.word(s.here)])
            }))
        });
    }
}

/// So many writes of 4 bytes, each at a place of its own.
fn writes(s: &Scene, count: u32) -> Vec<CUstreamBatchMemOpParams> {
    (0..count).map(|number| write(s.here + u64::from(number) * 4, number + 1)).collect()
}

fn many(s: &Scene, count: u32) -> Asked {
    s.clear()?;
    let (graph, mut operations) = (s.graph()?, writes(s, count));
    let answer = added(s, &s.batch(&mut operations), graph);
    let last = s.here + u64::from(count.saturating_sub(1)) * 4;
    Ok(answer.and(|| Answer::all([s.ran(graph), s.word(last)])))
}

/// A node of one write, to be changed.
fn written(s: &Scene) -> Given<CUgraphNode> {
    s.node(s.graph()?, &[], Work::Memory(write(s.here, 1)))
}

const SEVERAL: &[Question] = &[
    ("0 operations", |s| many(s, 0)),
    ("2 operations: run, the last word", |s| many(s, 2)),
    ("255 operations: run, the last word", |s| many(s, 255)),
    ("256 operations: run, the last word", |s| many(s, 256)),
    ("257 operations: run, the last word", |s| many(s, 257)),
    ("1 operation at NULL", |s| {
        let mut params = s.batch(&mut []);
        (params.count, params.paramArray) = (1, null_mut());
        Ok(added(s, &params, s.graph()?))
    }),
    ("flags 1", |s| {
        let mut operations = [write(s.here, 1)];
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { flags: 1, ..s.batch(&mut operations) };
        Ok(added(s, &params, s.graph()?))
    }),
    ("context NULL", |s| {
        let mut operations = [write(s.here, 1)];
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { ctx: null_mut(), ..s.batch(&mut operations) };
        Ok(added(s, &params, s.graph()?))
    }),
    ("another context: add, run", |s| {
        let (mut operations, graph, ctx) = ([write(s.here, 1)], s.graph()?, s.elsewhere()?.context);
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { ctx, ..s.batch(&mut operations) };
        Ok(added(s, &params, graph).and(|| s.ran(graph)))
    }),
    ("a good operation, a bad one: add, nodes", |s| {
        let (mut operations, graph) = ([write(s.here, 1), write(0, 1)], s.graph()?);
        Ok(Answer::all([added(s, &s.batch(&mut operations), graph), s.count(graph)]))
    }),
    ("a write, then a wait for it: run", |s| {
        s.clear()?;
        let wait = operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 1, 1);
        let (mut operations, graph) = ([write(s.here, 1), wait], s.graph()?);
        Ok(Answer::all([added(s, &s.batch(&mut operations), graph), s.ran(graph)]))
    }),
    ("a wait behind a kernel's store: run", |s| {
        s.clear()?;
        let wait = operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, s.here, 5, 1);
        Ok(s.ran(s.graph_of(&[s.store(0, 5), Work::Memory(wait)])?))
    }),
    ("to managed memory", |s| {
        let mut address = 0;
        given!(s.cu, cuMemAllocManaged_6000(&raw mut address, 4096, 1))?;
        let mut operations = [write(address, 1)];
        Ok(added(s, &s.batch(&mut operations), s.graph()?))
    }),
    ("to page-locked memory: add, run", |s| {
        let (mut host, graph) = (null_mut(), s.graph()?);
        given!(s.cu, cuMemHostAlloc_2020(&raw mut host, 4096, 0))?;
        let mut operations = [write(host.addr() as u64, 1)];
        Ok(added(s, &s.batch(&mut operations), graph).and(|| s.ran(graph)))
    }),
    ("to memory of the graph: add, run", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let mut made = null_mut();
        let answer = s.add(graph, &[node], Work::Memory(write(address, 1)), &raw mut made);
        Ok(answer.and(|| s.ran(graph)))
    }),
    ("set to 256 operations", |s| {
        let (node, mut operations) = (written(s)?, writes(s, 256));
        let params = s.batch(&mut operations);
        Ok(call!(s.cu, cuGraphBatchMemOpNodeSetParams_11070(node, &raw const params)))
    }),
    ("set to 0 operations", |s| {
        let node = written(s)?;
        let params = s.batch(&mut []);
        Ok(call!(s.cu, cuGraphBatchMemOpNodeSetParams_11070(node, &raw const params)))
    }),
    ("set from NULL", |s| Ok(call!(s.cu, cuGraphBatchMemOpNodeSetParams_11070(written(s)?, null())))),
    ("launched twice: the word each time", |s| {
        let exec = s.exec(s.graph_of(&[Work::Memory(write(s.here, 5))])?)?;
        s.clear()?;
        let first = Answer::all([s.launched(exec), s.word(s.here)]);
        s.clear()?;
        Ok(Answer::all([first, s.launched(exec), s.word(s.here)]))
    }),
];

/// What is captured: answer, nodes, the first node's type and parameters, and the run's answer.
fn captured(s: &Scene, work: impl FnOnce() -> Answer) -> Asked {
    s.clear()?;
    let mut graph = null_mut();
    given!(s.cu, cuStreamBeginCapture_10010(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
    let answer = work();
    given!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))?;
    let described = s.first(graph).map_or_else(|obstacle| obstacle, |node| described(s, node, 0, &[]));
    Ok(Answer::all([answer, s.count(graph), described, s.ran(graph)]))
}

const CAPTURED: &[Question] = &[
    ("captured batch of 2", |s| {
        captured(s, || {
            let mut operations = writes(s, 2);
            call!(s.cu, cuStreamBatchMemOp_11070(s.stream, 2, operations.as_mut_ptr(), 0))
        })
    }),
    ("captured batch of 0", |s| {
        captured(s, || {
            let mut operations = writes(s, 1);
            call!(s.cu, cuStreamBatchMemOp_11070(s.stream, 0, operations.as_mut_ptr(), 0))
        })
    }),
    ("captured batch of 256", |s| {
        captured(s, || {
            let mut operations = writes(s, 256);
            call!(s.cu, cuStreamBatchMemOp_11070(s.stream, 256, operations.as_mut_ptr(), 0))
        })
    }),
    ("captured batch, the ABI of 8.0", |s| {
        captured(s, || {
            let mut operations = writes(s, 2);
            call!(s.cu, cuStreamBatchMemOp_8000(s.stream, 2, operations.as_mut_ptr(), 0))
        })
    }),
    ("captured write", |s| captured(s, || call!(s.cu, cuStreamWriteValue32_11070(s.stream, s.here, 7, 0)))),
    ("captured wait", |s| captured(s, || call!(s.cu, cuStreamWaitValue32_11070(s.stream, s.here, 0, 1)))),
    ("two captured writes: nodes", |s| {
        captured(s, || {
            call!(s.cu, cuStreamWriteValue32_11070(s.stream, s.here, 7, 0))
                .and(|| call!(s.cu, cuStreamWriteValue32_11070(s.stream, s.here + 4, 8, 0)))
        })
    }),
];
