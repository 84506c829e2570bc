//! Allocation nodes: where, for whom and how much; what the address is good for, and when.

use super::allocation_stages;
use super::beside_allocations;
use super::describing::described;
use super::scene::Scene;
use super::work::{Work, allocation, on_device};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::sections::managed::{CURRENT_NODE, HOST, INVALID, NODE, place};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_HANDLE_TYPE_FABRIC, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEM_LOCATION_TYPE_HOST_NUMA, CUDA_MEM_ALLOC_NODE_PARAMS_v1, CUDA_MEMCPY3D_v2,
    CUDA_MEMSET_NODE_PARAMS_v1, CUgraph, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType,
    CUmemLocation,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_allocations", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| changed(t, s, PROPERTIES),
    accesses,
    allocation_stages::stages,
    |t, s| ask(t, s, ADDRESSES),
    beside_allocations::around,
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

type Change = (&'static str, fn(&mut CUDA_MEM_ALLOC_NODE_PARAMS_v1));

const PROPERTIES: &[Change] = &[
    ("on device 0", |_| {}),
    ("on device 99", |p| p.poolProps.location = on_device(99)),
    ("on device -1", |p| p.poolProps.location = on_device(-1)),
    ("on the host", |p| p.poolProps.location = HOST),
    ("on the host's node 0", |p| p.poolProps.location = NODE),
    ("on the host's node 99", |p| p.poolProps.location = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99)),
    ("on the host's current node", |p| p.poolProps.location = CURRENT_NODE),
    ("nowhere", |p| p.poolProps.location = INVALID),
    ("of type 0", |p| p.poolProps.allocType = CUmemAllocationType(0)),
    ("of managed type on device 0", |p| p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED),
    ("of managed type on the host's node 0", |p| {
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
        p.poolProps.location = NODE;
    }),
    ("of managed type nowhere", |p| {
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
        p.poolProps.location = INVALID;
    }),
    ("of type 9", |p| p.poolProps.allocType = CUmemAllocationType(9)),
    ("for file descriptors", |p| p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
    ("for fabric handles", |p| p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC),
    ("with a limit", |p| p.poolProps.maxSize = 1 << 30),
    ("with a limit below its size", |p| p.poolProps.maxSize = 1),
    ("with usage 1", |p| p.poolProps.usage = 1),
    ("with usage 0xffff", |p| p.poolProps.usage = 0xffff),
    ("with reserved not 0", |p| p.poolProps.reserved[0] = 1),
    ("of 1 byte", |p| p.bytesize = 1),
    ("of 0 bytes", |p| p.bytesize = 0),
    ("of 2^50 bytes", |p| p.bytesize = crate::driver::HUGE),
    ("of all bytes", |p| p.bytesize = usize::MAX),
    ("with an address before", |p| p.dptr = 0x1000),
];

/// Adds the node: answer, and the address.
pub(super) fn add(s: &Scene, graph: CUgraph, params: &mut CUDA_MEM_ALLOC_NODE_PARAMS_v1) -> Answer {
    let mut node = null_mut();
    call!(s.cu, cuGraphAddMemAllocNode_11040(&raw mut node, graph, null(), 0, params))
}

fn changed(t: &mut Lines, s: &Scene, changes: &[Change]) {
    for (name, change) in changes {
        t.line(&format!("{name}: add, read back, run"), || -> Asked {
            let (graph, mut params) = (s.graph()?, allocation(64));
            change(&mut params);
            let answer = add(s, graph, &mut params);
            Ok(answer.and(|| {
                let node = s.first(graph).unwrap_or(null_mut());
                Answer::all([described(s, node, 0, &[("address", params.dptr)]), s.ran(graph)])
            }))
        });
    }
    t.line("what a refused one leaves as address", || -> Asked {
        let (graph, mut params) = (s.graph()?, allocation(0));
        params.dptr = 0x77;
        let answer = add(s, graph, &mut params);
        Ok(Answer::all([answer, format!("{:#x}", params.dptr).into()]))
    });
}

/// Who else may reach it.
type Accesses = (&'static str, &'static [(CUmemLocation, CUmemAccess_flags)]);

const ACCESSES: &[Accesses] = &[
    ("the device itself, read and write", &[(on_device(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
    ("the device itself, read", &[(on_device(0), CU_MEM_ACCESS_FLAGS_PROT_READ)]),
    ("the device itself, nothing", &[(on_device(0), CU_MEM_ACCESS_FLAGS_PROT_NONE)]),
    ("the device itself, flags 2", &[(on_device(0), CUmemAccess_flags(2))]),
    ("the device itself, flags 9", &[(on_device(0), CUmemAccess_flags(9))]),
    (
        "the device itself twice",
        &[
            (on_device(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
            (on_device(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
        ],
    ),
    ("device 99", &[(on_device(99), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
    ("device -1", &[(on_device(-1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
    ("the host", &[(HOST, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
    ("the host's node 0", &[(NODE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
    ("nowhere", &[(INVALID, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)]),
];

fn accesses(t: &mut Lines, s: &Scene) {
    for (name, access) in ACCESSES {
        t.line(&format!("access for {name}: add, read back"), || -> Asked {
            let access: Vec<CUmemAccessDesc> =
                access.iter().map(|&(location, flags)| CUmemAccessDesc { location, flags }).collect();
            let (graph, mut params) = (s.graph()?, allocation(64));
            (params.accessDescs, params.accessDescCount) = (access.as_ptr(), access.len());
            let answer = add(s, graph, &mut params);
            Ok(answer
                .and(|| described(s, s.first(graph).unwrap_or(null_mut()), 0, &[("address", params.dptr)])))
        });
    }
    t.line("access for one at NULL", || -> Asked {
        let mut params = allocation(64);
        params.accessDescCount = 1;
        Ok(add(s, s.graph()?, &mut params))
    });
    t.line("access for none at an address", || -> Asked {
        let (access, mut params) =
            (CUmemAccessDesc { location: INVALID, flags: CUmemAccess_flags(9) }, allocation(64));
        params.accessDescs = &raw const access;
        Ok(add(s, s.graph()?, &mut params))
    });
}

const ADDRESSES: &[Question] = &[
    ("the address is a multiple of 512, 64 KiB, 2 MiB", |s| {
        let address = s.allocation(s.graph()?, &[], 1)?.1;
        let of = |size: u64| Answer::from(yes(address.is_multiple_of(size)));
        Ok(Answer::all([of(512), of(1 << 16), of(2 << 20)]))
    }),
    ("two of 1 byte in a graph: differ; less than 2 MiB apart", |s| {
        let graph = s.graph()?;
        let (one, other) = (s.allocation(graph, &[], 1)?.1, s.allocation(graph, &[], 1)?.1);
        Ok(Answer::all([yes(one != other).into(), yes(one.abs_diff(other) < 2 << 20).into()]))
    }),
    ("allocated again after its free: the same address", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let free = s.node(graph, &[node], Work::Free(address))?;
        Ok(yes(s.allocation(graph, &[free], 64)?.1 == address).into())
    }),
    ("allocated again beside its free: the same address", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        Ok(yes(s.allocation(graph, &[node], 64)?.1 == address).into())
    }),
    ("allocated larger after its free: the same address", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let free = s.node(graph, &[node], Work::Free(address))?;
        Ok(yes(s.allocation(graph, &[free], 8 << 20)?.1 == address).into())
    }),
    ("two graphs: the same address", |s| {
        let (one, other) = (s.graph()?, s.graph()?);
        Ok(yes(s.allocation(one, &[], 64)?.1 == s.allocation(other, &[], 64)?.1).into())
    }),
    ("a graph after another was destroyed: the same address", |s| {
        let one = s.graph()?;
        let address = s.allocation(one, &[], 64)?.1;
        s.destroy(one)?;
        Ok(yes(s.allocation(s.graph()?, &[], 64)?.1 == address).into())
    }),
    ("the address after a second launch is the same: stored", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let kernel = Work::Kernel(super::launch::Launch::new(s.storing, [address, 7]));
        let kernel = s.node(graph, &[node], kernel)?;
        s.node(graph, &[kernel], Work::Free(address))?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("memory of the graph copied out of it", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let fill = Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { dst: address, ..s.filling(7) });
        let filled = s.node(graph, &[node], fill)?;
        let copy = CUDA_MEMCPY3D_v2 { srcDevice: address, ..s.copying() };
        let copied = s.node(graph, &[filled], Work::Copy(copy))?;
        s.node(graph, &[copied], Work::Free(address))?;
        Ok(Answer::all([s.ran(graph), s.word(s.there)]))
    }),
];
