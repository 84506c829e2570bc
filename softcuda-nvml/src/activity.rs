//! What devices do: work, clocks, processes. A process has softcuda's devices for itself, so it sees what it does itself.

use crate::code::{Code, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::core::{Core, Device};
use crate::device::{Handle, device, number};
use crate::place::put;
use crate::session::call;
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub(crate) struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// All of the time if there is work that is not done, none of it if there is not.
///
/// # Safety
/// `rates` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(of: Handle, rates: *mut Utilization) -> c_int {
    call(|core| {
        let gpu = if device(core, of)?.busy == 0 { 0 } else { 100 };
        // SAFETY: the caller's promise.
        unsafe { put(rates, Utilization { gpu, memory: 0 }) }
    })
}

/// The state of most performance.
///
/// # Safety
/// `state` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPerformanceState(of: Handle, state: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { number(core, of).and_then(|_| put(state, 0)) })
}

/// Kinds of clocks: graphics, multiprocessors, memory, video.
const GRAPHICS: c_uint = 0;
const MULTIPROCESSORS: c_uint = 1;
const MEMORY: c_uint = 2;
const VIDEO: c_uint = 3;

/// A clock in MHz.
fn clock(device: &Device, kind: c_uint) -> Result<c_uint, Code> {
    match kind {
        GRAPHICS | MULTIPROCESSORS => Ok(device.clock_rate / 1000),
        MEMORY => Ok(device.memory_clock_rate / 1000),
        // What the clock is now NVML says of no kind that it does not know, either.
        _ => Err(NOT_SUPPORTED),
    }
}

/// # Safety
/// `mhz` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(of: Handle, kind: c_uint, mhz: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put(mhz, clock(&device(core, of)?, kind)?) })
}

/// # Safety
/// `mhz` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(of: Handle, kind: c_uint, mhz: *mut c_uint) -> c_int {
    if kind > VIDEO {
        return call(|_| Err(INVALID_ARGUMENT));
    }
    // SAFETY: the caller's promise.
    unsafe { nvmlDeviceGetClockInfo(of, kind, mhz) }
}

/// A process on a device.
#[repr(C)]
pub(crate) struct Process {
    pid: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// The same of the oldest function.
#[repr(C)]
pub(crate) struct OldProcess {
    pid: c_uint,
    used: u64,
}

/// Where MIG is off.
const NO_INSTANCE: c_uint = c_uint::MAX;

/// Lists this process, if it has a context on the device.
///
/// # Safety
/// `count` is NULL, or can be written and says how many places `list` has.
unsafe fn list_own<T>(
    core: &Core,
    of: Handle,
    count: *mut c_uint,
    list: *mut T,
    own: impl FnOnce(c_uint, &Device) -> T,
) -> Result<(), Code> {
    let device = device(core, of)?;
    if count.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let there = c_uint::from(device.contexts > 0);
    // SAFETY: the caller's promise.
    unsafe {
        let room = count.replace(there);
        if there > room {
            return Err(INSUFFICIENT_SIZE);
        }
        if there > 0 { put(list, own(std::process::id(), &device)) } else { Ok(()) }
    }
}

fn process(pid: c_uint, device: &Device) -> Process {
    Process { pid, used: device.used, gpu_instance: NO_INSTANCE, compute_instance: NO_INSTANCE }
}

/// # Safety
/// `count` is NULL, or can be written and says how many places `list` has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    of: Handle,
    count: *mut c_uint,
    list: *mut Process,
) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { list_own(core, of, count, list, process) })
}

/// # Safety
/// `count` is NULL, or can be written and says how many places `list` has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(
    of: Handle,
    count: *mut c_uint,
    list: *mut Process,
) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { list_own(core, of, count, list, process) })
}

/// # Safety
/// `count` is NULL, or can be written and says how many places `list` has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    of: Handle,
    count: *mut c_uint,
    list: *mut OldProcess,
) -> c_int {
    let old = |pid, device: &Device| OldProcess { pid, used: device.used };
    // SAFETY: the caller's promise.
    call(|core| unsafe { list_own(core, of, count, list, old) })
}

/// Defines functions that list processes of which there are none: such as draw, or use the device by a server (MPS).
macro_rules! no_processes {
    ($($name:ident)*) => {$(
        /// There are none.
        ///
        /// # Safety
        /// `count` is NULL or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(of: Handle, count: *mut c_uint, _list: *mut Process) -> c_int {
            // SAFETY: the caller's promise.
            call(|core| unsafe { number(core, of).and_then(|_| put(count, 0)) })
        }
    )*};
}

no_processes! {
    nvmlDeviceGetGraphicsRunningProcesses
    nvmlDeviceGetGraphicsRunningProcesses_v2
    nvmlDeviceGetGraphicsRunningProcesses_v3
    nvmlDeviceGetMPSComputeRunningProcesses
    nvmlDeviceGetMPSComputeRunningProcesses_v2
    nvmlDeviceGetMPSComputeRunningProcesses_v3
}

#[cfg(test)]
mod tests {
    use super::{OldProcess, Process};

    #[test]
    fn layouts() {
        assert_eq!((size_of::<OldProcess>(), size_of::<Process>()), (16, 24));
    }
}
