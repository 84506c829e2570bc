//! The devices that may use a pool's memory, beside its own: read from the driver each time, and changed in one call.

use super::Resource;
use super::pool::Pool;
use crate::device::Device;
use crate::driver::calls::memory::pool::RawPool;
use crate::driver::{CallError, sys};
use crate::error::{Error, Status};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How a set of peers is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerChange {
    /// These devices and no others.
    Replace,
    /// These as well.
    Add,
    /// Not these.
    Remove,
}

impl Resource {
    /// The devices that may use the pool's memory, by ordinal, beside its own: as the driver says now.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool; the driver's.
    pub fn peers(&self) -> Result<Vec<Arc<Device>>, Error> {
        let pool = self.pool()?;
        let mut peers = Vec::new();
        for device in Device::all(&self.driver)? {
            if !pool.is_home(&device) && self.reaches(pool, &device)? {
                peers.push(device);
            }
        }
        Ok(peers)
    }

    /// Changes which devices may use the pool's memory, present and future. The pool's own device always may, and does not
    /// count. All are checked before anything changes; then there is one call of the driver, or none if all is so already.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool; [`Status::INVALID_ARGUMENT`] for devices that cannot reach the pool's;
    /// [`Status::INVALID_HANDLE`] for a device of another driver; the driver's.
    pub fn change_peers(&self, change: PeerChange, devices: &[Arc<Device>]) -> Result<(), Error> {
        let pool = self.pool()?;
        let named = |device: &Arc<Device>| devices.iter().any(|named| Arc::ptr_eq(named, device));
        self.check_peers(pool, change, devices)?;
        let mut changes = Vec::new();
        for device in Device::all(&self.driver)?.into_iter().filter(|device| !pool.is_home(device)) {
            let has = self.reaches(pool, &device)?;
            let wanted = match change {
                PeerChange::Replace => named(&device),
                PeerChange::Add => has || named(&device),
                PeerChange::Remove => has && !named(&device),
            };
            if wanted != has {
                changes.push((device.ordinal(), access(wanted)));
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        pool.has_peers.store(true, Relaxed);
        pool.raw().set_access(&changes).map_err(|error| self.failed(error))
    }

    fn check_peers(&self, pool: &Pool, change: PeerChange, devices: &[Arc<Device>]) -> Result<(), Error> {
        if let Some(foreign) = devices.iter().find(|device| device.driver() != &self.driver) {
            let refusal = format!("{foreign} and {self} belong to different drivers");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(foreign.as_ref()));
        }
        let Some(home) = pool.device().filter(|_| change != PeerChange::Remove) else { return Ok(()) };
        let mut refused = Vec::new();
        for device in devices.iter().filter(|device| !pool.is_home(device)) {
            if !device.can_access_peer(home)? {
                refused.push(device.to_string());
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        let refusal =
            format!("memory of {home} cannot be reached from {}; nothing was changed", refused.join(", "));
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self))
    }

    fn reaches(&self, pool: &Pool, device: &Device) -> Result<bool, Error> {
        let flags = pool.raw().access(device.ordinal()).map_err(|error| self.failed(error))?;
        Ok(flags != sys::CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }
}

fn access(wanted: bool) -> sys::CUmemAccess_flags {
    if wanted { sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { sys::CU_MEM_ACCESS_FLAGS_PROT_NONE }
}

impl Pool {
    fn is_home(&self, device: &Arc<Device>) -> bool {
        self.device().is_some_and(|home| Arc::ptr_eq(home, device))
    }

    /// Takes back what other devices may do: a pool that the driver makes later can inherit it otherwise.
    pub(super) fn withdraw_peers(&self, raw: &RawPool) -> Result<(), CallError> {
        let devices = self.device().and_then(|home| Device::all(home.driver()).ok()).unwrap_or_default();
        let others = devices.iter().filter(|device| !self.is_home(device));
        let mut changes = Vec::new();
        for ordinal in others.map(|device| device.ordinal()) {
            if raw.access(ordinal)? != sys::CU_MEM_ACCESS_FLAGS_PROT_NONE {
                changes.push((ordinal, access(false)));
            }
        }
        if changes.is_empty() { Ok(()) } else { raw.set_access(&changes) }
    }
}
