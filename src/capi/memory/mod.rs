//! Memory: allocation, copies, fills, host memory, and what the driver knows of an address.

pub mod copy;
pub mod device;
pub mod fill;
pub mod pinned;
pub mod place;
pub mod pointer;
pub mod registration;

use crate::error::{Error, Status};
use std::ffi::c_void;

fn check_address(address: *mut c_void) -> Result<(), Error> {
    if address.is_null() {
        return Err(Error::new(Status::INVALID_ARGUMENT, "address must not be NULL"));
    }
    Ok(())
}
