//! Whether host and devices may use managed memory at the same time, without which the driver moves none beforehand.

use crate::device::Device;
use crate::driver::{Driver, sys};
use crate::location::Location;
use crate::object::error::{Error, Status};
use parking_lot::Mutex;

/// Refuses a device without concurrent managed access.
pub(super) fn check(device: &Device) -> Result<(), Error> {
    match device.attribute(sys::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? {
        0 => Err(refuse(device)),
        _ => Ok(()),
    }
}

/// The same for the location, if it is another device. The location has been checked.
pub(super) fn check_location(location: Location, device: &Device) -> Result<(), Error> {
    if location.is_device() && location.id() != device.ordinal() {
        check(&Device::get(device.driver(), location.id())?)?;
    }
    Ok(())
}

/// Refuses if any device lacks it, as the driver's batch calls do wherever the memory is.
pub(super) fn check_all(driver: &Driver) -> Result<(), Error> {
    Device::all(driver)?.iter().try_for_each(check)
}

#[cold]
fn refuse(device: &Device) -> Error {
    static LOGGED: Mutex<Vec<(Driver, i32)>> = Mutex::new(Vec::new());
    let this = (device.driver().clone(), device.ordinal());
    let mut logged = LOGGED.lock();
    let is_news = !logged.contains(&this);
    if is_news {
        logged.push(this);
    }
    drop(logged);
    let refusal = format!(
        "{device} has no concurrent managed access: its managed memory takes no advice, prefetch or discard. Ask for the \
         feature \"concurrent-managed-access\" before, and do without"
    );
    if is_news {
        log::warn!(target: "cushim", "{refusal}");
    }
    Error::new(Status::UNSUPPORTED, refusal).about(device)
}
