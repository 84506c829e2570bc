//! Pools: of a device's memory, of the host's, and of managed memory.

use super::imported::Imported;
use super::remains::Remains;
use super::{Properties, Resource, ResourceKind, ResourceObject, Source};
use crate::device::Device;
use crate::driver::calls::memory::pool::{PoolPlace, PoolProperties, RawPool};
use crate::driver::{CallError, Driver, Version, sys};
use crate::feature::Feature;
use crate::location::Location;
use crate::memory::DevicePointer;
use crate::object::error::{Error, Status};
use crate::object::owning::{Ownership, Owning, Taking, twice};
use crate::object::registry::Registry;
use crate::object::setters::setters;
use crate::op::{Allocate, Free, explain_out_of_memory, is_out_of_memory};
use crate::stream::Stream;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Which pool of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolChoice {
    /// The one from which `cuMemAllocAsync` allocates when the resource is made, and which other users of the process
    /// share.
    #[default]
    Current,
    /// The one that the device has from the start, which other users share as well.
    Default,
    /// One of its own, destroyed with the resource.
    Own,
}

/// The first version whose pools have a greatest size; before, the place of the number was reserved.
const LIMITED_SINCE: Version = Version::from_number(12020);

/// What a device pool is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DevicePoolOptions {
    /// Which pool.
    pub choice: PoolChoice,
    /// Bytes that a pool of its own hands out at most, since driver 12.2, less than 2^47; 0 for no limit. The driver rounds it
    /// up: 580 to 32 MiB (measured).
    pub max_size: usize,
    /// `CU_MEM_HANDLE_TYPE_*`, combined: how other processes may take part in a pool of its own.
    pub handle_types: i32,
}

setters!(DevicePoolOptions { choice: PoolChoice, max_size: usize, handle_types: i32 });

impl DevicePoolOptions {
    /// Whether nothing but a pool can do what is asked.
    fn needs_pool(&self) -> bool {
        self.max_size != 0 || self.handle_types != 0
    }

    fn check(&self) -> Result<(), Error> {
        check_max_size(self.max_size)?;
        if self.choice == PoolChoice::Own || !self.needs_pool() {
            return Ok(());
        }
        let refusal =
            "a pool that is shared has its size and its handle types already; ask for one of your own";
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }

    fn check_version(&self, device: &Device) -> Result<(), Error> {
        match device.driver().version() {
            Some(version) if self.max_size != 0 && version < LIMITED_SINCE => {
                let refusal = format!(
                    "pools have a greatest size since driver {LIMITED_SINCE}, and this driver is {version}; ask for no limit"
                );
                Err(Error::new(Status::UNSUPPORTED, refusal).about(device))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a greatest size that no driver takes. On a machine with two devices driver 580 did not come back from the creation of
/// a pool of 2^63 bytes, and answered that there is too little memory from 2^47 on (measured): so many addresses a process has.
pub(super) fn check_max_size(bytes: usize) -> Result<(), Error> {
    const ADDRESSES: usize = 1 << 47;
    if bytes < ADDRESSES {
        return Ok(());
    }
    let refusal = format!(
        "a pool of at most {bytes} bytes is larger than what a process can address; ask for less, or for 0, which is no limit"
    );
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

/// The resources that destroy pools, so that no pool is destroyed twice.
static OWNERS: Registry<Resource> = Registry::new();

/// A pool of the driver's.
pub(super) struct Pool {
    /// `None` only while it is being released.
    raw: Option<RawPool>,
    kind: ResourceKind,
    /// The device whose memory it is.
    device: Option<Device>,
    /// Whether it is destroyed with the resource.
    owning: Owning,
    /// What it hands out at most, as far as is known; 0 for no limit.
    max_size: usize,
    /// Whether other devices were given access here, which an own pool takes back before it goes.
    pub(super) has_peers: AtomicBool,
    /// How other processes may take part, `CU_MEM_HANDLE_TYPE_*`; `None` if only its maker knows.
    handle_types: Option<i32>,
    /// By what number others know it, once it is exported.
    pub(super) id: OnceLock<[u8; 16]>,
    /// What it has of another process's pool.
    imported: Option<Imported>,
    /// Where it was made the current one.
    current_at: Mutex<Vec<PoolPlace>>,
}

impl Resource {
    /// A pool of the device's memory. Where the device has no pools ([`Device::supports`] `memory-pools`), memory that comes
    /// and goes at once stands in for it, in the primary context.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a size or handle types of a shared pool, and a size of 2^47 or more; [`Status::UNSUPPORTED`] for them on a device
    /// without pools, and for a size before driver 12.2; the driver's.
    pub fn device_pool(device: &Device, options: &DevicePoolOptions) -> Result<Self, Error> {
        options.check()?;
        if !device.supports(Feature::MemoryPools)? {
            return Self::without_pools(device, options);
        }
        options.check_version(device)?;
        let (table, native) = (device.driver().object_table(), device.native());
        let own = PoolProperties {
            kind: sys::CU_MEM_ALLOCATION_TYPE_PINNED,
            location: (sys::CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal()),
            handle_types: options.handle_types,
            max_size: options.max_size,
        };
        let raw = match options.choice {
            PoolChoice::Current => RawPool::current(table, native),
            PoolChoice::Default => RawPool::default(table, native),
            PoolChoice::Own => RawPool::create(table, &own),
        };
        let raw = raw.map_err(|error| explain_creation(device.failed(error), &own))?;
        let ownership = match options.choice {
            PoolChoice::Own => Ownership::Owned,
            PoolChoice::Current | PoolChoice::Default => Ownership::Borrowed,
        };
        let types = (options.choice == PoolChoice::Own).then_some(options.handle_types);
        Ok(Self::of_device_pool(device, raw, ownership, options.max_size, types))
    }

    /// Takes in a pool of the device's memory that somebody else created.
    ///
    /// # Safety
    /// `native` is a pool of the device, alive until the resource and all its buffers are gone. If it is to be owned, nobody
    /// else destroys it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL, or is to be owned and already is.
    pub unsafe fn wrap_pool(
        device: &Device,
        native: sys::CUmemoryPool,
        ownership: Ownership,
    ) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in_pool(device, native, ownership.into()) }
    }

    /// As [`wrap_pool`](Self::wrap_pool).
    ///
    /// # Safety
    /// As for [`wrap_pool`](Self::wrap_pool).
    pub(crate) unsafe fn take_in_pool(
        device: &Device,
        native: sys::CUmemoryPool,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        if native.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "the native pool is NULL"));
        }
        // SAFETY: the caller vouches for the handle.
        let raw = unsafe { RawPool::adopt(device.driver().object_table(), native) };
        let resource = Self::of_device_pool(device, raw, Ownership::Borrowed, 0, None);
        if taking.is_to_own() {
            resource.list_owner()?;
            taking.take(&resource.0, ResourceObject::pool_owning, &resource)?;
        }
        Ok(resource)
    }

