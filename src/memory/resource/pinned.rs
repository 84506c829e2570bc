//! Page-locked host memory: from a pool where the driver has one, else at once.

use super::pool::{Pool, check_max_size, explain_creation};
use super::{Properties, Resource, Source};
use crate::context::Context;
use crate::driver::calls::memory::host::{HostKind, RawHost};
use crate::driver::calls::memory::pool::{PoolPlace, PoolProperties, RawPool};
use crate::driver::sys;
use crate::feature::Feature;
use crate::memory::{DevicePointer, PinnedMemory, PinnedOptions};
use crate::object::error::{Error, Status, Subject};
use crate::object::owning::Ownership;
use crate::object::setters::setters;

/// Whether page-locked memory comes from a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinnedForm {
    /// From a pool where the driver has pools of host memory (13.0), else at once.
    #[default]
    Any,
    /// Synchronous, on every driver.
    Synchronous,
    /// From a pool, or not at all.
    Pool,
}

/// What page-locked memory is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PinnedResourceOptions {
    /// Whether it comes from a pool.
    pub form: PinnedForm,
    /// The NUMA node of the host on which a pool of its own is created. `None` for the host's pool that all users of the process share, or,
    /// with a greatest size or handle types, for a pool of its own on the node that is the device's. Memory that does not come from a pool
    /// ignores it.
    pub numa_node: Option<i32>,
    /// How memory that does not come from a pool is allocated.
    pub page_locked: PinnedOptions,
    /// Bytes that a pool of its own hands out at most, less than 2^47; 0 for no limit. Only a pool can do it.
    pub max_size: usize,
    /// `CU_MEM_HANDLE_TYPE_*`, combined: how other processes may take part in a pool of its own. As `max_size`.
    pub handle_types: i32,
}

setters!(PinnedResourceOptions {
    form: PinnedForm,
    numa_node: i32 => Some,
    page_locked: PinnedOptions,
    max_size: usize,
    handle_types: i32,
});

/// From `cuMemHostAlloc`.
pub(super) struct Pinned {
    context: Context,
    options: PinnedOptions,
}

impl Resource {
    /// Page-locked host memory, which devices reach by its address. Of a pool's memory that is the context's device; others
    /// are admitted as its peers.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if only a pool can do what is asked and the driver has none; [`Status::INVALID_ARGUMENT`] for
    /// options that contradict each other; the driver's.
    pub fn pinned(context: &Context, options: &PinnedResourceOptions) -> Result<Self, Error> {
        options.check()?;
        context.check_there(context)?;
        if options.form == PinnedForm::Synchronous {
            return Ok(Self::pinned_synchronous(context, options));
        }
        match Self::pinned_pool(context, options) {
            Err(failure) if lacks_pools(&failure) && !options.needs_pool() => {
                Ok(Self::pinned_synchronous(context, options))
            }
            Err(failure) if lacks_pools(&failure) => Err(no_pools(context, &failure)),
            result => result,
        }
    }

    fn pinned_synchronous(context: &Context, options: &PinnedResourceOptions) -> Self {
        let source = Pinned { context: context.clone(), options: options.page_locked };
        Self::new(context.driver(), Source::Pinned(source), Properties::host(true))
    }

    fn pinned_pool(context: &Context, options: &PinnedResourceOptions) -> Result<Self, Error> {
        let (driver, kind) = (context.driver(), sys::CU_MEM_ALLOCATION_TYPE_PINNED);
        let table = driver.object_table();
        if !context.device().supports(Feature::HostMemoryPools)? {
            return Err(Error::new(Status::UNSUPPORTED, "pools of host memory"));
        }
        let failed = |error| context.failed(error, context);
        let (raw, ownership) = match options.own_node(context)? {
            None => {
                let host = PoolPlace::Located((sys::CU_MEM_LOCATION_TYPE_HOST, 0), kind);
                (RawPool::current_at(table, host).map_err(failed)?, Ownership::Borrowed)
            }
            Some(node) => {
                let properties = PoolProperties {
                    kind,
                    location: (sys::CU_MEM_LOCATION_TYPE_HOST_NUMA, node),
                    handle_types: options.handle_types,
                    max_size: options.max_size,
                };
                let raw = RawPool::create(table, &properties).map_err(failed);
                (raw.map_err(|failure| explain_creation(failure, &properties))?, Ownership::Owned)
            }
        };
        let pool = Pool::new(raw, super::ResourceKind::PinnedPool, None, ownership);
        let pool = pool.with_handle_types(options.handle_types);
        Self::admitting(context, Self::of_pool(driver, pool, Properties::host(true).in_stream_order()))
    }
}

impl PinnedResourceOptions {
    /// Whether nothing but a pool can do what is asked.
    fn needs_pool(&self) -> bool {
        self.form == PinnedForm::Pool || self.is_own_pool()
    }

    fn is_own_pool(&self) -> bool {
        self.max_size != 0 || self.handle_types != 0
    }

    /// The node on which a pool of its own is to be: unless it is named, the device's, since memory of another one is slower to reach.
    fn own_node(&self, context: &Context) -> Result<Option<i32>, Error> {
        if self.numa_node.is_some() || !self.is_own_pool() {
            return Ok(self.numa_node);
        }
        let device = context.device();
        let node = device.attribute(sys::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID).unwrap_or(-1);
        if node >= 0 {
            return Ok(Some(node));
        }
        let refusal = format!(
            "the driver does not say which NUMA node of the host is that of {device}; name the one for the pool (own_pool, numa_node)"
        );
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(device))
    }

    fn check(&self) -> Result<(), Error> {
        let refusal = match self {
            Self { numa_node: Some(..0), .. } => "the NUMA node is negative",
            Self { form: PinnedForm::Synchronous, .. } if self.is_own_pool() => {
                "memory that does not come from a pool has neither a greatest size nor handle types"
            }
            _ => return check_max_size(self.max_size),
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}

/// Whether the driver answers that it has no such pools.
fn lacks_pools(failure: &Error) -> bool {
    failure.status == Status::UNSUPPORTED || failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0
}

fn no_pools(context: &Context, failure: &Error) -> Error {
    let refusal = format!(
        "only a pool of page-locked memory can do what is asked, and {} has none: that needs driver 13.0 and a device with \
         such pools. Ask for memory that need not come from a pool",
        context.device()
    );
    Error::new(Status::UNSUPPORTED, refusal).with_function(&failure.function, failure.abi)
}

impl Pinned {
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let memory = PinnedMemory::allocate(&self.context, bytes, self.options)?;
        Ok(DevicePointer(memory.into_address().expose_provenance() as u64))
    }

    /// # Safety
    /// As for [`Resource::free`](super::Resource::free).
    pub(super) unsafe fn free(&self, pointer: DevicePointer, block: &dyn Subject) -> Result<(), Error> {
        let address = std::ptr::with_exposed_provenance_mut(pointer.0 as usize);
        self.context.check_there(block)?;
        // SAFETY: the caller vouches that it was allocated here and is given up.
        let raw = unsafe { RawHost::adopt(self.context.table(), address, HostKind::Pinned) };
        self.context.released(raw.end(), block)
    }
}
