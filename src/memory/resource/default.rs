//! The resource of a device: what its memory comes from unless another is named.

use super::{DevicePoolOptions, Resource};
use crate::device::Device;
use crate::memory::Buffer;
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::stream::Stream;

impl Device {
    /// The device's resource: the one that was set, or the pool that is current when it is first asked for. It lives until
    /// another is set, or the process ends.
    ///
    /// # Errors
    /// As for [`Resource::device_pool`].
    pub fn resource(&self) -> Result<Resource, Error> {
        if let Some(set) = self.resource_slot().get() {
            return Ok(Resource::of(set));
        }
        let made = Resource::device_pool(self, &DevicePoolOptions::default())?;
        let mut slot = self.resource_slot().lock();
        // Another thread may have been faster; what was made here is dropped outside of the lock.
        if let Some(first) = slot.get() {
            drop(slot);
            return Ok(Resource::of(first));
        }
        drop(slot.replace(Some(made.hold())));
        Ok(made)
    }

    /// Sets the device's resource, for every user of the device in this process; `None` for the pool that is current then.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a resource of another driver; [`Status::INVALID_ARGUMENT`] for one whose memory the
    /// device does not reach, as far as is known, and for one that stands for memory of another process.
    pub fn set_resource(&self, resource: Option<Resource>) -> Result<(), Error> {
        if let Some(resource) = &resource {
            self.check_resource(resource)?;
        }
        drop(self.resource_slot().replace(resource.map(|resource| resource.into_object() as _)));
        Ok(())
    }

    fn check_resource(&self, resource: &Resource) -> Result<(), Error> {
        let properties = resource.properties();
        let (status, refusal) = if resource.driver() != self.driver() {
            (Status::INVALID_HANDLE, "belong to different drivers")
        } else if !properties.device_accessible {
            (Status::INVALID_ARGUMENT, "do not fit: no device reaches that memory")
        } else if properties.device.is_some_and(|device| device != self.ordinal()) {
            (Status::INVALID_ARGUMENT, "do not fit: it has another device's memory")
        } else if !resource.allocates() {
            (
                Status::INVALID_ARGUMENT,
                "do not fit: it stands for memory of another process, and allocates none",
            )
        } else {
            return Ok(());
        };
        Err(Error::new(status, format!("{self} and {resource} {refusal}")).about(resource))
    }

    /// A buffer from the device's [`resource`](Self::resource).
    ///
    /// # Errors
    /// As for [`Buffer::create`].
    pub fn allocate(&self, bytes: usize, stream: Option<&Stream>) -> Result<Buffer, Error> {
        Buffer::create(&self.resource()?, bytes, stream)
    }
}
