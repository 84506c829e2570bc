//! Reservations and allocations, each for itself.

use super::{UNIT, created, private, reserved, wanted};
use crate::driver::{Answer, Cu, HUGE, Outcome, call, yes};
use crate::sections::managed::{CURRENT_NODE, DEVICE, HOST, INVALID, NODE, place};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, CU_MEM_ALLOCATION_TYPE_MANAGED,
    CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_WIN32,
    CU_MEM_LOCATION_TYPE_DEVICE, CUdeviceptr, CUmemAllocationGranularity_flags, CUmemAllocationProp,
    CUmemAllocationType,
};
use std::ptr::{null, null_mut};

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    granularity(t, cu);
    reservations(t, cu)?;
    allocations(t, cu)
}

/// What is asked for, by name.
fn kinds() -> Vec<(&'static str, CUmemAllocationProp)> {
    let (none, file) = (CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    let managed = |kind| CUmemAllocationProp { type_: kind, ..wanted(DEVICE, none) };
    vec![
        ("device", wanted(DEVICE, none)),
        ("device, file descriptor", wanted(DEVICE, file)),
        ("device, Windows handle", wanted(DEVICE, CU_MEM_HANDLE_TYPE_WIN32)),
        ("device 99", wanted(place(CU_MEM_LOCATION_TYPE_DEVICE, 99), none)),
        ("host", wanted(HOST, none)),
        ("host, file descriptor", wanted(HOST, file)),
        ("node 0", wanted(NODE, none)),
        ("node 0, file descriptor", wanted(NODE, file)),
        ("current node", wanted(CURRENT_NODE, none)),
        ("location 0", wanted(INVALID, none)),
        ("type 0", managed(CUmemAllocationType(0))),
        ("managed", managed(CU_MEM_ALLOCATION_TYPE_MANAGED)),
    ]
}

fn granularity(t: &mut Lines, cu: &Cu) {
    let ask = |prop: &CUmemAllocationProp, option| -> Answer {
        let mut bytes = 0;
        call!(cu, cuMemGetAllocationGranularity_10020(&raw mut bytes, &raw const *prop, option))
            .then(|| bytes)
    };
    for (name, prop) in kinds() {
        t.line(&format!("least granularity, {name}"), || ask(&prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        t.line(&format!("recommended, {name}"), || ask(&prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
        t.line(&format!("create, {name}"), || create(cu, UNIT, &prop, 0));
    }
    let prop = wanted(DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    t.line("granularity, option 7", || ask(&prop, CUmemAllocationGranularity_flags(7)));
    let option = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let mut bytes = 0;
    t.line("granularity of NULL", || {
        call!(cu, cuMemGetAllocationGranularity_10020(&raw mut bytes, null(), option))
    });
    t.line("granularity to NULL", || {
        call!(cu, cuMemGetAllocationGranularity_10020(null_mut(), &raw const prop, option))
    });
}

/// Creates memory, and gives it back.
fn create(cu: &Cu, size: usize, prop: &CUmemAllocationProp, flags: u64) -> Answer {
    let mut handle = 0;
    let created = call!(cu, cuMemCreate_10020(&raw mut handle, size, &raw const *prop, flags));
    created.and(|| call!(cu, cuMemRelease_10020(handle)))
}

fn reserve(cu: &Cu, size: usize, alignment: usize, hint: CUdeviceptr, flags: u64) -> Answer {
    let mut address = 0;
    let reserved = call!(cu, cuMemAddressReserve_10020(&raw mut address, size, alignment, hint, flags));
    reserved.and(|| call!(cu, cuMemAddressFree_10020(address, size)).then(|| yes(address == hint)))
}

fn reservations(t: &mut Lines, cu: &Cu) -> Outcome {
    t.line("reserve 0", || reserve(cu, 0, 0, 0, 0));
    t.line("reserve 1 MiB", || reserve(cu, UNIT / 2, 0, 0, 0));
    t.line("reserve, aligned to 3 MiB", || reserve(cu, UNIT, 3 << 20, 0, 0));
    t.line("reserve, aligned to 4 KiB", || reserve(cu, UNIT, 4096, 0, 0));
    t.line("reserve, flags 1", || reserve(cu, UNIT, 0, 0, 1));
    t.line("reserve to NULL", || call!(cu, cuMemAddressReserve_10020(null_mut(), UNIT, 0, 0, 0)));
    let mut aligned = 0;
    t.line("reserve, aligned to 1 GiB: is so", || {
        call!(cu, cuMemAddressReserve_10020(&raw mut aligned, UNIT, 1 << 30, 0, 0))
            .then(|| yes(aligned.is_multiple_of(1 << 30)))
    });
    t.line("  free", || call!(cu, cuMemAddressFree_10020(aligned, UNIT)));
    let address = reserved(cu, 2)?;
    t.line("reserve, hint taken: granted", || reserve(cu, UNIT, 0, address, 0));
    t.line("reserve, hint of the next: granted", || reserve(cu, UNIT, 0, address + 2 * UNIT as u64, 0));
    t.line("  again, where it was freed: granted", || reserve(cu, UNIT, 0, address + 2 * UNIT as u64, 0));
    t.line("free a part", || call!(cu, cuMemAddressFree_10020(address, UNIT)));
    t.line("free too much", || call!(cu, cuMemAddressFree_10020(address, 4 * UNIT)));
    t.line("free from inside", || call!(cu, cuMemAddressFree_10020(address + UNIT as u64, UNIT)));
    t.line("free", || call!(cu, cuMemAddressFree_10020(address, 2 * UNIT)));
    t.line("free again", || call!(cu, cuMemAddressFree_10020(address, 2 * UNIT)));
    t.line("free NULL", || call!(cu, cuMemAddressFree_10020(0, 0)));
    Ok(())
}

fn allocations(t: &mut Lines, cu: &Cu) -> Outcome {
    let prop = wanted(DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    t.line("create 0", || create(cu, 0, &prop, 0));
    t.line("create 1 MiB", || create(cu, UNIT / 2, &prop, 0));
    t.line("create 3 MiB", || create(cu, UNIT / 2 * 3, &prop, 0));
    t.line("create more than there is", || create(cu, HUGE, &prop, 0));
    t.line("create, flags 1", || create(cu, UNIT, &prop, 1));
    let mut handle = 0;
    t.line("create of NULL", || call!(cu, cuMemCreate_10020(&raw mut handle, UNIT, null(), 0)));
    t.line("create to NULL", || call!(cu, cuMemCreate_10020(null_mut(), UNIT, &raw const prop, 0)));
    let handle = created(cu, 1)?;
    t.line("properties", || properties(cu, handle));
    t.line("properties, private", || private(cu).map_or_else(Answer::from, |handle| properties(cu, handle)));
    t.line("properties to NULL", || {
        call!(cu, cuMemGetAllocationPropertiesFromHandle_10020(null_mut(), handle))
    });
    t.line("release", || call!(cu, cuMemRelease_10020(handle)));
    t.line("release again", || call!(cu, cuMemRelease_10020(handle)));
    t.line("release 0", || call!(cu, cuMemRelease_10020(0)));
    t.line("properties of 0", || properties(cu, 0));
    Ok(())
}

/// Type, handle types, type and id of the location.
pub(super) fn properties(cu: &Cu, handle: u64) -> Answer {
    let mut prop = wanted(INVALID, CU_MEM_HANDLE_TYPE_NONE);
    call!(cu, cuMemGetAllocationPropertiesFromHandle_10020(&raw mut prop, handle)).then(|| {
        // SAFETY: every member of the union is made of plain numbers.
        let id = unsafe { prop.location.u4.id };
        format!("{} {} {} {id}", prop.type_.0, prop.requestedHandleTypes.0, prop.location.type_.0)
    })
}
