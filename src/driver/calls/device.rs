//! Devices: enumeration, names, attributes.

use crate::driver::call;
use crate::driver::sys::{CUdevice, CUdevice_attribute, CUuuid};
use crate::driver::{CallError, Table};
use std::ffi::CStr;

/// Initialises the driver; calling it again does nothing.
pub(crate) fn initialise(table: &Table) -> Result<(), CallError> {
    // SAFETY: may be called at any time.
    unsafe { call!(table, cuInit_2000(0)) }
}

/// The number of devices.
pub(crate) fn count(table: &Table) -> Result<i32, CallError> {
    let mut count = 0;
    // SAFETY: writes one number.
    unsafe { call!(table, cuDeviceGetCount_2000(&raw mut count)) }?;
    Ok(count)
}

/// The driver's handle of the device with this ordinal.
pub(crate) fn get(table: &Table, ordinal: i32) -> Result<CUdevice, CallError> {
    let mut device = 0;
    // SAFETY: writes one number.
    unsafe { call!(table, cuDeviceGet_2000(&raw mut device, ordinal)) }?;
    Ok(device)
}

/// The device's name.
pub(crate) fn name(table: &Table, device: CUdevice) -> Result<String, CallError> {
    let mut name = [0; 256];
    // SAFETY: writes at most as many bytes as it is told, with a NUL at the end.
    unsafe {
        call!(table, cuDeviceGetName_2000(name.as_mut_ptr(), name.len() as i32, device))?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

/// The device's UUID; of a MIG instance its own, where the driver tells (11.4).
pub(crate) fn uuid(table: &Table, device: CUdevice) -> Result<[u8; 16], CallError> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: both write one UUID.
    unsafe {
        match table.cuDeviceGetUuid_11040 {
            Some(_) => call!(table, cuDeviceGetUuid_11040(&raw mut uuid, device)),
            None => call!(table, cuDeviceGetUuid_9020(&raw mut uuid, device)),
        }
    }?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The UUID of the GPU that the device is, or that a MIG instance is a part of.
pub(crate) fn uuid_of_gpu(table: &Table, device: CUdevice) -> Result<[u8; 16], CallError> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: writes one UUID.
    unsafe { call!(table, cuDeviceGetUuid_9020(&raw mut uuid, device)) }?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The device's address on the PCI bus, `domain:bus:device.function`.
pub(crate) fn pci_bus_id(table: &Table, device: CUdevice) -> Result<String, CallError> {
    let mut text = [0; 64];
    // SAFETY: writes at most as many bytes as it is told, with a NUL at the end.
    unsafe {
        call!(table, cuDeviceGetPCIBusId_4010(text.as_mut_ptr(), text.len() as i32, device))?;
        Ok(CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned())
    }
}

/// The device at this address.
pub(crate) fn by_pci_bus_id(table: &Table, address: &CStr) -> Result<CUdevice, CallError> {
    let mut device = 0;
    // SAFETY: reads a text, and writes one number.
    unsafe { call!(table, cuDeviceGetByPCIBusId_4010(&raw mut device, address.as_ptr())) }?;
    Ok(device)
}

/// Bytes of the device's memory.
pub(crate) fn total_memory(table: &Table, device: CUdevice) -> Result<usize, CallError> {
    let mut bytes = 0;
    // SAFETY: writes one number.
    unsafe { call!(table, cuDeviceTotalMem_3020(&raw mut bytes, device)) }?;
    Ok(bytes)
}

/// An attribute of the device.
pub(crate) fn attribute(
    table: &Table,
    device: CUdevice,
    attribute: CUdevice_attribute,
) -> Result<i32, CallError> {
    let mut value = 0;
    // SAFETY: writes one number.
    unsafe { call!(table, cuDeviceGetAttribute_2000(&raw mut value, attribute, device)) }?;
    Ok(value)
}

/// Whether `device` can reach the memory of `peer`.
pub(crate) fn can_access_peer(table: &Table, device: CUdevice, peer: CUdevice) -> Result<bool, CallError> {
    let mut can = 0;
    // SAFETY: writes one number.
    unsafe { call!(table, cuDeviceCanAccessPeer_4000(&raw mut can, device, peer)) }?;
    Ok(can != 0)
}
