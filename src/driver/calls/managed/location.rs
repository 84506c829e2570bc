//! Locations in the terms of the first ABIs, which know ordinals of devices and one number for the host.

use crate::driver::sys::{
    CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_INVALID, CUdevice,
    CUmemLocation, CUmemLocationType,
};

/// The ordinal that means the host.
const HOST: CUdevice = -1;
/// The ordinal that means no location.
const NONE: CUdevice = -2;

/// The location as an ordinal; `None` if there is no such.
pub(super) fn ordinal(location: CUmemLocation) -> Option<CUdevice> {
    match location.type_ {
        // SAFETY: every view of the union is plain data, and a device's number is this one.
        CU_MEM_LOCATION_TYPE_DEVICE => Some(unsafe { location.u4.id }),
        CU_MEM_LOCATION_TYPE_HOST => Some(HOST),
        _ => None,
    }
}

/// The type and the number of the location that an ordinal stands for.
pub(super) fn of_ordinal(ordinal: CUdevice) -> (CUmemLocationType, i32) {
    match ordinal {
        HOST => (CU_MEM_LOCATION_TYPE_HOST, 0),
        NONE => (CU_MEM_LOCATION_TYPE_INVALID, 0),
        device => (CU_MEM_LOCATION_TYPE_DEVICE, device),
    }
}
