//! The devices that may use a pool's memory, beside its own: read from the driver each time, and changed in one call.

use super::Resource;
use super::pool::Pool;
use crate::context::Context;
use crate::device::Device;
use crate::driver::calls::memory::pool::RawPool;
use crate::driver::{CallError, sys};
use crate::object::error::{Error, Status};
use std::sync::atomic::Ordering::Relaxed;

/// How a set of peers is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerChange {
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
    pub fn peers(&self) -> Result<Vec<Device>, Error> {
        let pool = self.pool()?;
        let mut peers = Vec::new();
        for device in Device::all(&self.0.driver)? {
            if !pool.is_home(&device) && self.reaches(pool, &device)? {
                peers.push(device);
            }
        }
        Ok(peers)
    }

    /// Sets which devices may use the pool's memory, present and future: these and no others. The pool's own device always
    /// may, and does not count. All are checked before anything changes; then there is one call of the driver, or none if all
    /// is so already.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool; [`Status::INVALID_ARGUMENT`] for devices that cannot reach the pool's;
    /// [`Status::INVALID_HANDLE`] for a device of another driver; the driver's.
    pub fn set_peers(&self, devices: &[Device]) -> Result<(), Error> {
        self.change_peers(PeerChange::Replace, devices)
    }

    /// Lets these devices use the pool's memory as well. Otherwise as [`set_peers`](Self::set_peers).
    ///
    /// # Errors
    /// As for [`set_peers`](Self::set_peers).
    pub fn add_peers(&self, devices: &[Device]) -> Result<(), Error> {
        self.change_peers(PeerChange::Add, devices)
    }

    /// No longer lets these devices use the pool's memory. Otherwise as [`set_peers`](Self::set_peers).
    ///
    /// # Errors
    /// As for [`set_peers`](Self::set_peers).
    pub fn remove_peers(&self, devices: &[Device]) -> Result<(), Error> {
        self.change_peers(PeerChange::Remove, devices)
    }

    fn change_peers(&self, change: PeerChange, devices: &[Device]) -> Result<(), Error> {
        let pool = self.pool()?;
        let named = |device: &Device| devices.iter().any(|named| named == device);
        self.check_peers(pool, change, devices)?;
        let mut changes = Vec::new();
        for device in Device::all(&self.0.driver)?.into_iter().filter(|device| !pool.is_home(device)) {
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

    /// A new resource whose pool admits the context's device. If it cannot, the resource goes, and takes a pool of its own with it.
    pub(super) fn admitting(context: &Context, resource: Self) -> Result<Self, Error> {
        let admitted = resource.pool()?.raw().admit(context.device().native());
        admitted.map_err(|error| context.failed(error, context))?;
        Ok(resource)
    }

    /// All refused devices are named; the error's item is the first of them.
    fn check_peers(&self, pool: &Pool, change: PeerChange, devices: &[Device]) -> Result<(), Error> {
        if let Some(index) = devices.iter().position(|device| device.driver() != &self.0.driver) {
            let refusal = format!("{} and {self} belong to different drivers", devices[index]);
            let failure = Error::new(Status::INVALID_HANDLE, refusal).about(&devices[index]);
            return Err(failure.at_item(index));
        }
        let Some(home) = pool.device().filter(|_| change != PeerChange::Remove) else { return Ok(()) };
        let mut refused = Vec::new();
        for (index, device) in devices.iter().enumerate().filter(|(_, device)| !pool.is_home(device)) {
            if !device.can_access_peer(home)? {
                refused.push((index, device.to_string()));
            }
        }
        let Some((first, _)) = refused.first() else { return Ok(()) };
        let names: Vec<_> = refused.iter().map(|(_, name)| name.as_str()).collect();
        let refusal =
            format!("memory of {home} cannot be reached from {}; nothing was changed", names.join(", "));
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self).at_item(*first))
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
    /// Whether the device is the one whose memory it is, which always has access.
    fn is_home(&self, device: &Device) -> bool {
        self.device().is_some_and(|home| home == device)
    }
}

/// Takes back the access of other devices: a pool that the driver creates later can inherit it otherwise.
pub(super) fn withdraw_peers(home: &Device, raw: &RawPool) -> Result<(), CallError> {
    let devices = Device::all(home.driver()).unwrap_or_default();
    let mut changes = Vec::new();
    for device in devices.iter().filter(|device| *device != home) {
        if raw.access(device.ordinal())? != sys::CU_MEM_ACCESS_FLAGS_PROT_NONE {
            changes.push((device.ordinal(), access(false)));
        }
    }
    if changes.is_empty() { Ok(()) } else { raw.set_access(&changes) }
}
