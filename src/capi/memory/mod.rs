//! Memory: allocation, copies, fills, host memory, and what the driver knows of an address.

mod batch_copy;
mod copy;
mod device;
mod fill;
mod pinned;
mod place;
mod pointer;
mod registration;

pub use batch_copy::*;
pub use copy::*;
pub use device::*;
pub use fill::*;
pub use pinned::*;
pub use place::*;
pub use pointer::*;
pub use registration::*;

use crate::error::{Error, Status};
use std::ffi::c_void;

fn check_address(address: *mut c_void) -> Result<(), Error> {
    if address.is_null() {
        return Err(Error::new(Status::INVALID_ARGUMENT, "address must not be NULL"));
    }
    Ok(())
}