    fn of_device_pool(
        device: &Device,
        raw: RawPool,
        ownership: Ownership,
        max_size: usize,
        handle_types: Option<i32>,
    ) -> Self {
        let properties = Properties::device(device.ordinal()).in_stream_order();
        let pool =
            Pool::new(raw, ResourceKind::DevicePool, Some(device.clone()), ownership).limited_to(max_size);
        let pool = Pool { handle_types, ..pool };
        Self::of_pool(device.driver(), pool, properties)
    }

    /// A resource around a pool, listed if it owns that.
    pub(super) fn of_pool(driver: &Driver, pool: Pool, properties: Properties) -> Self {
        let (native, is_owned) = (pool.raw().handle(), pool.owning.is_owned());
        let resource = Self::new(driver, Source::Pool(pool), properties);
        if is_owned {
            OWNERS.add(driver, native.addr(), &resource);
        }
        resource
    }

    /// Lists the resource as the owner of its pool. Refuses a second one.
    fn list_owner(&self) -> Result<(), Error> {
        let native = self.pool()?.raw().handle().addr();
        let mut stale = None;
        while let Err(known) = OWNERS.add_unless_known(&self.0.driver, native, self, stale.as_ref()) {
            if !known.0.pool_owning().is_free() {
                return Err(twice(&known));
            }
            // The call that made it has failed.
            stale = Some(known);
        }
        Ok(())
    }

    fn without_pools(device: &Device, options: &DevicePoolOptions) -> Result<Self, Error> {
        if options.needs_pool() {
            let refusal = format!(
                "{device} has no memory pools, and only a pool has a greatest size or handle types; ask for neither"
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        }
        Ok(Self::device(&device.primary_context()?))
    }

    /// The pool behind the resource.
    pub(super) fn pool(&self) -> Result<&Pool, Error> {
        match &self.0.source {
            Source::Pool(pool) => Ok(pool),
            _ => {
                let refusal =
                    format!("{self} is no pool; only pools have attributes, are trimmed and have peers");
                Err(Error::new(Status::UNSUPPORTED, refusal).about(self))
            }
        }
    }

    /// The error of a call on the resource's pool.
    pub(super) fn failed(&self, error: CallError) -> Error {
        Error::of_call(&self.0.driver, error).about(self)
    }
}

impl ResourceObject {
    /// Whether the pool behind the resource is destroyed with it.
    fn pool_owning(&self) -> &Owning {
        static NONE: Owning = Owning::new(Ownership::Borrowed);
        if let Source::Pool(pool) = &self.source { &pool.owning } else { &NONE }
    }

