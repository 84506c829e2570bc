//! Managed memory: what it is, advice on it, prefetches, batches, attachment.

mod advice;
mod attachment;
mod batches;
mod copies;
mod memory;

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CU_MEM_LOCATION_TYPE_INVALID,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
    CUdeviceptr, CUmem_range_attribute, CUmemLocation, CUmemLocation_v1_u4, CUmemLocationType, CUstream,
};

pub(super) const SECTION: Section = Section { name: "managed", parts: 7, devices: 1, run };

/// Bytes of each allocation.
pub(super) const SIZE: usize = 4 << 20;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    match part {
        0 => memory::run(t, cu),
        1 => advice::run(t, cu),
        2 => advice::with_ordinals(t, cu),
        3 => batches::run(t, cu),
        4 => copies::run(t, cu),
        5 => attachment::run(t, cu),
        _ => attachment::for_nothing(t, cu),
    }
}

/// A place: what kind, and which of them.
pub(super) const fn place(kind: CUmemLocationType, id: i32) -> CUmemLocation {
    CUmemLocation { type_: kind, u4: CUmemLocation_v1_u4 { id } }
}

pub(super) const DEVICE: CUmemLocation = place(CU_MEM_LOCATION_TYPE_DEVICE, 0);
pub(super) const HOST: CUmemLocation = place(CU_MEM_LOCATION_TYPE_HOST, 0);
pub(super) const NODE: CUmemLocation = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
pub(super) const CURRENT_NODE: CUmemLocation = place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0);
const NO_DEVICE: CUmemLocation = place(CU_MEM_LOCATION_TYPE_DEVICE, 99);
const NO_NODE: CUmemLocation = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99);
pub(super) const INVALID: CUmemLocation = place(CU_MEM_LOCATION_TYPE_INVALID, 0);

/// Memory of host and devices.
pub(super) fn managed(cu: &Cu) -> Outcome<CUdeviceptr> {
    const GLOBAL: u32 = 1;
    let mut address = 0;
    need!(cu, cuMemAllocManaged_6000(&raw mut address, SIZE, GLOBAL))?;
    Ok(address)
}

fn stream(cu: &Cu) -> Outcome<CUstream> {
    cu.stream(NON_BLOCKING)
}

/// A range attribute that is a number.
pub(super) fn attribute(
    cu: &Cu,
    address: CUdeviceptr,
    size: usize,
    attribute: CUmem_range_attribute,
) -> Answer {
    let mut value = 77i32;
    call!(cu, cuMemRangeGetAttribute_8000((&raw mut value).cast(), 4, attribute, address, size))
        .then(|| value)
}

/// Ordinal, type and id of the preferred location.
pub(super) fn preferred(cu: &Cu, address: CUdeviceptr) -> Answer {
    let attributes = [
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
    ];
    three(cu, address, attributes)
}

/// The same of the last prefetch.
pub(super) fn last_prefetch(cu: &Cu, address: CUdeviceptr) -> Answer {
    let attributes = [
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
    ];
    three(cu, address, attributes)
}

fn three(cu: &Cu, address: CUdeviceptr, attributes: [CUmem_range_attribute; 3]) -> Answer {
    attributes.map(|which| attribute(cu, address, SIZE, which).to_string()).join(",").into()
}
