//! Kernels of libraries, good in every context.

use super::attributes::Attributes;
use super::library::Library;
use super::program::Entry;
use crate::context::current::current;
use crate::device::Device;
use crate::error::Answer;
use crate::handle::Table;
use crate::pointer::Out;
use crate::sys::{
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUdevice, CUfunc_cache, CUfunction,
    CUfunction_attribute, CUkernel, CUlibrary, CUresult,
};
use std::ffi::c_char;
use std::sync::{Arc, Weak};

static KERNELS: Table<Kernel> = Table::new();

/// A kernel of a library.
pub(super) struct Kernel {
    handle: usize,
    library: Weak<Library>,
    index: usize,
}

impl Kernel {
    pub(super) fn add(library: &Arc<Library>, index: usize) -> Arc<Self> {
        KERNELS.add(|handle| Self { handle, library: Arc::downgrade(library), index })
    }

    /// The kernel that a handle means, its library, and which of its kernels it is.
    pub(super) fn find(handle: usize) -> Option<(Arc<Library>, usize)> {
        let kernel = KERNELS.get(handle)?;
        Some((kernel.library.upgrade()?, kernel.index))
    }

    fn of(handle: CUkernel) -> Result<(Arc<Library>, usize), CUresult> {
        Self::find(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    pub(super) fn handle(&self) -> CUkernel {
        self.handle as CUkernel
    }

    pub(super) fn remove(&self) {
        KERNELS.remove(self.handle);
    }
}

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

pub(super) fn check_cache(config: CUfunc_cache) -> Answer {
    if (0..4).contains(&config.0) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
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
    tell_parameter(&library.program.code()?.kernels[index], paramIndex, paramOffset, paramSize)
}

pub(crate) fn cuKernelGetParamCount(kernel: CUkernel, paramCount: Out<usize>) -> Answer {
    check_given(kernel)?;
    current()?;
    let (library, index) = Kernel::of(kernel)?;
    paramCount.set(library.program.code()?.kernels[index].parameters.len())
}

pub(super) fn tell_parameter(kernel: &Entry, index: usize, offset: Out<usize>, size: Out<usize>) -> Answer {
    let parameter = kernel.parameters.get(index).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    offset.set(parameter.offset)?;
    size.set_if_wanted(parameter.size);
    Ok(())
}
