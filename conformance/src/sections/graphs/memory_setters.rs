//! Copies and memsets that are set in an exec.

use super::operands::pageable;
use super::scene::Scene;
use super::setters::set_in;
use super::work::Work;
use super::{Asked, ask};
use crate::driver::{Answer, Given, call};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1,
};
use std::ptr::null_mut;

type Copy = (&'static str, fn(&Scene) -> Given<CUDA_MEMCPY3D_v2>, fn(&Scene) -> Given<CUDA_MEMCPY3D_v2>);

fn unified(s: &Scene) -> CUDA_MEMCPY3D_v2 {
    let (from, to) = (CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
    CUDA_MEMCPY3D_v2 { srcMemoryType: from, dstMemoryType: to, ..s.copying() }
}

const COPIES: &[Copy] = &[
    (
        "copy: other buffers",
        |s| Ok(s.copying()),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.there, dstDevice: s.here, ..s.copying() }),
    ),
    ("copy: other size", |s| Ok(s.copying()), |s| Ok(CUDA_MEMCPY3D_v2 { WidthInBytes: 32, ..s.copying() })),
    ("copy: size 0", |s| Ok(s.copying()), |s| Ok(CUDA_MEMCPY3D_v2 { WidthInBytes: 0, ..s.copying() })),
    (
        "copy: past the end",
        |s| Ok(s.copying()),
        |s| Ok(CUDA_MEMCPY3D_v2 { WidthInBytes: super::scene::ROOM + 1, ..s.copying() }),
    ),
    (
        "copy: pool memory for cuMemAlloc memory",
        |s| Ok(s.copying()),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.pool_memory()?, ..s.copying() }),
    ),
    (
        "copy: other memory of the pool",
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.pool_memory()?, ..s.copying() }),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.pool_memory()?, ..s.copying() }),
    ),
    (
        "copy: cuMemAlloc memory for pool memory",
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.pool_memory()?, ..s.copying() }),
        |s| Ok(s.copying()),
    ),
    (
        "copy: page-locked memory for the device's",
        |s| Ok(s.copying()),
        |s| Ok(s.copying_to_host(s.pinned()?)),
    ),
    ("copy: rows for a row", |s| Ok(s.copying()), |s| Ok(s.copying_rows())),
    ("copy: unified for the device's", |s| Ok(s.copying()), |s| Ok(unified(s))),
    (
        "copy: unified: other buffers",
        |s| Ok(unified(s)),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.there, dstDevice: s.here, ..unified(s) }),
    ),
    ("copy: the device's for unified", |s| Ok(unified(s)), |s| Ok(s.copying())),
    (
        "copy: unified: pool memory",
        |s| Ok(unified(s)),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.pool_memory()?, ..unified(s) }),
    ),
    (
        "copy: unified: one end page-locked",
        |s| Ok(unified(s)),
        |s| Ok(CUDA_MEMCPY3D_v2 { dstDevice: s.pinned()?.addr() as u64, ..unified(s) }),
    ),
    (
        "copy to host: other page-locked",
        |s| Ok(s.copying_to_host(s.pinned()?)),
        |s| Ok(s.copying_to_host(s.pinned()?)),
    ),
    (
        "copy to host: pageable for page-locked",
        |s| Ok(s.copying_to_host(s.pinned()?)),
        |s| Ok(s.copying_to_host(pageable())),
    ),
    (
        "copy to host: page-locked for pageable",
        |s| Ok(s.copying_to_host(pageable())),
        |s| Ok(s.copying_to_host(s.pinned()?)),
    ),
    ("copy: rows: the same", |s| Ok(s.copying_rows()), |s| Ok(s.copying_rows())),
    (
        "copy: rows: other buffers",
        |s| Ok(s.copying_rows()),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.there, dstDevice: s.here, ..s.copying_rows() }),
    ),
    (
        "copy: rows: another place in the buffer",
        |s| Ok(s.copying_rows()),
        |s| Ok(CUDA_MEMCPY3D_v2 { srcDevice: s.here + 4096, ..s.copying_rows() }),
    ),
    ("copy: a row for rows", |s| Ok(s.copying_rows()), |s| Ok(s.copying())),
    (
        "copy: the device's memory with type 9",
        |s| Ok(s.copying()),
        |s| {
            Ok(CUDA_MEMCPY3D_v2 {
                srcMemoryType: cushim::driver::sys::CUmemorytype(9),
                dstMemoryType: CU_MEMORYTYPE_DEVICE,
                ..s.copying()
            })
        },
    ),
];

