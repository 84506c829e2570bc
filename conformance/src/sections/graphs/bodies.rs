//! What may be in the body of a conditional node, and when a driver says that something may not.

use super::launch::Launch;
use super::operands::pageable;
use super::scene::Scene;
use super::work::{EVERY, Work, host};
use super::{Asked, Group, Question, Section, ask};
use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_AD_FORMAT_UNSIGNED_INT32, CU_GRAPH_COND_TYPE_IF, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
    CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED,
    CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ARRAY_DESCRIPTOR, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1,
    CUgraph, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchAttributeValue_clusterDim,
    CUlaunchAttributeValue_deviceUpdatableKernelNode,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_bodies", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] =
    &[every, |t, s| works(t, s, COPIES), |t, s| works(t, s, OTHERS), |t, s| ask(t, s, CALLS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A graph with an IF that is true at each launch, and its body.
fn branch(s: &Scene) -> Given<(CUgraph, CUgraph)> {
    let graph = s.graph()?;
    let conditional = s.conditional(s.condition(graph, 1, 1)?, CU_GRAPH_COND_TYPE_IF, 1);
    let body = s.branch(graph, &[], conditional)?.1[0];
    Ok((graph, body))
}

/// What adding it to a body answers, and what is said of the graph then.
fn added(s: &Scene, work: impl FnOnce(&Scene, CUgraph) -> Given<Work>) -> Asked {
    let ((graph, body), mut node) = (branch(s)?, null_mut());
    let work = work(s, body)?;
    let answer = s.add(body, &[], work, &raw mut node);
    Ok(Answer::all([answer, verdict(s, graph, body)]))
}

fn verdict(s: &Scene, graph: CUgraph, body: CUgraph) -> Answer {
    s.verdict(graph, 0, &[("root's", graph), ("body's", body)])
}

fn every(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name} in a body: add, verdict"), || added(s, work));
        t.line(&format!("{name} in a body: run"), || -> Asked {
            let (graph, body) = branch(s)?;
            let work = work(s, body)?;
            s.node(body, &[], work)?;
            Ok(s.ran(graph))
        });
    }
}

type Special = (&'static str, fn(&Scene) -> Given<Work>);

fn works(t: &mut Lines, s: &Scene, works: &[Special]) {
    for (name, work) in works {
        t.line(&format!("{name}: add, verdict"), || added(s, |s, _| work(s)));
        t.line(&format!("{name}: run"), || -> Asked {
            let (graph, body) = branch(s)?;
            s.node(body, &[], work(s)?)?;
            Ok(s.ran(graph))
        });
    }
}

const COPIES: &[Special] = &[
    ("copy from pageable memory", |s| Ok(Work::Copy(s.copying_from_host(pageable())))),
    ("copy from page-locked memory", |s| Ok(Work::Copy(s.copying_from_host(s.pinned()?)))),
    ("copy to page-locked memory", |s| {
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 {
            dstMemoryType: CU_MEMORYTYPE_HOST,
            dstHost: s.pinned()?,
            dstDevice: 0,
            ..s.copying()
        }))
    }),
    ("copy of page-locked memory, unified", |s| {
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_UNIFIED,
            srcDevice: s.pinned()?.addr() as u64,
            ..s.copying()
        }))
    }),
    ("copy of managed memory", |s| {
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 { srcDevice: s.managed_memory()?, ..s.copying() }))
    }),
    ("copy of rows", |s| {
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 { srcPitch: 128, dstPitch: 128, Height: 2, ..s.copying() }))
    }),
    ("copy to an array", |s| {
        let mut array = null_mut();
        let descriptor = CUDA_ARRAY_DESCRIPTOR {
            Width: 64,
            Height: 0,
            Format: CU_AD_FORMAT_UNSIGNED_INT32,
            NumChannels: 1,
        };
        given!(s.cu, cuArrayCreate_3020(&raw mut array, &raw const descriptor))?;
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 {
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstDevice: 0,
            dstArray: array,
            ..s.copying()
        }))
    }),
    ("memset of rows", |s| {
        Ok(Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { pitch: 128, height: 2, ..s.filling(1) }))
    }),
    ("memset of managed memory", |s| {
        Ok(Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.managed_memory()?, ..s.filling(1) }))
    }),
    ("memset of page-locked memory", |s| {
        Ok(Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.pinned()?.addr() as u64, ..s.filling(1) }))
    }),
    ("copy with memory of another context", |s| {
        Ok(Work::Copy(CUDA_MEMCPY3D_v2 { srcDevice: s.elsewhere()?.memory, ..s.copying() }))
    }),
];

