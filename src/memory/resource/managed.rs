//! Memory that host and devices share.

use super::{Properties, Resource, Source};
use crate::context::Context;
use crate::driver::calls::memory::allocation::RawMemory;
use crate::driver::sys;
use crate::error::{Error, Subject};
use crate::memory::DevicePointer;
use std::sync::Arc;

/// What managed memory is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ManagedResourceOptions {
    /// Only the host may use the memory until a stream is told otherwise (`CU_MEM_ATTACH_HOST`). By default every stream of
    /// every device may.
    pub attach_host: bool,
}

/// From `cuMemAllocManaged`.
pub(super) struct Managed {
    context: Arc<Context>,
    attach: sys::CUmemAttach_flags,
}

impl Resource {
    /// Managed memory, allocated and freed at once with `cuMemAllocManaged`, which every driver has.
    #[must_use]
    pub fn managed(context: &Arc<Context>, options: &ManagedResourceOptions) -> Arc<Self> {
        let attach = if options.attach_host { sys::CU_MEM_ATTACH_HOST } else { sys::CU_MEM_ATTACH_GLOBAL };
        let source = Managed { context: Arc::clone(context), attach };
        Self::new(context.driver(), Source::Managed(source), Properties::managed())
    }
}

impl Managed {
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let context = &self.context;
        RawMemory::allocate_managed(context.live(context.as_ref())?, bytes, self.attach)
            .map(|memory| DevicePointer(memory.pointer()))
            .map_err(|error| context.failed(error, context.as_ref()))
    }

    pub(super) fn free(&self, pointer: DevicePointer, block: &dyn Subject) -> Result<(), Error> {
        let raw = RawMemory::adopt(self.context.table(), pointer.0);
        self.context.check_there(block)?;
        self.context.released(raw.free(), block)
    }
}
