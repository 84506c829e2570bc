//! The calls of kernels of libraries, which are good in every context.

use super::attributes::{Attributes, check_cache};
use super::library::{Kernel, Library};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUdevice, CUfunc_cache, CUfunction, CUfunction_attribute, CUkernel, CUlibrary,
    CUresult,
};
use crate::driver::context::current::current;
use crate::driver::device::Device;
use std::ffi::c_char;

fn attributes(library: &Library, index: usize, device: Device) -> Result<Attributes<'_>, CUresult> {
    let kernel = &library.program.code()?.kernels[index];
    Ok(Attributes { kernel, adjusted: library.program.adjusted(index, device) })
}

pub(crate) fn cuKernelGetFunction(pFunc: Out<CUfunction>, kernel: CUkernel) -> Answer {
    pFunc.check()?;
    let (library, index) = Kernel::of(kernel)?;
    pFunc.set(library.instance(&current()?)?.function(index).handle())
}

pub(crate) fn cuKernelGetLibrary(pLib: Out<CUlibrary>, kernel: CUkernel) -> Answer {
    pLib.check()?;
    pLib.set(Kernel::of(kernel)?.0.handle())
}

/// Some functions take NULL for a wrong value, not for a wrong handle (measured).
fn check_given(kernel: CUkernel) -> Answer {
    if kernel.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

pub(crate) fn cuKernelGetName(name: Out<*const c_char>, hfunc: CUkernel) -> Answer {
    name.check()?;
    check_given(hfunc)?;
    let (library, index) = Kernel::of(hfunc)?;
    name.set(library.program.code()?.kernels[index].name.as_ptr())
}

pub(crate) fn cuKernelGetAttribute(
    pi: Out<i32>,
    attrib: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> Answer {
    pi.check()?;
    let device = Device::of(dev)?;
    let (library, index) = Kernel::of(kernel)?;
    pi.set(attributes(&library, index, device)?.get(attrib)?)
}

pub(crate) fn cuKernelSetAttribute(
    attrib: CUfunction_attribute,
    val: i32,
    kernel: CUkernel,
    dev: CUdevice,
) -> Answer {
    let device = Device::of(dev)?;
    let (library, index) = Kernel::of(kernel)?;
    attributes(&library, index, device)?.set(attrib, val)
}

/// A preference, which makes no difference here.
pub(crate) fn cuKernelSetCacheConfig(kernel: CUkernel, config: CUfunc_cache, dev: CUdevice) -> Answer {
    Device::of(dev)?;
    Kernel::of(kernel)?;
    check_cache(config)
}

pub(crate) fn cuKernelGetParamInfo(
    kernel: CUkernel,
    paramIndex: usize,
    paramOffset: Out<usize>,
    paramSize: Out<usize>,
) -> Answer {
    check_given(kernel)?;
    current()?;
    let (library, index) = Kernel::of(kernel)?;
    library.program.code()?.kernels[index].tell_parameter(paramIndex, paramOffset, paramSize)
}

pub(crate) fn cuKernelGetParamCount(kernel: CUkernel, paramCount: Out<usize>) -> Answer {
    check_given(kernel)?;
    current()?;
    let (library, index) = Kernel::of(kernel)?;
    paramCount.set(library.program.code()?.kernels[index].parameters.len())
}
