//! The memory that a device keeps for graphs.
//!
//! @header cushim.h
//! @task launch graphs

use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::options::OutStruct;
use crate::graph::GraphMemory;

/// How much memory the allocation nodes of a device's graphs have, in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_graph_memory {
    /// Bytes of this struct, `sizeof(cushim_graph_memory)`.
    pub struct_size: usize,
    /// In use now.
    pub used: u64,
    /// The most that was in use since the last reset.
    pub used_peak: u64,
    /// Reserved from the system now.
    pub reserved: u64,
    /// The most that was reserved since the last reset.
    pub reserved_peak: u64,
}

/// Returns how much memory the graphs of a device have (`cuDeviceGetGraphMemAttribute`).
///
/// @param[in] device The device.
/// @param[inout] memory Receives the figures.
/// @driver any
///
/// # Safety
/// `memory` is NULL or valid for the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_graph_memory(
    device: cushim_device,
    memory: *mut cushim_graph_memory,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let memory = unsafe { OutStruct::cleared(memory, "memory") }?;
        let GraphMemory { used, used_peak, reserved, reserved_peak } = GraphMemory::of(&hold(device)?)?;
        memory.fill(&cushim_graph_memory { struct_size: 0, used, used_peak, reserved, reserved_peak });
        Ok(())
    })
}

/// Has both peaks of `cushim_device_get_graph_memory` begin anew (`cuDeviceSetGraphMemAttribute`).
///
/// @param[in] device The device.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_reset_graph_memory_peaks(device: cushim_device) -> cushim_status {
    call(|| GraphMemory::reset_peaks(&hold(device)?))
}

/// Returns memory that no graph uses to the system (`cuDeviceGraphMemTrim`).
///
/// @param[in] device The device.
/// @driver any
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_trim_graph_memory(device: cushim_device) -> cushim_status {
    call(|| GraphMemory::trim(&hold(device)?))
}