    /// Takes out the pool that is to be destroyed with the resource.
    pub(super) fn take_pool(&mut self) -> Option<Remains> {
        let Source::Pool(pool) = &self.source else { return None };
        OWNERS.remove(&self.driver, pool.raw().handle().addr(), self);
        let Source::Pool(pool) = &mut self.source else { return None };
        pool.take()
    }
}

/// A driver that refuses to create a pool says no more than that it does not like an argument; this says what they were.
#[cold]
pub(super) fn explain_creation(mut failure: Error, asked: &PoolProperties) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        let PoolProperties { location: (kind, id), handle_types, max_size, .. } = *asked;
        let place = Location::new(kind, id);
        failure.message.push_str(&format!(
            ". A pool was asked for at {place}, with handle types {handle_types:#x} and a greatest size of {max_size}"
        ));
    }
    failure
}

impl Pool {
    pub(super) fn new(
        raw: RawPool,
        kind: ResourceKind,
        device: Option<Device>,
        ownership: Ownership,
    ) -> Self {
        let (owning, has_peers) = (Owning::new(ownership), AtomicBool::new(false));
        Self {
            raw: Some(raw),
            kind,
            device,
            owning,
            max_size: 0,
            has_peers,
            handle_types: None,
            id: OnceLock::new(),
            imported: None,
            current_at: Mutex::default(),
        }
    }

    /// The same pool, which hands out so many bytes at most.
    pub(super) fn limited_to(self, max_size: usize) -> Self {
        Self { max_size, ..self }
    }

    /// The same, in which other processes may take part in these ways.
    pub(super) fn with_handle_types(self, handle_types: i32) -> Self {
        Self { handle_types: Some(handle_types), ..self }
    }

    /// The same as one of another process's.
    pub(super) fn shared_by(self, imported: Imported) -> Self {
        Self { imported: Some(imported), ..self }
    }

    pub(super) fn handle_types(&self) -> Option<i32> {
        self.handle_types
    }

    pub(super) fn imported(&self) -> Option<&Imported> {
        self.imported.as_ref()
    }

    pub(super) fn kind(&self) -> ResourceKind {
        self.kind
    }

    pub(super) fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    pub(super) fn raw(&self) -> &RawPool {
        self.raw.as_ref().expect("a pool has its handle until it is dropped")
    }

    pub(super) fn allocate(&self, bytes: usize, stream: &Stream) -> Result<DevicePointer, Error> {
        if self.imported.is_some() {
            return Err(Self::allocates_elsewhere());
        }
        // SAFETY: allocating touches no memory.
        let allocated = unsafe { stream.enqueue(&mut Allocate::from_pool(self.raw(), bytes)) };
        allocated.map_err(|failure| self.explain(failure, bytes, stream))
    }

    #[cold]
    fn allocates_elsewhere() -> Error {
        let refusal = "the pool is of another process, which alone allocates from it; allocate from a pool of your own, or import a buffer that \
                       the other process has exported";
        Error::new(Status::UNSUPPORTED, refusal)
    }

    #[cold]
    fn explain(&self, mut failure: Error, bytes: usize, stream: &Stream) -> Error {
        if is_out_of_memory(&failure) && self.max_size != 0 {
            let used = self.raw().attribute(sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT).unwrap_or_default();
            failure.message.push_str(&format!(
                ". {bytes} bytes were asked for; the pool was created with a limit of {} bytes, of which {used} are in use",
                self.max_size
            ));
        } else if self.kind == ResourceKind::DevicePool {
            explain_out_of_memory(&mut failure, stream.context(), bytes);
        }
        failure
    }

    /// # Safety
    /// As for [`Resource::free`](super::Resource::free).
    pub(super) unsafe fn free(&self, pointer: DevicePointer, stream: &Stream) -> Result<(), Error> {
        if let Some(imported) = &self.imported {
            // SAFETY: the caller vouches that the memory came from here and is given up.
            return unsafe { imported.free(pointer, stream) };
        }
        // SAFETY: the caller vouches that the memory came from here and is given up.
        unsafe { stream.enqueue(&mut Free::new(pointer)) }
    }

    /// Makes it the current one of a place, until it goes.
    pub(super) fn make_current_at(&self, place: PoolPlace) -> Result<(), CallError> {
        let mut places = self.current_at.lock();
        self.raw().make_current_at(place)?;
        if !places.contains(&place) {
            places.push(place);
        }
        Ok(())
    }

    /// Takes out what is to be destroyed with the resource.
    fn take(&mut self) -> Option<Remains> {
        let raw = self.raw.take().filter(|_| self.owning.is_owned())?;
        let home = self.device.clone().filter(|_| *self.has_peers.get_mut());
        Some(Remains::new(raw, home, std::mem::take(self.current_at.get_mut())))
    }
}
