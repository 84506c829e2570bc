//! Device memory that comes and goes at once.

use crate::context::Context;
use crate::error::{Error, Subject};
use crate::memory::device::DeviceMemory;
use crate::memory::{DevicePointer, RawMemory};
use std::sync::Arc;

pub(super) struct Synchronous {
    context: Arc<Context>,
}

impl Synchronous {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self { context: Arc::clone(context) }
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        DeviceMemory::allocate(&self.context, bytes).map(DeviceMemory::into_pointer)
    }

    pub(super) fn free(&self, pointer: DevicePointer, block: &dyn Subject) -> Result<(), Error> {
        let raw = RawMemory::adopt(self.context.table(), pointer.0);
        self.context.check_there(block)?;
        self.context.released(raw.free(), block)
    }
}
