//! Host memory of the driver's own.

use super::window;
use crate::driver::device;
use crate::instruments::machine;

/// Host pages of our own; dropping unmaps them.
pub(crate) struct HostPages {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

impl HostPages {
    /// New pages; `size` is in whole ones. `None` if the machine, with its devices, has not as many.
    pub(crate) fn map(size: usize) -> Option<Self> {
        let devices = device::total_memory().saturating_mul(device::count() as u64);
        if size as u64 > machine::physical().saturating_add(devices) {
            return None;
        }
        let address = window::map(size, libc::PROT_READ | libc::PROT_WRITE)?;
        Some(Self { address, size })
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.address as *mut _, self.size) };
    }
}
