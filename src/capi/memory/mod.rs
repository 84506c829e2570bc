//! Memory: allocation, copies, fills, host memory, and what the driver knows of an address.

mod endpoint;

mod device;

mod copy;

mod fill;

mod batch_copy;

mod operations;

mod pinned;

mod registration;

mod pointer;

pub use batch_copy::*;
pub use copy::*;
pub(in crate::capi) use copy::{Regions, range};
pub use device::*;
pub use endpoint::*;
pub(in crate::capi) use endpoint::{CallersEndpoint, Role};
pub use fill::*;
pub(in crate::capi) use fill::{Rows, memset, value_of};
pub use operations::*;
pub(in crate::capi) use operations::{look_up_operations, told_operation};
pub use pinned::*;
pub use pointer::*;
pub use registration::*;

use crate::object::error::{Error, Status};
use std::ffi::c_void;

fn check_address(address: *mut c_void) -> Result<(), Error> {
    if address.is_null() {
        return Err(Error::new(Status::INVALID_ARGUMENT, "address must not be NULL"));
    }
    Ok(())
}
