//! The driver's own types, for the functions of the objects.

pub(super) use crate::driver::Driver;
pub use crate::driver::sys::*;
