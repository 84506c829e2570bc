//! The handle of an open driver.

use crate::capi::driver_object::DriverObject;
use crate::error::Error;
use crate::handle::{self, Token};

/// An open driver: a checked token, never dereferenced. A token that is stale, foreign or of another kind is an error, not
/// a crash.
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
