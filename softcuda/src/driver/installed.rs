//! The devices of the machine, whichever of them the process sees: for tools that manage devices, as NVML does.

#![allow(unreachable_pub)] // cbindgen declares what is public
#![allow(non_camel_case_types)] // types of C

use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
};
use crate::driver::context;
use crate::driver::device::attributes::value;
use crate::driver::device::properties::name_of;
use crate::driver::device::{Device, total_memory};
use crate::driver::space::window;
use crate::executor;
use crate::instruments::settings::settings;
use crate::instruments::visible;
use std::ffi::c_char;

/// A device of the machine, seen from this process.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct softcuda_device {
    /// What `cuDeviceGetName` answers, terminated.
    pub name: [c_char; 64],
    /// What `cuDeviceGetUuid` answers.
    pub uuid: [u8; 16],
    /// Where it is on the PCI bus, as `cuDeviceGetPCIBusId` answers in one text.
    pub pci_domain: u32,
    pub pci_bus: u32,
    pub pci_device: u32,
    /// The ordinal by which this process knows it; -1 if CUDA_VISIBLE_DEVICES hides it.
    pub ordinal: i32,
    /// The compute capability.
    pub capability_major: u32,
    pub capability_minor: u32,
    pub multiprocessors: u32,
    /// Clock rates in kHz.
    pub clock_rate: u32,
    pub memory_clock_rate: u32,
    /// Contexts of this process on it.
    pub contexts: u32,
    /// 1 if this process has given it work that is not done, 0 if not.
    pub busy: u32,
    pub reserved: u32,
    /// Bytes of memory that it has, and those that this process uses.
    pub memory: u64,
    pub used: u64,
}

/// How many devices the machine has.
pub(crate) fn count() -> usize {
    settings().map_or(0, |settings| settings.installed)
}

/// The device of a number, from 0; `None` if the machine has none of it.
pub(crate) fn of_number(number: usize) -> Option<softcuda_device> {
    if number >= count() {
        return None;
    }
    let seen = Device::with_number(number);
    let contexts = seen.map_or_else(Vec::new, context::lives_on);
    let is_busy = contexts
        .iter()
        .any(|context| executor::unfinished(context.queues()).iter().any(|task| !task.is_finished()));
    let own = |attribute| value(attribute) as u32;
    let mut name = [0; 64];
    for (place, byte) in name[..63].iter_mut().zip(name_of(number).bytes()) {
        *place = byte as c_char;
    }
    Some(softcuda_device {
        name,
        uuid: visible::uuid(number),
        pci_domain: 0,
        pci_bus: number as u32,
        pci_device: own(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID),
        ordinal: seen.map_or(-1, Device::handle),
        capability_major: own(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        capability_minor: own(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        multiprocessors: own(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        clock_rate: own(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        memory_clock_rate: own(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        contexts: contexts.len() as u32,
        busy: u32::from(is_busy),
        reserved: 0,
        memory: total_memory(),
        used: seen.map_or(0, |device| window::used(device.ordinal())),
    })
}
