//! Who can be given access to memory of a device, of the host and of its nodes, and what is said of memory that is none of it.

use super::{UNIT, reserved, wanted};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given, need};
use crate::sections::managed::{CURRENT_NODE, DEVICE, HOST, NODE, place};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, CUdeviceptr,
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation,
};
use std::ptr::null_mut;

const PLACES: [(&str, CUmemLocation); 8] = [
    ("the device", DEVICE),
    ("the host", HOST),
    ("host 5", place(CU_MEM_LOCATION_TYPE_HOST, 5)),
    ("node 0", NODE),
    ("node 1", place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1)),
    ("node 99", place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99)),
    ("node -1", place(CU_MEM_LOCATION_TYPE_HOST_NUMA, -1)),
    ("the current node", CURRENT_NODE),
];

/// Of memory of a place, whatever is there.
pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    for (name, location) in [("device", DEVICE), ("host", HOST), ("node 0", NODE)] {
        let memory = mapped_at(cu, location);
        let with =
            |ask: &dyn Fn(CUdeviceptr) -> Answer| memory.as_ref().map_or_else(Answer::clone, |at| ask(*at));
        t.line(&format!("memory of {name}: access"), || with(&|at| told(cu, at)));
        t.line("  handle by address", || with(&|at| handle(cu, at)));
        t.line("  mapping", || with(&|at| mapping(cu, at)));
        for (name, place) in PLACES {
            let set = |at, flags| set(cu, at, place, flags);
            t.line(&format!("  {name} may write, read: access"), || {
                with(&|at| {
                    let [write, read] = [CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READ]
                        .map(|flags| set(at, flags));
                    Answer::all([write, read, told(cu, at)])
                })
            });
            t.line("    nothing", || with(&|at| set(at, CU_MEM_ACCESS_FLAGS_PROT_NONE)));
        }
        for (name, place) in &PLACES[4..7] {
            t.line(&format!("  access of {name}"), || with(&|at| access(cu, at, *place)));
        }
    }
    Ok(())
}

/// Of memory of other kinds.
pub(super) fn of_others(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let plain = cu.memory(4 * UNIT)?;
    let (mut pooled, mut pinned, mut managed, pageable) = (0, null_mut(), 0, [0u8; 64]);
    let has_pools = call!(cu, cuMemAllocAsync_11020(&raw mut pooled, UNIT, stream)).succeeded();
    need!(cu, cuMemHostAlloc_2020(&raw mut pinned, 4096, 0))?;
    need!(cu, cuMemAllocManaged_6000(&raw mut managed, UNIT, 1))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    for (name, at) in [
        ("plain", plain),
        ("past plain", plain + 8 * UNIT as u64),
        ("a pool's", if has_pools { pooled } else { 0 }),
        ("pinned", pinned.addr() as u64),
        ("managed", managed),
        ("pageable", pageable.as_ptr().addr() as u64),
    ] {
        t.line(&format!("{name}: access"), || told(cu, at));
        t.line(&format!("{name}: handle by address"), || handle(cu, at));
        t.line(&format!("{name}: mapping"), || mapping(cu, at));
    }
    Ok(())
}

/// Memory of a place, mapped, if there is such.
fn mapped_at(cu: &Cu, location: CUmemLocation) -> Given<CUdeviceptr> {
    let address = reserved(cu, 4)?;
    let (mut handle, prop) = (0, wanted(location, CU_MEM_HANDLE_TYPE_NONE));
    given!(cu, cuMemCreate_10020(&raw mut handle, UNIT, &raw const prop, 0))?;
    given!(cu, cuMemMap_10020(address, UNIT, 0, handle, 0))?;
    Ok(address)
}

fn set(cu: &Cu, at: CUdeviceptr, location: CUmemLocation, flags: CUmemAccess_flags) -> Answer {
    let access = CUmemAccessDesc { location, flags };
    call!(cu, cuMemSetAccess_10020(at, UNIT, &raw const access, 1))
}

/// What a place may do, and what is written where that is refused: 77 if nothing is.
fn access(cu: &Cu, at: CUdeviceptr, location: CUmemLocation) -> Answer {
    let mut flags = 77u64;
    let answer = call!(cu, cuMemGetAccess_10020(&raw mut flags, &raw const location, at));
    let text = if answer.succeeded() { flags.to_string() } else { format!("{answer} {flags}") };
    if let Answer::Absent(_) = answer { answer } else { text.into() }
}

/// The same of the device, the host, its node, and the current one.
fn told(cu: &Cu, at: CUdeviceptr) -> Answer {
    Answer::all([DEVICE, HOST, NODE, CURRENT_NODE].map(|place| access(cu, at, place)))
}

fn handle(cu: &Cu, at: CUdeviceptr) -> Answer {
    let (mut handle, at) = (0, std::ptr::without_provenance_mut(at as usize));
    call!(cu, cuMemRetainAllocationHandle_11000(&raw mut handle, at))
}

/// Its size, and whether it begins there.
fn mapping(cu: &Cu, at: CUdeviceptr) -> Answer {
    let (mut size, mut base) = (0u64, 0u64);
    let size =
        call!(cu, cuPointerGetAttribute_4000((&raw mut size).cast(), CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at))
            .then(|| size);
    let base = call!(
        cu,
        cuPointerGetAttribute_4000((&raw mut base).cast(), CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at)
    )
    .then(|| crate::driver::yes(base == at));
    Answer::all([size, base])
}
