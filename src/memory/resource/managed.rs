//! Memory that host and devices share.

use super::pool::{Pool, explain_creation};
use super::{Properties, Resource, ResourceKind, Source};
use crate::context::Context;
use crate::driver::calls::memory::allocation::RawMemory;
use crate::driver::calls::memory::pool::{PoolProperties, RawPool};
use crate::driver::sys;
use crate::feature::Feature;
use crate::location::Location;
use crate::memory::DevicePointer;
use crate::object::callback::allocating;
use crate::object::error::{Error, Status, Subject};
use crate::object::owning::Ownership;
use crate::object::setters::setters;

/// What managed memory is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ManagedResourceOptions {
    /// Only the host may use the memory until a stream is told otherwise (`CU_MEM_ATTACH_HOST`). By default every stream of
    /// every device may.
    pub attach_host: bool,
    /// A pool of its own of managed memory, whose memory is at this location at first; stream-ordered, and refused before
    /// driver 13.0. Driver 580 refuses advice on such memory. `None`, the default, for no pool.
    pub pool: Option<Location>,
}

setters!(ManagedResourceOptions { attach_host: bool, pool: Location => Some });

/// From `cuMemAllocManaged`.
pub(super) struct Managed {
    context: Context,
    attach: sys::CUmemAttach_flags,
}

impl Resource {
    /// Managed memory, allocated and freed at once with `cuMemAllocManaged`, which every driver has; or, if that is asked for,
    /// from a pool.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a location that there is not, or one and `attach_host`; [`Status::UNSUPPORTED`] for a
    /// pool before driver 13.0; the driver's.
    pub fn managed(context: &Context, options: &ManagedResourceOptions) -> Result<Self, Error> {
        context.check_there(context)?;
        if let Some(location) = options.pool {
            return Self::managed_pool(context, location, options);
        }
        let attach = if options.attach_host { sys::CU_MEM_ATTACH_HOST } else { sys::CU_MEM_ATTACH_GLOBAL };
        let source = Managed { context: context.clone(), attach };
        Ok(Self::new(context.driver(), Source::Managed(source), Properties::managed()))
    }

    fn managed_pool(
        context: &Context,
        location: Location,
        options: &ManagedResourceOptions,
    ) -> Result<Self, Error> {
        if options.attach_host {
            let refusal = "memory of a pool is attached to all streams; leave attach_host out, or the pool";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        let (driver, device) = (context.driver(), context.device());
        location.check(device)?;
        if !device.supports(Feature::ManagedMemoryPools)? {
            let refusal = format!(
                "{device} has no pools of managed memory: they need driver 13.0 and a device with pools; without a pool, managed \
                 memory comes from cuMemAllocManaged"
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).with_function("cuMemGetMemPool", 13000));
        }
        let properties = PoolProperties {
            kind: sys::CU_MEM_ALLOCATION_TYPE_MANAGED,
            location: (location.kind(), location.id()),
            handle_types: 0,
            max_size: 0,
        };
        let raw = RawPool::create(driver.object_table(), &properties)
            .map_err(|error| explain_creation(context.failed(error, context), &properties))?;
        let pool = Pool::new(raw, ResourceKind::ManagedPool, None, Ownership::Owned);
        Self::admitting(context, Self::of_pool(driver, pool, Properties::managed().in_stream_order()))
    }
}

impl Managed {
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let context = &self.context;
        let here = context.live(context)?;
        allocating(|| RawMemory::allocate_managed(here, bytes, self.attach))
            .map(|memory| DevicePointer(memory.pointer()))
            .map_err(|error| context.failed(error, context))
    }

    /// # Safety
    /// As for [`Resource::free`](super::Resource::free).
    pub(super) unsafe fn free(&self, pointer: DevicePointer, block: &dyn Subject) -> Result<(), Error> {
        self.context.check_there(block)?;
        // SAFETY: the caller vouches that it was allocated here and is given up.
        let raw = unsafe { RawMemory::adopt(self.context.table(), pointer.0) };
        self.context.released(raw.free(), block)
    }
}
