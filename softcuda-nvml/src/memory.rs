//! Memory of devices: what this process uses of its own.

use crate::code::{FUNCTION_NOT_FOUND, VERSION_MISMATCH};
use crate::device::{Handle, device};
use crate::place::{check_version, put};
use crate::session::call;
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub(crate) struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
pub(crate) struct MemoryV2 {
    version: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// # Safety
/// `memory` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(of: Handle, memory: *mut Memory) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        let free = device.memory - device.used;
        // SAFETY: the caller's promise.
        unsafe { put(memory, Memory { total: device.memory, free, used: device.used }) }
    })
}

/// # Safety
/// `memory` is NULL, or begins with its version and can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(of: Handle, memory: *mut MemoryV2) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        // A version that NVML does not know is one whose function it does not have.
        // SAFETY: the caller's promise.
        let known = unsafe { check_version(memory, 2) };
        known.map_err(|code| if code == VERSION_MISMATCH { FUNCTION_NOT_FOUND } else { code })?;
        let own = MemoryV2 {
            version: size_of::<MemoryV2>() as c_uint | 2 << 24,
            total: device.memory,
            reserved: 0,
            free: device.memory - device.used,
            used: device.used,
        };
        // SAFETY: the caller's promise.
        unsafe { put(memory, own) }
    })
}

#[cfg(test)]
mod tests {
    use super::{Memory, MemoryV2};

    #[test]
    fn layouts() {
        assert_eq!((size_of::<Memory>(), size_of::<MemoryV2>()), (24, 40));
    }
}
