//! Devices.

pub(crate) mod attributes;
pub(crate) mod properties;

use crate::abi::sys::{CUDA_ERROR_INVALID_DEVICE, CUdevice, CUresult};
use crate::instruments::settings::settings;

/// A device, known by its ordinal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device(usize);

impl Device {
    /// The device that a caller's handle means.
    pub(crate) fn of(handle: CUdevice) -> Result<Self, CUresult> {
        usize::try_from(handle).ok().and_then(Self::with_ordinal).ok_or(CUDA_ERROR_INVALID_DEVICE)
    }

    /// The device of that number, if there is one.
    pub(crate) fn with_ordinal(ordinal: usize) -> Option<Self> {
        (ordinal < count()).then_some(Self(ordinal))
    }

    pub(crate) fn ordinal(self) -> usize {
        self.0
    }

    /// The value that callers know it by.
    pub(crate) fn handle(self) -> CUdevice {
        self.0 as CUdevice
    }

    /// The device at that place of the bus, if it is visible.
    pub(crate) fn with_number(number: usize) -> Option<Self> {
        numbers().iter().position(|known| *known == number).map(Self)
    }

    /// What it is known by, whichever ordinal it has.
    pub(crate) fn number(self) -> usize {
        numbers()[self.0]
    }

    fn pci_bus(self) -> i32 {
        self.number() as i32
    }
}

/// Number of devices.
pub(crate) fn count() -> usize {
    numbers().len()
}

/// The numbers of the devices, in the order of their ordinals.
fn numbers() -> &'static [usize] {
    settings().map_or(&[], |s| &s.devices)
}

/// Bytes of memory of each device.
pub(crate) fn total_memory() -> u64 {
    settings().map_or(0, |s| s.memory)
}
