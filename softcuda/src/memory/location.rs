//! Where memory is to be, as callers say it.

use crate::device::Device;
use crate::sys::{CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE, CUmemLocation, CUresult};

/// The device that a location means; refuses every other place.
pub(crate) fn device_at(location: CUmemLocation) -> Result<Device, CUresult> {
    if location.type_ != CU_MEM_LOCATION_TYPE_DEVICE {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: every member of the union is made of plain numbers.
    Device::of(unsafe { location.u4.id }).map_err(|_| CUDA_ERROR_INVALID_VALUE)
}
