//! Pools by the place and the kind of their memory: each place has one from the start, and one that is current, from which everybody in the
//! process allocates who names none.

use super::pool::{Pool, PoolChoice, explain_creation};
use super::{DevicePoolOptions, Properties, Resource, ResourceKind};
use crate::device::Device;
use crate::driver::calls::memory::pool::{PoolPlace, PoolProperties, RawPool};
use crate::driver::sys;
use crate::location::Location;
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::owning::Ownership;

/// What kind of memory a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolMemory {
    /// It stays where it is: a device's own, or page-locked memory of the host.
    #[default]
    Pinned,
    /// Managed memory, which is in this place at first.
    Managed,
}

impl PoolMemory {
    fn native(self) -> sys::CUmemAllocationType {
        match self {
            Self::Pinned => sys::CU_MEM_ALLOCATION_TYPE_PINNED,
            Self::Managed => sys::CU_MEM_ALLOCATION_TYPE_MANAGED,
        }
    }
}

/// The first version that has pools of every place; before, a device has one of its own memory.
const SINCE: u32 = 13000;

impl Resource {
    /// A pool of memory of this kind at a place: the one that is current there, the one that was there from the start, or a new one. The
    /// device is any of the driver's for memory of the host, and gets access to that.
    ///
    /// Before CUDA 13.0 there are only pools of a device's own memory.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a place that there is not; [`Status::UNSUPPORTED`] for one that needs 13.0; the driver's, also
    /// for a place that has no such memory.
    pub fn pool_at(
        device: &Device,
        location: Location,
        memory: PoolMemory,
        choice: PoolChoice,
    ) -> Result<Self, Error> {
        callback::check_allowed()?;
        location.check(device)?;
        if let Some(owner) = own_memory(device, location, memory)? {
            return Self::device_pool(&owner, &DevicePoolOptions::default().choice(choice));
        }
        check_version(device, location, memory)?;
        let (table, kind) = (device.driver().object_table(), memory.native());
        let native = (location.kind(), location.id());
        let place = PoolPlace::Located(native, kind);
        let failed = |error| device.failed(error);
        let (raw, ownership) = match choice {
            PoolChoice::Current => (RawPool::current_at(table, place).map_err(failed)?, Ownership::Borrowed),
            PoolChoice::Default => (RawPool::default_at(table, place).map_err(failed)?, Ownership::Borrowed),
            PoolChoice::Own => {
                let wanted = PoolProperties { kind, location: native, handle_types: 0, max_size: 0 };
                let created =
                    RawPool::create(table, &wanted).map_err(|error| explain_creation(failed(error), &wanted));
                (created?, Ownership::Owned)
            }
        };
        let (kind, properties) = match memory {
            PoolMemory::Pinned => (ResourceKind::PinnedPool, Properties::host(true)),
            PoolMemory::Managed => (ResourceKind::ManagedPool, Properties::managed()),
        };
        let pool = Pool::new(raw, kind, None, ownership);
        let resource = Self::of_pool(device.driver(), pool, properties.in_stream_order());
        // Everybody may use managed memory; what is the host's only those who are let.
        if memory == PoolMemory::Pinned {
            let admitted = resource.pool()?.raw().admit(device.native());
            admitted.map_err(failed)?;
        }
        Ok(resource)
    }
}

impl Device {
    /// Makes a pool the current one for memory of this kind at a place, for all users of the process: `cuMemAllocAsync` takes a device's
    /// own memory from there. `None` for the one that was there from the start. What was allocated stays in its pool.
    ///
    /// A pool of a resource that goes is followed by the one from the start; others may hold memory of it, which must be freed before.
    ///
    /// # Errors
    /// As for [`Resource::pool_at`]; [`Status::UNSUPPORTED`] for a resource that is no pool; [`Status::INVALID_HANDLE`] for one of another
    /// driver; the driver's, also for a pool of other memory.
    pub fn set_pool_at(
        &self,
        location: Location,
        memory: PoolMemory,
        resource: Option<&Resource>,
    ) -> Result<(), Error> {
        callback::check_allowed()?;
        location.check(self)?;
        let owner = own_memory(self, location, memory)?;
        if owner.is_none() {
            check_version(self, location, memory)?;
        }
        let start;
        let resource = match resource {
            Some(given) => given,
            None => {
                start = Resource::pool_at(self, location, memory, PoolChoice::Default)?;
                &start
            }
        };
        if resource.driver() != self.driver() {
            let refusal = format!("{resource} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(resource));
        }
        let place = match owner {
            Some(owner) => PoolPlace::Device(owner.native()),
            None => PoolPlace::Located((location.kind(), location.id()), memory.native()),
        };
        resource.pool()?.make_current_at(place).map_err(|error| resource.failed(error))
    }
}

/// The device whose own memory is meant, which every version has a function for.
fn own_memory(known: &Device, location: Location, memory: PoolMemory) -> Result<Option<Device>, Error> {
    if !location.is_device() || memory != PoolMemory::Pinned {
        return Ok(None);
    }
    Device::get(known.driver(), location.id()).map(Some)
}

fn check_version(device: &Device, location: Location, memory: PoolMemory) -> Result<(), Error> {
    if device.driver().version().is_some_and(|version| version.number() >= SINCE) {
        return Ok(());
    }
    let what = match memory {
        PoolMemory::Pinned => "page-locked",
        PoolMemory::Managed => "managed",
    };
    let refusal = format!(
        "{location} has no pools of {what} memory with this driver: they need CUDA 13.0; before, a device has pools of its own memory"
    );
    let failure = Error::new(Status::UNSUPPORTED, refusal).about(device);
    Err(failure.with_function("cuMemGetMemPool", SINCE))
}
