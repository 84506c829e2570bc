//! Host memory of the driver's own.

use super::window;
use crate::driver::device;
use crate::instruments::machine;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of all pages that there are.
static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Addresses that a new mapping leaves the process: the driver, and the program, need some for what is small, and end without.
const SPARE: usize = 32 << 20;

/// Host pages of our own; dropping unmaps them.
pub(crate) struct HostPages {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

impl HostPages {
    /// New pages; `size` is in whole ones. `None` if the machine, with its devices, has not as many left.
    pub(crate) fn map(size: usize) -> Option<Self> {
        let devices = device::total_memory().saturating_mul(device::count() as u64);
        let most = machine::physical().saturating_add(devices);
        let fits = |mapped: u64| mapped.checked_add(size as u64).filter(|&all| all <= most);
        MAPPED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        let address = map(size);
        if address.is_none() {
            MAPPED.fetch_sub(size as u64, Ordering::Relaxed);
        }
        Some(Self { address: address?, size })
    }
}

/// Maps as much if that leaves the process some addresses.
fn map(size: usize) -> Option<usize> {
    let address = window::map(size.checked_add(SPARE)?, libc::PROT_READ | libc::PROT_WRITE)?;
    // SAFETY: the end of our own new mapping.
    unsafe { libc::munmap((address + size) as *mut _, SPARE) };
    Some(address)
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.address as *mut _, self.size) };
        MAPPED.fetch_sub(self.size as u64, Ordering::Relaxed);
    }
}
