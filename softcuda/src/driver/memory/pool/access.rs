//! Which devices may use a pool's memory: its own always, others as the program says. Managed memory is every device's,
//! the host's is no device's at first.

use super::Pool;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUmemAccess_flags,
    CUmemAccessDesc_v1, CUmemLocation, CUmemoryPool,
};
use crate::driver::capture;
use crate::driver::device::Device;
use crate::driver::memory::location::device_at;
use std::collections::{BTreeSet, HashMap};

/// What other devices may do, by ordinal.
pub(super) type Peers = HashMap<usize, CUmemAccess_flags>;

impl Pool {
    /// What a device may do with the pool's memory.
    pub(crate) fn access_from(&self, device: Device) -> CUmemAccess_flags {
        // Of a host's pool of another process no device may, whatever was said here (measured).
        if self.importing().is_some() && self.home.device().is_none() {
            return CU_MEM_ACCESS_FLAGS_PROT_NONE;
        }
        if self.home.is_managed() { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { self.granted(device) }
    }

    /// The ordinals of the devices that were given access.
    pub(crate) fn admitted(&self) -> BTreeSet<i32> {
        let content = self.content.lock();
        let admitted = content.peers.iter().filter(|(_, access)| **access != CU_MEM_ACCESS_FLAGS_PROT_NONE);
        admitted.map(|(ordinal, _)| *ordinal as i32).collect()
    }

    /// What a device was told it may do. Of managed memory that is nothing at first (measured), and it may all the same.
    fn granted(&self, device: Device) -> CUmemAccess_flags {
        if self.home.device() == Some(device) {
            return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        }
        let content = self.content.lock();
        content.peers.get(&device.ordinal()).copied().unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }
}

/// All entries are checked before the first takes effect. The pool's own device keeps its access, and reading alone cannot be
/// granted (both measured).
pub(crate) fn cuMemPoolSetAccess(pool: CUmemoryPool, map: In<CUmemAccessDesc_v1>, count: usize) -> Answer {
    let pool = Pool::of(pool)?;
    capture::check_unsafe()?;
    let mut changes = Vec::new();
    for i in 0..count {
        let entry = map.item(i)?;
        let device = device_at(entry.location).map_err(|_| CUDA_ERROR_INVALID_DEVICE)?;
        let own = pool.home.device() == Some(device);
        match entry.flags {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => {}
            CU_MEM_ACCESS_FLAGS_PROT_NONE if !own => {}
            CU_MEM_ACCESS_FLAGS_PROT_NONE => return Err(CUDA_ERROR_INVALID_DEVICE),
            CU_MEM_ACCESS_FLAGS_PROT_READ => return Err(CUDA_ERROR_NOT_SUPPORTED),
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
        if !own {
            changes.push((device.ordinal(), entry.flags));
        }
    }
    pool.content.lock().peers.extend(changes);
    Ok(())
}

pub(crate) fn cuMemPoolGetAccess(
    flags: Out<CUmemAccess_flags>,
    memPool: CUmemoryPool,
    location: Out<CUmemLocation>,
) -> Answer {
    flags.check()?;
    let pool = Pool::of(memPool)?;
    capture::check_unsafe()?;
    let device = device_at(location.item(0)?)?;
    flags.set(pool.granted(device))
}
