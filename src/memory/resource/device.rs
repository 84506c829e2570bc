//! Device memory that comes and goes at once.

use crate::context::Context;
use crate::driver::calls::memory::allocation::RawMemory;
use crate::memory::DevicePointer;
use crate::memory::device::DeviceMemory;
use crate::object::error::{Error, Subject};

pub(super) struct Synchronous {
    context: Context,
}

impl Synchronous {
    pub(super) fn new(context: &Context) -> Self {
        Self { context: context.clone() }
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        DeviceMemory::allocate(&self.context, bytes).map(DeviceMemory::into_pointer)
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
