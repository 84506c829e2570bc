//! The memory that a device keeps for the allocation nodes of graphs.

use crate::driver::sys::{CUdevice, CUgraphMem_attribute};
use crate::driver::{CallError, Table, call};
use std::ffi::c_void;

/// Gives what no graph uses back to the system.
pub(crate) fn trim(table: &Table, device: CUdevice) -> Result<(), CallError> {
    // SAFETY: the driver checks the device.
    unsafe { call!(table, cuDeviceGraphMemTrim_11040(device)) }
}

/// A figure, in bytes.
pub(crate) fn attribute(
    table: &Table,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
) -> Result<u64, CallError> {
    let mut value = 0_u64;
    let place = (&raw mut value).cast::<c_void>();
    // SAFETY: writes eight bytes.
    unsafe { call!(table, cuDeviceGetGraphMemAttribute_11040(device, attribute, place)) }?;
    Ok(value)
}

/// Sets a high mark to 0, the only value that the driver takes.
pub(crate) fn reset(
    table: &Table,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
) -> Result<(), CallError> {
    let mut value = 0_u64;
    let place = (&raw mut value).cast::<c_void>();
    // SAFETY: reads eight bytes.
    unsafe { call!(table, cuDeviceSetGraphMemAttribute_11040(device, attribute, place)) }
}