const OTHERS: &[Special] = &[
    ("a child with a kernel", |s| Ok(Work::Child(s.graph_of(&[s.store(0, 1)])?))),
    ("a child with a host node", |s| Ok(Work::Child(s.graph_of(&[host()])?))),
    ("a child with an event record", |s| {
        let event = s.cu.event(0)?;
        Ok(Work::Child(s.graph_of(&[Work::Record(event)])?))
    }),
    ("a child with no nodes", |s| Ok(Work::Child(s.graph()?))),
    ("a child with a child with a host node", |s| {
        Ok(Work::Child(s.graph_of(&[Work::Child(s.graph_of(&[host()])?)])?))
    }),
    ("a child with a copy from pageable memory", |s| {
        Ok(Work::Child(s.graph_of(&[Work::Copy(s.copying_from_host(pageable()))])?))
    }),
    ("another context's kernel", |s| {
        let there = s.elsewhere()?;
        Ok(Work::Kernel(Launch { context: there.context, ..Launch::new(there.nothing, [0; 2]) }))
    }),
    ("a library's kernel", |s| {
        let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
        Ok(Work::Kernel(Launch { kernel, ..Launch::new(null_mut(), [s.here, 1]) }))
    }),
    ("a kernel of 1024 blocks of 1024", |s| {
        Ok(Work::Kernel(Launch { shape: Shape::row(1024, 1024), ..Launch::new(s.nothing, [0; 2]) }))
    }),
];

/// A kernel in a body with an attribute: the attribute's answer, and the graph's run.
fn with(s: &Scene, id: CUlaunchAttributeID, change: impl FnOnce(&mut CUlaunchAttributeValue)) -> Asked {
    let (graph, body) = branch(s)?;
    let launch = Launch { shape: Shape::row(4, 32), ..Launch::new(s.nothing, [0; 2]) };
    let node = s.node(body, &[], Work::Kernel(launch))?;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    change(&mut value);
    let set = call!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, &raw const value));
    Ok(Answer::all([set, s.ran(graph)]))
}

const CALLS: &[Question] = &[
    ("kernel with a priority in a body: set, run", |s| {
        with(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, |value| value.priority = -1)
    }),
    ("kernel with a cluster in a body: set, run", |s| {
        with(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, |value| {
            value.clusterDim = CUlaunchAttributeValue_clusterDim { x: 2, y: 1, z: 1 };
        })
    }),
    ("cooperative kernel in a body: set, run", |s| {
        with(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, |value| value.cooperative = 1)
    }),
    ("updatable kernel in a body: set, run", |s| {
        with(s, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, |value| {
            value.deviceUpdatableKernelNode =
                CUlaunchAttributeValue_deviceUpdatableKernelNode { deviceUpdatable: 1, devNode: null_mut() };
        })
    }),
    ("a host node in the root beside a conditional: run", |s| {
        let (graph, _) = branch(s)?;
        s.node(graph, &[], host())?;
        Ok(s.ran(graph))
    }),
    ("an event record in the root beside a conditional: run", |s| {
        let (graph, _) = branch(s)?;
        s.node(graph, &[], Work::Record(s.cu.event(0)?))?;
        Ok(s.ran(graph))
    }),
    ("alloc and free in the root around a conditional: run", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let conditional = s.conditional(s.condition(graph, 1, 1)?, CU_GRAPH_COND_TYPE_IF, 1);
        let (branch, bodies) = s.branch(graph, &[node], conditional)?;
        s.node(bodies[0], &[], Work::Kernel(Launch::new(s.storing, [address, 1])))?;
        s.node(graph, &[branch], Work::Free(address))?;
        Ok(s.ran(graph))
    }),
    ("free of the root's memory in a body: add, verdict", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let conditional = s.conditional(s.condition(graph, 1, 1)?, CU_GRAPH_COND_TYPE_IF, 1);
        let body = s.branch(graph, &[node], conditional)?.1[0];
        let mut free = null_mut();
        let answer = s.add(body, &[], Work::Free(address), &raw mut free);
        Ok(Answer::all([answer, verdict(s, graph, body)]))
    }),
    ("a refused node in a body removed: run", |s| {
        let (graph, body) = branch(s)?;
        let node = s.node(body, &[], host())?;
        let refused = s.instantiate(graph);
        s.destroy_node(node)?;
        Ok(Answer::all([refused, s.ran(graph)]))
    }),
    ("an empty body: run", |s| Ok(s.ran(branch(s)?.0))),
    ("a cycle in a body: verdict", |s| {
        let (graph, body) = branch(s)?;
        let nodes = s.chain(body, &[Work::Empty, Work::Empty])?;
        s.connect(body, nodes[1], nodes[0]).given("an edge")?;
        Ok(verdict(s, graph, body))
    }),
    ("captured into a body: begin, end, the body itself, run, noted", |s| {
        s.clear()?;
        let ((graph, body), mut ended) = (branch(s)?, null_mut());
        let mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        let begun = call!(s.cu, cuStreamBeginCaptureToGraph_12030(s.stream, body, null(), null(), 0, mode));
        begun.given("beginning")?;
        let note = s.launch_note(3);
        let launched = s.cu.launch(
            note.function,
            Shape::ONE,
            s.stream,
            &mut crate::code::Arguments::new(note.arguments).pointers(),
        );
        let end = call!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut ended));
        let same = crate::driver::yes(ended == body);
        Ok(Answer::all([launched, end, same.into(), s.ran(graph), s.noted()]))
    }),
    ("for launches by the device: a conditional graph", |s| Ok(s.verdict(branch(s)?.0, 4, &[]))),
    ("with an upload, priorities and AUTO_FREE: a conditional graph", |s| {
        Ok(Answer::all([2, 8, 1].map(|flags| match branch(s) {
            Ok((graph, _)) => s.verdict(graph, flags, &[]),
            Err(obstacle) => obstacle,
        })))
    }),
];
