//! Updates of kernels, copies and memsets: what of them may differ.

use super::launch::Launch;
use super::operands::pageable;
use super::scene::Scene;
use super::updates::{Pair, kernel, one};
use super::work::Work;
use crate::code::{KERNELS, Shape};
use crate::driver::{Given, given};
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1, CUgraph,
    CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchAttributeValue_clusterDim,
};
use std::ptr::null_mut;

fn nothing(s: &Scene) -> Launch {
    Launch::new(s.nothing, [0; 2])
}

/// Four blocks, with an attribute.
fn with(
    s: &Scene,
    id: CUlaunchAttributeID,
    change: impl FnOnce(&mut CUlaunchAttributeValue),
) -> Given<CUgraph> {
    let graph = s.graph()?;
    let launch = Launch { shape: Shape::row(4, 32), ..nothing(s) };
    let node = s.node(graph, &[], Work::Kernel(launch))?;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    change(&mut value);
    given!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, &raw const value))?;
    Ok(graph)
}

fn four(s: &Scene) -> Given<CUgraph> {
    kernel(s, Launch { shape: Shape::row(4, 32), ..nothing(s) })
}

fn urgent(s: &Scene) -> Given<CUgraph> {
    with(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, |value| value.priority = -2)
}

fn clustered(s: &Scene) -> Given<CUgraph> {
    with(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, |value| {
        value.clusterDim = CUlaunchAttributeValue_clusterDim { x: 2, y: 1, z: 1 };
    })
}

fn cooperative(s: &Scene) -> Given<CUgraph> {
    with(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, |value| value.cooperative = 1)
}

pub(super) const KERNEL: &[Pair] = &[
    ("kernel: the same", |s| one(s, s.store(0, 1)), |s| one(s, s.store(0, 1))),
    ("kernel: another argument", |s| one(s, s.store(0, 1)), |s| one(s, s.store(0, 2))),
    (
        "kernel: another shape",
        |s| kernel(s, nothing(s)),
        |s| {
            kernel(
                s,
                Launch { shape: Shape { grid: [3, 2, 1], block: [32, 2, 1], shared: 512 }, ..nothing(s) },
            )
        },
    ),
    ("kernel: another function of its module", |s| one(s, s.store(0, 1)), |s| kernel(s, nothing(s))),
    ("kernel: a function of another module", |s| one(s, s.store(0, 1)), |s| one(s, s.note(1))),
    (
        "kernel: the same function of another load of its module",
        |s| kernel(s, nothing(s)),
        |s| kernel(s, Launch::new(s.cu.function(s.cu.module(KERNELS)?, c"nothing")?, [0; 2])),
    ),
    (
        "kernel: a library's kernel",
        |s| kernel(s, nothing(s)),
        |s| {
            let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"nothing")?;
            one(s, Work::Kernel(Launch { function: null_mut(), kernel, ..nothing(s) }))
        },
    ),
    (
        "kernel: another context's function",
        |s| kernel(s, nothing(s)),
        |s| {
            let there = s.elsewhere()?;
            kernel(s, Launch { context: there.context, ..Launch::new(there.nothing, [0; 2]) })
        },
    ),
    ("kernel: a priority", four, urgent),
    ("kernel: no priority any more", urgent, four),
    ("kernel: a cluster", four, clustered),
    ("kernel: no cluster any more", clustered, four),
    ("kernel: cooperative", four, cooperative),
    ("kernel: not cooperative any more", cooperative, four),
];

fn filled(s: &Scene, change: impl FnOnce(&mut CUDA_MEMSET_NODE_PARAMS_v1)) -> Given<CUgraph> {
    let mut fill = s.filling(1);
    change(&mut fill);
    one(s, Work::Fill(fill))
}

/// Rows.
fn rows(s: &Scene, change: impl FnOnce(&mut CUDA_MEMSET_NODE_PARAMS_v1)) -> Given<CUgraph> {
    filled(s, |fill| {
        (fill.pitch, fill.height) = (128, 4);
        change(fill);
    })
}

fn copied(s: &Scene, change: impl FnOnce(&mut CUDA_MEMCPY3D_v2)) -> Given<CUgraph> {
    let mut copy = s.copying();
    change(&mut copy);
    one(s, Work::Copy(copy))
}

/// Two rows.
pub(super) fn plane(s: &Scene, change: impl FnOnce(&mut CUDA_MEMCPY3D_v2)) -> Given<CUgraph> {
    copied(s, |copy| {
        (copy.srcPitch, copy.dstPitch, copy.Height) = (128, 128, 2);
        change(copy);
    })
}

