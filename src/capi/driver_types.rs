//! The driver's own types, as far as the functions of the objects name them.

pub(super) use crate::driver::Driver;
pub use crate::driver::sys::{
    CUarray, CUcontext, CUdevice, CUdevice_attribute, CUevent, CUfunction, CUfunction_attribute, CUgreenCtx,
    CUjit_option, CUkernel, CUlaunchAttributeID, CUlibrary, CUlimit, CUmem_advise, CUmemoryPool, CUmodule,
    CUstream,
};
