//! Another process's memory that is no pool's: opened in a context, and closed there. The driver counts how often.

use super::{Properties, Resource, Source};
use crate::context::Context;
use crate::driver::calls::sharing::{close_memory, open_memory, share_memory};
use crate::memory::DevicePointer;
use crate::object::descriptor::NATIVE;
use crate::object::error::{Error, Status, Subject};

pub(super) struct Opened {
    context: Context,
}

impl Opened {
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// # Safety
    /// As for [`Resource::free`].
    pub(super) unsafe fn free(&self, pointer: DevicePointer, block: &dyn Subject) -> Result<(), Error> {
        self.context.check_there(block)?;
        let (start, _) = self.context.address_range(pointer)?;
        // SAFETY: the caller vouches that it was opened here and is given up.
        let closed = self.context.live(block).map(|there| unsafe { close_memory(there, start.0) })?;
        self.context.released(closed, block)
    }
}

#[cold]
pub(super) fn allocates_elsewhere() -> Error {
    let refusal = "the resource stands for memory of another process, and allocates none; allocate from a resource of your own";
    Error::new(Status::UNSUPPORTED, refusal)
}

impl Resource {
    /// What closes memory that was opened in the context.
    pub(in crate::memory) fn opened(context: &Context) -> Self {
        let properties = Properties::device(context.device().ordinal());
        let source = Opened { context: context.clone() };
        Self::new(context.driver(), Source::Opened(source), properties)
    }

    pub(in crate::memory) fn is_opened(&self) -> bool {
        matches!(self.0.source, Source::Opened(_))
    }

    /// The context of memory that is allocated at once, and can be exported by itself.
    pub(in crate::memory) fn exporting_context(&self) -> Option<&Context> {
        match &self.0.source {
            Source::Device(source) => Some(source.context()),
            _ => None,
        }
    }
}

/// The driver's bytes by which other processes open memory, and where in that the pointer lies.
pub(in crate::memory) fn export(
    context: &Context,
    pointer: DevicePointer,
) -> Result<([u8; NATIVE], u64), Error> {
    let (start, _) = context.address_range(pointer)?;
    let native = context.here(|there| share_memory(there, pointer.0))?;
    Ok((native, pointer.0 - start.0))
}

/// Opens memory in a context.
///
/// # Safety
/// The bytes are what another process exported.
pub(in crate::memory) unsafe fn open(
    context: &Context,
    native: &[u8; NATIVE],
) -> Result<DevicePointer, Error> {
    // SAFETY: as the caller vouches.
    context.here(|there| unsafe { open_memory(there, native) }).map(DevicePointer)
}