pub(super) const MEMORY: &[Pair] = &[
    ("memset: another value", |s| filled(s, |_| {}), |s| filled(s, |fill| fill.value = 2)),
    ("memset: another place", |s| filled(s, |_| {}), |s| filled(s, |fill| fill.dst += 64)),
    ("memset: other memory", |s| filled(s, |_| {}), |s| filled(s, |fill| fill.dst = s.there)),
    (
        "memset: pool memory",
        |s| filled(s, |_| {}),
        |s| {
            let address = s.pool_memory()?;
            filled(s, |fill| fill.dst = address)
        },
    ),
    (
        "memset: another context's memory",
        |s| filled(s, |_| {}),
        |s| {
            let address = s.elsewhere()?.memory;
            filled(s, |fill| fill.dst = address)
        },
    ),
    ("memset: another width", |s| filled(s, |_| {}), |s| filled(s, |fill| fill.width = 8)),
    ("memset: other elements", |s| filled(s, |_| {}), |s| filled(s, |fill| fill.elementSize = 1)),
    ("memset: rows", |s| filled(s, |_| {}), |s| rows(s, |_| {})),
    ("memset: a row from rows", |s| rows(s, |_| {}), |s| filled(s, |_| {})),
    ("memset: rows: another value", |s| rows(s, |_| {}), |s| rows(s, |fill| fill.value = 2)),
    ("memset: rows: other memory", |s| rows(s, |_| {}), |s| rows(s, |fill| fill.dst = s.there)),
    ("memset: rows: another width", |s| rows(s, |_| {}), |s| rows(s, |fill| fill.width = 8)),
    ("memset: rows: another height", |s| rows(s, |_| {}), |s| rows(s, |fill| fill.height = 3)),
    ("memset: rows: another pitch", |s| rows(s, |_| {}), |s| rows(s, |fill| fill.pitch = 256)),
    (
        "copy: other memory",
        |s| copied(s, |_| {}),
        |s| copied(s, |copy| (copy.srcDevice, copy.dstDevice) = (s.there, s.here)),
    ),
    (
        "copy: another context's memory as source",
        |s| copied(s, |_| {}),
        |s| {
            let address = s.elsewhere()?.memory;
            copied(s, |copy| copy.srcDevice = address)
        },
    ),
    (
        "copy: another context's memory as destination",
        |s| copied(s, |_| {}),
        |s| {
            let address = s.elsewhere()?.memory;
            copied(s, |copy| copy.dstDevice = address)
        },
    ),
    ("copy: another size", |s| copied(s, |_| {}), |s| copied(s, |copy| copy.WidthInBytes = 32)),
    ("copy: an offset", |s| copied(s, |_| {}), |s| copied(s, |copy| copy.srcXInBytes = 32)),
    (
        "copy: pool memory",
        |s| copied(s, |_| {}),
        |s| {
            let address = s.pool_memory()?;
            copied(s, |copy| copy.srcDevice = address)
        },
    ),
    (
        "copy: from the host instead",
        |s| copied(s, |_| {}),
        |s| copied(s, |copy| *copy = s.copying_from_host(pageable())),
    ),
    (
        "copy: unified instead",
        |s| copied(s, |_| {}),
        |s| copied(s, |copy| copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED),
    ),
    ("copy: from other page-locked memory", |s| copied_from_pinned(s), |s| copied_from_pinned(s)),
    (
        "copy: from pageable instead of page-locked memory",
        |s| copied_from_pinned(s),
        |s| copied(s, |copy| *copy = s.copying_from_host(pageable())),
    ),
    ("copy: rows", |s| copied(s, |_| {}), |s| plane(s, |_| {})),
    ("copy: rows: the same", |s| plane(s, |_| {}), |s| plane(s, |_| {})),
    (
        "copy: rows: other memory",
        |s| plane(s, |_| {}),
        |s| plane(s, |copy| (copy.srcDevice, copy.dstDevice) = (s.there, s.here)),
    ),
    ("copy: rows: an offset", |s| plane(s, |_| {}), |s| plane(s, |copy| copy.srcXInBytes = 32)),
    ("copy: rows: another width", |s| plane(s, |_| {}), |s| plane(s, |copy| copy.WidthInBytes = 32)),
    ("copy: rows: another height", |s| plane(s, |_| {}), |s| plane(s, |copy| copy.Height = 3)),
    ("copy: rows: another pitch", |s| plane(s, |_| {}), |s| plane(s, |copy| copy.srcPitch = 256)),
    ("copy: a row from rows", |s| plane(s, |_| {}), |s| copied(s, |_| {})),
    (
        "copy: to managed memory",
        |s| copied(s, |_| {}),
        |s| {
            let mut address = 0;
            given!(s.cu, cuMemAllocManaged_6000(&raw mut address, 4096, 1))?;
            copied(s, |copy| (copy.dstMemoryType, copy.dstDevice) = (CU_MEMORYTYPE_DEVICE, address))
        },
    ),
    (
        "copy: with another context",
        |s| copied(s, |_| {}),
        |s| {
            let (graph, mut node, copy) = (s.graph()?, null_mut(), s.copying());
            let (to, copy, context) = (&raw mut node, &raw const copy, s.elsewhere()?.context);
            given!(s.cu, cuGraphAddMemcpyNode_10000(to, graph, std::ptr::null(), 0, copy, context))?;
            Ok(graph)
        },
    ),
];

fn copied_from_pinned(s: &Scene) -> Given<CUgraph> {
    let host = s.pinned()?;
    copied(s, |copy| *copy = s.copying_from_host(host))
}
