//! Memory that a program creates by itself, to be mapped where it likes.

use super::chunk::{Addresses, Chunk};
use super::mapping::Mapping;
use super::options::{ShareableHandle, VirtualOptions};
use super::plan::Plan;
use super::shared::{self, Offered};
use crate::device::Device;
use crate::driver::Driver;
use crate::location::Location;
use crate::object::callback;
use crate::object::descriptor::{self, DescriptorBytes};
use crate::object::error::Error;
use crate::object::handle::{Header, object};
use crate::object::native;
use std::fmt;
use std::sync::Arc;

/// Physical memory, which has no address until it is mapped in a [`Reservation`](super::Reservation). It stays as long as somebody
/// has it, or it is mapped somewhere. Every function may be called from every thread.
pub struct Allocation(Arc<AllocationObject>);

/// What handles of allocations name.
pub(crate) struct AllocationObject {
    header: Header,
    driver: Driver,
    /// `None` only while it is being released.
    chunk: Option<Arc<Chunk>>,
}

object!(AllocationObject as Allocation: Allocation, header);

impl Allocation {
    /// Creates so many bytes of memory, rounded up to the granularity. What may use it where it is mapped, the options say; addresses
    /// do not concern it.
    ///
    /// # Errors
    /// As for [`Resource::virtual_memory`](crate::memory::Resource::virtual_memory), and for no bytes; the driver's:
    /// `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn create(device: &Device, bytes: usize, options: &VirtualOptions) -> Result<Self, Error> {
        callback::check_allowed()?;
        let plan = Arc::new(Plan::new(device, options)?);
        let chunk = Chunk::create(&plan, plan.rounded(bytes)?)?;
        Ok(Self::new(device, chunk))
    }

    /// What another process needs to [import](Self::import) the memory: a new descriptor of a file, which the caller closes, and the bytes
    /// that say what it is of. Both go to the other process, the file by `SCM_RIGHTS` for instance.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for memory that was not created with
    /// [`ShareableHandle::PosixFd`](super::ShareableHandle::PosixFd), and for what was imported; the driver's.
    pub fn export(&self) -> Result<(i32, DescriptorBytes), Error> {
        descriptor::check_allowed(self.driver())?;
        let (file, bytes) = shared::export(self.chunk()).map_err(|mut failure| {
            failure.message = format!("{self} cannot be exported: {}", failure.message);
            failure.about(self)
        })?;
        Ok((file.give(), bytes))
    }

    /// Another process's memory, as its own process may go on using it; the last process that has it frees it. What may use it here, the
    /// options say; what else they say does not concern it. The file stays the caller's, who may close it afterwards. Imported again it is
    /// another allocation of the same memory; so it is in the process that exported it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for bytes that are no descriptor of virtual memory, memory of another
    /// device, a size that the memory has not, and a file that is none of a driver's; as [`create`](Self::create) for the options; the
    /// driver's.
    pub fn import(
        device: &Device,
        options: &VirtualOptions,
        descriptor: &[u8],
        file: i32,
    ) -> Result<Self, Error> {
        descriptor::check_allowed(device.driver())?;
        let offered = Offered::read(descriptor, file)?;
        let location = options.location.unwrap_or(offered.location(device)?);
        let options = options.clone().location(location).shareable(ShareableHandle::None);
        let plan = Arc::new(Plan::new(device, &options.gpu_direct_rdma(false).alignment(0).address_hint(0))?);
        let chunk = offered.import(&plan)?;
        // A size is checked by mapping so many bytes, and so are those who may use it.
        let addresses = Addresses::reserve(&plan, chunk.bytes, 0, 0)?;
        drop(Mapping::new(&addresses, 0, Arc::clone(&chunk))?);
        Ok(Self::new(device, chunk))
    }

    fn new(device: &Device, chunk: Arc<Chunk>) -> Self {
        let header = Header::new::<AllocationObject>();
        Self(Arc::new(AllocationObject { header, driver: device.driver().clone(), chunk: Some(chunk) }))
    }

    pub(super) fn chunk(&self) -> &Arc<Chunk> {
        self.0.chunk.as_ref().expect("an allocation has its memory until it is dropped")
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// How many bytes there are, in whole units of the granularity.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunk().bytes
    }

    /// Where the memory is.
    #[must_use]
    pub fn location(&self) -> Location {
        self.chunk().plan.location
    }

    /// The driver's own handle, a `CUmemGenericAllocationHandle`, which lives as long as this.
    #[must_use]
    pub fn native(&self) -> u64 {
        self.chunk().raw().handle()
    }

    /// Names it in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

impl Drop for AllocationObject {
    fn drop(&mut self) {
        let Some(chunk) = self.chunk.take() else { return };
        native::release(&self.driver, self, move |_| {
            drop(chunk);
            Ok(())
        });
    }
}

impl fmt::Display for AllocationObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "allocation \"{label}\""),
            None => match &self.chunk {
                Some(chunk) => write!(f, "allocation of {} bytes", chunk.bytes),
                None => f.write_str("allocation"),
            },
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocation").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
