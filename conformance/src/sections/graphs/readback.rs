//! What the driver tells of a node's parameters: after it was added, set, copied or captured.

use super::describing::{Names, described};
use super::getters;
use super::launch::Launch;
use super::scene::Scene;
use super::work::{EVERY, Work, blank, host, write};
use super::{Asked, Group, Question, Section, ask};
use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, Cu, Outcome, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUDA_HOST_NODE_PARAMS_v1, CUDA_MEMCPY3D_v2,
    CUDA_MEMSET_NODE_PARAMS_v1, CUgraphNode, CUgraphNodeType,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_readback", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] =
    &[every, |t, s| ask(t, s, ADDED), |t, s| ask(t, s, SET), getters::getters, |t, s| ask(t, s, CHILDREN)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

fn every(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: added"), || -> Asked {
            let graph = s.graph()?;
            Ok(told(s, s.node(graph, &[], work(s, graph)?)?))
        });
        t.line(&format!("{name}: added by the generic call"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            Ok(s.add_generic(graph, (null(), 0), work, &raw mut node).and(|| told(s, node)))
        });
        t.line(&format!("{name}: in a clone"), || -> Asked {
            let graph = s.graph()?;
            s.node(graph, &[], work(s, graph)?)?;
            Ok(told(s, s.first(s.clone_of(graph)?)?))
        });
        t.line(&format!("{name}: in a child graph"), || -> Asked {
            let graph = s.graph()?;
            s.node(graph, &[], work(s, graph)?)?;
            let outer = s.graph_of(&[Work::Child(graph)])?;
            Ok(told(s, s.first(s.inner(s.first(outer)?)?)?))
        });
        t.line(&format!("{name}: by the call for every type"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            let mut params = blank(CUgraphNodeType(77));
            Ok(call!(s.cu, cuGraphNodeGetParams_13020(node, &raw mut params)).then(|| params.type_.0))
        });
    }
}

/// Kernels in `EVERY` have two arguments.
fn told(s: &Scene, node: CUgraphNode) -> Answer {
    described(s, node, 2, &[("function", s.storing.addr() as u64)])
}

/// What is told of the work when it was added.
fn added(s: &Scene, work: Work, arguments: usize, names: Names<'_>) -> Asked {
    Ok(described(s, s.node(s.graph()?, &[], work)?, arguments, names))
}

extern "C" fn one(_: *mut c_void) {}
extern "C" fn other(_: *mut c_void) {}

fn address(function: extern "C" fn(*mut c_void)) -> u64 {
    (function as *const c_void).addr() as u64
}

fn volume(s: &Scene) -> CUDA_MEMCPY3D_v2 {
    CUDA_MEMCPY3D_v2 {
        srcXInBytes: 4,
        srcY: 1,
        srcZ: 1,
        srcPitch: 64,
        srcHeight: 5,
        dstPitch: 32,
        dstHeight: 3,
        WidthInBytes: 16,
        Height: 3,
        Depth: 2,
        ..s.copying()
    }
}

