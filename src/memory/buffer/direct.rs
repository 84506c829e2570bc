//! What other devices on the bus need of a buffer, as network adapters that reach a GPU's memory directly.

use super::Buffer;
use crate::device::Device;
use crate::driver::calls::memory::direct;
use crate::feature::Feature;
use crate::object::callback;
use crate::object::descriptor;
use crate::object::error::{Error, Status};

impl Buffer {
    /// A dma-buf of a part of the buffer, for a driver of another device: a new file descriptor, which the caller closes. Both ends of the
    /// part are at multiples of the host's page, usually 4096 bytes. The buffer must outlive the use of it. `over_pcie` asks for a mapping
    /// over PCIe where there is another way (12.8).
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the device offers none, which is the feature `dma-buf`, and for memory that is no device's;
    /// [`Status::INVALID_ARGUMENT`] for a part that is not inside, not of whole pages, or empty, and while the buffer sleeps; the driver's.
    pub fn export_dma_buf(&self, offset: usize, bytes: usize, over_pcie: bool) -> Result<i32, Error> {
        descriptor::check_allowed(self.driver())?;
        self.refuse_asleep()?;
        let device = self.device_of_memory("a dma-buf")?;
        if !device.supports(Feature::DmaBuf)? {
            let refusal = format!(
                "{device} offers no dma-buf of its memory (attribute 124, DMA_BUF_SUPPORTED): that needs CUDA 11.7, Linux and a device \
                 that has it; use a driver module of the adapter's (nvidia-peermem), or copy through the host"
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(&device));
        }
        self.check_pages(offset, bytes)?;
        let at = self.pointer().0 + offset as u64;
        // The driver wants a context (measured); any of the device will do.
        let context = match self.context() {
            Some(context) => context,
            None => device.primary_context()?,
        };
        let here = context.live(self)?;
        direct::dma_buf(here, at, bytes, over_pcie).map_err(|error| self.failed(error))
    }

    /// Whether synchronous copies and fills that involve the buffer's allocation wait until they are done, on the side of all devices
    /// (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`): for memory that other devices read and write directly.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an empty buffer; the driver's, also for memory that cannot have it.
    pub fn set_sync_memops(&self, on: bool) -> Result<(), Error> {
        callback::check_allowed()?;
        self.refuse_asleep()?;
        self.check_memory()?;
        direct::set_sync_memops(self.driver().object_table(), self.pointer().0, on).map_err(|error| {
            let mut failure = self.failed(error);
            failure.message.push_str(". Virtual memory cannot have it");
            failure
        })
    }

    /// What [`set_sync_memops`](Self::set_sync_memops) has set, by whomever.
    ///
    /// # Errors
    /// As for that.
    pub fn sync_memops(&self) -> Result<bool, Error> {
        callback::check_allowed()?;
        self.check_memory()?;
        let told = direct::sync_memops(self.driver().object_table(), self.pointer().0);
        told.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: crate::driver::CallError) -> Error {
        Error::of_call(self.driver(), error).about(self)
    }

    fn check_memory(&self) -> Result<(), Error> {
        if !self.pointer().is_null() {
            return Ok(());
        }
        Err(Error::new(Status::INVALID_ARGUMENT, format!("{self} has no bytes")).about(self))
    }

    /// The device whose memory it is.
    fn device_of_memory(&self, what: &str) -> Result<Device, Error> {
        let properties = self.properties()?;
        match properties.device.filter(|_| !properties.managed) {
            Some(ordinal) => Device::get(self.driver(), ordinal),
            None => {
                let refusal = format!(
                    "{self} is no memory of a device's own, and only that can have {what}; use a pool or cuMemAlloc"
                );
                Err(Error::new(Status::UNSUPPORTED, refusal).about(self))
            }
        }
    }

    fn check_pages(&self, offset: usize, bytes: usize) -> Result<(), Error> {
        let page = page_size();
        let refuse = |refusal: String| Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self));
        if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > self.bytes()) {
            return refuse(format!(
                "{bytes} bytes at offset {offset} are no part of the {} bytes of {self}; name at least one byte inside",
                self.bytes()
            ));
        }
        if !(self.pointer().0 + offset as u64).is_multiple_of(page) || !(bytes as u64).is_multiple_of(page) {
            return refuse(format!(
                "{bytes} bytes at offset {offset} of {self} are not in whole pages of the host: address and size are multiples of {page}"
            ));
        }
        Ok(())
    }
}

/// Bytes of a page of the host's.
fn page_size() -> u64 {
    // SAFETY: asks the system for a number.
    #[cfg(unix)]
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    #[cfg(not(unix))]
    let size = 4096;
    u64::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}
