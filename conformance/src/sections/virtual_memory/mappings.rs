//! Memory that is mapped, and who may use it.

use super::{OPEN, UNIT, created, reserved};
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::sections::managed::{DEVICE, HOST, place};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_LOCATION_TYPE_DEVICE, CUdeviceptr,
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation,
};
use std::ptr::{null, null_mut};

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (first, second) = (reserved(cu, 4)?, reserved(cu, 1)?);
    let (small, large) = (created(cu, 1)?, created(cu, 2)?);
    let unit = UNIT as u64;
    let map = |address, size, offset, handle| call!(cu, cuMemMap_10020(address, size, offset, handle, 0));
    t.line("map, offset 4096", || map(first, UNIT, 4096, large));
    t.line("map half", || map(first, UNIT, 0, large));
    t.line("map more than it is", || map(first, 2 * UNIT, 0, small));
    t.line("map 0 bytes", || map(first, 0, 0, small));
    t.line("map, flags 1", || call!(cu, cuMemMap_10020(first, UNIT, 0, small, 1)));
    t.line("map at an odd address", || map(first + 4096, UNIT, 0, small));
    t.line("map at NULL", || map(0, UNIT, 0, small));
    t.line("map 0", || map(first, UNIT, 0, 0));
    t.line("unmap where nothing is", || call!(cu, cuMemUnmap_10020(first, UNIT)));
    t.line("map", || map(first, UNIT, 0, small));
    t.line("map there again", || map(first, UNIT, 0, small));
    t.line("map at a second address", || map(second, UNIT, 0, small));
    t.line("map behind the first", || map(first + unit, 2 * UNIT, 0, large));
    access(t, cu, first);
    handles(t, cu, first, small);
    let unmap = |address, size| call!(cu, cuMemUnmap_10020(address, size));
    t.line("free the addresses while mapped", || call!(cu, cuMemAddressFree_10020(first, 4 * UNIT)));
    t.line("unmap 0 bytes", || unmap(first, 0));
    t.line("unmap half of the second", || unmap(first + unit, UNIT));
    t.line("unmap both, and a gap", || unmap(first, 4 * UNIT));
    t.line("unmap again", || unmap(first, 3 * UNIT));
    t.line("unmap at the second address", || unmap(second, UNIT));
    t.line("free the addresses", || call!(cu, cuMemAddressFree_10020(first, 4 * UNIT)));
    Ok(())
}

fn access(t: &mut Lines, cu: &Cu, address: CUdeviceptr) {
    let set = |size, entries: &[CUmemAccessDesc]| {
        call!(cu, cuMemSetAccess_10020(address, size, entries.as_ptr(), entries.len()))
    };
    let flags = |flags| CUmemAccessDesc { flags, ..OPEN };
    let at = |location| CUmemAccessDesc { location, ..OPEN };
    let get = |location: CUmemLocation, address| -> Answer {
        let mut found = 77u64;
        call!(cu, cuMemGetAccess_10020(&raw mut found, &raw const location, address)).then(|| found)
    };
    let (nowhere, here) = (place(CU_MEM_LOCATION_TYPE_DEVICE, 99), DEVICE);
    t.line("access before it is set", || get(DEVICE, address));
    t.line("set no entries", || call!(cu, cuMemSetAccess_10020(address, UNIT, &raw const OPEN, 0)));
    t.line("set from NULL", || call!(cu, cuMemSetAccess_10020(address, UNIT, null(), 1)));
    t.line("set half", || set(UNIT / 2, &[OPEN]));
    t.line("set 0 bytes", || set(0, &[OPEN]));
    t.line("set into the second", || set(2 * UNIT, &[OPEN]));
    t.line("set over a gap", || set(4 * UNIT, &[OPEN]));
    t.line("set flags 2", || set(UNIT, &[flags(CUmemAccess_flags(2))]));
    t.line("set of device 99", || set(UNIT, &[at(nowhere)]));
    t.line("set of the host", || set(UNIT, &[at(HOST)]));
    t.line("  all that was refused: access", || get(DEVICE, address));
    t.line("set to read", || set(UNIT, &[flags(CU_MEM_ACCESS_FLAGS_PROT_READ)]));
    t.line("  access", || get(DEVICE, address));
    t.line("set of device 0, and 99", || set(UNIT, &[OPEN, at(nowhere)]));
    t.line("  access", || get(DEVICE, address));
    t.line("set to read and write, both mappings", || set(3 * UNIT, &[OPEN]));
    t.line("  access", || get(DEVICE, address));
    t.line("  access in the middle", || get(DEVICE, address + 12345));
    t.line("  access of the second", || get(DEVICE, address + UNIT as u64));
    t.line("  access of device 99", || get(nowhere, address));
    t.line("set to none", || set(UNIT, &[flags(CU_MEM_ACCESS_FLAGS_PROT_NONE)]));
    t.line("  access", || get(DEVICE, address));
    t.line("access where nothing is mapped", || get(DEVICE, address + 3 * UNIT as u64));
    t.line("access to NULL", || call!(cu, cuMemGetAccess_10020(null_mut(), &raw const here, address)));
}

fn handles(t: &mut Lines, cu: &Cu, address: CUdeviceptr, handle: u64) {
    let mut again = 0;
    let pointer = |offset: u64| std::ptr::without_provenance_mut((address + offset) as usize);
    t.line("handle by address: the same", || {
        call!(cu, cuMemRetainAllocationHandle_11000(&raw mut again, pointer(4096)))
            .then(|| yes(again == handle))
    });
    t.line("  release", || call!(cu, cuMemRelease_10020(handle)));
    t.line("  release", || call!(cu, cuMemRelease_10020(handle)));
    t.line("  release", || call!(cu, cuMemRelease_10020(handle)));
    t.line("handle by address, released: the same", || {
        call!(cu, cuMemRetainAllocationHandle_11000(&raw mut again, pointer(0))).then(|| yes(again == handle))
    });
    t.line("  release", || call!(cu, cuMemRelease_10020(again)));
    t.line("handle by address, nothing mapped", || {
        call!(cu, cuMemRetainAllocationHandle_11000(&raw mut again, pointer(3 * UNIT as u64)))
    });
}
