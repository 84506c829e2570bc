//! Handles of devices.

use crate::code::{Code, INVALID_ARGUMENT};
use crate::core::{Core, Device};

/// A handle: an address of one of `KNOWN`, which nobody reads.
pub(crate) type Handle = *const u8;

/// As many as softcuda has at most.
const MOST: usize = 64;
static KNOWN: [u8; MOST] = [0; MOST];

/// The handle of a device.
pub(crate) fn handle(number: u32) -> Handle {
    &raw const KNOWN[number as usize % MOST]
}

/// The number of the device that a caller's handle means.
pub(crate) fn number(core: &Core, handle: Handle) -> Result<u32, Code> {
    let number = (handle as usize).wrapping_sub(KNOWN.as_ptr() as usize);
    if number < core.count() as usize { Ok(number as u32) } else { Err(INVALID_ARGUMENT) }
}

/// The device that a caller's handle means.
pub(crate) fn device(core: &Core, handle: Handle) -> Result<Device, Code> {
    core.device(number(core, handle)?).ok_or(INVALID_ARGUMENT)
}