const ADDED: &[Question] = &[
    ("kernel: a function without arguments", |s| {
        let names = [("function", s.nothing.addr() as u64)];
        added(s, Work::Kernel(Launch::new(s.nothing, [0; 2])), 0, &names)
    }),
    ("kernel: with its context, shape and shared memory", |s| {
        let names = [("function", s.storing.addr() as u64)];
        let shape = Shape { grid: [2, 3, 4], block: [5, 6, 7], shared: 100 };
        let launch = Launch { context: s.context, shape, ..Launch::new(s.storing, [s.here, 9]) };
        added(s, Work::Kernel(launch), 2, &names)
    }),
    ("kernel: of a library", |s| {
        let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
        let names = [("kernel", kernel.addr() as u64)];
        added(s, Work::Kernel(Launch { kernel, ..Launch::new(null_mut(), [s.here, 9]) }), 2, &names)
    }),
    ("kernel: of a library, as function", |s| {
        let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
        let names = [("kernel", kernel.addr() as u64)];
        added(s, Work::Kernel(Launch::new(kernel.cast(), [s.here, 9])), 2, &names)
    }),
    ("kernel: its function's own kernel", |s| {
        let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
        let mut function = null_mut();
        given!(s.cu, cuKernelGetFunction_12000(&raw mut function, kernel))?;
        let names = [("kernel", kernel.addr() as u64), ("function", function.addr() as u64)];
        added(s, Work::Kernel(Launch::new(function, [s.here, 9])), 2, &names)
    }),
    ("kernel: the ABI of 10.0, of a library", |s| {
        let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
        let launch = Launch { kernel, ..Launch::new(null_mut(), [s.here, 9]) };
        let node = s.node(s.graph()?, &[], Work::Kernel(launch))?;
        let mut params =
            super::launch::older(&Launch::new(null_mut(), [0; 2]).params(null_mut(), null_mut()));
        Ok(call!(s.cu, cuGraphKernelNodeGetParams_10000(node, &raw mut params)).then(|| {
            super::describing::name(s, &[("kernel", kernel.addr() as u64)], params.func.addr() as u64)
        }))
    }),
    ("kernel: arguments in one block", |s| {
        let (mut block, mut size) = ([s.here, 43], 12usize);
        let pointer = std::ptr::without_provenance_mut(1);
        let length = std::ptr::without_provenance_mut(2);
        let mut extra =
            [pointer, block.as_mut_ptr().cast(), length, (&raw mut size).cast::<c_void>(), null_mut()];
        let params = Launch::new(s.storing, [0; 2]).params(null_mut(), extra.as_mut_ptr());
        let (graph, mut node) = (s.graph()?, null_mut());
        given!(s.cu, cuGraphAddKernelNode_12000(&raw mut node, graph, null(), 0, &raw const params))?;
        Ok(described(s, node, 2, &[("function", s.storing.addr() as u64)]))
    }),
    ("copy: with pitches", |s| {
        let copy =
            CUDA_MEMCPY3D_v2 { srcPitch: 64, dstPitch: 128, srcHeight: 1, dstHeight: 2, ..s.copying() };
        added(s, Work::Copy(copy), 0, &[])
    }),
    ("copy: two rows", |s| {
        let copy = CUDA_MEMCPY3D_v2 { srcPitch: 64, dstPitch: 128, Height: 2, ..s.copying() };
        added(s, Work::Copy(copy), 0, &[])
    }),
    ("copy: two planes", |s| added(s, Work::Copy(volume(s)), 0, &[])),
    ("copy: unified", |s| {
        let (from, to) = (CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
        let copy = CUDA_MEMCPY3D_v2 { srcMemoryType: from, dstMemoryType: to, ..s.copying() };
        added(s, Work::Copy(copy), 0, &[])
    }),
    ("copy: from pageable memory", |s| {
        let host: *const c_void = Box::leak(Box::new([0u8; 64])).as_ptr().cast();
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: host,
            srcDevice: 0,
            ..s.copying()
        };
        added(s, Work::Copy(copy), 0, &[("host", host.addr() as u64)])
    }),
    ("copy: from page-locked memory", |s| {
        let host = s.pinned()?;
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: host,
            srcDevice: 0,
            ..s.copying()
        };
        added(s, Work::Copy(copy), 0, &[("host", host.addr() as u64)])
    }),
    ("copy: with fields that do not count", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcHost: std::ptr::without_provenance(8),
            dstHost: std::ptr::without_provenance_mut(8),
            ..s.copying()
        };
        added(s, Work::Copy(copy), 0, &[("eight", 8)])
    }),
    ("memset: one row with a pitch", |s| {
        added(s, Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { pitch: 99, ..s.filling(1) }), 0, &[])
    }),
    ("memset: two rows", |s| {
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { pitch: 128, height: 2, ..s.filling(1) };
        added(s, Work::Fill(fill), 0, &[])
    }),
    ("memset: a value wider than the element", |s| {
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { elementSize: 1, ..s.filling(0x1234_5678) };
        added(s, Work::Fill(fill), 0, &[])
    }),
    ("memset: of the ABI's widest value", |s| added(s, s.fill(u32::MAX), 0, &[])),
    ("host: function and data", |s| {
        let work = Work::Host(CUDA_HOST_NODE_PARAMS_v1 {
            fn_: Some(one),
            userData: std::ptr::without_provenance_mut(8),
        });
        added(s, work, 0, &[("one", address(one)), ("eight", 8)])
    }),
    ("event record and wait", |s| {
        let event = s.cu.event(0)?;
        let names = [("event", event.addr() as u64)];
        Ok(Answer::all([added(s, Work::Record(event), 0, &names)?, added(s, Work::Wait(event), 0, &names)?]))
    }),
    ("alloc and free", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 100)?;
        let names = [("address", address)];
        let free = s.node(graph, &[node], Work::Free(address))?;
        Ok(Answer::all([described(s, node, 0, &names), described(s, free, 0, &names)]))
    }),
    ("memory operations", |s| {
        let mut operations = [write(s.here, 1), write(s.here + 8, 2)];
        let (params, graph, mut node) = (s.batch(&mut operations), s.graph()?, null_mut());
        given!(s.cu, cuGraphAddBatchMemOpNode_11070(&raw mut node, graph, null(), 0, &raw const params))?;
        // SAFETY: the array lives; whether the driver looks at it again is the question.
        unsafe { operations.as_mut_ptr().write_volatile(write(s.there, 9)) };
        Ok(described(s, node, 0, &[]))
    }),
];

/// What is told of a node whose work was set.
fn set(s: &Scene, work: Work, set: impl FnOnce(CUgraphNode) -> Answer, names: Names<'_>) -> Asked {
    let node = s.node(s.graph()?, &[], work)?;
    Ok(set(node).named("set").and(|| described(s, node, 2, names)))
}

