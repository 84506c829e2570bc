//! Devices.

mod find;

use crate::driver::calls::device as calls;
use crate::driver::{CallError, Driver, Kind, sys};
use crate::feature::Feature;
use crate::object::driver_log;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::slot::Slot;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// A CUDA device of one driver. There is one object per device, which lives until the process ends; clones are of the same one.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
///
/// let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// for device in Device::all(&driver)? {
///     println!("{}: {}", device.ordinal(), device.name()?);
/// }
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Device(Arc<DeviceObject>);

/// What handles of devices name.
pub(crate) struct DeviceObject {
    header: Header,
    driver: Driver,
    ordinal: i32,
    raw: sys::CUdevice,
    /// The primary context, while somebody holds it.
    primary: Slot,
    /// The resource that its memory comes from by default, once somebody asked for it.
    resource: Slot,
}

object!(DeviceObject as Device: Device, header);

impl Device {
    /// The number of devices that the driver shows. Initialises the driver.
    ///
    /// # Errors
    /// The driver's error of `cuInit` or `cuDeviceGetCount`; a machine without a device is one (`CUDA_ERROR_NO_DEVICE`). A negative
    /// number of devices is `CUDA_ERROR_UNKNOWN`.
    pub fn count(driver: &Driver) -> Result<i32, Error> {
        let table = driver.object_table();
        let count = calls::initialise(table)
            .and_then(|()| {
                driver_log::watch(driver);
                calls::count(table)
            })
            .map_err(|error| explain_no_device(Error::of_call(driver, error), driver))?;
        if count < 0 {
            return Err(Error::new(
                Status(sys::CUDA_ERROR_UNKNOWN.0),
                format!(
                    "the driver counts {count} devices, which no driver may: check which library was opened \
                     (cushim_driver_report)"
                ),
            )
            .with_function("cuDeviceGetCount", 2000));
        }
        Ok(count)
    }

    /// Every device, by ordinal. Initialises the driver.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn all(driver: &Driver) -> Result<Vec<Self>, Error> {
        (0..Self::count(driver)?).map(|ordinal| Self::get(driver, ordinal)).collect()
    }

    /// The device with this ordinal, the same object each time. Initialises the driver.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if there is no such device; the driver's errors.
    pub fn get(driver: &Driver, ordinal: i32) -> Result<Self, Error> {
        let mut known = KNOWN.lock();
        if let Some(device) =
            known.iter().find(|known| known.ordinal() == ordinal && known.driver() == driver)
        {
            return Ok(device.clone());
        }
        let count = Self::count(driver)?;
        if !(0..count).contains(&ordinal) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!("there is no device {ordinal}; this driver shows {count}, numbered from 0"),
            ));
        }
        let raw =
            calls::get(driver.object_table(), ordinal).map_err(|error| Error::of_call(driver, error))?;
        let device = Self(Arc::new(DeviceObject {
            header: Header::new::<DeviceObject>(),
            driver: driver.clone(),
            ordinal,
            raw,
            primary: Slot::new(),
            resource: Slot::new(),
        }));
        known.push(device.clone());
        Ok(device)
    }

    /// The driver that the device belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// The device's number, from 0.
    #[must_use]
    pub fn ordinal(&self) -> i32 {
        self.0.ordinal
    }

    /// The driver's own handle, a `CUdevice`.
    #[must_use]
    pub fn native(&self) -> sys::CUdevice {
        self.0.raw
    }

    /// The device's name: "NVIDIA H100 80GB HBM3".
    ///
    /// # Errors
    /// The driver's.
    pub fn name(&self) -> Result<String, Error> {
        calls::name(self.0.driver.object_table(), self.0.raw).map_err(|error| self.failed(error))
    }

    /// The device's UUID; of a MIG instance its own, on drivers of 11.4 or later.
    ///
    /// # Errors
    /// The driver's.
    pub fn uuid(&self) -> Result<[u8; 16], Error> {
        calls::uuid(self.0.driver.object_table(), self.0.raw).map_err(|error| self.failed(error))
    }

    /// Bytes of the device's memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn total_memory(&self) -> Result<usize, Error> {
        calls::total_memory(self.0.driver.object_table(), self.0.raw).map_err(|error| self.failed(error))
    }

    /// An attribute, by its number in the driver's `CUdevice_attribute`.
    ///
    /// # Errors
    /// The driver's; an attribute that is younger than the driver is `CUDA_ERROR_INVALID_VALUE`.
    pub fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<i32, Error> {
        calls::attribute(self.0.driver.object_table(), self.0.raw, attribute).map_err(|error| {
            let mut failure = self.failed(error);
            if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
                failure.message.push_str(&format!(
                    ". This driver has no attribute {}: pass a CUdevice_attribute that it knows",
                    attribute.0
                ));
            }
            failure
        })
    }

    /// Whether the driver and this device offer the feature.
    ///
    /// # Errors
    /// The driver's.
    pub fn supports(&self, feature: Feature) -> Result<bool, Error> {
        let Some(attribute) = feature.attribute().filter(|_| feature.is_in(&self.0.driver)) else {
            return Ok(feature.is_in(&self.0.driver));
        };
        Ok(self.attribute_or_zero(attribute)? != 0)
    }

    /// The same as [`attribute`](Self::attribute), of which 0 says "no": also where the driver is older than the attribute.
    pub(crate) fn attribute_or_zero(&self, attribute: sys::CUdevice_attribute) -> Result<i32, Error> {
        match calls::attribute(self.0.driver.object_table(), self.0.raw, attribute) {
            Ok(value) => Ok(value),
            Err(error) if error.result() == Some(sys::CUDA_ERROR_INVALID_VALUE) => Ok(0),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Whether this device can reach the memory of `peer`.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if `peer` belongs to another driver; the driver's.
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool, Error> {
        if peer.0.driver != self.0.driver {
            return Err(Error::new(
                Status::INVALID_HANDLE,
                format!("{self} and {peer} belong to different drivers"),
            ));
        }
        calls::can_access_peer(self.0.driver.object_table(), self.0.raw, peer.0.raw)
            .map_err(|error| self.failed(error))
    }

    /// Names the device in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    pub(crate) fn primary_slot(&self) -> &Slot {
        &self.0.primary
    }

    pub(crate) fn resource_slot(&self) -> &Slot {
        &self.0.resource
    }

    pub(crate) fn failed(&self, error: CallError) -> Error {
        Error::of_call(&self.0.driver, error).about(self)
    }
}

/// Every device that was asked for.
static KNOWN: Mutex<Vec<Device>> = Mutex::new(Vec::new());

impl fmt::Display for DeviceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "device {} \"{label}\"", self.ordinal),
            None => write!(f, "device {}", self.ordinal),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("driver", self.driver())
            .field("ordinal", &self.ordinal())
            .finish_non_exhaustive()
    }
}

/// Adds to the error of a driver that shows no device what may hide them.
#[cold]
fn explain_no_device(mut failure: Error, driver: &Driver) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_NO_DEVICE.0 {
        failure.message.push_str(match driver.kind() {
            Kind::Software => ". Set SOFTCUDA_DEVICES to 1 or more, or unset it",
            _ => ". See whether nvidia-smi -L lists a GPU, and whether CUDA_VISIBLE_DEVICES hides it",
        });
    }
    failure
}
