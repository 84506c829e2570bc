//! What may be done with a resource's memory.

use crate::device::Device;
use crate::driver::Driver;
use crate::object::error::Error;

/// What may be done with a resource's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The ordinal of the device whose memory it is; `None` if it is the host's, or shared.
    pub device: Option<i32>,
    /// Whether devices reach it by its address.
    pub device_accessible: bool,
    /// Whether the host reaches it by its address.
    pub host_accessible: bool,
    /// Whether it is managed memory.
    pub managed: bool,
    /// Whether it comes and goes in the order of a stream, which must then be named.
    pub stream_ordered: bool,
}

impl Properties {
    /// Memory of a device that comes and goes at once.
    #[must_use]
    pub const fn device(ordinal: i32) -> Self {
        Self {
            device: Some(ordinal),
            device_accessible: true,
            host_accessible: false,
            managed: false,
            stream_ordered: false,
        }
    }

    /// Host memory that comes and goes at once; `device_accessible` if it is page-locked.
    #[must_use]
    pub const fn host(device_accessible: bool) -> Self {
        Self { device: None, device_accessible, host_accessible: true, managed: false, stream_ordered: false }
    }

    /// Managed memory that comes and goes at once.
    #[must_use]
    pub const fn managed() -> Self {
        Self {
            device: None,
            device_accessible: true,
            host_accessible: true,
            managed: true,
            stream_ordered: false,
        }
    }

    /// The same, in the order of streams.
    #[must_use]
    pub const fn in_stream_order(mut self) -> Self {
        self.stream_ordered = true;
        self
    }

    /// Refuses a device that there is not.
    pub(crate) fn check(&self, driver: &Driver) -> Result<(), Error> {
        self.device.map_or(Ok(()), |ordinal| Device::get(driver, ordinal).map(drop))
    }
}
