//! Copy nodes: extents, pitches, kinds of memory and their operands.

use super::operands::pageable;
use super::scene::{ROOM, Scene};
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, BOGUS, Cu, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY3D_v2,
    CUcontext, CUmemorytype,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_copy_nodes", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| changed(t, s, EXTENTS),
    |t, s| changed(t, s, TYPES),
    |t, s| ask(t, s, HOST),
    |t, s| ask(t, s, WRONG),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A copy of 64 bytes from one memory to another, changed.
type Change = (&'static str, fn(&Scene, &mut CUDA_MEMCPY3D_v2));

fn changed(t: &mut Lines, s: &Scene, changes: &[Change]) {
    for (name, change) in changes {
        let mut copy = s.copying();
        change(s, &mut copy);
        t.line(name, || added(s, copy, s.context));
        t.line(&format!("{name}: set"), || -> Asked {
            let node = s.node(s.graph()?, &[], s.copy())?;
            Ok(call!(s.cu, cuGraphMemcpyNodeSetParams_10000(node, &raw const copy)))
        });
    }
}

/// Adds it to a graph, and if that succeeds runs the graph.
fn added(s: &Scene, copy: CUDA_MEMCPY3D_v2, context: CUcontext) -> Asked {
    let (graph, mut node) = (s.graph()?, null_mut());
    let copy = &raw const copy;
    let answer = call!(s.cu, cuGraphAddMemcpyNode_10000(&raw mut node, graph, null(), 0, copy, context));
    Ok(answer.and(|| s.ran(graph).named("added, but")))
}

/// Three planes of three rows of 16 bytes.
fn volume(copy: &mut CUDA_MEMCPY3D_v2) {
    (copy.srcPitch, copy.srcHeight, copy.dstPitch, copy.dstHeight) = (64, 4, 32, 3);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (16, 3, 3);
}

const EXTENTS: &[Change] = &[
    ("one row", |_, _| {}),
    ("width 0", |_, copy| copy.WidthInBytes = 0),
    ("height 0", |_, copy| copy.Height = 0),
    ("depth 0", |_, copy| copy.Depth = 0),
    ("all of it", |_, copy| copy.WidthInBytes = ROOM),
    ("one byte too many", |_, copy| copy.WidthInBytes = ROOM + 1),
    ("2^62 bytes", |_, copy| copy.WidthInBytes = 1 << 62),
    ("one row with pitches", |_, copy| (copy.srcPitch, copy.dstPitch) = (64, 64)),
    ("one row with pitches below the width", |_, copy| (copy.srcPitch, copy.dstPitch) = (8, 8)),
    ("one row with heights", |_, copy| (copy.srcHeight, copy.dstHeight) = (9, 9)),
    ("two rows with pitches", |_, copy| (copy.srcPitch, copy.dstPitch, copy.Height) = (64, 96, 2)),
    ("two rows without pitches", |_, copy| copy.Height = 2),
    ("two rows with pitches below the width", |_, copy| {
        (copy.srcPitch, copy.dstPitch, copy.Height) = (32, 32, 2);
    }),
    ("three planes of three rows", |_, copy| volume(copy)),
    ("planes below the height", |_, copy| {
        volume(copy);
        copy.srcHeight = 2;
    }),
    ("planes of height 0", |_, copy| {
        volume(copy);
        (copy.srcHeight, copy.dstHeight) = (0, 0);
    }),
    ("offsets", |_, copy| {
        volume(copy);
        (copy.srcXInBytes, copy.srcY, copy.srcZ, copy.dstXInBytes, copy.dstY, copy.dstZ) = (4, 1, 1, 8, 0, 2);
    }),
    ("an offset of 64 bytes", |_, copy| copy.srcXInBytes = 64),
    ("an offset to the end", |_, copy| copy.srcXInBytes = ROOM - 64),
    ("an offset past the end", |_, copy| copy.srcXInBytes = ROOM - 63),
    ("level of detail 1", |_, copy| copy.srcLOD = 1),
    ("reserved not 0", |_, copy| copy.reserved0 = std::ptr::without_provenance_mut(8)),
    ("other reserved not 0", |_, copy| copy.reserved1 = std::ptr::without_provenance_mut(8)),
    ("to itself", |_, copy| copy.dstDevice = copy.srcDevice),
    ("to what overlaps", |_, copy| copy.dstDevice = copy.srcDevice + 32),
];

const TYPES: &[Change] = &[
    ("from NULL", |_, copy| copy.srcDevice = 0),
    ("to NULL", |_, copy| copy.dstDevice = 0),
    ("from an address that is nobody's", |_, copy| copy.srcDevice = BOGUS),
    ("from type 0", |_, copy| copy.srcMemoryType = CUmemorytype(0)),
    ("from type 9", |_, copy| copy.srcMemoryType = CUmemorytype(9)),
    ("from unified type", |_, copy| copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED),
    ("from and to unified type", |_, copy| {
        (copy.srcMemoryType, copy.dstMemoryType) = (CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
    }),
    ("from unified type with an array as well", |_, copy| {
        copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
        copy.srcArray = std::ptr::without_provenance_mut(8);
    }),
    ("from host memory at NULL with an address of the device", |_, copy| {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    }),
    ("from array NULL", |_, copy| copy.srcMemoryType = CU_MEMORYTYPE_ARRAY),
    ("with addresses of the host as well", |_, copy| {
        copy.srcHost = std::ptr::without_provenance(8);
        copy.dstHost = std::ptr::without_provenance_mut(8);
    }),
];

/// A copy that takes an address of the host for one of the device, or for either.
fn at(s: &Scene, kind: CUmemorytype, host: *mut c_void) -> CUDA_MEMCPY3D_v2 {
    CUDA_MEMCPY3D_v2 { srcMemoryType: kind, srcDevice: host.addr() as u64, ..s.copying() }
}

const HOST: &[Question] = &[
    ("from pageable memory", |s| added(s, s.copying_from_host(pageable()), s.context)),
    ("to pageable memory", |s| added(s, s.copying_to_host(pageable()), s.context)),
    ("from page-locked memory", |s| added(s, s.copying_from_host(s.pinned()?), s.context)),
    ("to page-locked memory", |s| added(s, s.copying_to_host(s.pinned()?), s.context)),
    ("from pageable to page-locked memory", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: pageable(),
            ..s.copying_to_host(s.pinned()?)
        };
        added(s, copy, s.context)
    }),
    ("from pageable to pageable memory", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: pageable(),
            ..s.copying_to_host(pageable())
        };
        added(s, copy, s.context)
    }),
    ("page-locked memory as the device's", |s| added(s, at(s, CU_MEMORYTYPE_DEVICE, s.pinned()?), s.context)),
    ("page-locked memory, unified", |s| added(s, at(s, CU_MEMORYTYPE_UNIFIED, s.pinned()?), s.context)),
    ("pageable memory as the device's: add", |s| {
        let mut node = null_mut();
        let copy = at(s, CU_MEMORYTYPE_DEVICE, pageable());
        Ok(s.add(s.graph()?, &[], Work::Copy(copy), &raw mut node))
    }),
    ("pageable memory, unified: add", |s| {
        let mut node = null_mut();
        let copy = at(s, CU_MEMORYTYPE_UNIFIED, pageable());
        Ok(s.add(s.graph()?, &[], Work::Copy(copy), &raw mut node))
    }),
    ("device memory as the host's: add", |s| {
        let mut node = null_mut();
        let host = std::ptr::without_provenance_mut(usize::try_from(s.here).unwrap_or(0));
        Ok(s.add(s.graph()?, &[], Work::Copy(s.copying_from_host(host)), &raw mut node))
    }),
    ("managed memory as the device's", |s| {
        let copy = CUDA_MEMCPY3D_v2 { srcDevice: s.managed_memory()?, ..s.copying() };
        added(s, copy, s.context)
    }),
    ("managed memory, unified", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcDevice: s.managed_memory()?,
            srcMemoryType: CU_MEMORYTYPE_UNIFIED,
            ..s.copying()
        };
        added(s, copy, s.context)
    }),
    ("managed memory as the host's", |s| {
        let host = std::ptr::without_provenance_mut(usize::try_from(s.managed_memory()?).unwrap_or(0));
        added(s, s.copying_from_host(host), s.context)
    }),
    ("memory of a pool", |s| {
        let mut address = 0;
        given!(s.cu, cuMemAllocAsync_11020(&raw mut address, 4096, s.stream))?;
        added(s, CUDA_MEMCPY3D_v2 { srcDevice: address, ..s.copying() }, s.context)
    }),
    ("to an array", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstDevice: 0,
            dstArray: s.array()?,
            ..s.copying()
        };
        added(s, copy, s.context)
    }),
    ("from an array", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_ARRAY,
            srcDevice: 0,
            srcArray: s.array()?,
            ..s.copying()
        };
        added(s, copy, s.context)
    }),
    ("past the end of an array", |s| {
        let copy = CUDA_MEMCPY3D_v2 {
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstDevice: 0,
            dstArray: s.array()?,
            WidthInBytes: 260,
            ..s.copying()
        };
        added(s, copy, s.context)
    }),
    ("from another context's memory", |s| {
        added(s, CUDA_MEMCPY3D_v2 { srcDevice: s.elsewhere()?.memory, ..s.copying() }, s.context)
    }),
    ("from another context's memory with that context", |s| {
        let there = s.elsewhere()?;
        added(s, CUDA_MEMCPY3D_v2 { srcDevice: there.memory, ..s.copying() }, there.context)
    }),
    ("with another context", |s| added(s, s.copying(), s.elsewhere()?.context)),
    ("with context NULL", |s| added(s, s.copying(), null_mut())),
    ("pageable source changed after the node was made: copied", |s| {
        let host = pageable();
        let exec = s.exec(s.graph_of(&[Work::Copy(s.copying_from_host(host))])?)?;
        // SAFETY: the memory is the program's own, and no work uses it.
        unsafe { host.cast::<u32>().write_volatile(6) };
        let first = Answer::all([s.launched(exec), s.word(s.there)]);
        // SAFETY: as above.
        unsafe { host.cast::<u32>().write_volatile(7) };
        Ok(Answer::all([first, s.launched(exec), s.word(s.there)]))
    }),
    ("page-locked source changed after the node was made: copied", |s| {
        let host = s.pinned()?;
        let exec = s.exec(s.graph_of(&[Work::Copy(s.copying_from_host(host))])?)?;
        // SAFETY: the memory is the program's own, and no work uses it.
        unsafe { host.cast::<u32>().write_volatile(8) };
        Ok(Answer::all([s.launched(exec), s.word(s.there)]))
    }),
];

/// What the driver may follow.
const WRONG: &[Question] = &[
    ("from an array that is none", |s| {
        let mut node = null_mut();
        let copy =
            CUDA_MEMCPY3D_v2 { srcMemoryType: CU_MEMORYTYPE_ARRAY, srcArray: s.stream.cast(), ..s.copying() };
        Ok(s.add(s.graph()?, &[], Work::Copy(copy), &raw mut node))
    }),
    ("with a context that is none", |s| {
        let (mut node, copy, context) = (null_mut(), s.copying(), s.stream.cast());
        let (to, copy) = (&raw mut node, &raw const copy);
        Ok(call!(s.cu, cuGraphAddMemcpyNode_10000(to, s.graph()?, null(), 0, copy, context)))
    }),
    ("to host memory at an address that is nobody's: instantiate", |s| {
        let host = std::ptr::without_provenance_mut(0x10);
        Ok(s.instantiate(s.graph_of(&[Work::Copy(s.copying_to_host(host))])?))
    }),
];
