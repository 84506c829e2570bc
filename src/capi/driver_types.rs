//! The driver's own types, as far as the functions of the objects name them.

pub(super) use crate::driver::Driver;
pub use crate::driver::sys::{
    CUarray, CUcontext, CUdevice, CUdevice_attribute, CUevent, CUgreenCtx, CUlimit, CUmem_advise,
    CUmemoryPool, CUstream,
};