const SET: &[Question] = &[
    ("kernel: set", |s| {
        let names = [("function", s.storing.addr() as u64), ("other", s.adding.addr() as u64)];
        let launch = Launch { shape: Shape::row(2, 3), ..Launch::new(s.adding, [s.there, 5]) };
        set(
            s,
            s.store(0, 1),
            |node| launch.with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params))),
            &names,
        )
    }),
    ("kernel: set without arguments", |s| {
        let names = [("function", s.storing.addr() as u64)];
        let params = Launch::new(s.storing, [0; 2]).params(null_mut(), null_mut());
        let set_params = |node| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, &raw const params));
        set(s, s.store(0, 1), set_params, &names)
    }),
    ("kernel: set by the ABI of 10.0", |s| {
        let names = [("function", s.storing.addr() as u64)];
        let launch = Launch::new(s.storing, [s.there, 5]);
        let by = |node| {
            launch.with_params(|params| {
                let params = super::launch::older(params);
                call!(s.cu, cuGraphKernelNodeSetParams_10000(node, &raw const params))
            })
        };
        set(s, s.store(0, 1), by, &names)
    }),
    ("copy: set", |s| {
        let copy = volume(s);
        set(s, s.copy(), |node| call!(s.cu, cuGraphMemcpyNodeSetParams_10000(node, &raw const copy)), &[])
    }),
    ("memset: set", |s| {
        let fill =
            CUDA_MEMSET_NODE_PARAMS_v1 { pitch: 8, elementSize: 1, width: 7, height: 3, ..s.filling(5) };
        set(s, s.fill(1), |node| call!(s.cu, cuGraphMemsetNodeSetParams_10000(node, &raw const fill)), &[])
    }),
    ("host: set", |s| {
        let params =
            CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(other), userData: std::ptr::without_provenance_mut(8) };
        let names = [("other", address(other)), ("eight", 8)];
        set(s, host(), |node| call!(s.cu, cuGraphHostNodeSetParams_10000(node, &raw const params)), &names)
    }),
    ("event record: set", |s| {
        let (event, other) = (s.cu.event(0)?, s.cu.event(0)?);
        let names = [("event", event.addr() as u64), ("other", other.addr() as u64)];
        let by = |node| call!(s.cu, cuGraphEventRecordNodeSetEvent_11010(node, other));
        set(s, Work::Record(event), by, &names)
    }),
    ("event wait: set", |s| {
        let (event, other) = (s.cu.event(0)?, s.cu.event(0)?);
        let names = [("event", event.addr() as u64), ("other", other.addr() as u64)];
        let by = |node| call!(s.cu, cuGraphEventWaitNodeSetEvent_11010(node, other));
        set(s, Work::Wait(event), by, &names)
    }),
    ("memory operation: set", |s| {
        let mut operations = [write(s.here, 1), write(s.here + 8, 2)];
        let params = s.batch(&mut operations);
        let by = |node| call!(s.cu, cuGraphBatchMemOpNodeSetParams_11070(node, &raw const params));
        set(s, Work::Memory(write(s.there, 3)), by, &[])
    }),
    ("kernel: set in an exec, the definition's", |s| {
        let (graph, names) = (s.graph()?, [("function", s.storing.addr() as u64)]);
        let node = s.node(graph, &[], s.store(0, 1))?;
        let (exec, launch) = (s.exec(graph)?, Launch::new(s.storing, [s.there, 5]));
        launch
            .with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)))
            .given("setting it")?;
        Ok(described(s, node, 2, &names))
    }),
];

const CHILDREN: &[Question] = &[
    ("child: the inner graph is the source", |s| {
        let source = s.graph_of(&[Work::Empty])?;
        Ok(yes(s.inner(s.node(s.graph()?, &[], Work::Child(source))?)? == source).into())
    }),
    ("child: the inner graph is the same each time", |s| {
        let node = s.node(s.graph()?, &[], Work::Child(s.graph_of(&[Work::Empty])?))?;
        Ok(yes(s.inner(node)? == s.inner(node)?).into())
    }),
    ("child: a node of the inner graph is the same each time", |s| {
        let node = s.node(s.graph()?, &[], Work::Child(s.graph_of(&[Work::Empty])?))?;
        Ok(yes(s.first(s.inner(node)?)? == s.first(s.inner(node)?)?).into())
    }),
    ("child: the graph in the parameters after the generic call", |s| {
        let (graph, source, mut node) = (s.graph()?, s.graph_of(&[Work::Empty])?, null_mut());
        let (answer, told) = s.generic(Work::Child(source), |params| {
            let answer = call!(s.cu, cuGraphAddNode_12030(&raw mut node, graph, null(), null(), 0, params));
            // SAFETY: the parameters are a child graph's.
            (answer, unsafe { (*params).u16.graph.graph })
        });
        answer.given("adding it")?;
        let inner = s.inner(node)?;
        let told = if told == inner {
            "inner"
        } else if told == source {
            "source"
        } else {
            "another"
        };
        Ok(told.into())
    }),
];
