//! Memset nodes: elements, pitches, and what they may write to.

use super::scene::{ROOM, Scene};
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, BOGUS, Cu, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUdeviceptr};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_memset_nodes", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[shapes, values, |t, s| ask(t, s, PLACES)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// Pitch, size of an element, elements in a row, rows.
type Form = (usize, u32, usize, usize);

const FORMS: &[Form] = &[
    (0, 1, 16, 1),
    (0, 2, 16, 1),
    (0, 4, 16, 1),
    (0, 0, 16, 1),
    (0, 3, 16, 1),
    (0, 8, 16, 1),
    (0, 16, 16, 1),
    (0, 4, 0, 1),
    (0, 4, 16, 0),
    (0, 4, 0, 0),
    // A pitch where there is one row.
    (8, 4, 16, 1),
    (64, 4, 16, 1),
    (63, 4, 16, 1),
    (1, 1, 16, 1),
    (3, 2, 16, 1),
    (1 << 40, 4, 16, 1),
    // Several rows.
    (128, 4, 16, 2),
    (64, 4, 16, 2),
    (63, 4, 16, 2),
    (60, 4, 16, 2),
    (0, 4, 16, 2),
    (66, 4, 16, 2),
    (65, 2, 16, 2),
    (17, 1, 16, 2),
    // The end of the memory.
    (0, 1, ROOM, 1),
    (0, 1, ROOM + 1, 1),
    (0, 4, ROOM / 4, 1),
    (0, 4, ROOM / 4 + 1, 1),
    (ROOM / 2, 1, ROOM / 2, 2),
    (ROOM / 2, 1, ROOM / 2, 3),
    (ROOM / 2, 1, ROOM / 2 + 1, 2),
    (0, 4, 1 << 62, 1),
];

fn of((pitch, element, width, height): Form, dst: CUdeviceptr) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value: 7, elementSize: element, width, height }
}

fn shapes(t: &mut Lines, s: &Scene) {
    for form in FORMS {
        let (pitch, element, width, height) = form;
        let name = format!("{width} x {height} of {element}, pitch {pitch}");
        t.line(&name, || added(s, of(*form, s.here), s.context));
        t.line(&format!("{name}: set"), || -> Asked {
            let (graph, fill) = (s.graph()?, of(*form, s.here));
            let node = s.node(graph, &[], s.fill(1))?;
            Ok(call!(s.cu, cuGraphMemsetNodeSetParams_10000(node, &raw const fill)))
        });
    }
}

/// Adds it to a graph, and if that succeeds runs the graph.
fn added(s: &Scene, fill: CUDA_MEMSET_NODE_PARAMS_v1, context: CUcontext) -> Asked {
    let (graph, mut node) = (s.graph()?, null_mut());
    let fill = &raw const fill;
    let answer = call!(s.cu, cuGraphAddMemsetNode_10000(&raw mut node, graph, null(), 0, fill, context));
    Ok(answer.and(|| s.ran(graph).named("added, but")))
}

/// Values that fit and others, and what is written.
fn values(t: &mut Lines, s: &Scene) {
    for (element, value) in
        [(1, 0xff), (1, 0x1ff), (1, 0x0100), (2, 0xffff), (2, 0x1_2345), (4, 0x1234_5678), (1, u32::MAX)]
    {
        t.line(&format!("value {value:#x} in elements of {element}: add, run, word"), || -> Asked {
            s.clear()?;
            let fill = CUDA_MEMSET_NODE_PARAMS_v1 { value, elementSize: element, ..s.filling(0) };
            let answer = added(s, fill, s.context)?;
            Ok(Answer::all([answer, s.word(s.here)]))
        });
    }
    for (name, form, places) in [
        ("rows of 8 bytes with pitch 16", (16, 4, 2, 2), [0, 8, 16, 24]),
        ("rows of 6 bytes with pitch 8", (8, 2, 3, 2), [0, 4, 8, 12]),
        ("one row with pitch 4", (4, 4, 4, 1), [0, 4, 12, 16]),
    ] {
        t.line(&format!("{name}: words"), || -> Asked {
            s.clear()?;
            let answer = added(s, of(form, s.here), s.context)?;
            Ok(Answer::all([answer, list(s, places)]))
        });
    }
}

fn list(s: &Scene, places: [u64; 4]) -> Answer {
    Answer::all(places.map(|place| s.word(s.here + place)))
}

fn at(s: &Scene, dst: CUdeviceptr) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 { dst, ..s.filling(7) }
}

const PLACES: &[Question] = &[
    ("to NULL", |s| added(s, at(s, 0), s.context)),
    ("to an address that is nobody's", |s| added(s, at(s, BOGUS), s.context)),
    ("elements of 4 at an odd address", |s| added(s, at(s, s.here + 1), s.context)),
    ("elements of 4 at an address of 2", |s| added(s, at(s, s.here + 2), s.context)),
    ("inside the memory", |s| added(s, at(s, s.here + 64), s.context)),
    ("across its end", |s| added(s, at(s, s.here + ROOM as u64 - 32), s.context)),
    ("to page-locked memory", |s| added(s, at(s, s.pinned()?.addr() as u64), s.context)),
    ("to pageable memory", |s| {
        let host = Box::leak(Box::new([0u32; 64]));
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(s.add(graph, &[], Work::Fill(at(s, host.as_mut_ptr().addr() as u64)), &raw mut node))
    }),
    ("to managed memory", |s| {
        let mut address = 0;
        given!(s.cu, cuMemAllocManaged_6000(&raw mut address, 4096, 1))?;
        added(s, at(s, address), s.context)
    }),
    ("to memory of a pool", |s| {
        let mut address = 0;
        given!(s.cu, cuMemAllocAsync_11020(&raw mut address, 4096, s.stream))?;
        added(s, at(s, address), s.context)
    }),
    ("to another context's memory", |s| added(s, at(s, s.elsewhere()?.memory), s.context)),
    ("to another context's memory with that context", |s| {
        let there = s.elsewhere()?;
        added(s, at(s, there.memory), there.context)
    }),
    ("with another context", |s| added(s, at(s, s.here), s.elsewhere()?.context)),
    ("with context NULL", |s| added(s, at(s, s.here), null_mut())),
    ("memory that was freed after the node was made: instantiate", |s| {
        let memory = s.cu.memory(4096)?;
        let graph = s.graph_of(&[Work::Fill(at(s, memory))])?;
        given!(s.cu, cuMemFree_3020(memory))?;
        Ok(s.instantiate(graph))
    }),
];
