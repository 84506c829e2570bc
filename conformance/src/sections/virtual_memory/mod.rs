//! Virtual memory: addresses that are reserved, memory that is created, and which of it is mapped where. No call needs a context.

mod access;
mod captured;
mod mappings;
mod parts;
mod places;
mod pointers;
mod shared;

use super::Section;
use super::managed::DEVICE;
use crate::driver::{Cu, Outcome, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUdeviceptr, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationProp, CUmemAllocationProp_v1_allocFlags, CUmemGenericAllocationHandle, CUmemLocation,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "virtual_memory", parts: PARTS.len(), devices: 1, run };

/// The granularity of driver 580.
const UNIT: usize = 2 << 20;

/// What ends a context stands alone.
const PARTS: [fn(&mut Lines, &Cu) -> Outcome; 14] = [
    parts::run,
    mappings::run,
    shared::run,
    pointers::run,
    captured::run,
    captured::asleep,
    places::of_others,
    places::run,
    access::run,
    access::value_written,
    access::value_in_graph,
    access::value_awaited,
    access::kernel,
    access::taken_away,
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    need!(cu, cuInit_2000(0))?;
    PARTS[part](t, cu)
}

/// What is asked of memory: pinned, at a place.
fn wanted(location: CUmemLocation, handles: CUmemAllocationHandleType) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: handles,
        location,
        win32HandleMetaData: null_mut(),
        allocFlags: CUmemAllocationProp_v1_allocFlags {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// Memory of device 0, of some units.
fn created(cu: &Cu, units: usize) -> Outcome<CUmemGenericAllocationHandle> {
    let (mut handle, prop) = (0, wanted(DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    need!(cu, cuMemCreate_10020(&raw mut handle, units * UNIT, &raw const prop, 0))?;
    Ok(handle)
}

/// Memory of device 0 that no other process can have.
fn private(cu: &Cu) -> Outcome<CUmemGenericAllocationHandle> {
    let (mut handle, prop) = (0, wanted(DEVICE, CU_MEM_HANDLE_TYPE_NONE));
    need!(cu, cuMemCreate_10020(&raw mut handle, UNIT, &raw const prop, 0))?;
    Ok(handle)
}

/// Addresses, of some units.
fn reserved(cu: &Cu, units: usize) -> Outcome<CUdeviceptr> {
    let mut address = 0;
    need!(cu, cuMemAddressReserve_10020(&raw mut address, units * UNIT, 0, 0, 0))?;
    Ok(address)
}

/// Device 0 may read and write.
static OPEN: CUmemAccessDesc =
    CUmemAccessDesc { location: DEVICE, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

/// A unit of memory that is mapped at an address, for device 0 to use.
fn mapped(cu: &Cu, address: CUdeviceptr) -> Outcome<CUmemGenericAllocationHandle> {
    let handle = created(cu, 1)?;
    need!(cu, cuMemMap_10020(address, UNIT, 0, handle, 0))?;
    need!(cu, cuMemSetAccess_10020(address, UNIT, &raw const OPEN, 1))?;
    Ok(handle)
}