/// In an exec by the call for copies and by that for every type; whether the exec runs then.
pub(super) fn copies(t: &mut Lines, s: &Scene) {
    for (name, from, to) in COPIES {
        t.line(&format!("{name}: typed, generic, run"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], Work::Copy(from(s)?))?;
            let (exec, copy) = (s.exec(graph)?, to(s)?);
            let params = &raw const copy;
            let answer = call!(s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, params, s.context));
            Ok(Answer::all([answer, set_in(s, exec, node, Work::Copy(copy)), s.launched(exec)]))
        });
    }
}

type Memset = (&'static str, fn(&mut CUDA_MEMSET_NODE_PARAMS_v1), fn(&mut CUDA_MEMSET_NODE_PARAMS_v1));

fn rows(fill: &mut CUDA_MEMSET_NODE_PARAMS_v1) {
    (fill.pitch, fill.height) = (128, 4);
}

const MEMSETS: &[Memset] = &[
    ("memset: value", |_| {}, |fill| fill.value = 2),
    ("memset: width", |_| {}, |fill| fill.width = 8),
    ("memset: width 0", |_| {}, |fill| fill.width = 0),
    ("memset: elements", |_| {}, |fill| fill.elementSize = 1),
    ("memset: elements of 3", |_| {}, |fill| fill.elementSize = 3),
    ("memset: place", |_| {}, |fill| fill.dst += 64),
    ("memset: to NULL", |_| {}, |fill| fill.dst = 0),
    ("memset: rows for a row", |_| {}, rows),
    ("memset: rows: value", rows, |fill| {
        rows(fill);
        fill.value = 2;
    }),
    ("memset: rows: place", rows, |fill| {
        rows(fill);
        fill.dst += 4096;
    }),
    ("memset: rows: width", rows, |fill| {
        rows(fill);
        fill.width = 8;
    }),
    ("memset: rows: height", rows, |fill| {
        rows(fill);
        fill.height = 3;
    }),
    ("memset: a row for rows", rows, |_| {}),
];

pub(super) fn memsets(t: &mut Lines, s: &Scene) {
    for (name, from, to) in MEMSETS {
        t.line(&format!("{name}: typed, generic, run, word"), || -> Asked {
            s.clear()?;
            let (graph, mut fill) = (s.graph()?, s.filling(1));
            from(&mut fill);
            let node = s.node(graph, &[], Work::Fill(fill))?;
            let (exec, mut fill) = (s.exec(graph)?, s.filling(1));
            to(&mut fill);
            let params = &raw const fill;
            let answer = call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, params, s.context));
            let generic = set_in(s, exec, node, Work::Fill(fill));
            Ok(Answer::all([answer, generic, s.launched(exec), s.word(s.here)]))
        });
    }
    ask(
        t,
        s,
        &[
            ("memset: pool memory in an exec", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.fill(1))?;
                let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.pool_memory()?, ..s.filling(2) };
                let (exec, fill) = (s.exec(graph)?, &raw const fill);
                Ok(call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, fill, s.context)))
            }),
            ("memset: with context NULL in an exec", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.fill(1))?;
                let (exec, fill) = (s.exec(graph)?, s.filling(2));
                Ok(call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, null_mut())))
            }),
            ("memset: with another context in an exec", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.fill(1))?;
                let (exec, fill, context) = (s.exec(graph)?, s.filling(2), s.elsewhere()?.context);
                Ok(call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, context)))
            }),
            ("copy: with another context in an exec", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.copy())?;
                let (exec, copy, context) = (s.exec(graph)?, s.copying(), s.elsewhere()?.context);
                Ok(call!(s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, &raw const copy, context)))
            }),
            ("memset: another context's memory; with that context; run", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.fill(1))?;
                let (exec, there) = (s.exec(graph)?, s.elsewhere()?);
                let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: there.memory, ..s.filling(2) };
                let set = |context| {
                    call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, context))
                };
                Ok(Answer::all([set(s.context), set(there.context), s.launched(exec)]))
            }),
            ("copy: another context's memory as source; destination", |s| {
                let graph = s.graph()?;
                let node = s.node(graph, &[], s.copy())?;
                let (exec, memory) = (s.exec(graph)?, s.elsewhere()?.memory);
                let from = CUDA_MEMCPY3D_v2 { srcDevice: memory, ..s.copying() };
                let to = CUDA_MEMCPY3D_v2 { dstDevice: memory, ..s.copying() };
                let set = |copy: &CUDA_MEMCPY3D_v2| {
                    call!(s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, copy, s.context))
                };
                Ok(Answer::all([set(&from), set(&to), s.launched(exec)]))
            }),
            ("memset of another context's memory: own memory", |s| {
                let (graph, fill) = (s.graph()?, s.filling(1));
                let there = CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.elsewhere()?.memory, ..fill };
                let node = s.node(graph, &[], Work::Fill(there))?;
                let exec = s.exec(graph)?;
                Ok(call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, s.context)))
            }),
        ],
    );
}
