//! The handle of an open driver.
//!
//! @header cushim_loader.h

use crate::capi::driver_object::DriverObject;
use crate::object::error::Error;
use crate::object::handle::{self, Token};

/// An open driver.
pub type cushim_driver = *mut cushim_driver_s;

/// Never given a body.
pub struct cushim_driver_s {
    _private: [u8; 0],
}

/// Runs `body` with the object behind the handle.
pub(super) fn with<R>(
    driver: cushim_driver,
    body: impl FnOnce(&DriverObject) -> Result<R, Error>,
) -> Result<R, Error> {
    let guard = handle::enter()?;
    let object = guard.get::<DriverObject>(Token::from_pointer(driver))?;
    body(&object)
}
